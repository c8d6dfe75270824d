"""Comparisons of forms on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Protocol

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from qstep.bench.measure import Spread
from qstep.bench.numbers import number, short, spread
from qstep.bench.pairs import Comparison, Timed

__all__ = ["PAIRED", "longest", "tables"]

PAIRED = (
    "Of forms: median of {rounds} turns in one run, lowest..highest below; building, first runs and "
    "compilation come before and are not timed. x: times the form below its name, paired round by "
    "round; by the clock, and in processor time, which other work on the machine disturbs less."
)


def tables(comparison: Comparison) -> list[RenderableType]:
    """Return a comparison's table, what was found, shares of phases if any, and who is absent."""
    parts: list[RenderableType] = [_rates(comparison)]
    parts += [Text(f"{form.name}: {form.checked}") for form in comparison.forms]
    phased = [form for form in comparison.forms if form.phases]
    if phased:
        parts.append(_phases(comparison.system, phased))
    parts += [Text(f"absent: {entry.name}: {entry.reason}") for entry in comparison.absent]
    return parts


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def longest(*rows: Sequence[_Named]) -> int:
    """Return the width that a column needs so that no name is broken, whatever else is in it."""
    return max(len(row.name) for row in chain(*rows))


def _rates(comparison: Comparison) -> Table:
    table = Table(
        title=f"{comparison.system}: {comparison.task}",
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("form", min_width=longest(comparison.forms, comparison.absent))
    for name in (f"{comparison.unit}/s", "µs", "x", "x CPU time"):
        table.add_column(name, justify="right", no_wrap=True)
    for form in comparison.forms:
        against = f"\nvs {form.base}" if form.base else ""
        table.add_row(
            Text(form.name).append(against, style="dim"),
            spread(form.rate, short),
            number(1e6 / form.rate.median),
            _ratio(form.ratio),
            _ratio(form.processor_ratio),
        )
    for entry in comparison.absent:
        table.add_row(entry.name, "absent", "", "", "")
    return table


def _ratio(ratio: Spread | None) -> Text:
    return Text() if ratio is None else spread(ratio)


def _phases(system: str, forms: list[Timed]) -> Table:
    table = Table(title=f"{system}: where the time goes", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("form", no_wrap=True)
    names = list(dict.fromkeys(name for form in forms for name in form.phases or {}))
    for name in names:
        table.add_column(name, justify="right")
    for form in forms:
        seconds = form.phases or {}
        whole = sum(seconds.values())
        table.add_row(
            form.name,
            *(f"{seconds[name] / whole:.0%}" if name in seconds else "" for name in names),
        )
    return table
