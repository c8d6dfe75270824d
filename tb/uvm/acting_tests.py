"""The pyuvm test of the interleaved lane, run by cocotb on ``qs_agents_bench``.

Plusargs: ``+epsilon=X`` gives all agents that constant epsilon, ``+report=PATH`` has figures and
coverage written as JSON.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import cocotb
import numpy as np
import pyuvm
from cocotb.clock import Clock
from pyuvm import ConfigDB, uvm_env, uvm_test
from tb.random_world import random_world
from tb.unit.acting_port import built_config
from tb.uvm.acting_agent import CLOCK_NS, ActingAgent
from tb.uvm.acting_coverage import ActingCoverage, ActingLooks, ActingSlots
from tb.uvm.acting_order import Reach
from tb.uvm.acting_scoreboard import ActingScoreboard
from tb.uvm.acting_sequences import ItemSequence, jobs

from qstep import Config

_SEED = int(os.environ["COCOTB_RANDOM_SEED"])
_LIMIT = 12
"""Steps of an episode, so few that some terminate in the last one."""


def _reach(config: Config) -> Reach | None:
    """Return how far slots look back if agents share a table, according to the bench."""
    if not (config.acting.shared_table and config.acting.agents > 1):
        return None
    return Reach(*(int(getattr(cocotb.top, n).value) for n in ("Slots", "RowReach", "EntryReach")))


class ActingEnv(uvm_env):
    """Agent, scoreboard, coverage."""

    def build_phase(self) -> None:
        self.agent = ActingAgent("agent", self)
        self.scoreboard = ActingScoreboard("scoreboard", self)
        self.coverage = ActingCoverage("coverage", self)
        self.looks = ActingLooks("looks", self)
        self.slots = ActingSlots("slots", self)

    def connect_phase(self) -> None:
        self.agent.driver.ap.connect(self.scoreboard.inbox.analysis_export)
        self.agent.monitor.ap.connect(self.scoreboard.clocks_in.analysis_export)
        self.scoreboard.ap.connect(self.coverage.analysis_export)
        self.scoreboard.looks_out.connect(self.looks.analysis_export)
        self.scoreboard.slots_out.connect(self.slots.analysis_export)


@pyuvm.test()
class ActingSuite(uvm_test):
    """Runs that reach every bin of the coverage; fails unless everything was compared and correct."""

    def build_phase(self) -> None:
        self.config = built_config(cocotb.top)
        ConfigDB().set(None, "*", "DUT", cocotb.top)
        ConfigDB().set(None, "*", "CONFIG", self.config)
        ConfigDB().set(None, "*", "REACH", _reach(self.config))
        # The world is fixed, because its pairs are bins.
        self.world = random_world(self.config, _LIMIT, seed=5)
        ConfigDB().set(None, "*", "WORLD", self.world)
        self.env = ActingEnv("env", self)

    async def run_phase(self) -> None:
        self.raise_objection()
        Clock(cocotb.top.clk_i, CLOCK_NS, unit="ns").start()
        epsilon = str(cocotb.plusargs.get("epsilon", ""))
        items = jobs(np.random.default_rng(_SEED), self.config, self.world, epsilon)
        await ItemSequence("jobs", items).start(self.env.agent.sequencer)
        self.drop_objection()

    def report_phase(self) -> None:
        scoreboard, group = self.env.scoreboard, self.env.coverage.group
        assert scoreboard.passed is True, "the scoreboard has not come to a verdict"
        total = {
            "steps": scoreboard.steps,
            "looks": scoreboard.looks,
            **group.report(),
        }
        self.logger.info(f"{total['steps']} steps exact, {total['looks']} looks at all agents")
        if "report" in cocotb.plusargs:
            Path(cocotb.plusargs["report"]).write_text(json.dumps(total), encoding="utf-8")
        self.logger.info(f"coverage\n{group.table()}")
        assert not group.holes(), f"{len(group.holes())} bins were never hit: {group.holes()[:20]}"
