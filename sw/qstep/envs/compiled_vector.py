"""`CompiledVectorEnv`: what vector environments have in common whose step is one compiled call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qstep.envs.vector import VectorStep
from qstep.envs.vector_checks import check_action, checked_actions, restore_arrays, words

__all__ = ["CompiledVectorEnv", "Seen"]

Seen: TypeAlias = tuple[NDArray[Any], ...]
"""Arrays that a kernel writes the observations of N environments to."""


class CompiledVectorEnv(ABC):
    """A :class:`~qstep.envs.vector.VectorEnv` but for its kernels.

    Parameters
    ----------
    arrays : NamedTuple of ndarray
        What the N environments are in; its ``word`` has their generators.
    seen : (Seen, Seen)
        The observation that was acted on is kept in one of them while the other one is written.
    step : VectorStep
        What every step returns.
    seed : int
        0..2^64-N.

    Raises
    ------
    EnvironmentSpaceError
        The seed is out of its range.
    """

    actions: ClassVar[int]
    """Actions an environment can take."""

    def __init__(self, arrays: Any, seen: tuple[Seen, Seen], step: VectorStep, seed: int) -> None:
        self._arrays, self._seen, self._step = arrays, seen, step
        self._actions = np.zeros(len(arrays.word), np.int64)
        self.reset(seed)

    @property
    def num_envs(self) -> int:
        """N."""
        return len(self._actions)

    @property
    @abstractmethod
    def observation(self) -> NDArray[Any]:
        """What every environment shows now, to choose the next actions on."""

    def reset(self, seed: int) -> NDArray[Any]:
        """Start over as new environments with that seed would; return the observation."""
        self._arrays.word[:] = words(seed, self.num_envs)
        for i in range(self.num_envs):
            self._restart(i)
        return self._observe_all()

    def step(self, actions: ArrayLike) -> VectorStep:
        """Take one action an environment, integers of shape (N,).

        Raises
        ------
        EnvironmentSpaceError
            Shape, type or a value is wrong; then nothing has moved.
        """
        given = checked_actions(actions, self.num_envs)
        self._actions[:] = given
        check_action(self._advance(), given, self.actions)
        self._seen = self._seen[::-1]
        return self._step

    def checkpoint(self) -> dict[str, NDArray[Any]]:
        """Return copies of all that the episodes depend on, for :meth:`restore`."""
        return {name: array.copy() for name, array in self._kept().items()}

    def restore(self, checkpoint: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """Go on from a :meth:`checkpoint`; return the observation.

        Raises
        ------
        EnvironmentSpaceError
            An array is missing, or is of another number of environments or another type; then nothing
            has changed.
        """
        restore_arrays(self._kept(), checkpoint)
        return self._observe_all()

    @abstractmethod
    def _restart(self, index: int) -> None:
        """Begin an episode in one environment."""

    @abstractmethod
    def _observe(self, index: int) -> None:
        """Write what one environment shows now to the first of the two observations."""

    @abstractmethod
    def _advance(self) -> int:
        """Step by `_actions`, into the second observation, and return -1; or whose action is illegal."""

    def _kept(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that a checkpoint has."""
        kept: dict[str, NDArray[Any]] = self._arrays._asdict()
        return kept

    def _observe_all(self) -> NDArray[Any]:
        for i in range(self.num_envs):
            self._observe(i)
        return self.observation
