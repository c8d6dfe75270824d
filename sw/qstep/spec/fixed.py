"""Fixed-point arithmetic: number formats, rounding modes and learning coefficients.

This file and :mod:`qstep.golden.lane` define QStep's arithmetic. A value is a signed two's complement
integer of W bits, F of them fractional, written Qm.F with m = W - F (m includes the sign bit). A
coefficient is an unsigned 16-bit integer with f fractional bits, set by the configuration: 15, so that
1.0 is 32768, or up to 24 for small learning rates.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qstep.errors import ConfigError, TransitionError
from qstep.spec.checks import assign, integer, one_of, real, shown

__all__ = [
    "COEFFICIENT_BITS",
    "COEFFICIENT_ONE",
    "COEFFICIENT_WIDTH",
    "MOST_COEFFICIENT_BITS",
    "Coefficients",
    "QFormat",
    "Rounding",
    "coefficients",
    "greatest_coefficient",
]

COEFFICIENT_WIDTH = 16
"""Width of alpha and kappa in bits."""

COEFFICIENT_BITS, MOST_COEFFICIENT_BITS = 15, 24
"""Minimum and maximum of f, the fractional bits of alpha and kappa; the default is the minimum."""

COEFFICIENT_ONE = 1 << COEFFICIENT_BITS
"""The coefficient that represents 1.0 with the default f."""


class Rounding(StrEnum):
    """How an update rounds off the fractional bits of its coefficients.

    ``nearest`` adds half a unit and floors, ``floor`` floors, ``stochastic`` adds a uniform random
    number of the same width and floors (see ``qstep.spec.random``).
    """

    NEAREST = "nearest"
    FLOOR = "floor"
    STOCHASTIC = "stochastic"

    @property
    def code(self) -> int:
        """The number used on the link: 0 nearest, 1 floor, 2 stochastic."""
        return list(Rounding).index(self)

    def bias(self, bits: int) -> int | None:
        """Return the number added before a shift by `bits`: half a unit, 0, or None if random."""
        if self is Rounding.STOCHASTIC:
            return None
        return 1 << bits - 1 if self is Rounding.NEAREST else 0

    @classmethod
    def parse(cls, name: str) -> Rounding:
        """Return the mode called `name`; raise :class:`ConfigError` for any other text."""
        return cls(one_of("rounding", name, list(cls)))


@dataclass(frozen=True, slots=True)
class QFormat:
    """A signed fixed-point format Qm.F of W = m + F bits.

    Parameters
    ----------
    integer : int
        m, the integer bits including the sign bit, 1 or more.
    fraction : int
        F, the fractional bits, 0 or more. m + F is 8..32.

    Examples
    --------
    >>> QFormat.parse("Q8.8").width
    16
    >>> QFormat(8, 8).quantise([0.5, -1.0]).tolist()
    [128, -256]
    """

    integer: int
    fraction: int

    def __post_init__(self) -> None:
        for name, least in (("integer", 1), ("fraction", 0)):
            value = integer(f"number of {name} bits of the format", getattr(self, name), least, 32)
            assign(self, **{name: value})
        if not 8 <= self.width <= 32:
            raise ConfigError(
                f"format {self} is {self.width} bits wide; m + F must be from 8 to 32"
            )

    @classmethod
    def parse(cls, text: str | QFormat) -> QFormat:
        """Return a format unchanged, or parse text ``Qm.F``; otherwise raise :class:`ConfigError`."""
        if isinstance(text, QFormat):
            return text
        pattern = r"[Qq](\d{1,2})\.(\d{1,2})"
        match = re.fullmatch(pattern, text) if isinstance(text, str) else None
        if match is None:
            raise ConfigError(f"format is {shown(text)}; write it as Qm.F, for example Q8.8")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"Q{self.integer}.{self.fraction}"

    @property
    def width(self) -> int:
        """W, the word width in bits."""
        return self.integer + self.fraction

    @property
    def minimum(self) -> int:
        """The smallest raw value, -2^(W-1)."""
        return -(1 << (self.width - 1))

    @property
    def maximum(self) -> int:
        """The largest raw value, 2^(W-1) - 1."""
        return (1 << (self.width - 1)) - 1

    @property
    def resolution(self) -> float:
        """The value of one raw unit, 2^-F."""
        return 2.0**-self.fraction

    def quantise(self, values: ArrayLike, what: str = "reward") -> NDArray[np.int32]:
        """Return ``floor(x * 2^F + 0.5)`` of each value, evaluated in float64.

        Parameters
        ----------
        values : array_like of real
            Any shape, including a single number; NaN and infinities are rejected.
        what : str
            Name of the values in error messages.

        Returns
        -------
        ndarray of int32
            Raw values in the same shape.

        Raises
        ------
        TransitionError
            A value is not a number or does not fit the format; values are never saturated.
        """
        try:
            array = np.asarray(values)
        except ValueError as cause:  # its nested lists differ in length
            raise TransitionError(f"{what} is not an array of real numbers: {cause}") from cause
        if array.dtype.kind not in "fiub":
            raise TransitionError(f"{what} has dtype {array.dtype}; it must be real numbers")
        given = array.astype(np.float64, copy=False)
        raw = np.multiply(given, float(1 << self.fraction), out=np.empty(given.shape))
        raw += 0.5
        np.floor(raw, out=raw)
        # With NaN, the minimum is NaN and the comparison is false, so NaN is caught here too.
        if raw.size and not (raw.min() >= self.minimum and raw.max() <= self.maximum):
            fits = (raw >= self.minimum) & (raw <= self.maximum)
            where = tuple(np.argwhere(~fits)[0].tolist())
            place = f"[{', '.join(map(str, where))}]" if where else ""
            raise TransitionError(
                f"{what}{place} is {given[where]}; {self} holds "
                f"{self.minimum * self.resolution} to {self.maximum * self.resolution}"
            )
        return raw.astype(np.int32)

    def to_float(self, raw: NDArray[Any]) -> NDArray[np.float64]:
        """Return raw values as real numbers, exactly."""
        return np.asarray(raw).astype(np.float64) * self.resolution


@dataclass(frozen=True, slots=True)
class Coefficients:
    """alpha, beta and kappa as integers with `bits` fractional bits; alpha and kappa have 16 bits.

    Invariants: ``alpha + beta == 2^bits`` and ``kappa <= alpha``, so an update's exact accumulator
    always fits in W + bits + 1 bits.
    """

    alpha: int
    kappa: int
    bits: int = COEFFICIENT_BITS

    @property
    def beta(self) -> int:
        """1 - alpha, exactly."""
        return (1 << self.bits) - self.alpha


def greatest_coefficient(bits: int) -> int:
    """Return the greatest alpha with `bits` fractional bits: 1.0, or the 16-bit maximum."""
    return min(1 << bits, (1 << COEFFICIENT_WIDTH) - 1)


def coefficients(alpha: float, gamma: float, bits: int = COEFFICIENT_BITS) -> Coefficients:
    """Quantise a learning rate and a discount, each in [0, 1], to f = `bits` fractional bits, 15..24.

    alpha is ``floor(alpha * 2^f + 0.5)`` and kappa is ``floor(alpha * gamma * 2^f + 0.5)``, both
    computed from the real (float64) numbers: kappa is not the product of two quantised coefficients.

    Raises
    ------
    ConfigError
        A number is out of range, or alpha is too small to learn anything or too large for 16 bits.

    Examples
    --------
    >>> coefficients(0.5, 0.9)
    Coefficients(alpha=16384, kappa=14746, bits=15)
    >>> coefficients(1 / 4096, 0.95, 24)
    Coefficients(alpha=4096, kappa=3891, bits=24)
    """
    alpha, gamma, one = real("alpha", alpha), real("gamma", gamma), 1 << bits
    if 0 < alpha < 0.5 / one:
        raise ConfigError(
            f"alpha is {alpha}, which is rounded to 0 with {bits} fractional bits; it must be 0 "
            f"or at least {0.5 / one}"
        )
    found = math.floor(alpha * one + 0.5)
    most = greatest_coefficient(bits)
    if found > most:
        raise ConfigError(
            f"alpha is {alpha}, too large for {COEFFICIENT_WIDTH} bits of which {bits} are fractional; "
            f"it must be 0 to {most / one}"
        )
    return Coefficients(found, math.floor(alpha * gamma * one + 0.5), bits)
