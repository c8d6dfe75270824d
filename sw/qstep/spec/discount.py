"""The learned discount, which differs from gamma because alpha and alpha times gamma are rounded."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable

import numpy as np

from qstep.errors import ConfigError, PrecisionWarning
from qstep.spec.fixed import (
    COEFFICIENT_BITS,
    MOST_COEFFICIENT_BITS,
    coefficients,
    greatest_coefficient,
)

__all__ = [
    "check_discount",
    "differs",
    "discount_in_words",
    "learned_discount",
    "least_bits",
    "nearest_alpha",
    "nearest_gamma",
    "warn_of_discounts",
]

_WITHIN = 0.01
"""Tolerance of the learned discount, as a fraction of 1 - gamma."""


def learned_discount(alpha: float, gamma: float, bits: int = COEFFICIENT_BITS) -> float:
    """Return the learned discount: the rounded product alpha gamma, divided by the rounded alpha.

    Examples
    --------
    >>> learned_discount(0.5, 0.75), learned_discount(1 / 4096, 0.9), learned_discount(1 / 4096, 0.9, 22)
    (0.75, 0.875, 0.900390625)
    """
    c = coefficients(alpha, gamma, bits)
    return c.kappa / c.alpha if c.alpha else gamma


def differs(alpha: float, gamma: float, bits: int = COEFFICIENT_BITS) -> bool:
    """Return whether the learned discount differs from gamma by more than 1 % of 1 - gamma."""
    return abs(learned_discount(alpha, gamma, bits) - gamma) > _WITHIN * (1 - gamma)


def nearest_alpha(gamma: float, alpha: float, bits: int = COEFFICIENT_BITS) -> float | None:
    """Return the alpha nearest to `alpha`, by ratio, with which gamma is learned to 1 % of 1 - gamma.

    The result is None if gamma is too close to 1 for any alpha.
    """
    coefficient = np.arange(1, greatest_coefficient(bits) + 1)
    learned = np.floor(coefficient * gamma + 0.5) / coefficient
    exact = coefficient[abs(learned - gamma) <= _WITHIN * (1 - gamma)] / (1 << bits)
    return float(exact[abs(np.log(exact / alpha)).argmin()]) if len(exact) else None


def nearest_gamma(
    alpha: float, gamma: float, low: float, high: float, bits: int = COEFFICIENT_BITS
) -> float:
    """Return the nearest gamma, from `low` to `high`, that is exact with `alpha`; otherwise, `gamma`."""
    one = coefficients(alpha, gamma, bits).alpha
    least, most = math.ceil(one * low), math.floor(one * high)
    return min(max(round(one * gamma), least), most) / one if least <= most else gamma


def least_bits(alpha: float, gamma: float) -> int | None:
    """Return the minimum number of fractional bits with which gamma is learned to 1 % of 1 - gamma.

    `alpha` must be above 0. The result is None if no number of bits achieves this and can represent
    `alpha`.
    """
    return _bits_for([(alpha, gamma)])


def _bits_for(pairs: Iterable[tuple[float, float]]) -> int | None:
    """Return the result of :func:`least_bits` that suffices for all pairs with an alpha above 0."""

    def enough(alpha: float, gamma: float, bits: int) -> bool:
        fits = 0.5 <= alpha * (1 << bits) < greatest_coefficient(bits) + 0.5
        return fits and not differs(alpha, gamma, bits)

    learning = [pair for pair in pairs if pair[0]]
    candidates = range(COEFFICIENT_BITS, MOST_COEFFICIENT_BITS + 1)
    return next((f for f in candidates if all(enough(*pair, f) for pair in learning)), None)


def alpha_of_planes(alpha: float, gamma: float, bits: int, planes: int) -> float:
    """Return the alpha of one plane: the alpha of the sum, divided by the number of planes.

    Raises
    ------
    ConfigError
        There are several planes, and the coefficients of one plane cannot represent its alpha; the
        message gives the range for the sum.
    """
    if planes == 1:
        return alpha
    own = alpha / planes
    try:
        coefficients(own, gamma, bits)
    except ConfigError as cause:
        one = (1 << bits) / planes
        least, most = 0.5 / one, min(1.0, greatest_coefficient(bits) / one)
        raise ConfigError(
            f"alpha is {alpha:g}, {own:g} in each of {planes} planes; with {bits} fractional bits it "
            f"must be 0, or from {least:.6g} to {most:.6g}"
        ) from cause
    return own


def check_discount(
    alpha: float, gamma: float, bits: int = COEFFICIENT_BITS, planes: int = 1
) -> None:
    """Raise ConfigError if a gamma that is neither 0 nor 1 is learned as 0 or 1.

    `alpha` is per plane. Also raises ConfigError as ``qstep.spec.fixed.coefficients`` does.
    """
    learned = learned_discount(alpha, gamma, bits)
    if learned in (0, 1) and differs(alpha, gamma, bits):
        raise ConfigError(_in_words(alpha, gamma, bits, planes, least_bits(alpha, gamma)))


def warn_of_discounts(
    pairs: Iterable[tuple[float, float]], bits: int = COEFFICIENT_BITS, planes: int = 1
) -> None:
    """Run :func:`check_discount` on pairs of alpha and gamma; warn if one learns another discount."""
    off, pairs = [], dict.fromkeys(pairs)
    for pair in pairs:
        check_discount(*pair, bits, planes)
        if differs(*pair, bits):
            off.append(pair)
    if off:
        others = len(off) - 1
        more = f" (and {others} other pair{'s' * (others > 1)} like it)" if others else ""
        message = _in_words(*off[0], bits, planes, _bits_for(pairs), more)
        warnings.warn(message, PrecisionWarning, stacklevel=3)


def discount_in_words(alpha: float, gamma: float, bits: int = COEFFICIENT_BITS) -> list[str]:
    """Return a report line if the learned discount differs from gamma; otherwise, an empty list."""
    if not differs(alpha, gamma, bits):
        return []
    learned = f"{learned_discount(alpha, gamma, bits):.6g}"
    return [
        f"discount learned: {learned}, not gamma {gamma}; the optimum is computed for {learned}"
    ]


def _in_words(
    alpha: float, gamma: float, bits: int, planes: int, enough: int | None, more: str = ""
) -> str:
    """Return a message with the discount learned instead of gamma, and the remedies.

    One remedy is `enough` fractional bits, unless this is None.
    """

    def shown(alpha: str, of_sum: float) -> str:
        return alpha if planes == 1 else f"{of_sum:.6g} ({alpha} in each of {planes} planes)"

    said = (
        f"alpha {shown(str(alpha), alpha * planes)} with gamma {gamma} learns the discount "
        f"{learned_discount(alpha, gamma, bits):.6g}, because alpha and alpha*gamma have {bits} "
        f"fractional bits{more}; use "
    )
    nearest, wider = nearest_alpha(gamma, alpha, bits), ""
    if enough is not None:
        wider = f", or --coefficient-bits {enough} (in Python, coefficient_bits)"
    if nearest is None:
        return f"{said}gamma 1, or at most {1 - 1 / greatest_coefficient(bits):.6g}{wider}"
    other = shown(f"{nearest:.6g}", nearest * planes)
    return f"{said}another gamma, or alpha {other}, the nearest that learns gamma {gamma}{wider}"
