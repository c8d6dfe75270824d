"""References for checking the exercises: the golden model, and faulty variants of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from qstep.golden.lane import updated_value
from qstep.spec.fixed import COEFFICIENT_BITS, COEFFICIENT_ONE, Coefficients, QFormat

__all__ = ["FORMAT", "WRONG", "Case", "Update", "golden", "random_cases"]

FORMAT = QFormat(8, 8)
Case = tuple[int, int, int, bool, int, int]
"""Arguments of an update: q, reward, maximum, terminated, alpha, kappa."""
Update = Callable[[int, int, int, bool, int, int], int]

_HALF = 1 << (COEFFICIENT_BITS - 1)


def golden(q: int, reward: int, maximum: int, terminated: bool, alpha: int, kappa: int) -> int:
    """Return the updated value that the model computes for a case."""
    future = 0 if terminated else maximum
    return updated_value(FORMAT, Coefficients(alpha, kappa), q, reward, future, _HALF)


def random_cases(count: int, seed: int = 1) -> Iterator[Case]:
    """Yield random cases, in which some operands are at the ends of their ranges."""
    draw = random.Random(seed)

    def value() -> int:
        ends = (FORMAT.minimum, -1, 0, 1, FORMAT.maximum)
        return draw.choice(ends) if draw.random() < 0.3 else draw.randint(ends[0], ends[-1])

    for _ in range(count):
        alpha = draw.choice((0, 1, 16384, COEFFICIENT_ONE, draw.randint(0, COEFFICIENT_ONE)))
        kappa = draw.choice((0, alpha, draw.randint(0, alpha)))
        yield value(), value(), value(), draw.random() < 0.3, alpha, kappa


def _exact(q: int, reward: int, future: int, alpha: int, kappa: int) -> int:
    return (COEFFICIENT_ONE - alpha) * q + alpha * reward + kappa * future


def _saturated(value: int) -> int:
    return max(FORMAT.minimum, min(FORMAT.maximum, value))


def _floors(q: int, r: int, m: int, terminated: bool, alpha: int, kappa: int) -> int:
    return _saturated(_exact(q, r, 0 if terminated else m, alpha, kappa) >> COEFFICIENT_BITS)


def _rounds_halves_down(q: int, r: int, m: int, terminated: bool, alpha: int, kappa: int) -> int:
    exact = _exact(q, r, 0 if terminated else m, alpha, kappa)
    return _saturated((exact + _HALF - 1) >> COEFFICIENT_BITS)


def _wraps(q: int, r: int, m: int, terminated: bool, alpha: int, kappa: int) -> int:
    value = (_exact(q, r, 0 if terminated else m, alpha, kappa) + _HALF) >> COEFFICIENT_BITS
    return (value - FORMAT.minimum) % (1 << FORMAT.width) + FORMAT.minimum


def _never_ends(q: int, r: int, m: int, terminated: bool, alpha: int, kappa: int) -> int:
    return golden(q, r, m, False, alpha, kappa)


def _does_not_discount(q: int, r: int, m: int, terminated: bool, alpha: int, kappa: int) -> int:
    return golden(q, r, m, terminated, alpha, alpha)


def _rounds_twice(q: int, r: int, m: int, terminated: bool, alpha: int, kappa: int) -> int:
    future = 0 if terminated else m
    kept = (_exact(q, 0, 0, alpha, kappa) + _HALF) >> COEFFICIENT_BITS
    return _saturated(kept + ((alpha * r + kappa * future + _HALF) >> COEFFICIENT_BITS))


WRONG: dict[str, Update] = {
    "rounds down": _floors,
    "rounds halves down": _rounds_halves_down,
    "wraps around": _wraps,
    "does not see the end of an episode": _never_ends,
    "does not discount": _does_not_discount,
    "rounds twice": _rounds_twice,
}
"""Updates with one fault each, keyed by a description of the fault."""
