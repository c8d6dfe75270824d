"""Environments with finite, discrete states and actions, made by name."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import VectorEnv
from gymnasium.wrappers import TimeLimit

from qstep.envs.cartpole_table import CartPoleTable
from qstep.envs.catalogue import ENVIRONMENTS, NAMED, UNNAMED, Environment, record_of
from qstep.envs.checked import CheckedEnv, flattened
from qstep.envs.gridworld import GridWorld
from qstep.envs.maps import MAPS
from qstep.envs.repeatable import RepeatableVectorEnv
from qstep.envs.snake import Snake
from qstep.errors import ConfigError, EnvironmentSpaceError
from qstep.spec.agents import CIRCUITS, module_hint
from qstep.spec.checks import did_you_mean, integer, shown

__all__ = [
    "ENVIRONMENTS",
    "LIMIT",
    "MAPS",
    "STEP_CAP",
    "CartPoleTable",
    "Environment",
    "GridWorld",
    "Snake",
    "make",
    "make_any",
    "make_vector",
    "merged",
    "table_size",
]

STEP_CAP = 1000
"""Number of steps after which an episode is truncated if the environment sets no step limit."""

LIMIT = "max_episode_steps"
"""Name of the argument that sets the step limit of any environment."""


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
        map file (``.txt``) for :class:`GridWorld`; ``snake``, which is :class:`Snake` with its features
        as one number; ``cartpole``, which is :class:`CartPoleTable`; the path of a world file
        (``.npz``); any Gymnasium id whose observation and action spaces are ``Discrete``, for example
        ``FrozenLake-v1``; or ``module:id`` for an id that a module registers. The module may be in the
        current folder. A short name and its id in :data:`ENVIRONMENTS` name the same environment, and
        ids that Gymnasium has dropped still work. Spaces that do not start at 0 are shifted to start
        there, and results are checked (``CheckedEnv``). The step limit of an environment without one is
        :data:`STEP_CAP`. Observations in a ``Tuple`` of ``Discrete`` spaces, as in ``Blackjack-v1``, or
        in a ``MultiDiscrete``, are combined into one number (``qstep.envs.checked.FlatObservation``).
    seed : int
        Seed of the first reset, 0 or more.
    render_mode : str, optional
        One of the environment's ``metadata["render_modes"]``, such as ``ansi``.
    env_kwargs : mapping, optional
        Further arguments for :func:`gymnasium.make`, such as ``{"is_slippery": False}`` or
        ``{"max_episode_steps": 50}``.

    Raises
    ------
    ConfigError
        The seed is not a non-negative integer, or the render mode or an argument is not accepted.
    EnvironmentSpaceError
        The environment is unknown or cannot be made, or a space is not ``Discrete``. In the last case,
        the message names the space.
    WorldError, FileFormatError
        A map is malformed, or its file cannot be read.
    """
    seed = integer("seed", seed, 0)
    record = record_of(env_id)
    if record is not None and record.table:
        env_kwargs = merged(env_id, record.table, env_kwargs)
    env = flattened(make_any(env_id, render_mode, env_kwargs))
    for what, space in (("observation", env.observation_space), ("action", env.action_space)):
        if not isinstance(space, Discrete):
            env.close()
            other = ""
            if isinstance(env.action_space, Box):
                other = f"; train a network on it: qstep sac {env_id}"
            elif record is not None and record.table is None and record.networks:
                other = f"; use {', '.join(record.networks)}"
            elif what == "observation" and isinstance(space, Box) and len(space.shape) == 1:
                other = (
                    f"; for a one-dimensional Box, use tile coding: qstep train {env_id} --tiles 8, or "
                    "tiles=8 in qstep.train; sweep, advise and live cannot learn such a world"
                )
            raise EnvironmentSpaceError(
                f"{env_id}: the {what} space is {space}; a table needs a Discrete one{other}"
            )
    env.reset(seed=seed)
    return env


def table_size(env: gym.Env[Any, Any]) -> tuple[int, int]:
    """Return the numbers of states and actions of an environment from :func:`make`."""
    states, actions = env.observation_space, env.action_space
    assert isinstance(states, Discrete)
    assert isinstance(actions, Discrete)
    return int(states.n), int(actions.n)


