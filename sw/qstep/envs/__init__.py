"""Environments with finite, discrete states and actions, made by name."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
from gymnasium.spaces import Discrete
from gymnasium.wrappers import TimeLimit

from qstep.envs.cartpole_table import CartPoleTable
from qstep.envs.checked import CheckedEnv, flattened
from qstep.envs.gridworld import GridWorld
from qstep.envs.maps import MAPS
from qstep.envs.registration import IDS
from qstep.envs.snake import Snake
from qstep.errors import ConfigError, EnvironmentSpaceError
from qstep.spec.agents import CIRCUITS
from qstep.spec.checks import did_you_mean, integer, shown

__all__ = [
    "IDS",
    "MAPS",
    "RENAMED",
    "STEP_CAP",
    "CartPoleTable",
    "GridWorld",
    "Snake",
    "make",
    "make_any",
    "table_size",
]

_UNKNOWN = (gym.error.UnregisteredEnv, gym.error.DeprecatedEnv)

STEP_CAP = 1000
"""Steps after which an episode is truncated if the environment has no limit of its own."""

_WORLD_FILES = "qstep.mdp.table_env"
"""Makes the environment of a world file; worlds are above environments, so it is loaded by name."""

_OURS = frozenset(IDS.values())

_CARTPOLES = ("CartPole-v0", "CartPole-v1")

RENAMED = {"Taxi-v3": "Taxi-v4", "CliffWalking-v0": "CliffWalking-v1"}
"""Ids that newer Gymnasium releases dropped, and the present id of the same task.

