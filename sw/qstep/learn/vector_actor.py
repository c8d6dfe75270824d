"""`VectorActor`: N compiled environments, which step in turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep.envs.catalogue import Environment
from qstep.envs.splitmix import SplitMix64
from qstep.envs.vector import kept_arrays, restore_arrays, words
from qstep.learn.actor import Actor, Stretch
from qstep.learn.actor_kernels import KERNELS, Ends, Turns, act, play, restart
from qstep.learn.evaluate import MAX_SEED, Evaluation, evaluation_of
from qstep.learn.host_checkpoint import PENDING_TYPES, Columns, Episode
from qstep.spec.epsilon import Epsilon

__all__ = ["VectorActor"]

_LONGEST = 1 << 16
"""Most steps of a stretch; Ctrl-C is handled between two stretches."""


class VectorActor(Actor):
    """N environments of one kind, which act in turns on one table.

    Environment 0 makes a step, then environment 1, and so on; after environment N - 1 comes number
    0 again. Episodes count in the order in which they end, and a step's epsilon follows from the
    episodes that have ended before it. Environment i draws from generator ``seed + i``, as in the vector
    environments. The policy has one generator: a step draws ``below(2^31)``, explores if that is
    less than epsilon * 2^31, and then draws its action.

    `record` is that of an environment with kernels; an episode is truncated after `max_episode_steps`,
    if that is not 0. `acting` seeds the environments and the policy, `evaluating` the environments of
    an evaluation.
    """

    def __init__(
        self,
        record: Environment,
        num_envs: int,
        max_episode_steps: int,
        epsilon: Epsilon,
        horizon: int,
        acting: np.random.Generator,
        evaluating: np.random.Generator,
    ) -> None:
        super().__init__(epsilon, horizon, acting, evaluating)
        self._kernels, self._success_length = KERNELS[record.kernels], record.success_length
        self._limit = max_episode_steps
        self._envs = self._kernels.ARRAYS.empty(num_envs)
        self._turns = Turns.empty(num_envs)
        # No step is made here: this loads the machine code, or compiles it the first time, before
        # the run.
        self._act(np.zeros((1, 1), np.int32), 0, _columns(0), Ends.empty(0))
        play(self._kernels.ARRAYS.empty(0), np.zeros((1, 1), np.int32), self._limit, Ends.empty(0))

    def begin(self) -> None:
        """Seed the environments and the policy."""
        num_envs = len(self._envs.word)
        self._envs.word[:] = words(int(self._acting.integers(MAX_SEED)), num_envs)
        self._turns.word[:] = SplitMix64(int(self._acting.integers(MAX_SEED))).word
        for i in range(num_envs):
            restart(self._envs, i)

    def act(self, table: NDArray[np.int32], done: int, steps: int, episodes: int) -> Stretch:
        """See :meth:`~qstep.learn.actor.Actor.act`."""
        steps = min(steps, _LONGEST)
        columns, ends = _columns(steps), Ends.empty(min(steps, episodes))
        made, ended = self._act(_writable(table), done, columns, ends)
        rows = zip(*(column[:ended].tolist() for column in ends), strict=True)
        over = [
            Episode(
                number := done + 1 + k,
                self._schedule.at(number - 1, self._horizon),
                total,
                length,
                terminated,
                self._success(length, terminated),
            )
            for k, (total, length, terminated) in enumerate(rows)
        ]
        return Stretch(tuple(column[:made] for column in columns), over)

    def evaluate(self, table: NDArray[np.int32], episodes: int, done: int) -> Evaluation:
        """See :meth:`~qstep.learn.actor.Actor.evaluate`: one episode in each of as many environments."""
        envs = self._kernels.ARRAYS.empty(episodes)
        envs.word[:] = words(int(self._evaluating.integers(MAX_SEED)), episodes)
        ends = Ends.empty(episodes)
        play(envs, _writable(table), self._limit, ends)
        rows = zip(ends.length.tolist(), ends.terminated.tolist(), strict=True)
        successes = [self._success(*row) for row in rows]
        return evaluation_of(done, ends.total, ends.length, ends.terminated, successes)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return copies of everything that the environments and their turns depend on."""
        return {name: array.copy() for name, array in self._kept().items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """See :meth:`~qstep.learn.actor.Actor.restore`."""
        restore_arrays(self._kept(), arrays)

    def _act(
        self, table: NDArray[np.int32], done: int, columns: Columns, ends: Ends
    ) -> tuple[int, int]:
        schedule = self._schedule.line(self._horizon)
        made, ended = act(
            self._envs, self._turns, table, schedule, self._limit, done, columns, ends
        )
        return made, ended

    def _kept(self) -> dict[str, NDArray[Any]]:
        envs, turns = kept_arrays(self._kernels, self._envs), self._turns._asdict()
        return {f"envs_{name}": array for name, array in envs.items()} | {
            f"turns_{name}": array for name, array in turns.items()
        }

    def _success(self, length: int, terminated: bool) -> bool | None:
        least = self._success_length
        return None if least is None else length >= least and not terminated


def _columns(steps: int) -> Columns:
    return tuple(np.empty(steps, dtype) for dtype in PENDING_TYPES)


def _writable(table: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return a table of the type for which the loops are compiled."""
    return np.require(table, np.int32, ["C", "W"])
