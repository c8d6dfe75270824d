"""Compiled `SplitMix64` for many generators, whose words are in one array."""

from __future__ import annotations

import numpy as np
from numba import njit

from qstep._io.compiled import compiled
from qstep.spec.random import GOLDEN, MIX_A, MIX_B

__all__ = ["STEP", "below", "mix"]

STEP = np.uint64(GOLDEN)
"""The increment of a word."""

_MIX_A, _MIX_B = np.uint64(MIX_A), np.uint64(MIX_B)
_LOW, _ALL = np.uint64(0xFFFFFFFF), np.uint64(1 << 32)
_27, _30, _31, _32 = (np.uint64(k) for k in (27, 30, 31, 32))


@njit(inline="always")
def mix(word):  # type: ignore[no-untyped-def]
    """Return the 64 random bits of a word."""
    word = (word ^ (word >> _30)) * _MIX_A
    word = (word ^ (word >> _27)) * _MIX_B
    return word ^ (word >> _31)


@compiled
def below(word, i, bound):  # type: ignore[no-untyped-def]
    """Draw a number below `bound` from generator `i`, as `SplitMix64.below` does."""
    many = np.uint64(bound)
    while True:
        word[i] += STEP
        product = (mix(word[i]) >> _32) * many
        if (product & _LOW) >= _ALL % many:
            return np.int64(product >> _32)
