"""A world at the pins: what a module there answers is what agents live through, at a known latency."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tb.bench import RTL

from qstep.acting.agent import AgentSettings
from qstep.acting.config import Acting
from qstep.acting.epsilon import Epsilon
from qstep.acting.fast_model import FastActingModel
from qstep.acting.world import World
from qstep.config import Config
from qstep.devices.agents_device import LinkAgents
from qstep_rtl import sources
from qstep_rtl.generate import generate
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort

pytestmark = pytest.mark.rtl

BENCH = RTL.parent / "tb/unit/qs_pins_bench.sv"
LATENCY = (18, 33)
"""Clocks from an answer to the next action, as docs/live-worlds.md says."""


def around(agents: int, folder: Path) -> tuple[Config, SimPort]:
    """Return a device with a world at its pins."""
    config = Config(8, 4, acting=Acting(agents=agents, world="pins", deadline=5000))
    generate(config, folder)
    text = BENCH.read_text(encoding="utf-8").replace("Agents = 3", f"Agents = {agents}")
    bench = folder / BENCH.name
    bench.write_text(text, encoding="utf-8")
    files = [*sources.paths(config), folder / "qstep_device.v", bench]
    library = compile_library(files, "qs_pins_bench", optimise=False)
    return config, SimPort(config, library=library)


@pytest.mark.parametrize("agents", [1, 16])
def test_agents_learn_at_the_pins_what_the_model_does(
    agents: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    state, action = np.divmod(np.arange(32), 4)
    to = (state + action + 1) % 8
    world = World.from_arrays(
        state=state,
        action=action,
        next_state=to,
        reward=to / 256,
        terminated=to == 7,
        start_state=[0],
    )
    settings = [AgentSettings(0.5, 0.9, Epsilon(1 / (1 + own)), own) for own in range(agents)]
    config, port = around(agents, tmp_path)
    table = replace(config, acting=world.acting(agents=agents))
    model = FastActingModel(table, world.table(table), settings)
    with LinkAgents(port, config, 0, settings) as device:
        for steps in (300, 1, 2):
            device.run(steps)
            if steps == 300:  # before the first action of another job, which no answer leads to
                said = re.findall(r"latency (\d+) to (\d+) clocks", capfd.readouterr().err)
                assert tuple(map(int, said[-1])) == LATENCY
            model.run(steps)
            assert np.array_equal(device.table, model.table)
            assert device.states == model.states
            assert device.counters == model.counters
