"""The pyuvm tests of the interleaved lane, run by cocotb on ``qs_agents_bench``."""

import os
from typing import Any

import cocotb
import numpy as np
import pyuvm
from numpy.typing import NDArray
from tb.uvm.acting_bfm import ActingBfm, ActingDriver
from tb.uvm.acting_coverage import ActingCoverage
from tb.uvm.acting_order import Reach
from tb.uvm.acting_scoreboard import ActingScoreboard
from tb.uvm.acting_sequences import GreedyJobs, Jobs
from tb.uvm.components import (
    ClockMonitor,
    Coverage,
    Driver,
    ItemSequence,
    PinMonitor,
    Scoreboard,
    SuiteTest,
)

_SEED = int(os.environ["COCOTB_RANDOM_SEED"])
_LIMIT = 12
"""Step limit, so low that some episodes terminate in the last permitted step."""


@pyuvm.test()
class ActingSuite(SuiteTest):
    """Every step and every state matches the model, and every coverage bin is hit."""

    types: tuple[tuple[type, type], ...] = (
        (Driver, ActingDriver),
        (PinMonitor, ClockMonitor),
        (Scoreboard, ActingScoreboard),
        (Coverage, ActingCoverage),
        (ItemSequence, Jobs),
    )

    def handles(self) -> dict[str, Any]:
        bfm = ActingBfm(cocotb.top, _LIMIT)
        # If agents share a table, the bench provides the reach of slots.
        names = ("Slots", "RowReach", "EntryReach") if bfm.shares else ()
        reach = [int(getattr(bfm.dut, name).value) for name in names]
        return {
            "BFM": bfm,
            "CONFIG": bfm.config,
            "RNG": np.random.default_rng(_SEED),
            "REACH": Reach(*reach) if reach else None,
            "WORLD": bfm.world,
        }

    def figures(self) -> dict[str, Any]:
        return {"steps": self.env.scoreboard.steps, "looks": self.env.scoreboard.looks}


@pyuvm.test()
class NoExploration(ActingSuite):
    """Fails because agents never explore, so that some bins stay empty."""

    types = (*ActingSuite.types, (ItemSequence, GreedyJobs))


class WrongMonitor(ClockMonitor):
    """Reports altered rewards."""

    def publish(self, item: NDArray[np.void]) -> None:
        seen = item.copy()
        seen["reward"] ^= 1
        super().publish(seen)


@pyuvm.test()
class WrongRewards(ActingSuite):
    """Fails because the monitor reports altered rewards."""

    types = (*ActingSuite.types, (PinMonitor, WrongMonitor))
