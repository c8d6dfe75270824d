"""Tracks which agent is in which stage of ``qs_agent_blocks_bench`` in each clock."""

from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

__all__ = ["Slots"]


class Slots:
    """Tracks the slot counter, and sets all inputs to 0 until a test writes them."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.agents, self.slots = int(dut.Agents.value), int(dut.Slots.value)
        self._edge = FallingEdge(dut.clk_i)
        self._slot = 0

    async def start(self) -> None:
        """Start the clock and leave reset."""
        dut = self.dut
        Clock(dut.clk_i, 10, unit="ns").start()
        for handle in dut:
            if handle._name.endswith("_i") and handle._name not in ("clk_i", "rst_i"):
                handle.value = 0
        await self.reset(8)

    async def reset(self, clocks: int) -> None:
        """Reset for `clocks` clocks, and wait until everything is cleared."""
        dut = self.dut
        dut.rst_i.value = 1
        for _ in range(clocks):
            await self._edge
        dut.rst_i.value = 0
        await FallingEdge(dut.clearing_o)
        await self._edge
        self._slot = int(dut.slot_o.value)

    async def clock(self, count: int = 1) -> None:
        """Wait for the next falling edge, when outputs have settled."""
        for _ in range(count):
            await self._edge
        self._slot = (self._slot + count) % self.slots
        if count > 1 or not self._slot:
            assert int(self.dut.slot_o.value) == self._slot, "the bench lost count of the slots"

    def agent(self, stage: int) -> int | None:
        """Return the agent in a stage, or None if the slot is empty."""
        agent = (self._slot - stage) % self.slots
        return agent if agent < self.agents else None

    async def until(self, stage: int, agent: int) -> None:
        """Wait for the next clock in which an agent is in a stage."""
        await self.clock()
        while self.agent(stage) != agent:
            await self.clock()
