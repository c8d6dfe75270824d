"""The pyuvm tests of the lane, run by cocotb on ``qs_lane_bench``.

Plusargs: ``+transitions=N`` sets the length of the random part, ``+report=PATH`` has figures and
coverage written as JSON.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import cocotb
import numpy as np
import pyuvm
from cocotb.clock import Clock
from pyuvm import ConfigDB, uvm_env, uvm_test
from tb.uvm import lane_sequences as sequences
from tb.uvm.lane_agent import LaneAgent
from tb.uvm.lane_coverage import LaneCoverage
from tb.uvm.lane_draws import draw_batches
from tb.uvm.lane_items import Batch
from tb.uvm.lane_scoreboard import LaneScoreboard

from qstep import Config, QFormat

_SIMULATOR_SEED = int(os.environ["COCOTB_RANDOM_SEED"])


def _config() -> Config:
    dut = cocotb.top
    width = int(dut.Width.value)
    return Config(
        states=int(dut.States.value),
        actions=int(dut.Actions.value),
        format=QFormat(width - width // 2, width // 2),
        loop_depth=int(dut.LoopDepth.value),
    )


class LaneEnv(uvm_env):
    """Agent, scoreboard, coverage."""

    def build_phase(self) -> None:
        self.agent = LaneAgent("agent", self)
        self.scoreboard = LaneScoreboard("scoreboard", self)
        self.coverage = LaneCoverage("coverage", self)

    def connect_phase(self) -> None:
        self.agent.driver.ap.connect(self.scoreboard.inbox.analysis_export)
        self.agent.monitor.ap.connect(self.scoreboard.clocks_in.analysis_export)
        self.scoreboard.ap.connect(self.coverage.analysis_export)


class LaneTest(uvm_test):
    """Runs the batches of a subclass; fails unless the scoreboard compared all and found it correct."""

    def build_phase(self) -> None:
        self.config = _config()
        self.rng = np.random.default_rng(_SIMULATOR_SEED)
        ConfigDB().set(None, "*", "DUT", cocotb.top)
        ConfigDB().set(None, "*", "CONFIG", self.config)
        ConfigDB().set(None, "*", "SEED", _SIMULATOR_SEED)
        self.env = LaneEnv("env", self)

    async def run_phase(self) -> None:
        self.raise_objection()
        Clock(cocotb.top.clk_i, 10, unit="ns").start()
        walk = sequences.walker_batch(self.rng, self.config, 16)
        walk.table = np.zeros((self.config.states, self.config.actions), np.int32)
        last = sequences.walker_batch(self.rng, self.config, 16)
        last.read_back = True
        for batches in ([walk], self.batches(), [last]):
            sequence = sequences.BatchSequence("batches", self.config, batches)
            await sequence.start(self.env.agent.sequencer)
        self.drop_objection()

    def batches(self) -> Iterator[Batch]:
        raise NotImplementedError

    @property
    def transitions(self) -> int:
        """Length of the random part, from the command line."""
        return int(cocotb.plusargs.get("transitions", 20_000))

    def report_phase(self) -> None:
        scoreboard = self.env.scoreboard
        assert scoreboard.passed is True, "the scoreboard has not come to a verdict"
        group = self.env.coverage.group
        total = {
            "transitions": scoreboard.transitions,
            "readbacks": scoreboard.readbacks,
            "clocks": int(cocotb.top.seen_o.value) & 0xFFFFFFFF,
            "offered_clocks": sum(f.offered_clocks for f in scoreboard.figures),
            "held": sum(f.held for f in scoreboard.figures),
            "forwarded": sum(f.forwarded for f in scoreboard.figures),
            "rates": {
                f.name: f.throughput
                for f in scoreboard.figures
                if f.name in ("independent", "walker") and f.accepted > 1000
            },
            **group.report(),
        }
        self.logger.info(
            f"{total['transitions']} transitions exact, {total['readbacks']} tables exact, "
            f"{total['forwarded']} forwarded, {total['held']} clocks held"
        )
        if "report" in cocotb.plusargs:
            Path(cocotb.plusargs["report"]).write_text(json.dumps(total), encoding="utf-8")


@pyuvm.test()
class LaneSuite(LaneTest):
    """Directed and random batches that reach every bin of the coverage."""

    def batches(self) -> Iterator[Batch]:
        yield from sequences.corner_batches(self.rng, self.config)
        yield from sequences.saturation_batches(self.rng, self.config)
        yield from sequences.tie_batches(self.rng, self.config)
        yield from sequences.hazard_batches(self.rng, self.config)
        yield sequences.every_pair_batch(self.rng, self.config)
        yield from sequences.random_batches(self.rng, self.config, self.transitions, length=1000)
        yield from sequences.reset_batches(self.rng, self.config)
        yield sequences.walker_batch(self.rng, self.config, 2000)
        yield from sequences.tie_batches(self.rng, self.config, [0.5], low=-2)
        yield from draw_batches(self.rng, self.config)

    def report_phase(self) -> None:
        super().report_phase()
        group = self.env.coverage.group
        self.logger.info(f"coverage\n{group.table()}")
        assert not group.holes(), f"{len(group.holes())} bins were never hit: {group.holes()[:20]}"


@pyuvm.test()
class LaneRandom(LaneTest):
    """Long random batches: the run that is measured in transitions."""

    def batches(self) -> Iterator[Batch]:
        yield from sequences.random_batches(self.rng, self.config, self.transitions)


@pyuvm.test()
class LaneThroughput(LaneTest):
    """Updates per offered clock, from the handshake: 1 if nothing has to wait."""

    def batches(self) -> Iterator[Batch]:
        # Brings Numba with it, which takes longer to load than most runs of the other tests.
        from qstep.throughput import issue_clocks

        self.predicted: dict[str, int] = {}
        for draw in (sequences.independent_batch, sequences.walker_batch):
            batch = draw(self.rng, self.config, 5000)
            columns = batch.transitions
            issue = issue_clocks(
                self.config.loop_depth, columns.state, columns.action, columns.next_state
            )
            # The last one is taken one clock after the one before it leaves.
            self.predicted[batch.get_name()] = int(issue[-2]) + 2
            yield batch

    def check_phase(self) -> None:
        figures = {f.name: f for f in self.env.scoreboard.figures if f.accepted > 1000}
        for name in ("independent", "walker"):
            self.logger.info(f"throughput {name}: {figures[name].throughput:.3f} updates/clock")
            assert figures[name].offered_clocks == self.predicted[name]
        assert figures["independent"].throughput == 1
        assert figures["independent"].forwarded == 0
        assert figures["walker"].forwarded > 0
        if self.config.loop_depth == 1:
            assert all(figure.throughput == 1 for figure in figures.values())
        else:
            assert 0.5 < figures["walker"].throughput < 1
