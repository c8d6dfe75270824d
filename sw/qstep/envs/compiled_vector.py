"""`CompiledVectorEnv`: the base of vector environments whose step is one compiled call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, Space
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from qstep.envs.vector import check_action, checked_actions, restore_arrays, words
from qstep.errors import EpisodeError

__all__ = ["CompiledVectorEnv"]


class CompiledVectorEnv(VectorEnv[NDArray[Any], ArrayLike, NDArray[Any]], ABC):
    """A :class:`gymnasium.vector.VectorEnv` without its kernels.

    **Autoreset.** ``AutoresetMode.SAME_STEP``: an environment whose episode ends is reset within the
    same step. The info then has the outcome of the last action, as with Gymnasium's ``SyncVectorEnv``:
    ``final_obs`` and ``final_info``, with the masks ``_final_obs`` and ``_final_info``; see
    :func:`~qstep.envs.vector.led_to`.

    **Memory.** Returned arrays belong to the caller: no later call changes them.

    Parameters
    ----------
    num_envs : int
        N.
    observation_space : Space
        Observation space of one environment.
    actions : int
        Number of actions of one environment.
    arrays : NamedTuple of ndarray
        The state of the N environments; its ``word`` has their generators.
    """

    metadata = {  # noqa: RUF012 - the form that Gymnasium prescribes
        "render_modes": [],
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self, num_envs: int, observation_space: Space[Any], actions: int, arrays: Any
    ) -> None:
        self.num_envs = num_envs
        self.single_observation_space = observation_space
        self.single_action_space = Discrete(actions)
        self.observation_space = batch_space(observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._arrays, self._begun = arrays, False
        self._choices = actions
        self._actions = np.zeros(num_envs, np.int64)

    @property
    def observation(self) -> NDArray[Any]:
        """The present observation of every environment, as a copy."""
        return self._shown().copy()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Begin an episode in every environment; return the observation and the info.

        Parameters
        ----------
        seed : int, optional
            0..2^64-N: from now on, environment i draws from generator ``seed + i``. Without a seed,
            all keep their generators; if there never was one, the operating system provides it.
        options : dict, optional
            Not used.

        Raises
        ------
        ConfigError
            The seed is out of range; nothing is changed.
        """
        if seed is None and not self._begun:
            seed = int(np.random.default_rng().integers(1 << 63))
        if seed is not None:
            drawn = words(seed, self.num_envs)
            super().reset(seed=seed)
            self._arrays.word[:] = drawn
        for i in range(self.num_envs):
            self._restart(i)
        self._begun = True
        return self._observe_all(), self._info()

    def step(
        self, actions: ArrayLike
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Take one action in each environment.

        Parameters
        ----------
        actions : array_like of int, shape (N,)

        Returns
        -------
        observation : ndarray
            That of the new episode if one has ended.
        reward : ndarray of float32, shape (N,)
        terminated, truncated : ndarray of bool, shape (N,)
            Never both.
        info : dict

        Raises
        ------
        EnvironmentSpaceError
            Shape, type or a value is wrong; nothing is changed.
        EpisodeError
            No episode has begun.
        """
        if not self._begun:
            raise EpisodeError("no episode has begun; call reset before the first step")
        given = checked_actions(actions, self.num_envs)
        self._actions[:] = given
        check_action(self._advance(), given, self._choices)
        led_to, reward, terminated, truncated = (array.copy() for array in self._outcome())
        info = self._info()
        ended = terminated | truncated
        if ended.any():
            final = np.full(self.num_envs, None, object)
            for i in np.flatnonzero(ended):
                final[i] = led_to[i]
            info |= {"final_obs": final, "_final_obs": ended}
            info |= {"final_info": self._final_info(ended), "_final_info": ended.copy()}
        return self.observation, reward, terminated, truncated, info

    def checkpoint(self) -> dict[str, NDArray[Any]]:
        """Return copies of everything that the episodes depend on, for :meth:`restore`."""
        return {name: array.copy() for name, array in self._kept().items()}

    def restore(self, checkpoint: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """Continue from a :meth:`checkpoint`; return the observation.

        Raises
        ------
        CheckpointError
            An array is missing, or has another number of environments or another type; nothing is
            changed.
        """
        restore_arrays(self._kept(), checkpoint)
        self._begun = True
        return self._observe_all()

    @abstractmethod
    def _restart(self, index: int) -> None:
        """Begin an episode in one environment."""

    @abstractmethod
    def _observe(self, index: int) -> None:
        """Write the present observation of one environment."""

    @abstractmethod
    def _shown(self) -> NDArray[Any]:
        """Return the present observations themselves, not copies."""

    @abstractmethod
    def _advance(self) -> int:
        """Step by `_actions` and return -1; if an action is illegal, only return its environment."""

    @abstractmethod
    def _outcome(self) -> tuple[NDArray[Any], ...]:
        """Return the last step's outcome, rewards, terminated and truncated themselves, not copies."""

    def _info(self) -> dict[str, Any]:
        """Return the present info of all environments."""
        return {}

    def _final_info(self, ended: NDArray[np.bool_]) -> dict[str, Any]:
        """Return the info of the episodes that the last step ended."""
        return {}

    def _kept(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a checkpoint."""
        kept: dict[str, NDArray[Any]] = self._arrays._asdict()
        return kept

    def _observe_all(self) -> NDArray[Any]:
        for i in range(self.num_envs):
            self._observe(i)
        return self.observation
