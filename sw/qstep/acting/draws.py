"""The random generator of an agent, and its draws.

Its word x has 64 bits and is never 0. Before every draw it advances by Marsaglia's xorshift (J. Stat.
Software 8, 2003, triplet 13, 7, 17; period 2^64 - 1), which is linear over GF(2). The draws are not
linear: the two halves of the word go through keyless Feistel rounds of the block cipher Simon with words
of 32 bits (Beaulieu et al., 2013). This is a permutation, so over a period all 64-bit results, except
that of 0, are drawn exactly once:

    f(w) = ((w <<< 1) & (w <<< 8)) ^ (w <<< 2)
    (high, low) = (low ^ f(high), high)             four times
    extra = low ^ f(high)                           a fifth round, which few builds need

There is one draw per step and one before the first. All parts are drawn whether or not they are used, so
that no stream depends on the events.
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
    """An agent's draw in a step.

    Attributes
    ----------
    outcome, start, explore, action : int
        0..65535 each, bits 63:48, 47:32, 31:16 and 15:0 of the permuted word: they select the world's
        outcome, the start state, whether the agent explores, and its random action.
    rounding : int
        0..32767, bits 31:17 of the extra round: added by stochastic rounding.
    table : int
        0 or 1, bit 16 of the extra round: the table that Double Q-learning updates.
    """

    outcome: int
    start: int
    explore: int
    action: int
    rounding: int
    table: int


def first_word(seed: int, agent: int) -> int:
    """Return the word of an agent's generator before its first draw.

    It is output `agent` (from 0) of splitmix64 seeded with `seed` (0..2^64-1), or 1 if that is 0.

    Raises
    ------
    ConfigError
        The seed is not an integer in that range.
    """
    seed = integer("seed", seed, 0, _MASK64, "from 0 to 2^64-1")
    return mixed((seed + (agent + 1) * GOLDEN) & _MASK64) or 1


def seed_as_first(seed: int, agent: int) -> int:
    """Return the seed with which agent number `agent` has the draws of agent 0 with `seed`."""
    return (integer("seed", seed, 0, _MASK64, "from 0 to 2^64-1") - agent * GOLDEN) & _MASK64


def advanced(word: int) -> int:
    """Return the next word."""
    word ^= (word << 13) & _MASK64
    word ^= word >> 7
    return word ^ ((word << 17) & _MASK64)


def retreated(word: int) -> int:
    """Return the previous word: the reverse of :func:`advanced`."""
    word ^= (word << 17 ^ word << 34 ^ word << 51) & _MASK64
    for by in (7, 14, 28, 56):
        word ^= word >> by
    for by in (13, 26, 52):
        word ^= (word << by) & _MASK64
    return word


def draw(word: int) -> Draw:
    """Return the draw of a word."""
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
