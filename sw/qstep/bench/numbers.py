"""The benchmark's format of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

from rich.text import Text

from qstep.bench.measure import Spread

__all__ = ["number", "short", "spread"]


def number(value: float) -> str:
    """Return a positive value with three significant digits, without an exponent."""
    return f"{value:,.{max(0, 2 - math.floor(math.log10(value)))}f}"


def short(value: float) -> str:
    """Return a positive value with three significant digits, thousands as k, millions as M."""
    for power, letter in ((1e6, " M"), (1e3, " k")):
        if value >= power:
            return number(value / power) + letter
    return number(value)


def spread(values: Spread, write: Callable[[float], str] = number) -> Text:
    """Return the median, and below it the lowest and the highest."""
    text = Text(f"{write(values.median)}\n")
    return text.append(f"{write(values.minimum)}..{write(values.maximum)}", style="dim")
