"""The pyuvm tests of the lane, run by cocotb on ``qs_lane_bench``.

The plusarg ``+transitions=N`` sets the length of the random part.
"""

import os
from collections.abc import Iterator
from typing import Any

import cocotb
import numpy as np
import pyuvm
from tb.uvm import lane_sequences as stimuli
from tb.uvm.components import (
    ClockMonitor,
    Coverage,
    Driver,
    ItemSequence,
    PinMonitor,
    Scoreboard,
    SuiteTest,
)
from tb.uvm.lane_bfm import LaneBfm, LaneDriver
from tb.uvm.lane_coverage import LaneCoverage
from tb.uvm.lane_draws import draw_batches
from tb.uvm.lane_items import Batch
from tb.uvm.lane_scoreboard import LaneScoreboard

from qstep import Config, QFormat

_SEED = int(os.environ["COCOTB_RANDOM_SEED"])
_READ_EVERY = 16
"""Number of batches between readbacks of a large table."""


def _config() -> Config:
    dut = cocotb.top
    width = int(dut.Width.value)
    return Config(
        states=int(dut.States.value),
        actions=int(dut.Actions.value),
        format=QFormat(width - width // 2, width // 2),
        loop_depth=int(dut.LoopDepth.value),
        coefficient_bits=int(dut.CoeffFraction.value),
    )


def _transitions() -> int:
    """Return the length of the random part from the command line."""
    return int(cocotb.plusargs.get("transitions", 20_000))


class Batches(ItemSequence):
    """Adds random walks before and after the batches of a subclass."""

    def batches(self) -> Iterator[Batch]:
        raise NotImplementedError

    def items(self) -> Iterator[Batch]:
        walk, last = (stimuli.walker_batch(self.rng, self.config, 16) for _ in range(2))
        walk.table = np.zeros((self.config.states, self.config.actions), np.int32)
        walk.read_back = is_small = stimuli.is_small(self.config)
        yield walk
        for number, batch in enumerate(self.batches()):
            batch.read_back |= is_small or number % _READ_EVERY == _READ_EVERY - 1
            yield batch
        last.read_back = True
        yield last


class DirectedBatches(Batches):
    """Directed and random batches that hit every coverage bin."""

    def batches(self) -> Iterator[Batch]:
        given = self.rng, self.config
        yield from stimuli.corner_batches(*given)
        yield from stimuli.saturation_batches(*given)
        yield from stimuli.tie_batches(*given)
        yield from stimuli.hazard_batches(*given)
        yield stimuli.every_pair_batch(*given)
        yield from stimuli.random_batches(*given, _transitions(), length=1000)
        yield from stimuli.reset_batches(*given)
        yield stimuli.walker_batch(*given, 2000)
        yield from stimuli.tie_batches(*given, [0.5], low=-2)
        yield from draw_batches(*given)


class RandomBatches(Batches):
    """Long random batches."""

    def batches(self) -> Iterator[Batch]:
        yield from stimuli.random_batches(self.rng, self.config, _transitions())


class MeasuredBatches(Batches):
    """One batch that never has to wait, and one that often does.

    Attributes
    ----------
    predicted : dict of str to int
        Predicted number of clocks for each batch.
    """

    def batches(self) -> Iterator[Batch]:
        # This import loads Numba, which takes longer than most runs of the other tests.
        from qstep.golden.throughput import issue_clocks

        self.predicted: dict[str, int] = {}
        for draw in (stimuli.independent_batch, stimuli.walker_batch):
            batch = draw(self.rng, self.config, 5000)
            columns = batch.transitions
            issue = issue_clocks(
                self.config.loop_depth, columns.state, columns.action, columns.next_state
            )
            # The last transition is accepted one clock after the previous one leaves.
            self.predicted[batch.get_name()] = int(issue[-2]) + 2
            yield batch


@pyuvm.test()
class LaneSuite(SuiteTest):
    """Every result is exact, and every coverage bin is hit."""

    types: tuple[tuple[type, type], ...] = (
        (Driver, LaneDriver),
        (PinMonitor, ClockMonitor),
        (Scoreboard, LaneScoreboard),
        (Coverage, LaneCoverage),
        (ItemSequence, DirectedBatches),
    )

    def handles(self) -> dict[str, Any]:
        config = _config()
        return {
            "BFM": LaneBfm(cocotb.top, config, _SEED),
            "CONFIG": config,
            "RNG": np.random.default_rng(_SEED),
        }

    def figures(self) -> dict[str, Any]:
        scoreboard = self.env.scoreboard
        of_batches = scoreboard.figures
        return {
            "transitions": scoreboard.transitions,
            "readbacks": scoreboard.readbacks,
            "clocks": self.bfm.edge,
            "offered_clocks": sum(f.offered_clocks for f in of_batches),
            "held": sum(f.held for f in of_batches),
            "forwarded": sum(f.forwarded for f in of_batches),
            "rates": {
                f.name: f.throughput
                for f in of_batches
                if f.name in ("independent", "walker") and f.accepted > 1000
            },
        }


@pyuvm.test()
class LaneRandom(LaneSuite):
    """Every result of a random run with a given number of transitions is exact."""

    types = (*LaneSuite.types, (ItemSequence, RandomBatches))
    needs_every_bin = False


@pyuvm.test()
class LaneThroughput(LaneSuite):
    """Measures, at the handshake, the updates per offered clock: 1 if no transition has to wait."""

    types = (*LaneSuite.types, (ItemSequence, MeasuredBatches))
    needs_every_bin = False

    def check_phase(self) -> None:
        figures = {f.name: f for f in self.env.scoreboard.figures if f.accepted > 1000}
        for name in ("independent", "walker"):
            self.logger.info(f"throughput {name}: {figures[name].throughput:.3f} updates/clock")
            assert figures[name].offered_clocks == self.sequence.predicted[name]
        assert figures["independent"].throughput == 1
        assert figures["independent"].forwarded == 0
        assert figures["walker"].forwarded > 0
        if self.bfm.config.loop_depth == 1:
            assert all(figure.throughput == 1 for figure in figures.values())
        else:
            assert 0.5 < figures["walker"].throughput < 1
