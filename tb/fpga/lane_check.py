"""A device with a lane equals the model after random transitions, or the test fails."""

from __future__ import annotations

import numpy as np

from qstep.devices.link_device import LinkDevice
from qstep.devices.model_device import ModelDevice
from qstep.fixed import Rounding
from qstep.hyperparameters import Hyperparameters
from qstep.transitions import Transitions

__all__ = ["check_lane"]


def check_lane(device: LinkDevice, count: int) -> None:
    """Apply `count` random transitions to a device and to the model, and compare the tables."""
    config, rng = device.config, np.random.default_rng(seed := 3)
    transitions = Transitions.from_arrays(
        config,
        state=rng.integers(0, config.states, count),
        action=rng.integers(0, config.actions, count),
        reward=rng.integers(-128, 128, count).astype(float),
        next_state=rng.integers(0, config.states, count),
        terminated=rng.random(count) < 0.1,
    )
    model = ModelDevice(config)
    for either in (model, device):
        either.configure(Hyperparameters(rounding=Rounding.STOCHASTIC, seed=seed))
        either.clear()
        either.apply(transitions[:-1])
    before = device.read()
    assert np.array_equal(before, model.read())
    for either in (model, device):
        either.apply(transitions[-1:])
    assert np.array_equal(device.read(), model.read())
    # The comparison can fail: one transition makes a difference.
    assert not np.array_equal(before, model.read())
