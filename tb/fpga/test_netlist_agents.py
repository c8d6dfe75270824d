"""Agents on the synthesised netlist, on the cells of each family: exact against the compiled model."""

from __future__ import annotations

import re
from dataclasses import replace
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
from qstep.fixed import Rounding
from qstep_fpga.families import FAMILIES
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort

pytestmark = [pytest.mark.synth, pytest.mark.slow]

CONFIG = Config(
    *(25, 4, "Q6.10"),
    rounding=Rounding.STOCHASTIC,
    acting=Acting(agents=4, outcomes=2, starts=2),
    link=Link(buffer_bytes=512),
)
WORLD = random_world(CONFIG, 20, 3)
SETTINGS = [
    AgentSettings(0.5, 0.9, Epsilon(1, 0.05, "exponential", 5000), 1),
    AgentSettings(0.1, 0.99, Epsilon(0.3), 2),
    AgentSettings(1.0, 0.5, Epsilon(1, 0, "linear", 900, unit="episodes"), 3),
    AgentSettings(0.25, 0.75, Epsilon(0.05), 4),
]
LANES = {"ecp5": 2}
"""Lanes, for the family that farms are for; other families, and the faulty netlist, have one."""

STEPS = 10_000
"""Steps of all agents together."""

FAULTY = "gowin"
_LUT = re.compile(
    r"(LUT4 #\(\s+\.INIT\(16'h)(\w{4})(\)\s+\) \\design\.agents\.core\.u_agents\.u_write\.)"
)
"""A look-up table of the module that computes the new value."""


def opened(netlist: Path, family: str, config: Config = CONFIG) -> LinkAgents:
    library = compile_library([netlist, *cells(family)], "qstep_device", optimise=False)
    return LinkAgents(SimPort(config, library=library), config, WORLD, SETTINGS)


def compared(device: LinkAgents, steps: int) -> list[str]:
    """Let device and model make equally many steps, and return the differences."""
    model = FastActingModel(CONFIG, WORLD, SETTINGS)
    device.run(steps // len(SETTINGS))
    model.run(steps // len(SETTINGS))
    assert all(own.terminations and own.truncations for own in model.counters)
    return differing(device, model)


@pytest.mark.parametrize("family", FAMILIES)
def test_agents_on_a_netlist_make_the_steps_of_the_model(family: str) -> None:
    config = replace(CONFIG, lanes=LANES.get(family, 1))
    netlist = synthesised(family, config)
    if family == "ecp5":
        text = netlist.read_text(encoding="utf-8")
        assert '.REG_PIPELINE_CLK("CLK0")' in text
        assert "READBEFOREWRITE" not in text
    assert compared(opened(netlist, family, config), STEPS) == []


def test_a_fault_in_a_netlist_with_agents_is_found(tmp_path: Path) -> None:
    whole = synthesised(FAULTY, CONFIG).read_text(encoding="utf-8")
    text, count = _LUT.subn(r"\g<1>0000\g<3>", whole, count=1)
    assert count == 1
    assert text != whole
    faulty = tmp_path / "faulty.v"
    faulty.write_text(text, encoding="utf-8")
    assert "table" in compared(opened(faulty, FAULTY), STEPS // 10)
