"""Host-side access to an agent module: its parameters, its bus, and its runs."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, with_timeout
from cocotb.utils import get_sim_time
from numpy.typing import NDArray

from qstep import Config, QFormat, Rounding
from qstep.device.registers import HOLDS, Access, counters_from, table_index
from qstep.golden.throughput import steps_per_clock
from qstep.spec.agents import SWITCHES, Acting, Algorithm
from qstep.spec.memory_map import Region
from qstep.spec.settings import AgentCounters

__all__ = ["CLOCK_NS", "ActingPort", "AgentsPort", "built_config"]

CLOCK_NS = 10
_PATIENCE_NS = 100_000
_MOST_CLOCKS = 40_000
"""Limit in clocks for 160 steps by each agent, when most steps have to wait for a shared table."""
_RESET_CLOCKS = 4
"""Clocks until a reset has reached the whole module and ``busy_o`` is 1."""


def built_config(dut: Any) -> Config:
    """Return the configuration of an agent module.

    Parameters that the module lacks take their defaults: switches are on, the world has one outcome and
    one start state, and there is one plane.
    """

    def built(name: str, default: int | None = None) -> int:
        return (
            default
            if default is not None and not hasattr(dut, name)
            else int(getattr(dut, name).value)
        )

    switches = {"schedules": "Schedules", "step_limit": "StepLimit"}
    assert tuple(switches) == SWITCHES
    there: dict[str, Any] = {
        switch: bool(built(name)) for switch, name in switches.items() if hasattr(dut, name)
    }
    acting = Acting(
        built("Agents"),
        list(Algorithm)[built("Algorithm")],
        bool(built("SharedTable")),
        outcomes=built("Outcomes", 1),
        starts=built("Starts", 1),
        **there,
    )
    fraction = built("Width") // 2
    return Config(
        built("States"),
        built("Actions"),
        QFormat(built("Width") - fraction, fraction),
        rounding=list(Rounding)[built("Rounding")],
        acting=acting,
        coefficient_bits=built("CoeffFraction"),
        planes=built("Planes", 1),
    )


class ActingPort:
    """Host ports of ``qs_acting``, or of ``qs_agents``, which packs a bus request into one word.

    Parameters
    ----------
    dut : Any
        The module.
    """

    bus: Sequence[str] = ("bus_valid_i", "bus_write_i", "bus_region_i", "bus_index_i", "bus_data_i")

    def __init__(self, dut: Any) -> None:
        self.dut, self.edge = dut, FallingEdge(dut.clk_i)

    async def start(self) -> None:
        """Start the clock, and reset the module."""
        dut = self.dut
        Clock(dut.clk_i, CLOCK_NS, unit="ns").start()
        for name in (*self.bus, "run_i", "run_steps_i", "stop_i"):
            getattr(dut, name).value = 0
        await self.reset(3)

    async def reset(self, clocks: int = 1) -> None:
        """Reset the module, which cancels a pending access, and wait until no run is active."""
        self.dut.rst_i.value = 1
        self.dut.bus_valid_i.value = 0
        await self.clock(clocks)
        self.dut.rst_i.value = 0
        await self.clock(_RESET_CLOCKS)
        await self.idle()

    async def clock(self, count: int = 1) -> None:
        for _ in range(count):
            await self.edge

    async def idle(self, clocks: int = _PATIENCE_NS // CLOCK_NS) -> None:
        """Wait for the end of a run, but for at most `clocks` clocks."""
        if self.dut.busy_o.value:
            await with_timeout(FallingEdge(self.dut.busy_o), clocks * CLOCK_NS, "ns")
            await self.edge

    def ask(self, region: int, index: int, word: int | None = None) -> None:
        """Start a write or a read of one word without waiting for it to end."""
        dut, write, data = self.dut, word is not None, (word or 0) & 0xFFFFFFFF
        if "bus_i" in self.bus:
            dut.bus_i.value = write << 65 | region << 62 | index << 32 | data
        else:
            dut.bus_region_i.value, dut.bus_index_i.value = region, index
            dut.bus_write_i.value, dut.bus_data_i.value = write, data
        dut.bus_valid_i.value = 1

    async def access(self, region: int, index: int, word: int | None = None) -> int:
        """Write or read one word, and return the value on the data bus."""
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
        """Start a run."""
        self.dut.run_i.value, self.dut.run_steps_i.value = 1, steps
        await self.edge
        self.dut.run_i.value = self.dut.run_steps_i.value = 0

    async def stop(self) -> None:
        """Stop a run, and wait for its end."""
        self.dut.stop_i.value = 1
        await self.edge
        self.dut.stop_i.value = 0
        await self.idle()


class AgentsPort(ActingPort):
    """Host ports of an agent module, with the configuration that it was built from."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.config = built_config(dut)
        assert self.config.acting is not None
        self.acting = self.config.acting

    @property
    def places(self) -> list[int]:
        """Table index of every value in all tables, in the same order as in the model's table."""
        is_double = self.acting.algorithm is Algorithm.DOUBLE_Q_LEARNING
        tables = 2 if is_double else self.config.planes
        owners = 1 if self.acting.shared_table else self.acting.agents
        shape = owners, tables, self.config.states, self.config.actions
        return [table_index(*place) for place in np.ndindex(*shape)]

    async def write(self, accesses: Iterable[Access]) -> None:
        for access in accesses:
            await self.access(*access)

    async def check_rotations(self) -> None:
        """Check that a run takes one rotation per step, and one more per hold if the table is shared.

        No step may be truncated, because a truncation takes a slot of its own.
        """
        taken = []
        for steps in (40, 160):
            holds = await self.access(Region.COUNTERS, HOLDS)
            since = get_sim_time("ns")
            await self.begin(steps)
            await self.idle(_MOST_CLOCKS)
            clocks = (get_sim_time("ns") - since) // CLOCK_NS
            holds = await self.access(Region.COUNTERS, HOLDS) - holds
            taken.append((clocks, steps + holds * self.acting.shared_table))
        (first, few), (second, many) = taken
        rotation = round(self.acting.agents / steps_per_clock(self.config))
        extra = second - first - rotation * (many - few)
        assert abs(extra) <= 4 * rotation, (
            f"{many - few} rotations take {extra} clocks more than theirs"
        )

    async def load_table(self, table: NDArray[np.int32]) -> None:
        """Write all tables, in an order that would expose a write to another table's entry."""
        places = list(zip(self.places, table.ravel().tolist(), strict=True))
        order = places[::2] + places[1::2][::-1]  # each of two entries is the later one somewhere
        await self.write(Access(Region.TABLE, *place) for place in order)

    async def table(self) -> NDArray[np.int32]:
        """Read all tables."""
        values = [await self.access(Region.TABLE, place) for place in self.places]
        return np.array(values, np.uint32).view(np.int32).reshape(self.config.table_shape)

    async def context(self, agent: int) -> list[int]:
        """Read the words of an agent's state."""
        return [await self.access(Region.CONTEXT, agent << 3 | field) for field in range(5)]

    async def counters(self, agent: int) -> AgentCounters:
        """Read an agent's counters."""
        words = [await self.access(Region.COUNTERS, agent << 4 | word) for word in range(16)]
        return counters_from(agent, lambda _, index: words[index & 15])
