"""`qstep.dqn` and `qstep.pqn`: learn an environment with a network, in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

import gymnasium as gym

from qstep.deep.algorithms import ALGORITHMS, preset_of
from qstep.deep.result import NetworkResult
from qstep.deep.run import NetworkRun
from qstep.deep.torch_device import choose
from qstep.errors import ConfigError
from qstep.learn.metrics import Metrics
from qstep.learn.run import Progress
from qstep.learn.train import finished
from qstep.mdp.world import name_of
from qstep.spec.checks import check_callable, did_you_mean

__all__ = ["dqn", "network_run", "pqn"]


def network_run(
    env: str | gym.Env[Any, Any],
    algorithm: str,
    torch_device: str,
    *,
    episodes: int | None = None,
    evaluate_every: int | None = None,
    num_envs: int | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    seed: int = 0,
    **settings: Any,
) -> NetworkRun:
    """Return a run; parameters as for :func:`dqn`."""
    preset, kind = preset_of(env, env_kwargs), ALGORITHMS[algorithm]
    own = kind.settings_for(preset, seed)
    names = [field.name for field in fields(own.config)]
    for name in settings:
        if name not in names:
            raise ConfigError(f"{algorithm} has no setting {name!r}.{did_you_mean(name, names)}")
    return NetworkRun(
        name_of(env),
        algorithm,
        replace(own.config, **settings),
        choose(torch_device),
        evaluate_every or own.evaluate_every,
        episodes or preset.episodes,
        num_envs,
        preset,
    )


def dqn(
    env: str | gym.Env[Any, Any],
    *,
    torch_device: str = "cpu",
    progress: Callable[[Progress], object] | None = None,
    metrics: Metrics | None = None,
    **settings: Any,
) -> NetworkResult:
    """Learn an environment with DQN, as ``qstep dqn`` does.

    Parameters
    ----------
    env : str or gymnasium.Env
        A name that ``qstep dqn`` takes, or an environment from ``gymnasium.make``.
    torch_device : str
        ``cpu``, ``cuda``, ``mps`` or ``auto``.
    progress : callable, optional
        Called with a :class:`~qstep.Progress` after every step of the learner.
    metrics : Metrics, optional
    **settings
        `seed`, `episodes`, `evaluate_every`, `num_envs`, `env_kwargs`, and the fields of
        ``qstep.deep.config.DqnConfig``; by default the environment's own.

    Raises
    ------
    ConfigError
        There is no such setting, or a value is out of range.
    EnvironmentSpaceError
        The environment cannot be made, or its spaces do not fit a network.
    """
    return _learned("dqn", env, torch_device, progress, metrics, settings)


def pqn(
    env: str | gym.Env[Any, Any],
    *,
    torch_device: str = "cpu",
    progress: Callable[[Progress], object] | None = None,
    metrics: Metrics | None = None,
    **settings: Any,
) -> NetworkResult:
    """Learn an environment with PQN, as ``qstep pqn`` does; as :func:`dqn`, with `PqnConfig`."""
    return _learned("pqn", env, torch_device, progress, metrics, settings)


def _learned(
    algorithm: str,
    env: str | gym.Env[Any, Any],
    torch_device: str,
    progress: Callable[[Progress], object] | None,
    metrics: Metrics | None,
    settings: dict[str, Any],
) -> NetworkResult:
    for name, given in (("progress", progress), ("metrics", metrics)):
        check_callable(name, given)
    result = finished(network_run(env, algorithm, torch_device, **settings), progress, metrics)
    assert isinstance(result, NetworkResult)
    return result
