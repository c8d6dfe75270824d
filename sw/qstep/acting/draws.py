"""The generator of an agent: what it draws in a step, and from what.

Its word x has 64 bits and is never 0. Before every draw it moves on by Marsaglia's xorshift (J. Stat.
Software 8, 2003, triplet 13, 7, 17; period 2^64 - 1), which is linear over GF(2). What is drawn is not:
the two halves of the word go through the keyless Feistel rounds of the block cipher Simon with words of
32 bits (Beaulieu et al., 2013), which is a permutation, so that over a period every 64 bits but those
of 0 are drawn exactly once:

    f(w) = ((w <<< 1) & (w <<< 8)) ^ (w <<< 2)
    (high, low) = (low ^ f(high), high)             four times
    extra = low ^ f(high)                           a fifth round, for what most builds do without

A draw is made in each step and one before the first; all of it is drawn whether or not it is used, so
that no stream depends on what happens.
"""

from __future__ import annotations

from typing import NamedTuple

from qstep.checks import integer
from qstep.splitmix import GOLDEN, mixed

__all__ = [
    "DRAW_BITS",
    "ROUNDS",
    "Draw",
    "advanced",
    "draw",
    "first_word",
    "retreated",
    "seed_as_first",
]

DRAW_BITS = 16
"""Width of each of the first four parts of a draw."""

ROUNDS = 4
"""Rounds between the word and the draw."""

_MASK16 = (1 << 16) - 1
_MASK32 = (1 << 32) - 1
_MASK64 = (1 << 64) - 1


class Draw(NamedTuple):
    """What an agent draws in a step.

    Attributes
    ----------
    outcome, start, explore, action : int
        0..65535 each, bits 63:48, 47:32, 31:16 and 15:0 of the permuted word: which outcome the world
        takes, which start state, whether the agent explores, and what it then does.
    rounding : int
        0..32767, bits 31:17 of the extra round: what stochastic rounding adds.
    table : int
        0 or 1, bit 16 of the extra round: which table Double Q-learning updates.
    """

    outcome: int
    start: int
    explore: int
    action: int
    rounding: int
    table: int


def first_word(seed: int, agent: int) -> int:
    """Return the generator's word of an agent before its first draw.

    It is output `agent` (from 0) of splitmix64 seeded with `seed` (0..2^64-1), or 1 where that is 0.

    Raises
    ------
    ConfigError
        The seed is no integer of that range.
    """
    seed = integer("seed", seed, 0, _MASK64, "from 0 to 2^64-1")
    return mixed((seed + (agent + 1) * GOLDEN) & _MASK64) or 1


def seed_as_first(seed: int, agent: int) -> int:
    """Return the seed with which agent number `agent` draws what agent 0 draws with `seed`."""
    return (integer("seed", seed, 0, _MASK64, "from 0 to 2^64-1") - agent * GOLDEN) & _MASK64


def advanced(word: int) -> int:
    """Return the word that follows."""
    word ^= (word << 13) & _MASK64
    word ^= word >> 7
    return word ^ ((word << 17) & _MASK64)


def retreated(word: int) -> int:
    """Return the word that :func:`advanced` made `word` of."""
    word ^= (word << 17 ^ word << 34 ^ word << 51) & _MASK64
    for by in (7, 14, 28, 56):
        word ^= word >> by
    for by in (13, 26, 52):
        word ^= (word << by) & _MASK64
    return word


def draw(word: int) -> Draw:
    """Return what is drawn from a word."""
    high, low = word >> 32, word & _MASK32
    for _ in range(ROUNDS):
        high, low = low ^ _mixing(high), high
    extra = low ^ _mixing(high)
    return Draw(
        outcome=high >> 16,
        start=high & _MASK16,
        explore=low >> 16,
        action=low & _MASK16,
        rounding=extra >> 17,
        table=extra >> 16 & 1,
    )


def _mixing(word: int) -> int:
    return (_rotated(word, 1) & _rotated(word, 8)) ^ _rotated(word, 2)


def _rotated(word: int, by: int) -> int:
    return ((word << by) | (word >> (32 - by))) & _MASK32
