"""The random number generator of QStep's environments: small, easy to compile, seeded by one number.

A 64-bit word advances by a constant and is mixed (splitmix64: Steele, Lea and Flood, OOPSLA 2014). A
multiplication maps the upper 32 bits to a number below a bound, and draws that would bias the result
are discarded (D. Lemire, "Fast Random Integer Generation in an Interval", 2019). If the 32 bits
are uniform, the number is exactly uniform.
"""

from __future__ import annotations

from qstep.spec.random import GOLDEN, checked_seed, mixed

__all__ = ["SplitMix64"]

_MASK32 = (1 << 32) - 1
_MASK64 = (1 << 64) - 1


class SplitMix64:
    """A stream of random numbers.

    Parameters
    ----------
    seed : int
        0..2^64-1. It is mixed once, so the streams of neighbouring seeds start far apart.

    Attributes
    ----------
    word : int
        The generator's whole state, 0..2^64-1.

    Raises
    ------
    ConfigError
        The seed is not an integer in that range.
    """

    def __init__(self, seed: int) -> None:
        self.word = mixed(checked_seed(seed))

    def below(self, bound: int) -> int:
        """Return a uniform number from 0 to `bound` - 1; `bound` is 1..2^32-1."""
        while True:
            self.word = (self.word + GOLDEN) & _MASK64
            product = (mixed(self.word) >> 32) * bound
            if product & _MASK32 >= (1 << 32) % bound:
                return product >> 32
