"""What the pyuvm environments of lane, agents and device have in common.

A test says by type overrides what its environment is made of. A BFM owns the pins of a bench. It has a
queue of what its host did, ``events``, and one of what passed at the pins, ``seen``.
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
    """Sends its `items` one after the other; each is made when the one before it has been driven."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.config = ConfigDB().get(None, "", "CONFIG")
        self.rng = ConfigDB().get(None, "", "RNG")

    async def body(self) -> None:
        for item in self.items():
            await self.start_item(item)
            await self.finish_item(item)


class Driver(uvm_driver):
    """Lets the BFM carry out each item, in :meth:`drive`."""

    def build_phase(self) -> None:
        self.bfm = self.cdb_get("BFM")

    async def run_phase(self) -> None:
        while True:
            item = await self.seq_item_port.get_next_item()
            await self.drive(item)
            self.seq_item_port.item_done()


class Monitor(uvm_monitor):
    """Publishes what is in a queue of the BFM: what the host set and read."""

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
    """Publishes what passed at the pins."""

    queue = "seen"

    def extract_phase(self) -> None:
        self.bfm.flush()
        super().extract_phase()


class ClockMonitor(PinMonitor):
    """Publishes every clock, in portions, and fails if one is missing."""

    _next: int | None = None

    def publish(self, item: NDArray[np.void]) -> None:
        edges = item["edge"]
        first = int(edges[0]) if self._next is None else self._next
        missed = np.flatnonzero(edges != np.arange(first, first + len(edges)))
        assert not len(missed), f"the monitor missed the clock before edge {edges[missed[0]]}"
        self._next = first + len(edges)
        super().publish(item)


class Agent(uvm_agent):
    """Sequencer, driver, and a monitor of the pins."""

    def build_phase(self) -> None:
        super().build_phase()
        self.monitor = PinMonitor.create("monitor", self)
        self.sequencer = uvm_sequencer("sequencer", self)
        self.driver = Driver.create("driver", self)

    def connect_phase(self) -> None:
        self.driver.seq_item_port.connect(self.sequencer.seq_item_export)


class Scoreboard(uvm_scoreboard):
    """Gives what passed at the pins to :meth:`take`; ends with :meth:`conclude`, and then a verdict."""

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
    """Merges clocks, in any portions, and the host's events by the number of the clock edge.

    So what is compared does not depend on the order in which the processes of the bench run. A subclass
    keeps clocks in :meth:`add` and checks those up to an edge in :meth:`check_until`, before what the
    host did after that edge comes to :meth:`take_event`.
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
        """Check all that is complete."""
        while not self.events.is_empty() and self.events.try_peek()[1].edge <= self._last:
            event = self.events.try_get()[1]
            self.check_until(event.edge)
            self.take_event(event)


class Coverage(uvm_subscriber):
    """Counts what the scoreboard found correct, in the bins of its `group`."""


class Env(uvm_env):
    """Agent, monitor of the host, scoreboard, coverage."""

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
    """Fails unless the scoreboard has come to a verdict, and every bin was hit.

    The plusarg ``+report=PATH`` has `figures` and coverage written as JSON. `handles` are what the
    components find in the ConfigDB: BFM, CONFIG, RNG and others.

    Attributes
    ----------
    types : tuple of (type, type)
        What stands for the types of this module.
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
