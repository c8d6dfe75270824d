"""How the benchmark writes numbers."""

from __future__ import annotations

import math

from rich.text import Text

from qstep.bench.measure import Spread

__all__ = ["number", "spread"]


def number(value: float) -> str:
    """Return a positive value with three significant digits, without an exponent."""
    return f"{value:,.{max(0, 2 - math.floor(math.log10(value)))}f}"


def spread(values: Spread) -> Text:
    """Return the median, and below it the lowest and the highest."""
    text = Text(f"{number(values.median)}\n")
    return text.append(f"{number(values.minimum)}..{number(values.maximum)}", style="dim")
