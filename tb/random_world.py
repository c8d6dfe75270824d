"""Random worlds and a ring world, for agents both in the models and in the hardware."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from qstep import Config
from qstep.golden.agents_fast import FastActingModel
from qstep.mdp.memory import WorldTable
from qstep.mdp.world import World
from qstep.spec.agents import Acting
from qstep.spec.settings import AgentSettings

__all__ = ["random_world", "ring_model"]


def _table(rng: np.random.Generator, *shape: int, slots: int) -> np.ndarray[Any, Any]:
    """Return random splits; with one slot, the splits of a deterministic world."""
    most = (1 << 16) // slots
    split = rng.integers(0, most + 1, (*shape, slots), np.int32)
    ends = rng.random(split.shape) < 0.2
    return np.where(ends | (slots == 1), rng.choice([0, most], split.shape), split).astype(np.int32)


def random_world(config: Config, limit: int, seed: int) -> WorldTable:
    """Return a world with random rewards, next states and terminations, where values also saturate."""
    rng = np.random.default_rng(seed)
    acting = config.acting
    assert isinstance(acting, Acting)
    pairs = (config.states, config.actions)
    items = (*pairs, acting.outcomes, 2)
    lowest, highest = config.format.minimum, config.format.maximum
    reward = rng.integers(lowest, highest + 1, items, np.int64) // rng.choice([1, 8, 64], items)
    return WorldTable(
        split=_table(rng, *pairs, slots=acting.outcomes),
        next_state=rng.integers(0, config.states, items, np.int32),
        reward=reward.astype(np.int32),
        terminated=rng.random(items) < 0.1,
        start_split=_table(rng, slots=acting.starts),
        start_state=rng.integers(0, config.states, (acting.starts, 2), np.int32),
        max_episode_steps=limit,
    )


def ring_model(config: Config, settings: Sequence[AgentSettings]) -> FastActingModel:
    """Return the model of agents in a ring, in which a step adds `action + 1` to the state, modulo 8.

    The reward is the next state's number divided by 256. State 7 is terminal.
    """
    state, action = np.divmod(np.arange(8 * config.actions), config.actions)
    to = (state + action + 1) % 8
    rows: dict[str, Any] = {"state": state, "action": action, "next_state": to}
    world = World.from_arrays(**rows, reward=to / 256, terminated=to == 7, start_state=[0])
    assert isinstance(config.acting, Acting)
    acting = world.acting(agents=config.acting.agents, shared_table=config.acting.shared_table)
    table = replace(config, acting=acting)
    return FastActingModel(table, world.table(table), settings)