def make_any(
    env_id: str, render_mode: str | None = None, env_kwargs: Mapping[str, Any] | None = None
) -> gym.Env[Any, Any]:
    """Make an environment as :func:`make` does, but with any spaces and without resetting it.

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
    options = merged(env_id, {}, env_kwargs)
    kind = Path(env_id).suffix.lower()
    if options and kind in (".txt", ".npz"):
        raise ConfigError(f"env_kwargs are {options}; {env_id} is a file, which takes none")
    if kind == ".txt":
        return GridWorld.from_file(env_id, render_mode)
    if kind == ".npz":
        if render_mode is not None:
            raise ConfigError(f"render_mode is {render_mode!r}; a world file has none")
        table_env = importlib.import_module("qstep.mdp.table_env")  # avoids a circular import
        env: gym.Env[Any, Any] = table_env.from_file(env_id, STEP_CAP)
        return env
    if env_id.endswith(CIRCUITS):
        raise EnvironmentSpaceError(
            f"{env_id} is a circuit, in which only the agents of its device can act; train it "
            f"with qstep train and the --config of that device{module_hint(env_id)}"
        )
    if ":" in env_id:
        _import_module(env_id)
    if render_mode is not None:
        options["render_mode"] = render_mode
    if env_id == UNNAMED:
        raise EnvironmentSpaceError(
            "this result was learned in a world made in Python, which is not stored with it; pass an "
            "environment to evaluate(), or save the world (world.save('mine.npz')) and train on the file"
        )
    record, spec, name = record_of(env_id), gym.registry.get(env_id), env_id
    if record is not None and (spec is None or spec.entry_point is None):
        env_id = record.id
    try:
        env = gym.make(env_id, disable_env_checker=True, **options)
    except Exception as cause:  # the constructor may raise any exception
        raise _refusal(name, env_id, options, cause) from cause
    if record is not None and record.entry_point:
        # QStep's environments check actions and end episodes themselves.
        return env if LIMIT in options else env.unwrapped
    return CheckedEnv(limited(env), name)


def limited(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    """Return `env`, truncated after `STEP_CAP` steps unless it already has a step limit."""
    layer = env
    while not isinstance(layer, TimeLimit | GridWorld | Snake | CartPoleTable):
        if not isinstance(layer, gym.Wrapper):
            return TimeLimit(env, STEP_CAP)
        layer = layer.env
    return env


def make_vector(
    env_id: str, num_envs: int, env_kwargs: Mapping[str, Any] | None = None
) -> VectorEnv[Any, Any, Any]:
    """Make N environments, each reset within the step that ends its episode.

    QStep's environments with a compiled version all step in one call; others step one at a time.

    Parameters
    ----------
    env_id : str
        As for :func:`make_any`.
    num_envs : int
        1 or more.
    env_kwargs : mapping, optional
        As for :func:`make_any`.

    Raises
    ------
    ConfigError
        `num_envs` is out of range.
    EnvironmentSpaceError
        The environment is unknown or cannot be made, or its copies have different spaces.
    """
    num_envs = integer("num_envs", num_envs, 1)
    record = record_of(env_id)
    if record is not None and record.vector_entry_point:
        vector_id = record.vector_id or record.id
        taken = _arguments(record.vector_entry_point) or ()
        if env_id in (record.name, vector_id) and set(env_kwargs or ()).issubset(taken):
            return gym.make_vec(vector_id, num_envs, **(env_kwargs or {}))
    made = [make_any(env_id, None, env_kwargs) for _ in range(num_envs)]
    for what in ("observation_space", "action_space"):
        first, *others = (getattr(env, what) for env in made)
        for other in others:
            if other != first:
                raise EnvironmentSpaceError(
                    f"{env_id}: its {what} is {first} in one copy and {other} in another; they must be "
                    "equal"
                )
    return RepeatableVectorEnv(made)


def merged(name: str, fixed: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Merge fixed and given arguments of an environment; raise ConfigError if they conflict."""
    if given is None:
        given = {}
    if not (isinstance(given, Mapping) and all(isinstance(key, str) for key in given)):
        raise ConfigError(f"env_kwargs is {shown(given)}; it must be a mapping of names to values")
    for argument, value in fixed.items():
        own = given.get(argument, value)
        if own != value:
            raise ConfigError(f"{argument} is {shown(own)}; {name} needs {value!r}")
    return {**given, **fixed}


def _arguments(entry_point: Any) -> list[str] | None:
    """Return the names of an environment's arguments, or None if it accepts arbitrary keywords."""
    make_it = load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point
    own = inspect.signature(make_it).parameters.values()
    return None if any(one.kind is one.VAR_KEYWORD for one in own) else [one.name for one in own]


def _refusal(
    name: str, env_id: str, options: Mapping[str, Any], cause: Exception
) -> ConfigError | EnvironmentSpaceError:
    """Return the error for an environment that cannot be made."""
    unknown = (gym.error.UnregisteredEnv, gym.error.DeprecatedEnv)
    if isinstance(cause, unknown) or type(cause) is gym.error.Error:
        question = did_you_mean(name.rpartition(":")[2], (*NAMED, *gym.registry))
        return EnvironmentSpaceError(
            f"{name}: no such environment.{question} Give a Gymnasium id, module:id for one that your "
            "own module.py registers, the path of a map (.txt) or of a world file (.npz), or one of "
            f"{', '.join(record.name for record in ENVIRONMENTS if record.name)}."
        )
    taken = _arguments(gym.spec(env_id).entry_point) if isinstance(cause, TypeError) else None
    if taken is not None:
        taken.append(LIMIT)
        for argument in options:
            if argument not in taken:
                return ConfigError(
                    f"{name} takes no argument {argument!r}.{did_you_mean(argument, taken)} It takes "
                    f"{', '.join(taken)}."
                )
    return EnvironmentSpaceError(f"{name}: cannot be made: {type(cause).__name__}: {cause}")


def _import_module(env_id: str) -> None:
    """Import the module of ``module:id``, also from the current folder, as ``python -m`` does.

    The current folder is added to the path only if the module is not found elsewhere.
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
    except Exception as cause:  # importing runs the module, which may raise any exception
        raise EnvironmentSpaceError(
            f"{env_id}: module {module!r} cannot be imported: {cause}"
        ) from cause
