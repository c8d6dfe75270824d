"""Checks that a device with agents, controlled by its driver, takes the same steps as the model."""

from typing import Protocol

import numpy as np
import pytest
from tb.equal_agents import Held, differing
from tb.random_world import random_world

from qstep.device.agents import LinkAgents
from qstep.device.link.ports import Port
from qstep.errors import RefusedError
from qstep.golden.agents_fast import FastActingModel
from qstep.golden.tiled_fast import FastTiledModel
from qstep.mdp.tiled import TiledWorld
from qstep.spec.config import Config
from qstep.spec.epsilon import Epsilon
from qstep.spec.protocol import MOST_STEPS
from qstep.spec.settings import AgentSettings

__all__ = ["ResetPort", "check_agents"]

_PATIENCE_S = 600.0
"""The time limit is in wall-clock time, and the simulated device is slow."""

_STEPS = 300


class ResetPort(Port, Protocol):
    """A port to a device that can be reset."""

    def reset(self) -> None:
        """Reset the device."""


def check_agents(port: ResetPort, config: Config) -> None:
    """Check that a device's agents match the model after stops, refusals, a reset and a restore."""
    acting = config.acting
    assert acting is not None
    settings = [
        AgentSettings(
            *(0.5 / config.planes, 0.9),
            Epsilon(1, n / 64, "linear", 40) if acting.schedules else Epsilon(0.25),
            seed=n,
        )
        for n in range(acting.agents)
    ]
    model: FastActingModel | FastTiledModel
    if acting.is_tiled:
        model = FastTiledModel(config, TiledWorld(acting.integer_world, config), settings)
    else:
        world = random_world(config, 9 if acting.step_limit else 0, 3)
        model = FastActingModel(config, world, settings)
    device = LinkAgents(port, config, model.world, settings, patience=_PATIENCE_S)
    rng = np.random.default_rng(1)
    for _ in range(3):
        device.start(int(rng.integers(1 << 40, MOST_STEPS)))
        with pytest.raises(RefusedError, match="refused RUN: BUSY"):
            device.start(1)
        device.stop()
    device.start(MOST_STEPS)
    port.reset()
    device.reconnect()
    device.stop()
    model.run(100)
    device.restore(model.table, model.states, model.counters)
    for steps in (1, _STEPS):
        device.run(steps)
        model.run(steps - 1)
    seen = Held(device.table, device.states, device.counters)  # read only once, because it is slow
    assert differing(seen, model)[-2:] == ["states", "counters"]
    model.run(2)
    assert all(own.terminations for own in model.counters)
    assert differing(seen, model) == []
