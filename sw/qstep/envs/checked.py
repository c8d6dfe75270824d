"""`CheckedEnv`: a wrapper that checks the results of any environment."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Sequence
from typing import Any, NoReturn

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete, Tuple

from qstep.errors import EnvironmentSpaceError
from qstep.spec.checks import shown

__all__ = ["CheckedEnv", "FlatObservation", "checked_action", "flattened"]

_MOST = float(np.finfo(np.float32).max)
"""Maximum magnitude of a reward or an observation, because networks compute in float32."""


def checked_action(action: Any, actions: int) -> int:
    """Return an action as an int; raise EnvironmentSpaceError unless it is an integer in range."""
    try:
        number = operator.index(action)
    except TypeError:
        number = -1
    if not 0 <= number < actions:
        raise EnvironmentSpaceError(
            f"action is {shown(action)}; it must be an integer from 0 to {actions - 1}"
        )
    return number


class CheckedEnv(gym.Wrapper[Any, Any, Any, Any]):
    """A wrapper that checks observations, rewards and flags against the spaces and Gymnasium's rules.

    States and actions of ``Discrete`` spaces are shifted to start at 0. ``Discrete`` observations are
    converted to int, rewards to float, and `terminated` and `truncated` to bool, whether they are Python
    or NumPy objects.

    `name` is the environment's name in error messages. The constructor raises EnvironmentSpaceError if
    the environment has no spaces or its ``reset`` takes no seed. ``reset`` and ``step`` raise it if an
    observation is outside its space or not finite, a reward is not a finite number, `terminated` or
    `truncated` is not a bool, or a result is missing. The message gives the step within the
    episode; the reset is step 0.
    """

    def __init__(self, env: gym.Env[Any, Any], name: str) -> None:
        super().__init__(env)
        self._env_name = name
        self._steps = -1  # within the episode; -1 before the first episode
        for what in ("observation", "action"):
            if not isinstance(getattr(env, f"{what}_space", None), gym.Space):
                self._refuse(f"it has no {what}_space, which must be a space of Gymnasium")
        takes = inspect.signature(env.unwrapped.reset).parameters.values()
        if not any(own.name == "seed" or own.kind is own.VAR_KEYWORD for own in takes):
            self._refuse("its reset takes no seed; it must be reset(*, seed=None, options=None)")
        self._first_state, self._first_action, self._actions = 0, 0, 0
        seen, done = env.observation_space, env.action_space
        self._inner_space = seen
        if isinstance(seen, Discrete):
            self._first_state = int(seen.start)
            self.observation_space = Discrete(seen.n)
        if isinstance(done, Discrete):
            self._first_action, self._actions = int(done.start), int(done.n)
            self.action_space = Discrete(done.n)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; return its first observation and the info."""
        self._steps = 0
        try:
            seen, info = self.env.reset(seed=seed, options=options)
        except (TypeError, ValueError) as cause:
            if "unpack" not in str(cause):
                raise
            self._refuse(f"its reset must return an observation and an info: {cause}", cause)
        return self._observation(seen), self._info(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step; return observation, reward, terminated, truncated and the info."""
        if self._actions:
            action = checked_action(action, self._actions) + self._first_action
        self._steps += 1
        try:
            seen, reward, terminated, truncated, info = self.env.step(action)
        except (TypeError, ValueError) as cause:
            if "unpack" not in str(cause):  # an inner wrapper may also unpack the results
                raise
            self._refuse(
                "its step must return observation, reward, terminated, truncated and info: "
                f"{cause}",
                cause,
            )
        ends = self._flag("terminated", terminated), self._flag("truncated", truncated)
        return self._observation(seen), self._reward(reward), *ends, self._info(info)

    def _refuse(self, why: str, cause: Exception | None = None) -> NoReturn:
        when = f" (step {self._steps} of an episode)" if self._steps >= 0 else ""
        raise EnvironmentSpaceError(f"{self._env_name}: {why}{when}") from cause

    def _observation(self, seen: Any) -> Any:
        space = self._inner_space
        if isinstance(space, Discrete):
            single = seen if type(seen) is int else _single(seen)
            state = single - self._first_state if isinstance(single, int) else -1
            if not 0 <= state < space.n:
                self._refuse(f"its observation is {shown(seen)}; it must be an integer in {space}")
            return state
        if isinstance(space, Box):
            array = np.asarray(seen)
            fits = array.shape == space.shape and array.dtype.kind in "fiub"
            if not fits or (array.size and not np.abs(array).max() <= _MOST):
                self._refuse(
                    f"its observation is {shown(seen)}; it must have shape {space.shape} "
                    "and numbers that are finite in float32"
                )
        return seen

    def _reward(self, given: Any) -> float:
        reward = given if type(given) is float else _single(given)
        if not isinstance(reward, float | int) or not abs(reward) <= _MOST:
            self._refuse(f"its reward is {shown(given)}; it must be a finite number")
        return float(reward)

    def _flag(self, name: str, given: Any) -> bool:
        flag = given if type(given) is bool else _single(given)
        if not isinstance(flag, int) or flag not in (0, 1):  # a bool is an int
            self._refuse(f"its {name} is {shown(given)}; it must be true or false")
        return bool(flag)

    def _info(self, info: Any) -> dict[str, Any]:
        if not isinstance(info, dict):
            self._refuse(f"its info is {shown(info)}; it must be a dictionary")
        return info


class FlatObservation(gym.ObservationWrapper[Any, Any, Any]):
    """A wrapper that combines observations of several small integers into one integer.

    The parts of a ``Tuple`` of ``Discrete`` spaces, or of a one-dimensional ``MultiDiscrete``, are the
    digits of a mixed-radix number, most significant first. Each digit is relative to its space's start.
    ``reset`` and ``step`` raise EnvironmentSpaceError if an observation is outside its space.
    """

    def __init__(self, env: gym.Env[Any, Any], sizes: Sequence[int], starts: Sequence[int]) -> None:
        super().__init__(env)
        self._parts = tuple(zip(sizes, starts, strict=True))
        self.observation_space = Discrete(math.prod(sizes))

    def observation(self, observation: Any) -> int:
        """Return an observation as one integer."""
        try:
            state = 0
            for value, (size, start) in zip(observation, self._parts, strict=True):
                digit = operator.index(_single(value)) - start
                if not 0 <= digit < size:
                    raise ValueError
                state = state * size + digit
        except (TypeError, ValueError) as cause:
            raise EnvironmentSpaceError(
                f"the observation is {shown(observation)}; it must be in {self.env.observation_space}"
            ) from cause
        return state


def flattened(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    """Return `env`, wrapped in a :class:`FlatObservation` if an observation has several integers."""
    space = env.observation_space
    if isinstance(space, Tuple) and all(isinstance(part, Discrete) for part in space):
        return FlatObservation(env, [int(p.n) for p in space], [int(p.start) for p in space])
    if isinstance(space, MultiDiscrete) and space.nvec.ndim == 1:
        return FlatObservation(env, space.nvec.tolist(), space.start.tolist())
    return env


def _single(value: Any) -> Any:
    """Convert a NumPy, PyTorch or similar scalar to a Python number; return other values unchanged."""
    if isinstance(value, int | float):
        return value
    try:
        return value.item()
    except (AttributeError, TypeError, ValueError, RuntimeError):  # not a single number
        return value
