"""Checks of single values: legal values are returned as plain types, and illegal ones raise an error."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable
from numbers import Real
from typing import TypeVar, cast

import numpy as np

from qstep.errors import ConfigError

__all__ = [
    "assign",
    "boolean",
    "check_callable",
    "did_you_mean",
    "instance",
    "integer",
    "one_of",
    "power_of_two",
    "real",
    "shown",
]

_MOST_CHARACTERS = 80

T = TypeVar("T")


def shown(value: object) -> str:
    """Format an untrusted value for an error message."""
    try:
        text = repr(value.item() if isinstance(value, np.generic) else value)
    except Exception:  # nested too deeply, more digits than Python prints, or a repr that fails
        return f"<{type(value).__name__} that cannot be printed>"
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 4]} ..."


def assign(owner: object, **values: object) -> None:
    """Set fields of a frozen dataclass under construction."""
    for name, value in values.items():
        object.__setattr__(owner, name, value)


def boolean(name: str, value: object) -> bool:
    """Return a Python or NumPy bool as a bool; raise ConfigError for anything else, even 0 or 1."""
    if not isinstance(value, bool | np.bool_):
        raise ConfigError(f"{name} is {shown(value)}; it must be true or false")
    return bool(value)


def instance(name: str, value: object, kind: type[T], how: str = "") -> T:
    """Return an instance of `kind`; raise ConfigError, with `how` appended, for anything else."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise ConfigError(f"{name} is {shown(value)}; it must be {article} {kind.__name__}{how}")
    return value


def one_of(name: str, value: object, legal: Collection[str]) -> str:
    """Return one of the legal strings; raise ConfigError for anything else."""
    if not isinstance(value, str) or value not in legal:
        raise ConfigError(f"{name} is {shown(value)}; it must be one of {', '.join(legal)}")
    return value


def check_callable(name: str, value: object) -> None:
    """Raise ConfigError unless a value is callable or None."""
    if value is not None and not callable(value):
        raise ConfigError(f"{name} is {shown(value)}; it must be a function, or None")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question that suggests the known names closest to `name`, or an empty string.

    Examples
    --------
    >>> did_you_mean("gridwrld", ["gridworld", "snake"])
    ' Did you mean gridworld?'
    """
    from difflib import get_close_matches  # slow to import, and needed only for errors

    by_lower = {own.lower(): own for own in known}
    close = [by_lower[own] for own in get_close_matches(name.lower(), by_lower, cutoff=0.7)]
    return f" Did you mean {' or '.join(close)}?" if close else ""


def integer(
    name: str,
    value: object,
    low: int,
    high: int | None = None,
    legal: str = "",
    why: str = "",
) -> int:
    """Check that `value` is an integer in a range; return it as an int.

    It may be an int, a NumPy integer or another object usable as an index. Raises ConfigError for any
    other value, including a bool. In the message, `legal` replaces the range from `low` to `high`, and
    `why` is appended as the reason for the range.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if (
        isinstance(value, bool)
        or number is None
        or number < low
        or (high is not None and number > high)
    ):
        legal = legal or (f"from {low} to {high}" if high is not None else f"of {low} or more")
        legal = str(low) if low == high else f"an integer {legal}"
        raise ConfigError(f"{name} is {shown(value)}; it must be {legal}{why}")
    return number


def power_of_two(name: str, value: object, low: int, high: int) -> int:
    """Check that `value` is a power of two in a range; return it as an int, or raise ConfigError."""
    number = integer(name, value, low, high)
    if number & (number - 1):
        raise ConfigError(f"{name} is {number}; it must be a power of two from {low} to {high}")
    return number


def real(name: str, value: object, low: int = 0, high: int = 1) -> float:
    """Check that `value` is a real number in a range; return it as a float, or raise ConfigError."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise ConfigError(f"{name} is {shown(value)}; it must be a number from {low} to {high}")
    if not low <= cast(float, value) <= high:
        raise ConfigError(f"{name} is {shown(value)}; it must be from {low} to {high}")
    return float(value)
