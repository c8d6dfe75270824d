"""Lanes in lockstep as a netlist of the cells of an iCE40 UP5K, its multipliers among them: exact."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tb.fpga.netlists import cells
from tb.fpga.netlists import device as synthesised
from tb.on_chip import differing
from tb.random_world import random_world

from qstep.acting.agent import AgentSettings
from qstep.acting.config import Acting
from qstep.acting.epsilon import Epsilon
from qstep.acting.fast_model import FastActingModel
from qstep.config import Config, Link
from qstep.devices.agents_device import LinkAgents
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort

pytestmark = [pytest.mark.synth, pytest.mark.slow]

ACTING = Acting(agents=18, schedules=False, step_limit=False, lockstep=True)
CONFIG = Config(25, 4, "Q4.4", acting=ACTING, link=Link(buffer_bytes=512), lanes=2)
WORLD = random_world(CONFIG, 0, 5)
SETTINGS = [AgentSettings(0.5, 0.9, Epsilon(0.25), n) for n in range(18)]


def compared(netlist: Path) -> list[str]:
    """Let netlist and model make equally many steps, and return the differences."""
    library = compile_library([netlist, *cells("ice40")], "qstep_device", optimise=False)
    device = LinkAgents(SimPort(CONFIG, library=library), CONFIG, WORLD, SETTINGS)
    model = FastActingModel(CONFIG, WORLD, SETTINGS)
    device.run(500)
    model.run(500)
    assert sum(own.saturations for own in model.counters) > 100
    return differing(device, model)


def test_a_netlist_of_lanes_in_lockstep_makes_the_steps_of_the_model(tmp_path: Path) -> None:
    netlist = synthesised("ice40", CONFIG)
    assert compared(netlist) == []
    text = netlist.read_text(encoding="utf-8")
    assert text.count("SB_MAC16 #(") == 4
    assert text.count("SB_SPRAM256KA ") == 3
    # The comparison can fail: the sums of one multiplier lose their carry.
    faulty, count = re.subn(r"(\.TOPADDSUB_CARRYSELECT\()[^)]*\)", r"\g<1>2'h0)", text, count=1)
    assert count == 1
    planted = tmp_path / netlist.name
    planted.write_text(faulty, encoding="utf-8")
    assert "table" in compared(planted)
