"""The pyuvm test of the whole device through its byte link, run by cocotb on ``qs_device_bench``.

Plusargs: ``+config=PATH`` names the TOML file of the configuration, ``+requests=N`` sets the length of
the random part, ``+report=PATH`` has figures and coverage written as JSON.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import cocotb
import pyuvm
from cocotb.clock import Clock
from pyuvm import ConfigDB, uvm_env, uvm_test
from tb.uvm.device_agent import DeviceAgent
from tb.uvm.device_items import Bytes
from tb.uvm.device_scoreboard import DeviceScoreboard
from tb.uvm.device_sequences import BytesSequence, Host

from qstep import Config

_SIMULATOR_SEED = int(os.environ["COCOTB_RANDOM_SEED"])


class DeviceEnv(uvm_env):
    """Agent and scoreboard; the driver stays within the credits that the scoreboard counts."""

    def build_phase(self) -> None:
        self.agent = DeviceAgent("agent", self)
        self.scoreboard = DeviceScoreboard("scoreboard", self)

    def connect_phase(self) -> None:
        self.agent.monitor.ap.connect(self.scoreboard.analysis_export)
        self.agent.driver.answers = self.scoreboard


@pyuvm.test()
class DeviceSuite(uvm_test):
    """Every request with every answer, random ones on a bad line, resets; all bins must be hit."""

    def build_phase(self) -> None:
        self.config = Config.from_toml(cocotb.plusargs["config"])
        ConfigDB().set(None, "*", "DUT", cocotb.top)
        ConfigDB().set(None, "*", "CONFIG", self.config)
        ConfigDB().set(None, "*", "SEED", _SIMULATOR_SEED)
        self.env = DeviceEnv("env", self)

    async def run_phase(self) -> None:
        self.raise_objection()
        Clock(cocotb.top.clk_i, 10, unit="ns").start()
        sequence = BytesSequence("all", self.items())
        await sequence.start(self.env.agent.sequencer)
        assert int(cocotb.top.divisor_o.value) == self.env.scoreboard.reference.divisor
        self.drop_objection()

    def items(self) -> Iterator[Bytes]:
        host = Host(self.config, random.Random(_SIMULATOR_SEED))
        yield host.ask(0x0A, b"")  # before any session
        yield from host.start()
        yield from host.every_answer()
        yield from host.anything(int(cocotb.plusargs.get("requests", 300)))
        yield from host.read_all()
        yield from host.drops_while_totals_wait()
        yield from host.resets()
        host.idle, host.stall = 0.2, 0.5
        yield from host.anything(30)
        yield host.item("resynchronise", b"\0", alone=True)
        yield from host.read_all()

    def report_phase(self) -> None:
        scoreboard = self.env.scoreboard
        assert scoreboard.passed is True, "the scoreboard has not come to a verdict"
        group = scoreboard.group
        total = {
            "transitions": scoreboard.transitions,
            "clocks": self.env.agent.monitor.clocks,
            "answers": scoreboard.compared,
            **group.report(),
        }
        self.logger.info(
            f"{scoreboard.compared} answers exact, {scoreboard.transitions} transitions\n{group.table()}"
        )
        if "report" in cocotb.plusargs:
            Path(cocotb.plusargs["report"]).write_text(json.dumps(total), encoding="utf-8")
        assert not group.holes(), f"{len(group.holes())} bins were never hit: {group.holes()[:20]}"
