"""Common parts of the pyuvm environments for the lane, the agents and the device.

A test selects the components of its environment by type overrides. A BFM drives and samples the pins of
a bench. It queues the host's actions in ``events``, and the activity at the pins in ``seen``.
"""

import json
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from numpy.typing import NDArray
from pyuvm import (
    ConfigDB,
    uvm_agent,
    uvm_analysis_port,
    uvm_driver,
    uvm_env,
    uvm_factory,
    uvm_monitor,
    uvm_scoreboard,
    uvm_sequence,
    uvm_sequencer,
    uvm_subscriber,
    uvm_test,
    uvm_tlm_analysis_fifo,
)

__all__ = [
    "Agent",
    "ClockMonitor",
    "Coverage",
    "Driver",
    "EdgeScoreboard",
    "ItemSequence",
    "PinMonitor",
    "Scoreboard",
    "SuiteTest",
]


class ItemSequence(uvm_sequence):
    """Sends its `items` in turn; each item is created after the previous one has been driven."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.config = ConfigDB().get(None, "", "CONFIG")
        self.rng = ConfigDB().get(None, "", "RNG")

    async def body(self) -> None:
        for item in self.items():
            await self.start_item(item)
            await self.finish_item(item)


class Driver(uvm_driver):
    """Passes each item to :meth:`drive`, which executes it through the BFM."""

    def build_phase(self) -> None:
        self.bfm = self.cdb_get("BFM")

    async def run_phase(self) -> None:
        while True:
            item = await self.seq_item_port.get_next_item()
            await self.drive(item)
            self.seq_item_port.item_done()


class Monitor(uvm_monitor):
    """Publishes the items in a queue of the BFM; by default, these are the host's actions."""

    queue = "events"

    def build_phase(self) -> None:
        self.ap = uvm_analysis_port("ap", self)
        self.bfm = self.cdb_get("BFM")
        self.source = getattr(self.bfm, self.queue)

    async def run_phase(self) -> None:
        while True:
            self.publish(await self.source.get())

    def extract_phase(self) -> None:
        while not self.source.empty():
            self.publish(self.source.get_nowait())

    def publish(self, item: Any) -> None:
        self.ap.write(item)


class PinMonitor(Monitor):
    """Publishes the activity at the pins."""

    queue = "seen"

    def extract_phase(self) -> None:
        self.bfm.flush()
        super().extract_phase()


class ClockMonitor(PinMonitor):
    """Publishes the records of all clocks in chunks, and fails if one is missing."""

    _next: int | None = None

    def publish(self, item: NDArray[np.void]) -> None:
        edges = item["edge"]
        first = int(edges[0]) if self._next is None else self._next
        missed = np.flatnonzero(edges != np.arange(first, first + len(edges)))
        assert not len(missed), f"the monitor missed the clock before edge {edges[missed[0]]}"
        self._next = first + len(edges)
        super().publish(item)


class Agent(uvm_agent):
    """Sequencer, driver and pin monitor."""

    def build_phase(self) -> None:
        super().build_phase()
        self.monitor = PinMonitor.create("monitor", self)
        self.sequencer = uvm_sequencer("sequencer", self)
        self.driver = Driver.create("driver", self)

    def connect_phase(self) -> None:
        self.driver.seq_item_port.connect(self.sequencer.seq_item_export)


class Scoreboard(uvm_scoreboard):
    """Passes the activity at the pins to :meth:`take`; at the end, calls :meth:`conclude`."""

    def build_phase(self) -> None:
        self.config = self.cdb_get("CONFIG")
        self.seen = uvm_tlm_analysis_fifo("seen", self)
        self.events = uvm_tlm_analysis_fifo("events", self)
        self.ap = uvm_analysis_port("ap", self)
        self.passed: bool | None = None

    async def run_phase(self) -> None:
        while True:
            self.take(await self.seen.get())

    def check_phase(self) -> None:
        while not self.seen.is_empty():
            self.take(self.seen.try_get()[1])
        self.conclude()
        self.passed = True


class EdgeScoreboard(Scoreboard):
    """Merges clocks, which arrive in chunks of any size, with the host's events by clock-edge number.

    The results therefore do not depend on the order in which the bench's processes run. A subclass
    stores clocks in :meth:`add`. It checks the clocks up to an event's edge in :meth:`check_until`,
    before :meth:`take_event` receives the event.
    """

    _last = -1

    def take(self, item: NDArray[np.void]) -> None:
        self.add(item)
        self._last = int(item["edge"][-1])
        self._settle()

    def conclude(self) -> None:
        self._settle()
        assert self.events.is_empty(), "the monitor ended before the driver"

    def _settle(self) -> None:
        """Check all events whose preceding clocks have all arrived."""
        while not self.events.is_empty() and self.events.try_peek()[1].edge <= self._last:
            event = self.events.try_get()[1]
            self.check_until(event.edge)
            self.take_event(event)


class Coverage(uvm_subscriber):
    """Counts, in the bins of its `group`, the items that the scoreboard has confirmed."""


class Env(uvm_env):
    """Agent, host monitor, scoreboard and coverage."""

    def build_phase(self) -> None:
        self.agent = Agent.create("agent", self)
        self.host = Monitor("host", self)
        self.scoreboard = Scoreboard.create("scoreboard", self)
        self.coverage = Coverage.create("coverage", self)

    def connect_phase(self) -> None:
        self.agent.monitor.ap.connect(self.scoreboard.seen.analysis_export)
        self.host.ap.connect(self.scoreboard.events.analysis_export)
        self.scoreboard.ap.connect(self.coverage.analysis_export)


class SuiteTest(uvm_test):
    """Fails unless the scoreboard has passed and every bin was hit.

    The plusarg ``+report=PATH`` writes `figures` and coverage to a JSON file. `handles` returns the
    ConfigDB entries for the components: BFM, CONFIG, RNG and others.

    Attributes
    ----------
    types : tuple of (type, type)
        Pairs of a type in this module and the type that overrides it.
    """

    types: tuple[tuple[type, type], ...]
    needs_every_bin = True

    def build_phase(self) -> None:
        for name, handle in self.handles().items():
            ConfigDB().set(None, "*", name, handle)
        for common, special in self.types:
            uvm_factory().set_type_override_by_type(common, special)
        self.bfm = self.cdb_get("BFM")
        self.env = Env("env", self)

    async def run_phase(self) -> None:
        self.raise_objection()
        await self.bfm.start()
        self.sequence = ItemSequence.create("sequence")
        await self.sequence.start(self.env.agent.sequencer)
        self.drop_objection()

    def report_phase(self) -> None:
        group = self.env.coverage.group
        assert self.env.scoreboard.passed is True, "the scoreboard has not come to a verdict"
        figures = self.figures()
        self.logger.info(f"exact: {figures}\n{group.table()}")
        if "report" in cocotb.plusargs:
            text = json.dumps({**figures, **group.report()})
            Path(cocotb.plusargs["report"]).write_text(text, encoding="utf-8")
        holes = group.holes() if self.needs_every_bin else []
        assert not holes, f"{len(holes)} bins were never hit: {holes[:20]}"
