"""`CartPoleBoards`: many boards of Gymnasium's CartPole-v1 at once, compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qstep.envs.board_checks import (
    check_action,
    checked_actions,
    checked_boards,
    restore_arrays,
    words,
)
from qstep.envs.boards import BoardsStep
from qstep.envs.cartpole_kernels import ACTIONS, INPUTS, CartPoles, observe, restart, step

__all__ = ["CartPoleBoards"]


class CartPoleBoards:
    """N boards of CartPole-v1, stepped in one compiled call: see :class:`~qstep.envs.boards.Boards`.

    From the same start state and with the same actions a board equals Gymnasium's environment in all
    its float64 numbers, observations, rewards and ends. Two things are its own. Start states are
    drawn by :class:`~qstep.envs.splitmix.SplitMix64`: place, speed, angle and angular speed in this
    order, each 0.05 * (``below(2^31)`` / 2^30 - 1). And a step that terminates is not called
    truncated where it is the 500th as well, so that a learner need not ask which of the two counts.

    Every step pays 1, also the last one; the score is the steps of the episode so far.

    Board i starts with generator ``seed + i`` and goes on with it from episode to episode.

    Parameters
    ----------
    boards : int
        1 or more.
    seed : int
        0..2^64-`boards`.

    Raises
    ------
    EnvironmentSpaceError
        A parameter is out of its range.

    Examples
    --------
    >>> boards = CartPoleBoards(4, seed=7)
    >>> boards.observation.shape
    (4, 4)
    >>> boards.step([0, 0, 1, 1]).reward.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    inputs = INPUTS
    actions = ACTIONS

    def __init__(self, boards: int, seed: int = 0) -> None:
        self._poles = CartPoles.empty(checked_boards(boards))
        # Two of them: the one that was acted on is kept while the other one is written.
        self._seen = tuple(np.zeros((boards, INPUTS), np.float32) for _ in range(2))
        self._step = BoardsStep(
            np.zeros((boards, INPUTS), np.float32),
            np.ones(boards, np.float32),
            np.zeros(boards, np.bool_),
            np.zeros(boards, np.bool_),
            np.zeros(boards, np.int32),
        )
        self._cosines, self._sines = np.zeros(boards), np.zeros(boards)
        self._actions = np.zeros(boards, np.int64)
        self.reset(seed)

    def __len__(self) -> int:
        return len(self._actions)

    @property
    def observation(self) -> NDArray[np.float32]:
        """Place, speed, angle and angular speed of every board now, shape (N, 4)."""
        return self._seen[0]

    def reset(self, seed: int) -> NDArray[np.float32]:
        """Start over as new boards with that seed would; return the observation."""
        self._poles.word[:] = words(seed, len(self))
        for i in range(len(self)):
            restart(self._poles, i)
        return self._observe_all()

    def step(self, actions: ArrayLike) -> BoardsStep:
        """Push every cart.

        Parameters
        ----------
        actions : array_like of int, shape (N,)
            0 to the left, 1 to the right.

        Raises
        ------
        EnvironmentSpaceError
            Shape, type or a value is wrong; then nothing has moved.
        """
        given = checked_actions(actions, len(self))
        self._actions[:] = given
        np.cos(self._poles.theta, out=self._cosines)
        np.sin(self._poles.theta, out=self._sines)
        bad = step(
            self._poles, self._actions, self._cosines, self._sines, self._seen[1], self._step
        )
        check_action(bad, given, ACTIONS)
        self._seen = self._seen[::-1]
        return self._step

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Return copies of all that the episodes depend on, for :meth:`restore`."""
        return {name: array.copy() for name, array in self._poles._asdict().items()}

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        """Go on from a :meth:`snapshot`; return the observation.

        Raises
        ------
        EnvironmentSpaceError
            An array is missing, or is of another number of boards or another type; then nothing
            has changed.
        """
        restore_arrays(self._poles._asdict(), snapshot)
        return self._observe_all()

    def _observe_all(self) -> NDArray[np.float32]:
        for i in range(len(self)):
            observe(self._poles, i, self._seen[0])
        return self.observation
