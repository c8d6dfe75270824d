"""Model of the queue that turns events into delayed rewards; this code is the definition.

It is the evaluation queue of Pythia (Bera et al., MICRO 2021) with one match per event. The C++ header
and the hardware (``rtl/planes/qs_evaluation_queue.sv``) emit the same updates.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from qstep.errors import ConfigError
from qstep.spec.checks import integer

__all__ = ["EvaluationQueue", "Learn", "Rewards"]


class Rewards(NamedTuple):
    """A set of raw rewards.

    Attributes
    ----------
    timely : int
        Reward of an action whose key is demanded after its fill.
    late : int
        Reward of an action whose key is demanded before its fill.
    unused : int
        Reward of an action that is evicted from the queue without another reward.
    """

    timely: int
    late: int
    unused: int


class Learn(NamedTuple):
    """A learn request that the queue emits; its transition never terminates."""

    rows: Any
    action: int
    reward: int
    next_rows: Any
    next_action: int


@dataclass
class _Entry:
    key: Hashable
    rows: Any
    action: int
    reward: int | None
    filled: bool = False


class EvaluationQueue:
    """A queue of N actions that await their rewards.

    Parameters
    ----------
    entries : int
        N, 1..65536.
    rewards : sequence of Rewards, length 2
        The two reward sets, of which each event selects one. In Pythia, one set is for low bandwidth and
        the other for high bandwidth.

    Attributes
    ----------
    unknown : int
        Number of fills and demands without a matching entry; they have no other effect.

    Examples
    --------
    >>> queue = EvaluationQueue(1, [Rewards(20, 12, -8), Rewards(20, 12, -14)])
    >>> queue.insert(0x40, rows=(3, 1), action=2)
    >>> queue.fill(0x40)
    >>> queue.demand(0x40)
    >>> queue.insert(0x41, rows=(7, 1), action=5)
    >>> queue.insert(0x42, rows=(0, 1), action=1, rewards=1)
    Learn(rows=(3, 1), action=2, reward=20, next_rows=(7, 1), next_action=5)
    """

    def __init__(self, entries: int, rewards: Sequence[Rewards]) -> None:
        self.entries = integer("entries", entries, 1, 65536)
        if len(rewards) != 2:
            raise ConfigError(f"rewards has {len(rewards)} sets; it must have 2")
        self.rewards = tuple(rewards)
        self.unknown = 0
        self._queue: deque[_Entry] = deque()
        self._evicted: _Entry | None = None

    def __len__(self) -> int:
        return len(self._queue)

    def insert(
        self, key: Hashable, rows: Any, action: int, reward: int | None = None, rewards: int = 0
    ) -> Learn | None:
        """Append an action; return an update if this evicts an entry, except at the first eviction.

        Parameters
        ----------
        key : hashable
            The key that fills and demands will use, for example the number of the prefetched block.
        rows : any
            The features of the choice, which the queue only stores.
        action : int
        reward : int, optional
            The reward, if it is already known. A demand then never matches the entry.
        rewards : int
            The set, 0 or 1, whose `unused` reward an evicted entry receives if it has no reward yet.

        Returns
        -------
        Learn or None
            The update of the previously evicted entry, with its reward. Its next rows and action are
            those of the entry evicted now.
        """
        chosen = self._set(rewards)
        emitted = None
        if len(self._queue) == self.entries:
            head = self._queue.popleft()
            if head.reward is None:
                head.reward = chosen.unused
            last, self._evicted = self._evicted, head
            if last is not None:
                assert last.reward is not None
                emitted = Learn(last.rows, last.action, last.reward, head.rows, head.action)
        self._queue.append(_Entry(key, rows, action, reward))
        return emitted

    def fill(self, key: Hashable) -> None:
        """Mark the oldest entry with this key as filled, even if it is already marked."""
        entry = next((own for own in self._queue if own.key == key), None)
        if entry is None:
            self.unknown += 1
        else:
            entry.filled = True

    def demand(self, key: Hashable, rewards: int = 0) -> None:
        """Reward the oldest entry with this key and no reward: `timely` if filled, otherwise `late`."""
        chosen = self._set(rewards)
        waiting = (own for own in self._queue if own.key == key and own.reward is None)
        entry = next(waiting, None)
        if entry is None:
            self.unknown += 1
        else:
            entry.reward = chosen.timely if entry.filled else chosen.late

    def _set(self, number: int) -> Rewards:
        return self.rewards[integer("rewards", number, 0, 1)]
