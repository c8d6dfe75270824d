"""The algorithms by name, and for each environment by name how each algorithm learns it.

A new algorithm is a configuration, a learner, a command, and a line in :data:`ALGORITHMS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium as gym
import torch

from qstep.deep.config import DqnConfig, PqnConfig
from qstep.deep.dqn import Dqn
from qstep.deep.dqn_plain import PlainDqn
from qstep.deep.learner import Learner
from qstep.deep.network import Envs
from qstep.deep.pqn import Pqn
from qstep.envs import Snake, make_any
from qstep.envs.cartpole_vector import CartPoleVectorEnv
from qstep.envs.snake_rules import Observation
from qstep.envs.snake_vector import SnakeVectorEnv
from qstep.envs.vector import make_vector
from qstep.errors import ConfigError, EnvironmentSpaceError
from qstep.spec.checks import shown
from qstep.spec.epsilon import Epsilon

__all__ = ["ALGORITHMS", "PRESETS", "Algorithm", "Preset", "Settings", "preset_of"]


@dataclass(frozen=True, slots=True)
class Settings:
    """How an algorithm learns an environment.

    Attributes
    ----------
    config : NetworkConfig
        Of the algorithm's kind; its seed is replaced.
    num_envs : int
        Environments stepped at once. Plain DQN has one environment, and learns as often per step as DQN
        on this many would with the same configuration.
    evaluate_every : int
        Training episodes between two evaluations.
    """

    config: Any
    num_envs: int = 32
    evaluate_every: int = 500


@dataclass(frozen=True, slots=True)
class Preset:
    """An environment.

    Attributes
    ----------
    make_envs : callable
        Makes a given number of environments.
    make_env : callable
        Makes the same environment as a Gymnasium environment.
    solved : float or None
        Least mean score of greedy episodes that counts as solved.
    episodes : int or None
        A run ends after this many, unless its steps end first.
    settings : mapping of str to Settings
        Settings per algorithm; an algorithm without any uses :attr:`Algorithm.settings`.
    env_kwargs : mapping
        Arguments of the environment.
    """

    make_envs: Callable[[int], Envs]
    make_env: Callable[[], gym.Env[Any, Any]]
    solved: float | None = None
    episodes: int | None = None
    settings: Mapping[str, Settings] = field(default_factory=dict)
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Algorithm:
    """An algorithm.

    Attributes
    ----------
    name : str
    settings : Settings
        Those for environments that have none of their own.
    make : callable
        Makes a learner from a preset, a configuration, a device and a number of environments.
    """

    name: str
    settings: Settings
    make: Callable[[Preset, Any, torch.device, int], Learner]

    def settings_for(self, preset: Preset, seed: int) -> Settings:
        """Return the settings for an environment, with a seed."""
        settings = preset.settings.get(self.name, self.settings)
        return replace(settings, config=replace(settings.config, seed=seed))


ALGORITHMS = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm(
            "dqn",
            Settings(DqnConfig()),
            lambda preset, config, device, n: Dqn(preset.make_envs(n), config, device),
        ),
        Algorithm(
            "dqn plain",
            Settings(DqnConfig(), evaluate_every=100),
            lambda preset, config, device, n: PlainDqn(preset.make_env(), config, device, n),
        ),
        Algorithm(
            "pqn",
            Settings(PqnConfig()),
            lambda preset, config, device, n: Pqn(preset.make_envs(n), config, device),
        ),
    )
}

_CARTPOLE = DqnConfig(
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
    epsilon=Epsilon(1.0, 0.05, "linear", 0.2, "run"),
)
"""Both forms of DQN: an update of 128 transitions every 8 steps, a target network that follows."""

# For Snake exploration stops completely: a single random move can end a long game.
_SNAKE = DqnConfig(
    total_timesteps=2_000_000,  # about as long as 5,000 episodes with the flood fill
    hidden=(256,),
    variant="target",
    gamma=0.95,
    reward_scale=0.1,
    batch_size=128,
    gradient_steps=16,
    buffer_size=100_000,
    learning_starts=2_048,
    target_update_interval=8,
    tau=1.0,
    learning_rate=1e-3,
    final_learning_rate=1e-4,
    epsilon=Epsilon(1.0, 0.0, "linear", 0.015, "run"),
)
_SNAKE_PQN = PqnConfig(
    total_timesteps=1_000_000,
    hidden=(256,),
    gamma=0.95,
    q_lambda=0.65,
    num_steps=16,
    update_epochs=2,
    num_minibatches=8,
    epsilon=Epsilon(1.0, 0.0, "linear", 0.05, "run"),
)


def _snake(observation: Observation) -> Preset:
    plain = replace(_SNAKE, batch_size=32, gradient_steps=1, target_update_interval=250)
    return Preset(
        make_envs=lambda num_envs: SnakeVectorEnv(num_envs, observation),
        make_env=lambda: Snake(observation),
        episodes=5_000,
        settings={
            "dqn": Settings(_SNAKE, 256),
            "dqn plain": Settings(plain, 4),
            "pqn": Settings(_SNAKE_PQN, 256),
        },
    )


PRESETS = {
    "cartpole": Preset(
        make_envs=CartPoleVectorEnv,
        make_env=lambda: gym.make("CartPole-v1"),
        solved=475.0,
        settings={
            "dqn": Settings(_CARTPOLE, evaluate_every=100),
            "dqn plain": Settings(_CARTPOLE, evaluate_every=10),
            "pqn": Settings(PqnConfig(), evaluate_every=100),
        },
    ),
    "snake": _snake("flood"),
    "snake-features": _snake("features"),
}


def preset_of(
    world: str | gym.Env[Any, Any], env_kwargs: Mapping[str, Any] | None = None
) -> Preset:
    """Return a named preset, or one without settings of its own for any other environment.

    Parameters
    ----------
    world : str or gymnasium.Env
        A key of :data:`PRESETS`, any name that :func:`qstep.envs.make_any` takes, or an environment from
        ``gymnasium.make``, of whose id and arguments copies are made.
    env_kwargs : mapping, optional
        Arguments of the environment, where `world` is a name.

    Raises
    ------
    EnvironmentSpaceError
        The environment is unknown or cannot be made.
    ConfigError
        It takes no such arguments.
    """
    if not isinstance(world, str):
        spec = getattr(world, "spec", None)
        if spec is None or env_kwargs is not None:
            raise EnvironmentSpaceError(
                f"environment is {shown(world)}; it must be a name, or, without env_kwargs, an "
                "environment from gymnasium.make, of which further copies can be made"
            )
        given = {name: value for name, value in spec.kwargs.items() if name != "render_mode"}
        return preset_of(spec.id, given)
    if world in PRESETS:
        if env_kwargs:
            raise ConfigError(f"env_kwargs are {dict(env_kwargs)}; {world} takes none")
        return PRESETS[world]
    spec = (make_vector(world, 1).spec if not env_kwargs else None) or make_any(
        world, None, env_kwargs
    ).spec
    return Preset(
        make_envs=lambda num_envs: make_vector(world, num_envs, env_kwargs),
        make_env=lambda: make_any(world, None, env_kwargs),
        solved=None if spec is None else spec.reward_threshold,
        env_kwargs=dict(env_kwargs or {}),
    )
