"""The agent of the interleaved lane: a driver that sets up and runs, a monitor that sees every clock."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

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
from tb.uvm.acting_items import CLOCK, Job, Look, Setting, Setup

from qstep.acting.agent import AgentCounters, AgentState
from qstep.acting.config import Algorithm
from qstep.acting.registers import (
    HOLDS,
    Access,
    counters_from,
    counters_writes,
    settings_writes,
    state_from,
    state_writes,
    table_index,
    world_writes,
)
from qstep.protocol import Region

__all__ = ["CLOCK_NS", "ActingAgent"]

CLOCK_NS = 10
_ITEMS = 16
_ACCESS_NS = 20_000
_PLACE = 4
_DRAWN = 31


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
            for agent, settings in enumerate(item.settings):
                await self._write(settings_writes(agent, settings))
                await self._write(state_writes(agent, AgentState.first(settings, agent)))
                await self._write(counters_writes(agent, AgentCounters()))
            values = item.table.ravel().tolist()
            places = zip(self._table_places(), values, strict=True)
            await self._write(Access(Region.TABLE, place, value) for place, value in places)
            self.ap.write(Setting(self._edge, item.get_name(), item.settings, item.table))
        else:
            assert isinstance(item, Job)
            await self._run(item)

    @property
    def _edge(self) -> int:
        """The number of the last clock seen."""
        return int(self.dut.seen_o.value) & 0xFFFFFFFF

    def _table_places(self) -> list[int]:
        config = self.config
        double = config.acting.algorithm is Algorithm.DOUBLE_Q_LEARNING
        owners = 1 if config.acting.shared_table else config.acting.agents
        full = (owners, 1 + double, config.states, config.actions)
        return [table_index(*place) for place in np.ndindex(*full)]

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

    async def _run(self, job: Job) -> None:
        dut = self.dut
        dut.late_i.value = job.late
        dut.run_i.value, dut.run_steps_i.value = 1, job.steps
        await self.clock
        dut.run_i.value = 0
        stopped = None
        if job.stop_after is not None:
            await Wait(max(1, job.stop_after) * CLOCK_NS, unit="ns")
            await self.clock
            dut.stop_i.value = 1
            await self.clock
            dut.stop_i.value = 0
            stopped = self._edge
        limit = 300 * (min(job.steps, 1000) + 200) * CLOCK_NS
        if dut.busy_o.value:
            await with_timeout(FallingEdge(dut.busy_o), limit, "ns")
            await self.clock
        self.ap.write(await self._look(job, stopped))

    async def _look(self, job: Job, stopped: int | None) -> Look:
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
            for word in range(16):
                await read(Region.COUNTERS, agent << 4 | word)
        values = [await read(Region.TABLE, place) for place in self._table_places()]
        return Look(
            edge,
            job.get_name(),
            job.steps if stopped is None else None,
            stopped,
            [state_from(agent, again) for agent in agents],
            [bool(again(Region.CONTEXT, agent << 3 | _PLACE) >> _DRAWN) for agent in agents],
            [counters_from(agent, again) for agent in agents],
            np.array(values, np.uint32).view(np.int32).reshape(self.config.table_shape),
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
