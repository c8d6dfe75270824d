"""BFM and driver of the interleaved lane, which perform host accesses and record every clock."""

from typing import Any

import cocotb
import numpy as np
from cocotb.queue import Queue
from cocotb.triggers import Timer as Wait
from numpy.typing import NDArray
from tb.random_world import random_world
from tb.unit.acting_port import CLOCK_NS, AgentsPort
from tb.uvm.acting_items import CLOCK, STEP, Emptied, Job, Look, Reset, Setting, Setup
from tb.uvm.components import Driver

from qstep.device.registers import (
    HOLDS,
    counters_writes,
    limit_write,
    settings_writes,
    state_from,
    state_writes,
    world_writes,
)
from qstep.spec.memory_map import PLACE, Region
from qstep.spec.settings import AgentCounters

__all__ = ["ActingBfm", "ActingDriver"]

_ITEMS = 16
assert CLOCK.fields is not None
_RESULT = 8 * CLOCK.fields["result"][1]
_BEHIND = 3
"""Clocks from a step to the reset; by then, its slot has left all stages in which flags are cleared."""


class ActingBfm(AgentsPort):
    """Drives and samples the pins of ``qs_agents_bench``, which contains RTL or a netlist.

    Attributes
    ----------
    events : Queue of Setting, Look or Emptied
        The host's actions.
    seen : Queue of ndarray of CLOCK
        Records of all clocks, in chunks of 16.
    """

    bus = ("bus_valid_i", "bus_i", "late_i")

    def __init__(self, dut: Any, limit: int) -> None:
        super().__init__(dut)
        # The world is fixed, because its state-action pairs are coverage bins.
        self.world = random_world(self.config, limit, seed=5)
        self.shares = self.acting.shared_table and self.acting.agents > 1
        self.events: Queue[Setting | Look | Emptied] = Queue()
        self.seen: Queue[NDArray[np.void]] = Queue()

    async def start(self) -> None:
        """Start the clock, reset the lane, and write the world."""
        cocotb.start_soon(self._watch())
        await super().start()
        await self.write(world_writes(self.config, self.world))

    async def _watch(self) -> None:
        await self.edge
        while True:
            await Wait(_ITEMS * CLOCK_NS, unit="ns")
            data = int(self.dut.seen_o.value).to_bytes(_ITEMS * CLOCK.itemsize, "little")
            self.seen.put_nowait(np.frombuffer(data, CLOCK)[::-1])

    def flush(self) -> None:
        """Do nothing: the queue already contains every clock that the last `Look` needs."""

    @property
    def number(self) -> int:
        """The number of the last clock seen."""
        return int(self.dut.seen_o.value) & 0xFFFFFFFF

    async def set_up(self, setup: Setup) -> None:
        """Write settings and states; if the setup has tables, write tables and counters too."""
        if setup.limit is not None:
            await self.write([limit_write(setup.limit)])
        for agent, (settings, state) in enumerate(zip(setup.settings, setup.states, strict=True)):
            await self.write(settings_writes(self.config, agent, settings))
            writes = state_writes(agent, state)
            await self.write(writes if setup.table is not None else reversed(writes))
            if setup.table is not None:
                await self.write(counters_writes(agent, AgentCounters()))
        if setup.table is not None:
            await self.load_table(setup.table)
        self.events.put_nowait(Setting(self.number, setup))

    async def begin(self, steps: int) -> None:
        await super().begin(steps)
        self._compare_steps(steps)

    def _compare_steps(self, right: int) -> None:
        if self.dut.steps_known_o.value:
            seen = int(self.dut.steps_o.value)
            assert seen == right, f"agents are to make {seen} steps, not {right}"

    async def break_off(self) -> None:
        """Reset the lane during a run, just after a step."""
        dut = self.dut
        dut.late_i.value = 128  # so that some agents have drawn and wait for the world
        await self.begin(1 << 40)
        await Wait(500 * CLOCK_NS, unit="ns")
        await self.edge
        while not int(dut.seen_o.value) & STEP << _RESULT:
            await self.edge
        await self.clock(_BEHIND)
        dut.rst_i.value = 1
        await self.clock()
        dut.rst_i.value = 0
        edge = self.number
        await self.idle(1000)
        rests = self.number
        places = [
            await self.access(Region.CONTEXT, agent << 3 | PLACE.number)
            for agent in range(self.acting.agents)
        ]
        self.events.put_nowait(
            Emptied(edge, rests, [place >> PLACE.offsets["begun"] for place in places])
        )

    async def run(self, job: Job) -> None:
        """Run the agents, then read the state of every agent."""
        dut = self.dut
        dut.late_i.value = job.late
        await self.begin(job.steps)
        began, stopped = self.number, None
        if job.stop_after is not None:
            await Wait(max(1, job.stop_after) * CLOCK_NS, unit="ns")
            await self.edge
            dut.stop_i.value = 1
            await self.edge
            dut.stop_i.value = 0
            self._compare_steps(0)
            stopped = self.number
        await self.idle(300 * (min(job.steps, 1000) + 200))
        self.events.put_nowait(await self._look(job, began, stopped))

    async def _look(self, job: Job, began: int, stopped: int | None) -> Look:
        edge, agents = self.number, range(self.acting.agents)
        states, drawn, counters = [], [], []
        for agent in agents:
            words = await self.context(agent)
            states.append(state_from(agent, lambda _, at, own=words: own[at & 7]))  # type: ignore[misc]
            drawn.append(bool(PLACE.unpack(words[PLACE.number])["drawn"]))
            if not job.states_only:
                counters.append(await self.counters(agent))
        return Look(
            edge,
            job.get_name(),
            began,
            job.steps if stopped is None else None,
            stopped,
            states,
            drawn,
            counters,
            np.zeros(0, np.int32) if job.states_only else await self.table(),
            await self.access(Region.COUNTERS, HOLDS) if self.shares else 0,
        )


class ActingDriver(Driver):
    """Sets up, runs and resets the agents."""

    async def drive(self, item: Setup | Job | Reset) -> None:
        match item:
            case Setup():
                await self.bfm.set_up(item)
            case Reset():
                await self.bfm.break_off()
            case Job():
                await self.bfm.run(item)
