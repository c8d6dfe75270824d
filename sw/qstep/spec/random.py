"""The hardware's random numbers, bit for bit: seeds, rounding noise and agents' draws.

**Seeds** are spread over 64 bits by splitmix64's mixing function (Steele, Lea and Flood, OOPSLA 2014).

**Rounding noise** has two 32-bit registers: an xorshift word x (never 0) and a Weyl counter w. While
rounding is stochastic, each applied transition takes one draw, from the registers *before* they advance:

    u = ((x + w) mod 2^32) >> (32 - f)                f bits, uniform
    x = x ^ (x << 13);  x = x ^ (x >> 17);  x = x ^ (x << 5)      (mod 2^32)
    w = (w + 0x9E3779B9) mod 2^32

Coefficients have f fractional bits, 15 unless a device is built with more. The carry of the sum makes
the output non-linear over GF(2), unlike plain xorshift bits. The period is (2^32 - 1) * 2^32 (Marsaglia,
"Xorshift RNGs", J. Stat. Software 8, 2003).

**An agent's draws** come from a 64-bit word x that is never 0. Before every draw it advances by
Marsaglia's xorshift with the triplet 13, 7, 17 (period 2^64 - 1), which is linear
over GF(2). The draws are not linear: the two halves of the word pass through keyless Feistel rounds of
the block cipher Simon with 32-bit words (Beaulieu et al., 2013). This is a permutation, so a period
produces every 64-bit result, except the result for 0, exactly once:

    f(w) = ((w <<< 1) & (w <<< 8)) ^ (w <<< 2)
    (high, low) = (low ^ f(high), high)             four times
    extra = low ^ f(high)                           a fifth round, which few builds need

An agent draws once per step and once before the first step. All parts are drawn whether or not they are
used, so that the sequence of draws does not depend on events.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from qstep.errors import ConfigError
from qstep.spec.checks import assign, instance, integer

__all__ = [
    "DRAW_BITS",
    "GOLDEN",
    "MIX_A",
    "MIX_B",
    "ROUNDING_BITS",
    "ROUNDS",
    "WEYL",
    "Draw",
    "NoiseState",
    "advanced",
    "checked_noise",
    "checked_seed",
    "draw",
    "first_word",
    "mixed",
    "retreated",
    "seed_as_first",
]

GOLDEN = 0x9E3779B97F4A7C15
"""Increment from one word to the next: 2^64 divided by the golden ratio, rounded to an odd number."""

MIX_A = 0xBF58476D1CE4E5B9
MIX_B = 0x94D049BB133111EB

_MASK16, _MASK32, _MASK64 = (1 << 16) - 1, (1 << 32) - 1, (1 << 64) - 1


def mixed(word: int) -> int:
    """Mix a word, 0..2^64-1; mixing is a permutation of these words."""
    word = ((word ^ (word >> 30)) * MIX_A) & _MASK64
    word = ((word ^ (word >> 27)) * MIX_B) & _MASK64
    return word ^ (word >> 31)


def checked_seed(seed: object) -> int:
    """Return a seed, 0..2^64-1, as an int; raise ConfigError for anything else."""
    return integer("seed", seed, 0, _MASK64, "from 0 to 2^64-1")


WEYL = 0x9E3779B9
"""Increment of the Weyl counter: 2^32 divided by the golden ratio, rounded to an odd number."""


@dataclass(frozen=True, slots=True)
class NoiseState:
    """Both registers of the noise generator: `x` in 1..2^32-1, `w` in 0..2^32-1."""

    x: int
    w: int

    def __post_init__(self) -> None:
        for name in ("x", "w"):
            value = getattr(self, name)
            if type(value) is not int:  # not checked for an int, because every draw creates a state
                value = integer(f"noise state {name}", value, 0, _MASK32, "from 0 to 2^32-1")
                assign(self, **{name: value})
        if not 1 <= self.x <= _MASK32 or not 0 <= self.w <= _MASK32:
            raise ConfigError(
                f"noise state is x={self.x}, w={self.w}; x must be 1..2^32-1 and w 0..2^32-1"
            )

    @classmethod
    def from_seed(cls, seed: int) -> NoiseState:
        """Spread a seed, 0..2^64-1, over both registers with one splitmix64 step.

        Raises
        ------
        ConfigError
            The seed is not an integer in that range.
        """
        z = mixed((checked_seed(seed) + GOLDEN) & _MASK64)
        return cls(x=(z & _MASK32) or 1, w=z >> 32)

    def draw(self, bits: int) -> int:
        """Return the number drawn from this state, with `bits` bits, 1..32."""
        return ((self.x + self.w) & _MASK32) >> (32 - bits)

    def advance(self) -> NoiseState:
        """Return the state after one draw."""
        x = self.x
        x ^= (x << 13) & _MASK32
        x ^= x >> 17
        x ^= (x << 5) & _MASK32
        return NoiseState(x, (self.w + WEYL) & _MASK32)


def checked_noise(noise: NoiseState) -> NoiseState:
    """Return `noise` if it is a NoiseState; otherwise raise ConfigError."""
    return instance("noise", noise, NoiseState)


DRAW_BITS = 16
"""Width of each of the first four parts of a draw."""

ROUNDS = 4
"""Number of Feistel rounds that turn a word into a draw."""

ROUNDING_BITS = 31
"""Width of the part of a draw that stochastic rounding uses."""


class Draw(NamedTuple):
    """The random numbers of an agent in one step.

    Attributes
    ----------
    outcome, start, explore, action : int
        0..65535 each, bits 63:48, 47:32, 31:16 and 15:0 of the permuted word. They select the world's
        outcome, the start state, whether the agent explores, and its random action.
    rounding : int
        0..2^31-1, bits 31:17 and 15:0 of the extra round, concatenated; stochastic rounding adds its
        upper f bits (:meth:`noise`).
    table : int
        0 or 1, bit 16 of the extra round: the table that Double Q-learning updates.
    """

    outcome: int
    start: int
    explore: int
    action: int
    rounding: int
    table: int

    def noise(self, bits: int) -> int:
        """Return the number that stochastic rounding adds, with `bits` bits, 1..31."""
        return self.rounding >> (ROUNDING_BITS - bits)


def first_word(seed: int, agent: int) -> int:
    """Return the word of an agent's generator before its first draw.

    It is output `agent` (from 0) of splitmix64 seeded with `seed` (0..2^64-1), or 1 if the output is 0.
    """
    return mixed((checked_seed(seed) + (agent + 1) * GOLDEN) & _MASK64) or 1


def seed_as_first(seed: int, agent: int) -> int:
    """Return the seed that gives agent number `agent` the draws of agent 0 with `seed`."""
    return (checked_seed(seed) - agent * GOLDEN) & _MASK64


def advanced(word: int) -> int:
    """Return the word after one advance of the generator."""
    word ^= (word << 13) & _MASK64
    word ^= word >> 7
    return word ^ ((word << 17) & _MASK64)


def retreated(word: int) -> int:
    """Return the previous word: the inverse of :func:`advanced`."""
    word ^= (word << 17 ^ word << 34 ^ word << 51) & _MASK64
    for by in (7, 14, 28, 56):
        word ^= word >> by
    for by in (13, 26, 52):
        word ^= (word << by) & _MASK64
    return word


def draw(word: int) -> Draw:
    """Return the draw that a word produces."""
    high, low = word >> 32, word & _MASK32
    for _ in range(ROUNDS):
        high, low = low ^ _mixing(high), high
    extra = low ^ _mixing(high)
    return Draw(
        outcome=high >> 16,
        start=high & _MASK16,
        explore=low >> 16,
        action=low & _MASK16,
        rounding=extra >> 17 << 16 | extra & _MASK16,
        table=extra >> 16 & 1,
    )


def _mixing(word: int) -> int:
    return (_rotated(word, 1) & _rotated(word, 8)) ^ _rotated(word, 2)


def _rotated(word: int, by: int) -> int:
    return ((word << by) | (word >> (32 - by))) & _MASK32
