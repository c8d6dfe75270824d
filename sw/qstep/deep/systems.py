"""What DQN learns by name: boards, environment, and what its two forms are set to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym

from qstep.deep import snake
from qstep.deep.dqn_config import DqnConfig
from qstep.envs import Snake
from qstep.envs.boards import Boards
from qstep.envs.cartpole_boards import CartPoleBoards
from qstep.envs.snake_boards import SnakeBoards
from qstep.learn.schedule import EpsilonSchedule

__all__ = ["SYSTEMS", "System"]

CARTPOLE = DqnConfig(
    frames=300_000,
    hidden=(64, 64),
    variant="double",
    gamma=0.99,
    reward_scale=0.01,  # 1 - gamma: values reach 1
    batch=128,
    updates_per_step=4,
    replay=100_000,
    warm_up=1_000,
    target_every=1,
    target_rate=0.02,
    rate=1e-3,
    last_rate=0.0,
    epsilon=EpsilonSchedule(1.0, 0.05, 0.25),
)
"""Of both forms: an update of 128 transitions every 8 frames, a target network that follows slowly."""


@dataclass(frozen=True, slots=True)
class System:
    """One environment for both forms of DQN.

    Attributes
    ----------
    boards : int
        Boards of the fast form.
    plain_boards : int
        The plain form has one environment, and learns as often, by frames, as the fast form would
        with this many boards and the plain form's configuration.
    make_boards : callable
        From a number of boards and a seed.
    make_env : callable
        The same environment as Gymnasium has it.
    configuration : callable
        From ``plain`` or ``fast`` and a seed.
    solved : float or None
        Mean score of greedy episodes from which on it counts as solved.
    """

    boards: int
    plain_boards: int
    make_boards: Callable[[int, int], Boards]
    make_env: Callable[[], gym.Env[Any, Any]]
    configuration: Callable[[str, int], DqnConfig]
    solved: float | None


SYSTEMS = {
    "cartpole": System(
        boards=32,
        plain_boards=32,
        make_boards=CartPoleBoards,
        make_env=lambda: gym.make("CartPole-v1"),
        configuration=lambda form, seed: replace(CARTPOLE, seed=seed),
        solved=475.0,
    ),
    "snake": System(
        boards=snake.BOARDS,
        plain_boards=4,
        make_boards=lambda boards, seed: SnakeBoards(boards, "flood", seed),
        make_env=lambda: Snake("flood"),
        configuration=snake.configuration,
        solved=None,
    ),
}