The newer versions only change options that are off by default.
"""


def make(
    env_id: str,
    seed: int,
    render_mode: str | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
) -> gym.Env[Any, Any]:
    """Make an environment whose observations and actions are integers counted from 0.

    Parameters
    ----------
    env_id : str
        ``gridworld``, ``gridworld-8x8``, ``gridworld-16x16`` or ``gridworld-32x32``; the path of a
        map file for :class:`GridWorld`, recognised by its ending ``.txt``; ``snake``, which is
        :class:`Snake` with its features as one number; ``cartpole``, which is
        :class:`CartPoleTable` (the short names stand for the :data:`IDS`); the path of a world file,
        ``.npz``; or any Gymnasium id whose observation and action spaces are ``Discrete``, for example
        ``FrozenLake-v1``, or ``module:id`` for one that a module registers, which may be in the current
        folder. Spaces that start at another number are shifted to 0, and results are checked
        (``CheckedEnv``). An environment without a step limit gets
        :data:`STEP_CAP`. Observations that are a ``Tuple`` of ``Discrete`` spaces, as in
        ``Blackjack-v1``, or a ``MultiDiscrete``, become one number
        (``qstep.envs.checked.FlatObservation``). The ids in :data:`RENAMED` work even if Gymnasium
        has dropped them.
    seed : int
        Seed of the first reset, 0 or more.
    render_mode : str, optional
        One of the environment's ``metadata["render_modes"]``, such as ``ansi``.
    env_kwargs : mapping, optional
        Further arguments of :func:`gymnasium.make`, such as ``{"is_slippery": False}``.

    Raises
    ------
    ConfigError
        The seed is not an integer, or is negative; a render mode or an argument is refused.
    EnvironmentSpaceError
        The environment is unknown, cannot be made, or a space is not ``Discrete``; the message
        names the space.
    WorldError, FileFormatError
        A map is malformed, or its file cannot be read.
    """
    seed = integer("seed", seed, 0)
    env = flattened(make_any(env_id, render_mode, env_kwargs))
    for what, space in (("observation", env.observation_space), ("action", env.action_space)):
        if not isinstance(space, Discrete):
            env.close()
            raise EnvironmentSpaceError(
                f"{env_id}: the {what} space is {space}; a table needs a Discrete one"
                + ("; cartpole is the same task, cut into cells" if env_id in _CARTPOLES else "")
            )
    env.reset(seed=seed)
    return env


def table_size(env: gym.Env[Any, Any]) -> tuple[int, int]:
    """Return the numbers of states and of actions of an environment from :func:`make`."""
    states, actions = env.observation_space, env.action_space
    assert isinstance(states, Discrete)
    assert isinstance(actions, Discrete)
    return int(states.n), int(actions.n)


def make_any(
    env_id: str, render_mode: str | None = None, env_kwargs: Mapping[str, Any] | None = None
) -> gym.Env[Any, Any]:
    """Make an environment like :func:`make`, with any spaces, and do not reset it.

    Raises
    ------
    EnvironmentSpaceError
        The environment is unknown or cannot be made.
    ConfigError, WorldError, FileFormatError
        As for :func:`make`.
    """
    if not isinstance(env_id, str):
        raise EnvironmentSpaceError(
            f"environment is {shown(env_id)}; it must be the name of one, not an object"
        )
    if env_kwargs is not None and not (
        isinstance(env_kwargs, Mapping) and all(isinstance(name, str) for name in env_kwargs)
    ):
        raise ConfigError(
            f"env_kwargs is {shown(env_kwargs)}; it must be a mapping of names to values"
        )
    kind = Path(env_id).suffix.lower()
    if env_kwargs and kind in (".txt", ".npz"):
        raise ConfigError(
            f"env_kwargs are {dict(env_kwargs)}; {env_id} is a file, which takes none"
        )
    if kind == ".txt":
        return GridWorld.from_file(env_id, render_mode)
    if kind == ".npz":
        if render_mode is not None:
            raise ConfigError(f"render_mode is {render_mode!r}; a world file has none")
        env: gym.Env[Any, Any] = importlib.import_module(_WORLD_FILES).from_file(env_id, STEP_CAP)
        return env
    if env_id.endswith(CIRCUITS):
        raise EnvironmentSpaceError(
            f"{env_id} is a circuit, in which only the agents of its device can act; train it with "
            "qstep train and the --config of that device"
        )
    if ":" in env_id:
        _import_module(env_id)
    options = dict(env_kwargs or {})
    if render_mode is not None:
        options["render_mode"] = render_mode
    if env_id == "snake":
        if "observation" in options:
            raise ConfigError(
                f"env_kwargs are {options}; snake has its own observation, a number for a table"
            )
        options["observation"] = "state"
    name = env_id
    if env_id not in gym.registry:
        env_id = IDS.get(env_id, RENAMED.get(env_id, env_id))
    try:
        env = gym.make(env_id, disable_env_checker=True, **options)
    except Exception as cause:  # its constructor may raise anything
        if not isinstance(cause, _UNKNOWN) and type(cause) is not gym.error.Error:
            why = f"{type(cause).__name__}: {cause}"
            raise EnvironmentSpaceError(f"{name}: cannot be made: {why}") from cause
        known, own_id = (*IDS, *RENAMED, *gym.registry), name.rpartition(":")[2]
        raise EnvironmentSpaceError(
            f"{name}: no such environment.{did_you_mean(own_id, known)} Give a Gymnasium id, "
            "module:id for one that a module registers, the path of a map (.txt) or of a "
            f"world file (.npz), or one of {', '.join(IDS)}."
        ) from cause
    if env_id in _OURS:
        return env.unwrapped  # these check their actions and end their episodes themselves
    limited = env.spec is not None and env.spec.max_episode_steps is not None
    return CheckedEnv(env if limited else TimeLimit(env, STEP_CAP), name)


def _import_module(env_id: str) -> None:
    """Import the module of ``module:id``, also from the current folder, as ``python -m`` does.

    The folder is only searched, and stays on the path, if the module is not found elsewhere.
    """
    module = env_id.partition(":")[0]
    try:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as missing:
            here = os.getcwd()
            if missing.name != module.partition(".")[0] or here in sys.path:
                raise
            sys.path.append(here)
            importlib.import_module(module)
    except Exception as cause:  # the module runs, and may raise anything
        raise EnvironmentSpaceError(
            f"{env_id}: module {module!r} cannot be imported: {cause}"
        ) from cause
