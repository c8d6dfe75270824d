"""The random number generator of stochastic rounding, exactly as in hardware.

Two 32-bit registers: an xorshift word x (never 0) and a Weyl counter w. One draw is made for each
applied transition while rounding is stochastic, from the registers *before* they advance:

    u = ((x + w) mod 2^32) >> 17                      15 bits, uniform
    x = x ^ (x << 13);  x = x ^ (x >> 17);  x = x ^ (x << 5)      (mod 2^32)
    w = (w + 0x9E3779B9) mod 2^32

The carry of the sum makes the output non-linear over GF(2), which plain xorshift bits are not. The
period is (2^32 - 1) * 2^32. References: G. Marsaglia, "Xorshift RNGs", J. Stat. Software 8 (2003),
for the shifts and for adding a Weyl sequence; S. Vigna's splitmix64 constants for the seeding.
"""

from __future__ import annotations

from dataclasses import dataclass

from qstep.checks import integer
from qstep.errors import ConfigError
from qstep.splitmix import GOLDEN, mixed

__all__ = ["NOISE_BITS", "WEYL", "NoiseState"]

NOISE_BITS = 15
"""Width of one draw, which equals the number of fractional bits that rounding removes."""

WEYL = 0x9E3779B9
"""Increment of the Weyl counter: 2^32 divided by the golden ratio, odd."""

_MASK32 = (1 << 32) - 1
_MASK64 = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class NoiseState:
    """Both registers of the generator: `x` in 1..2^32-1, `w` in 0..2^32-1."""

    x: int
    w: int

    def __post_init__(self) -> None:
        for name in ("x", "w"):
            value = getattr(self, name)
            if type(value) is not int:  # the usual case must be quick: every draw makes a state
                value = integer(f"noise state {name}", value, 0, _MASK32, "from 0 to 2^32-1")
                object.__setattr__(self, name, value)
        if not 1 <= self.x <= _MASK32 or not 0 <= self.w <= _MASK32:
            raise ConfigError(
                f"noise state is x={self.x}, w={self.w}; x must be 1..2^32-1 and w 0..2^32-1"
            )

    @classmethod
    def from_seed(cls, seed: int) -> NoiseState:
        """Spread a seed of 0..2^64-1 over both registers with one splitmix64 step.

        Raises
        ------
        ConfigError
            The seed is not an integer of that range.
        """
        seed = integer("seed", seed, 0, _MASK64, "from 0 to 2^64-1")
        z = mixed((seed + GOLDEN) & _MASK64)
        return cls(x=(z & _MASK32) or 1, w=z >> 32)

    @property
    def draw(self) -> int:
        """The 15-bit number drawn from this state."""
        return ((self.x + self.w) & _MASK32) >> (32 - NOISE_BITS)

    def advance(self) -> NoiseState:
        """Return the state after one draw."""
        x = self.x
        x ^= (x << 13) & _MASK32
        x ^= x >> 17
        x ^= (x << 5) & _MASK32
        return NoiseState(x, (self.w + WEYL) & _MASK32)
