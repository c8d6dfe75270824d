"""The host's copy of the device's reward table: the code of each raw reward."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qstep.compiled import compiled
from qstep.protocol import CODES

__all__ = ["RewardTable"]

_SLOT_BITS = 10  # four times as many slots as codes, so that probing is short
_SLOTS = 1 << _SLOT_BITS
_FREE = -1


@compiled
def _assign(rewards, codes, values, count, slots):  # type: ignore[no-untyped-def]
    """Write each reward's code; return the number of codes in use, or -1 if there are not enough."""
    for i in range(len(rewards)):
        reward = rewards[i]
        # Fibonacci hashing; the slots hold codes and form an open-addressed set over `values`.
        slot = (np.int64(reward) * 0x9E3779B1 >> (32 - _SLOT_BITS)) % _SLOTS
        while slots[slot] != _FREE and values[slots[slot]] != reward:
            slot = (slot + 1) % _SLOTS
        if slots[slot] == _FREE:
            if count == CODES:
                return -1
            values[count] = reward
            slots[slot] = count
            count += 1
        codes[i] = slots[slot]
    return count


class RewardTable:
    """Codes of the rewards seen so far, in the order in which they were first seen.

    Attributes
    ----------
    values : ndarray of int32, shape (256,)
        Raw rewards by code; the first ``len(self)`` are in use.
    """

    def __init__(self) -> None:
        self.values = np.zeros(CODES, np.int32)
        self._slots = np.full(_SLOTS, _FREE, np.int16)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def clear(self) -> None:
        """Forget every code."""
        self._slots.fill(_FREE)
        self._count = 0

    def assign(self, rewards: NDArray[np.int32]) -> tuple[NDArray[np.uint8], int] | None:
        """Give each reward a code; existing codes are kept, and new ones follow them.

        If the new rewards do not fit beside the old ones, all codes are assigned again.

        Returns
        -------
        (ndarray of uint8, int) or None
            The code of each reward, and the first code whose value the device does not have yet.
            None if there are more than 256 distinct rewards; then no code is in use.
        """
        codes = np.empty(len(rewards), np.uint8)
        known = self._count
        count = _assign(rewards, codes, self.values, known, self._slots)
        if count < 0:
            self.clear()
            known = 0
            count = _assign(rewards, codes, self.values, 0, self._slots)
        if count < 0:
            self.clear()
            return None
        self._count = count
        return codes, known
