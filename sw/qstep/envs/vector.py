"""`VectorEnv`: what every learner with a network asks of N environments that are stepped at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["VectorEnv", "VectorStep"]


class VectorStep(NamedTuple):
    """What one step of N environments gave. Every array is overwritten by the next step.

    Attributes
    ----------
    next_observation : ndarray of float32, shape (N, inputs), or of int32, shape (N,)
        What the step led to, at the end of an episode too: it belongs to the transition.
    reward : ndarray of float32, shape (N,)
    terminated : ndarray of bool, shape (N,)
        The next state has no value.
    truncated : ndarray of bool, shape (N,)
        The episode was cut off, and its next state has a value. Never both.
    score : ndarray of int32, shape (N,)
        What the episode that the step belongs to is judged by, so far.
    """

    next_observation: NDArray[Any]
    reward: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    score: NDArray[np.int32]


class VectorEnv(Protocol):
    """N environments of one environment.

    **Autoreset.** An environment whose episode ends is reset within the same step. The step's
    ``next_observation`` is still what the last move led to; :attr:`observation`, on which the next
    action is chosen, is that of the new episode.

    **Memory.** A step returns the same arrays each time. Only the observation that was acted on is
    spared until the next step, so that the transition (observation, action, reward,
    next_observation, terminated) can be stored once its step is done.
    """

    @property
    def num_envs(self) -> int:
        """N, 1 or more."""

    @property
    def inputs(self) -> int:
        """Numbers of an observation, 1 or more; 0 where it is an index into a table."""

    @property
    def actions(self) -> int:
        """Actions, counted from 0."""

    @property
    def observation(self) -> NDArray[Any]:
        """What every environment shows now: float32 of shape (N, inputs), or int32 of shape (N,)."""

    def reset(self, seed: int) -> NDArray[Any]:
        """Start over as new environments with that seed would; return the observation."""

    def step(self, actions: ArrayLike) -> VectorStep:
        """Take one action an environment, integers of shape (N,).

        Raises
        ------
        EnvironmentSpaceError
            Shape, type or a value is wrong; then nothing has moved.
        """

    def checkpoint(self) -> dict[str, NDArray[Any]]:
        """Return copies of all that the environments depend on, generators included."""

    def restore(self, checkpoint: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """Go on from a :meth:`checkpoint`; return the observation.

        Raises
        ------
        EnvironmentSpaceError
            The checkpoint is not of such environments; then nothing has changed.
        """
