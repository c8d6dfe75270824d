"""The agent of the interleaved lane: a driver that sets up and runs, a monitor that sees every clock."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge, with_timeout
from cocotb.triggers import Timer as Wait
from pyuvm import (
    ConfigDB,
    uvm_agent,
    uvm_analysis_port,
    uvm_driver,
    uvm_monitor,
    uvm_sequence_item,
    uvm_sequencer,
)
from tb.unit.acting_port import table_places
from tb.uvm.acting_items import CLOCK, STEP, Emptied, Job, Look, Reset, Setting, Setup

from qstep.acting.agent import AgentCounters
from qstep.acting.registers import (
    BEGUN,
    DRAWN,
    HOLDS,
    PLACE,
    Access,
    counters_from,
    counters_writes,
    limit_write,
    settings_writes,
    state_from,
    state_writes,
    world_writes,
)
from qstep.protocol import Region

__all__ = ["CLOCK_NS", "ActingAgent"]

CLOCK_NS = 10
_ITEMS = 16
_DEED = 8 * CLOCK.fields["deed"][1]
_ACCESS_NS = 20_000
_HELD = 16
"""Clocks of a reset in which every slot under way comes to its end."""
_BEHIND = 3
"""Clocks from a step until a reset: the step's slot has left all stages in which flags are cleared."""


class ActingDriver(uvm_driver):
    """Makes accesses and runs; reads the whole state back after each run."""

    def build_phase(self) -> None:
        self.ap = uvm_analysis_port("ap", self)
        self.dut = ConfigDB().get(self, "", "DUT")
        self.config = ConfigDB().get(self, "", "CONFIG")
        self.world = ConfigDB().get(self, "", "WORLD")
        self._shares = ConfigDB().get(self, "", "REACH") is not None

    async def run_phase(self) -> None:
        dut = self.dut
        self.clock = FallingEdge(dut.clk_i)
        for name in ("bus_valid_i", "bus_i", "run_i", "run_steps_i", "stop_i", "late_i"):
            getattr(dut, name).value = 0
        dut.rst_i.value = 1
        for _ in range(3):
            await self.clock
        dut.rst_i.value = 0
        await self._idle()
        await self._write(world_writes(self.config, self.world))
        while True:
            item = await self.seq_item_port.get_next_item()
            await self._drive(item)
            self.seq_item_port.item_done()

    async def _drive(self, item: uvm_sequence_item) -> None:
        if isinstance(item, Setup):
            if item.limit is not None:
                await self._write([limit_write(item.limit)])
            for agent, (settings, state) in enumerate(zip(item.settings, item.states, strict=True)):
                await self._write(settings_writes(agent, settings))
                writes = state_writes(agent, state)
                await self._write(writes if item.table is not None else reversed(writes))
                if item.table is not None:
                    await self._write(counters_writes(agent, AgentCounters()))
            if item.table is not None:
                values = item.table.ravel().tolist()
                places = zip(table_places(self.config), values, strict=True)
                await self._write(Access(Region.TABLE, place, value) for place, value in places)
            self.ap.write(Setting(self._edge, item))
        elif isinstance(item, Reset):
            await self._reset()
        else:
            assert isinstance(item, Job)
            await self._run(item)

    @property
    def _edge(self) -> int:
        """The number of the last clock seen."""
        return int(self.dut.seen_o.value) & 0xFFFFFFFF

    async def _access(self, write: bool, region: int, place: int, data: int) -> int:
        dut = self.dut
        dut.bus_i.value = write << 65 | region << 62 | place << 32 | data & 0xFFFFFFFF
        dut.bus_valid_i.value = 1
        await with_timeout(RisingEdge(dut.bus_done_o), _ACCESS_NS, "ns")
        await self.clock
        seen = int(dut.bus_data_o.value)
        await self.clock
        dut.bus_valid_i.value = 0
        await self.clock
        return seen

    async def _write(self, accesses: Iterable[Access]) -> None:
        for region, place, data in accesses:
            await self._access(True, region, place, data)

    async def _idle(self) -> None:
        if self.dut.busy_o.value:
            await FallingEdge(self.dut.busy_o)
            await self.clock

    async def _begin(self, steps: int) -> int:
        self.dut.run_i.value, self.dut.run_steps_i.value = 1, steps
        await self.clock
        self.dut.run_i.value = 0
        self._compare_steps(steps)
        return self._edge

    def _compare_steps(self, right: int) -> None:
        if self._shares or "netlist" in cocotb.plusargs:
            return  # nothing holds them, or nobody sees what does
        seen = int(self.dut.steps_o.value)
        assert seen == right, f"agents are to make {seen} steps, not {right}"

    async def _reset(self) -> None:
        dut = self.dut
        dut.late_i.value = 128  # some agents have drawn, and wait
        await self._begin(1 << 40)
        await Wait(500 * CLOCK_NS, unit="ns")
        await self.clock
        while not int(dut.seen_o.value) & STEP << _DEED:
            await self.clock
        for _ in range(_BEHIND):
            await self.clock
        dut.rst_i.value = 1
        # A shorter reset leaves an agent of a shared table that is held just then begun and drawn.
        for _ in range(_HELD if self._shares else 1):
            await self.clock
        dut.rst_i.value = 0
        edge = self._edge
        await with_timeout(FallingEdge(dut.busy_o), 1000 * CLOCK_NS, "ns")
        await self.clock
        rests, agents = self._edge, range(self.config.acting.agents)
        places = [
            await self._access(False, Region.CONTEXT, agent << 3 | PLACE, 0) for agent in agents
        ]
        self.ap.write(Emptied(edge, rests, [place >> BEGUN for place in places]))

    async def _run(self, job: Job) -> None:
        dut = self.dut
        dut.late_i.value = job.late
        began = await self._begin(job.steps)
        stopped = None
        if job.stop_after is not None:
            await Wait(max(1, job.stop_after) * CLOCK_NS, unit="ns")
            await self.clock
            dut.stop_i.value = 1
            await self.clock
            dut.stop_i.value = 0
            self._compare_steps(0)
            stopped = self._edge
        limit = 300 * (min(job.steps, 1000) + 200) * CLOCK_NS
        if dut.busy_o.value:
            await with_timeout(FallingEdge(dut.busy_o), limit, "ns")
            await self.clock
        self.ap.write(await self._look(job, began, stopped))

    async def _look(self, job: Job, began: int, stopped: int | None) -> Look:
        words: dict[tuple[int, int], int] = {}

        async def read(region: int, place: int) -> int:
            words[region, place] = await self._access(False, region, place, 0)
            return words[region, place]

        def again(region: int, place: int) -> int:
            return words[region, place]

        edge, agents = self._edge, range(self.config.acting.agents)
        for agent in agents:
            for field in range(5):
                await read(Region.CONTEXT, agent << 3 | field)
            for word in range(0 if job.states_only else 16):
                await read(Region.COUNTERS, agent << 4 | word)
        places = [] if job.states_only else table_places(self.config)
        values = [await read(Region.TABLE, place) for place in places]
        shape = (0,) if job.states_only else self.config.table_shape
        return Look(
            edge,
            job.get_name(),
            began,
            job.steps if stopped is None else None,
            stopped,
            [state_from(agent, again) for agent in agents],
            [bool(again(Region.CONTEXT, agent << 3 | PLACE) >> DRAWN) for agent in agents],
            [] if job.states_only else [counters_from(agent, again) for agent in agents],
            np.array(values, np.uint32).view(np.int32).reshape(shape),
            await read(Region.COUNTERS, HOLDS) if self._shares else 0,
        )


