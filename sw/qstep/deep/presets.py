"""Presets for environments by name: how many run at once, and the settings of each form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym

from qstep.deep import snake
from qstep.deep.dqn_config import DqnConfig
from qstep.deep.learner import Envs
from qstep.deep.pqn_config import PqnConfig
from qstep.envs import Snake, make_any
from qstep.envs.cartpole_vector import CartPoleVectorEnv
from qstep.envs.snake_rules import Observation
from qstep.envs.snake_vector import SnakeVectorEnv
from qstep.envs.vector import make_vector
from qstep.spec.epsilon import EpsilonSchedule

__all__ = ["PRESETS", "Preset", "preset_of"]

CARTPOLE = DqnConfig(
    total_timesteps=400_000,
    hidden=(64, 64),
    variant="double",
    gamma=0.98,
    reward_scale=0.02,  # 1 - gamma: values reach 1
    batch_size=128,
    gradient_steps=4,
    buffer_size=100_000,
    learning_starts=1_000,
    target_update_interval=1,
    tau=0.02,
    learning_rate=1e-3,
    final_learning_rate=0.0,
    epsilon=EpsilonSchedule(1.0, 0.05, 0.2),
)
"""Both forms of DQN: an update of 128 transitions every 8 steps, a target network that follows."""


@dataclass(frozen=True, slots=True)
class Preset:
    """One environment for both forms of DQN, and for PQN.

    Attributes
    ----------
    num_envs : int
        Environments of fast DQN and of PQN.
    plain_num_envs : int
        The plain form has one environment, and learns as often per step as the fast form would with
        this many environments and the plain form's configuration.
    make_envs : callable
        Makes a given number of environments.
    make_env : callable
        Makes the same environment as a Gymnasium environment.
    configuration : callable
        Makes DQN's, from ``plain`` or ``fast`` and a seed.
    pqn : callable
        Makes PQN's, from a seed.
    episodes : int or None
        A run ends after this many, unless its steps end first.
    evaluate_every : mapping of str to int
        Training episodes between two evaluations, by form.
    solved : float or None
        Least mean score of greedy episodes that counts as solved.
    """

    num_envs: int
    plain_num_envs: int
    make_envs: Callable[[int], Envs]
    make_env: Callable[[], gym.Env[Any, Any]]
    configuration: Callable[[str, int], DqnConfig]
    pqn: Callable[[int], PqnConfig]
    episodes: int | None
    evaluate_every: Mapping[str, int]
    solved: float | None


def _snake(observation: Observation) -> Preset:
    return Preset(
        num_envs=snake.NUM_ENVS,
        plain_num_envs=4,
        make_envs=lambda num_envs: SnakeVectorEnv(num_envs, observation),
        make_env=lambda: Snake(observation),
        configuration=snake.configuration,
        pqn=lambda seed: replace(snake.PQN, seed=seed),
        episodes=snake.EPISODES,
        evaluate_every=dict.fromkeys(("plain", "fast", "pqn"), 500),
        solved=None,
    )


PRESETS = {
    "cartpole": Preset(
        num_envs=32,
        plain_num_envs=32,
        make_envs=CartPoleVectorEnv,
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


def preset_of(name: str) -> Preset:
    """Return a named preset, or one with the configurations' defaults for any other environment.

    Parameters
    ----------
    name : str
        A key of :data:`PRESETS`, or any name that :func:`qstep.envs.make_any` takes.

    Raises
    ------
    EnvironmentSpaceError
        The environment is unknown or cannot be made.
    """
    if name in PRESETS:
        return PRESETS[name]
    spec = make_vector(name, 1).spec or make_any(name).spec
    return Preset(
        num_envs=32,
        plain_num_envs=32,
        make_envs=lambda num_envs: make_vector(name, num_envs),
        make_env=lambda: make_any(name),
        configuration=lambda form, seed: DqnConfig(seed=seed),
        pqn=lambda seed: PqnConfig(seed=seed),
        episodes=None,
        evaluate_every={"plain": 100, "fast": 500, "pqn": 500},
        solved=None if spec is None else spec.reward_threshold,
    )
