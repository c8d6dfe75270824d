"""Settings with which particular worlds are learned, where nothing else is asked for."""

from __future__ import annotations

from typing import Any

__all__ = ["DEVICE_DEFAULTS", "HOST_DEFAULTS"]

_MAZE: dict[str, dict[str, Any]] = {"gridworld-32x32": {"gamma": 0.99}}
"""At 74 steps from its goal, a gamma of 0.9 leaves less than the resolution of Q8.8."""

HOST_DEFAULTS: dict[str, dict[str, Any]] = {
    **_MAZE,
    # Slippery: outcomes must be averaged, and a reward of 1 many steps ahead must stay above 2^-8.
    "FrozenLake-v1": {"alpha": 0.1, "gamma": 0.99, "episodes": 5000},
    # There is no step limit, so the first walks are long and few episodes are enough.
    "CliffWalking-v1": {"episodes": 500},
    # 11 bits stand for many grids, so values must be averaged, and one random move can end a game.
    "snake": {
        "alpha": 0.05,
        "epsilon_end": 0.0,
        "episodes": 3000,
        "evaluate_every": 500,
        "num_envs": 8,
        "sync_steps": 1024,
    },
    # A row stands for many states, so values are means of many small corrections. Rounding to
    # nearest would drop corrections below half of 2^-8.
    "cartpole": {
        "alpha": 0.1,
        "gamma": 0.99,
        "rounding": "stochastic",
        "epsilon_end": 0.0,
        "episodes": 3000,
        "evaluate_every": 500,
        "num_envs": 4,
        "sync_steps": 1024,
    },
}

DEVICE_DEFAULTS: dict[str, dict[str, Any]] = {
    **_MAZE,
    # Slippery: at this many steps a second, a small alpha averages well. With 0.03, the discount
    # learned would be 0.98983.
    "FrozenLake-v1": {"alpha": 0.0305, "gamma": 0.99, "episodes": 20_000},
    "CliffWalking-v1": {"episodes": 500},
    "Taxi-v3": {"episodes": 5000},
}
"""Settings of worlds that do not learn with the usual ones, by name and then by option."""
