"""What networks learn by name: boards, environment, and what each form is set to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym

from qstep.deep import snake
from qstep.deep.dqn_config import DqnConfig
from qstep.deep.pqn_config import PqnConfig
from qstep.envs import Snake
from qstep.envs.boards import Boards
from qstep.envs.cartpole_boards import CartPoleBoards
from qstep.envs.snake_boards import SnakeBoards
from qstep.envs.snake_rules import Observation
from qstep.learn.schedule import EpsilonSchedule

__all__ = ["SYSTEMS", "System"]

CARTPOLE = DqnConfig(
    frames=400_000,
    hidden=(64, 64),
    variant="double",
    gamma=0.98,
    reward_scale=0.02,  # 1 - gamma: values reach 1
    batch=128,
    updates_per_step=4,
    replay=100_000,
    warm_up=1_000,
    target_every=1,
    target_rate=0.02,
    rate=1e-3,
    last_rate=0.0,
    epsilon=EpsilonSchedule(1.0, 0.05, 0.2),
)
"""Of both forms of DQN: an update of 128 transitions every 8 frames, a target network that follows."""


@dataclass(frozen=True, slots=True)
class System:
    """One environment for both forms of DQN, and for PQN.

    Attributes
    ----------
    boards : int
        Boards of fast DQN and of PQN.
    plain_boards : int
        The plain form has one environment, and learns as often, by frames, as the fast form would
        with this many boards and the plain form's configuration.
    make_boards : callable
        From a number of boards and a seed.
    make_env : callable
        The same environment as Gymnasium has it.
    configuration : callable
        Of DQN, from ``plain`` or ``fast`` and a seed.
    pqn : callable
        What PQN is set to, from a seed.
    episodes : int or None
        After which a run ends, if its frames are not over before.
    evaluate_every : mapping of str to int
        Training episodes between two evaluations, by form.
    solved : float or None
        Mean score of greedy episodes from which on it counts as solved.
    """

    boards: int
    plain_boards: int
    make_boards: Callable[[int, int], Boards]
    make_env: Callable[[], gym.Env[Any, Any]]
    configuration: Callable[[str, int], DqnConfig]
    pqn: Callable[[int], PqnConfig]
    episodes: int | None
    evaluate_every: Mapping[str, int]
    solved: float | None


def _snake(observation: Observation) -> System:
    return System(
        boards=snake.BOARDS,
        plain_boards=4,
        make_boards=lambda boards, seed: SnakeBoards(boards, observation, seed),
        make_env=lambda: Snake(observation),
        configuration=snake.configuration,
        pqn=lambda seed: replace(snake.PQN, seed=seed),
        episodes=snake.EPISODES,
        evaluate_every=dict.fromkeys(("plain", "fast", "pqn"), 500),
        solved=None,
    )


SYSTEMS = {
    "cartpole": System(
        boards=32,
        plain_boards=32,
        make_boards=CartPoleBoards,
        make_env=lambda: gym.make("CartPole-v1"),
        configuration=lambda form, seed: replace(CARTPOLE, seed=seed),
        pqn=lambda seed: PqnConfig(seed=seed),
        episodes=None,
        evaluate_every={"plain": 10, "fast": 100, "pqn": 100},
        solved=475.0,
    ),
    "snake": _snake("flood"),
    "snake-features": _snake("features"),
}
