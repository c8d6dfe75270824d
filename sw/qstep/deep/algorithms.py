"""The algorithms by name, and their training settings for each environment.

A new algorithm needs a configuration, a learner, a command, and an entry in :data:`ALGORITHMS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium as gym
import torch

from qstep.deep.config import DqnConfig, PqnConfig, SacConfig
from qstep.deep.dqn import Dqn
from qstep.deep.dqn_plain import PlainDqn
from qstep.deep.learner import Learner
from qstep.deep.network import Envs
from qstep.deep.pqn import Pqn
from qstep.deep.sac import Sac
from qstep.envs import make_any, make_vector, merged
from qstep.envs.catalogue import NETWORKS
from qstep.errors import EnvironmentSpaceError
from qstep.spec.checks import shown

__all__ = ["ALGORITHMS", "Algorithm", "Preset", "Settings", "preset_of"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings for training an algorithm on an environment.

    `config` is an instance of the algorithm's configuration class; its seed is replaced by the run's.
    `num_envs` environments are stepped in parallel, and the network is evaluated every
    `evaluate_every` training episodes. Plain DQN steps one environment, but makes as many updates per
    step.
    """

    config: Any
    num_envs: int = 32
    evaluate_every: int = 500


@dataclass(frozen=True, slots=True)
class Preset:
    """An environment and its settings by algorithm; other algorithms use their default settings.

    `make_env` accepts a `render_mode`, None by default. `solved` is the lowest mean score of greedy
    episodes that counts as solved. A run ends after `episodes`, unless it reaches its step limit first.
    """

    make_envs: Callable[[int], Envs]
    make_env: Callable[..., gym.Env[Any, Any]]
    solved: float | None = None
    episodes: int | None = None
    settings: Mapping[str, Settings] = field(default_factory=dict)
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Algorithm:
    """An algorithm: its name, its default settings, and a function that creates a learner.

    The arguments of `make` are a preset, a configuration, a device and a number of environments.
    """

    name: str
    settings: Settings
    make: Callable[[Preset, Any, torch.device, int], Learner]

    def settings_for(self, preset: Preset, seed: int) -> Settings:
        """Return the settings for an environment, with the given seed."""
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
        Algorithm(
            "sac",
            Settings(SacConfig(), num_envs=1, evaluate_every=20),
            lambda preset, config, device, n: Sac(preset.make_envs(n), config, device),
        ),
    )
}


def _settings(algorithm: str, own: Mapping[str, Any]) -> Settings:
    """Return an algorithm's default settings, changed as in an environment's catalogue record."""
    usual = ALGORITHMS[algorithm].settings
    run = {name: own[name] for name in ("num_envs", "evaluate_every") if name in own}
    changes = {name: value for name, value in own.items() if name not in run}
    return replace(usual, config=replace(usual.config, **changes), **run)


def preset_of(
    world: str | gym.Env[Any, Any], env_kwargs: Mapping[str, Any] | None = None
) -> Preset:
    """Return an environment's preset, with the network settings of its catalogue record, if any.

    `world` is a key of :data:`qstep.envs.catalogue.NETWORKS`, any name that :func:`qstep.envs.make_any`
    accepts, or an environment from ``gymnasium.make``, which is recreated from its id and arguments.
    `env_kwargs` are the arguments of an environment given by name. Raises EnvironmentSpaceError or
    ConfigError if the environment cannot be made.
    """
    if not isinstance(world, str):
        spec = getattr(world, "spec", None)
        if spec is None or env_kwargs is not None:
            raise EnvironmentSpaceError(
                f"environment is {shown(world)}; it must be a name, or, without env_kwargs, an "
                "environment that gymnasium.make can create again"
            )
        given = {name: value for name, value in spec.kwargs.items() if name != "render_mode"}
        return preset_of(spec.id, given)
    record = NETWORKS.get(world)
    env_id, vector_id, kwargs, settings = world, world, env_kwargs, {}
    if record is not None:
        env_id, vector_id = record.id, record.vector_id or record.id
        kwargs = merged(world, record.networks[world], env_kwargs)
        settings = {name: _settings(name, own) for name, own in record.network_settings.items()}
    spec = make_any(env_id, None, kwargs).spec
    return Preset(
        make_envs=lambda num_envs: make_vector(vector_id, num_envs, kwargs),
        make_env=lambda render_mode=None: make_any(env_id, render_mode, kwargs),
        solved=None if spec is None else spec.reward_threshold,
        episodes=None if record is None else record.network_episodes,
        settings=settings,
        env_kwargs=dict(env_kwargs or {}),
    )
