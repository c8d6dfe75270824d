"""The pyuvm test of the whole device through its byte link, run by cocotb on ``qs_device_bench``.

The plusarg ``+config=PATH`` names the TOML file of the configuration.
"""

import os
import random
from typing import Any

import cocotb
import pyuvm
from tb.uvm.components import Agent, Coverage, Driver, ItemSequence, Scoreboard, SuiteTest
from tb.uvm.device_bfm import DeviceAgent, DeviceBfm, DeviceDriver
from tb.uvm.device_coverage import DeviceCoverage
from tb.uvm.device_scoreboard import DeviceScoreboard
from tb.uvm.device_sequences import Everything

from qstep import Config

_SEED = int(os.environ["COCOTB_RANDOM_SEED"])


@pyuvm.test()
class DeviceSuite(SuiteTest):
    """Every answer matches the reference, on a bad line and after resets too, and every bin is hit."""

    types = (
        (Agent, DeviceAgent),
        (Driver, DeviceDriver),
        (Scoreboard, DeviceScoreboard),
        (Coverage, DeviceCoverage),
        (ItemSequence, Everything),
    )

    def handles(self) -> dict[str, Any]:
        return {
            "BFM": DeviceBfm(cocotb.top, _SEED),
            "CONFIG": Config.from_toml(cocotb.plusargs["config"]),
            "RNG": random.Random(_SEED),
        }

    def connect_phase(self) -> None:
        self.env.agent.monitor.ap.connect(self.env.coverage.analysis_export)

    def figures(self) -> dict[str, Any]:
        scoreboard = self.env.scoreboard
        return {
            "transitions": scoreboard.transitions,
            "clocks": self.bfm.clocks,
            "answers": scoreboard.compared,
        }