class ActingMonitor(uvm_monitor):
    """Publishes all clocks, and fails if it missed one."""

    def build_phase(self) -> None:
        self.ap = uvm_analysis_port("ap", self)
        self.dut = ConfigDB().get(self, "", "DUT")
        self._next: int | None = None

    async def run_phase(self) -> None:
        await FallingEdge(self.dut.clk_i)
        while True:
            await Wait(_ITEMS * CLOCK_NS, unit="ns")
            self._publish()

    def _publish(self) -> None:
        data = int(self.dut.seen_o.value).to_bytes(_ITEMS * CLOCK.itemsize, "little")
        clocks = np.frombuffer(data, CLOCK)[::-1]
        first = int(clocks["edge"][0])
        assert self._next in (None, first), f"the monitor missed the clocks before edge {first}"
        self._next = (first + _ITEMS) & 0xFFFFFFFF
        self.ap.write(clocks)


class ActingAgent(uvm_agent):
    """Driver, sequencer and monitor of one lane."""

    def build_phase(self) -> None:
        self.sequencer: Any = uvm_sequencer("sequencer", self)
        self.driver = ActingDriver("driver", self)
        self.monitor = ActingMonitor("monitor", self)

    def connect_phase(self) -> None:
        self.driver.seq_item_port.connect(self.sequencer.seq_item_export)
