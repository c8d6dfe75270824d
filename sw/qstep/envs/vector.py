"""The base class of compiled vector environments, and helpers for any vector environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Discrete, Space
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from qstep._io.checkpoint import check_parts
from qstep.envs.splitmix import SplitMix64
from qstep.errors import EnvironmentSpaceError, EpisodeError

__all__ = [
    "CompiledVectorEnv",
    "Outcome",
    "check_autoreset",
    "kept_arrays",
    "led_to",
    "restore_arrays",
    "words",
]


class Outcome(NamedTuple):
    """Results of one step of N environments.

    `next_shown` contains the next observations in each form that the kernels write; `reward`,
    `terminated` and `truncated` have shape (N,).
    """

    next_shown: tuple[NDArray[Any], ...]
    reward: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]


def words(seed: int, num_envs: int) -> list[int]:
    """Return the generator words of N environments with the seeds `seed`, `seed` + 1, and so on."""
    return [SplitMix64(seed + i).word for i in range(num_envs)]


def kept_arrays(kernels: Any, arrays: Any) -> dict[str, NDArray[Any]]:
    """Return the arrays that a checkpoint of compiled environments stores: all but scratch arrays."""
    scratch = kernels.SCRATCH
    return {name: array for name, array in arrays._asdict().items() if name not in scratch}


def restore_arrays(
    arrays: Mapping[str, NDArray[Any]], checkpoint: Mapping[str, NDArray[Any]]
) -> None:
    """Copy a checkpoint into `arrays`; raise CheckpointError if it does not fit."""
    check_parts(checkpoint, arrays)
    for name, array in arrays.items():
        array[:] = checkpoint[name]


class CompiledVectorEnv(VectorEnv[NDArray[Any], ArrayLike, NDArray[Any]]):
    """A :class:`gymnasium.vector.VectorEnv` with one call per step and a state that can be saved.

    **Autoreset.** ``AutoresetMode.SAME_STEP``: an environment whose episode ends is reset within the
    same step. The info then contains the final observation and info, as in Gymnasium's
    ``SyncVectorEnv``: ``final_obs`` and ``final_info``, with the masks ``_final_obs`` and
    ``_final_info``; see :func:`~qstep.envs.vector.led_to`.

    **Memory.** Returned arrays belong to the caller: no later call changes them.

    **Kernels.** A module with ``ACTIONS``, the number of actions if they are integers; ``ARRAYS``, the
    named tuple type of the state of N environments; and ``SCRATCH``, the names of its fields that
    checkpoints omit. Most of its functions are compiled. ``restart(arrays, i)`` begins an episode;
    ``observe(arrays, i, shown)`` writes an observation; ``step(arrays, actions, shown, out)`` steps all
    environments, restarts each whose episode ended, and writes `shown` and an :class:`Outcome`.

    Parameters
    ----------
    num_envs : int
        N, 1 or more.
    observation_space : Space
        Observation space of one environment.
    kernels : module
    shown : tuple of ndarray
        The N observations in each form that the kernels write.
    form : int
        Index of the form to return.
    actions : Space, optional
        Action space of one environment, instead of the integers below ``ACTIONS``. A class with such
        a space overrides `_take`.
    """

    metadata = {  # noqa: RUF012 - the form that Gymnasium prescribes
        "render_modes": [],
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        num_envs: int,
        observation_space: Space[Any],
        kernels: Any,
        shown: tuple[NDArray[Any], ...],
        form: int = 0,
        actions: Space[Any] | None = None,
    ) -> None:
        self.num_envs = num_envs
        self.single_observation_space = observation_space
        self.single_action_space = Discrete(kernels.ACTIONS) if actions is None else actions
        self.observation_space = batch_space(observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._kernels, self._arrays = kernels, kernels.ARRAYS.empty(num_envs)
        self._shown, self._form, self._begun = shown, form, False
        self._out = Outcome(
            tuple(array.copy() for array in shown),
            np.zeros(num_envs, np.float32),
            np.zeros(num_envs, np.bool_),
            np.zeros(num_envs, np.bool_),
        )
        self._actions = np.zeros(self.action_space.shape or (), self.action_space.dtype)

    @property
    def observation(self) -> NDArray[Any]:
        """A copy of every environment's current observation."""
        return self._shown[self._form].copy()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Begin an episode in every environment; return the observation and the info.

        Parameters
        ----------
        seed : int, optional
            0..2^64-N; from this call on, environment i draws from the generator with seed ``seed + i``.
            Without a seed, all keep their generators; if no seed was ever given, the operating system
            provides one.
        options : dict, optional
            Not used.

        Raises
        ------
        ConfigError
            The seed is out of range; the call changes nothing.
        """
        if seed is None and not self._begun:
            seed = int(np.random.default_rng().integers(1 << 63))
        if seed is not None:
            drawn = words(seed, self.num_envs)
            super().reset(seed=seed)
            self._arrays.word[:] = drawn
        for i in range(self.num_envs):
            self._kernels.restart(self._arrays, i)
        self._begun = True
        return self._observe_all(), self._info()

    def step(
        self, actions: ArrayLike
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Take one action in each environment.

        Parameters
        ----------
        actions : array_like of int, shape (N,), or of the class's action space

        Returns
        -------
        observation : ndarray
            The first observation of the new episode, if the previous episode has ended.
        reward : ndarray of float32, shape (N,)
        terminated, truncated : ndarray of bool, shape (N,)
            Never both True.
        info : dict

        Raises
        ------
        EnvironmentSpaceError
            The shape, the type or a value of the actions is wrong; the call changes nothing.
        EpisodeError
            No episode has begun.
        """
        if not self._begun:
            raise EpisodeError("no episode has begun; call reset before the first step")
        self._take(np.asarray(actions))
        self._advance()
        next_shown, reward, terminated, truncated = self._out
        info = self._info()
        ended = terminated | truncated
        if ended.any():
            final = np.full(self.num_envs, None, object)
            reached = next_shown[self._form].copy()
            for i in np.flatnonzero(ended):
                final[i] = reached[i]
            info |= {"final_obs": final, "_final_obs": ended}
            info |= {"final_info": self._final_info(ended), "_final_info": ended.copy()}
        return self.observation, reward.copy(), terminated.copy(), truncated.copy(), info

    def checkpoint(self) -> dict[str, NDArray[Any]]:
        """Return copies of everything that the episodes depend on, for :meth:`restore`."""
        return {
            name: array.copy() for name, array in kept_arrays(self._kernels, self._arrays).items()
        }

    def restore(self, checkpoint: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """Continue from a :meth:`checkpoint`, or raise CheckpointError; return the observation."""
        restore_arrays(kept_arrays(self._kernels, self._arrays), checkpoint)
        self._begun = True
        return self._observe_all()

    def _take(self, given: NDArray[Any]) -> None:
        """Write the actions of a step to `_actions`; raise EnvironmentSpaceError if one is illegal."""
        if given.shape != (self.num_envs,) or given.dtype.kind not in "iu":
            raise EnvironmentSpaceError(
                f"actions are {given.dtype} of shape {given.shape}; they must be integers of shape "
                f"{(self.num_envs,)}"
            )
        self._actions[:] = given
        unsigned = self._actions.view(np.uint64)  # negative actions become large
        if unsigned.max() >= self._kernels.ACTIONS:
            bad = np.argmax(unsigned >= self._kernels.ACTIONS)
            raise EnvironmentSpaceError(
                f"action of environment {bad} is {given[bad]}; it must be from 0 to "
                f"{self._kernels.ACTIONS - 1}"
            )

    def _advance(self) -> None:
        """Step with `_actions`, which have been checked."""
        self._kernels.step(self._arrays, self._actions, self._shown, self._out)

    def _info(self) -> dict[str, Any]:
        """Return the current info of all environments."""
        return {}

    def _final_info(self, ended: NDArray[np.bool_]) -> dict[str, Any]:
        """Return the info of the episodes that the last step ended."""
        return {}

    def _observe_all(self) -> NDArray[Any]:
        for i in range(self.num_envs):
            self._kernels.observe(self._arrays, i, self._shown)
        return self.observation


def check_autoreset(envs: VectorEnv[Any, Any, Any]) -> None:
    """Raise EnvironmentSpaceError unless a finished episode is reset within the same step."""
    mode = envs.metadata.get("autoreset_mode")
    if mode is not AutoresetMode.SAME_STEP:
        raise EnvironmentSpaceError(
            f"autoreset_mode of the environments is {mode}; it must be {AutoresetMode.SAME_STEP}"
        )


def led_to(observation: NDArray[Any], info: dict[str, Any]) -> NDArray[Any]:
    """Return the true next observation of each transition, in the shape of `observation`.

    With ``AutoresetMode.SAME_STEP``, if an episode has ended, the step's observation belongs to the new
    episode, and the final observation of the old one is in the info.

    Both arguments must come from the same step; neither is modified.
    """
    if "final_obs" not in info:
        return observation
    ended = info["_final_obs"]
    reached = observation.copy()
    reached[ended] = np.stack(info["final_obs"][ended])
    return reached
