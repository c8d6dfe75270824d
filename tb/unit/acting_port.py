"""The host's side of a module of agents: its bus, and its runs."""

from __future__ import annotations

from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, with_timeout

__all__ = ["CLOCK_NS", "ActingPort"]

CLOCK_NS = 10
_PATIENCE_NS = 100_000
_RESET_CLOCKS = 4
"""Until a reset is everywhere, and ``busy_o`` is 1."""


class ActingPort:
    """The ports that ``qs_acting`` and ``qs_lockstep`` have in common.

    Parameters
    ----------
    dut : Any
        The module.
    """

    def __init__(self, dut: Any) -> None:
        self.dut, self.edge = dut, FallingEdge(dut.clk_i)

    async def start(self) -> None:
        """Start the clock, and reset the module."""
        dut = self.dut
        Clock(dut.clk_i, CLOCK_NS, unit="ns").start()
        for name in ("bus_valid", "bus_write", "bus_region", "bus_index", "bus_data"):
            getattr(dut, f"{name}_i").value = 0
        dut.run_i.value = dut.run_steps_i.value = dut.stop_i.value = 0
        await self.reset(3)

    async def reset(self, clocks: int = 1) -> None:
        """Reset the module, which takes an access under way back, and wait until no run is left."""
        self.dut.rst_i.value = 1
        self.dut.bus_valid_i.value = 0
        await self.clock(clocks)
        self.dut.rst_i.value = 0
        await self.clock(_RESET_CLOCKS)
        await self.idle()

    async def clock(self, count: int = 1) -> None:
        for _ in range(count):
            await self.edge

    async def idle(self) -> None:
        """Wait for the end of a run."""
        if self.dut.busy_o.value:
            await with_timeout(FallingEdge(self.dut.busy_o), _PATIENCE_NS, "ns")
            await self.edge

    def ask(self, region: int, index: int, word: int | None = None) -> None:
        """Begin to write a word, or to read one."""
        dut = self.dut
        dut.bus_region_i.value, dut.bus_index_i.value = region, index
        dut.bus_write_i.value, dut.bus_data_i.value = word is not None, (word or 0) & 0xFFFFFFFF
        dut.bus_valid_i.value = 1

    async def access(self, region: int, index: int, word: int | None = None) -> int:
        """Write a word, or read one."""
        dut = self.dut
        self.ask(region, index, word)
        await with_timeout(RisingEdge(dut.bus_done_o), _PATIENCE_NS, "ns")
        await self.edge
        seen = int(dut.bus_data_o.value)
        await self.edge
        dut.bus_valid_i.value = 0
        await self.edge
        return seen

    async def begin(self, steps: int) -> None:
        """Begin a run."""
        self.dut.run_i.value, self.dut.run_steps_i.value = 1, steps
        await self.edge
        self.dut.run_i.value = self.dut.run_steps_i.value = 0

    async def stop(self) -> None:
        """Stop a run, and wait for its end."""
        self.dut.stop_i.value = 1
        await self.edge
        self.dut.stop_i.value = 0
        await self.idle()
