"""Updates per clock of explored designs, for random transitions and for one walker."""

from __future__ import annotations

from functools import cache

import numpy as np

from qstep.envs.gridworld import GridWorld
from qstep.golden.throughput import updates_per_clock
from qstep_bench.baselines.random_walk import walk

__all__ = ["independent", "walker"]

_COUNT = 1_000_000
_SEED = 2026
_GRID = "\n".join(["S.......", *6 * ["........"], ".......G"])


@cache
def independent(loop_depth: int, states: int, actions: int) -> float:
    """Return the updates per clock for a million transitions drawn at random from the whole table."""
    rng = np.random.default_rng(_SEED)
    state, next_state = rng.integers(states, size=(2, _COUNT), dtype=np.int32)
    action = rng.integers(actions, size=_COUNT, dtype=np.int32)
    return updates_per_clock(loop_depth, state, action, next_state)


@cache
def walker(loop_depth: int) -> float:
    """Return the updates per clock for a million random steps of one walker on an 8x8 grid."""
    env = GridWorld(_GRID)
    stream = walk(env.deterministic_model(), _COUNT)
    return updates_per_clock(loop_depth, stream.state, stream.action, stream.next_state)
