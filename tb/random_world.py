"""Random worlds for agents of the models and of the hardware."""

from __future__ import annotations

from typing import Any

import numpy as np

from qstep import Config
from qstep.acting.config import Acting
from qstep.acting.world_table import WorldTable

__all__ = ["random_world"]


def _table(rng: np.random.Generator, *shape: int, slots: int) -> np.ndarray[Any, Any]:
    """Return splits; with one slot, the split of a world without chance."""
    most = (1 << 16) // slots
    split = rng.integers(0, most + 1, (*shape, slots), np.int32)
    ends = rng.random(split.shape) < 0.2
    return np.where(ends | (slots == 1), rng.choice([0, most], split.shape), split).astype(np.int32)


def random_world(config: Config, limit: int, seed: int) -> WorldTable:
    """Return a random world: any reward, next state and end, so that values saturate as well."""
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
