"""Renders a sweep as a table for the terminal."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from qstep_fpga.explore.result import Exploration, Result

__all__ = ["render"]

_NOTES = (
    "clock: highest clock estimated by place and route; median, and lowest..highest over {seeds} "
    "placement seeds. Updates per clock and million updates per second, at the median clock: for "
    "independent transitions, and below for one walker on an 8x8 grid. * no other result is both "
    "smaller and faster. Nothing was measured on a board."
)


def render(exploration: Exploration) -> Group:
    """Return the table, with two lines per result, grouped by board, and a legend of the figures."""
    results = exploration.results
    # Logic has a separate column, because its name differs between families.
    names = list(dict.fromkeys(name for result in results for name in [*result.resources][1:]))
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("table", no_wrap=True)
    for name in (
        "loop",
        "clock\nMHz",
        "LUTs,\ncells",
        *(name.replace(" ", "\n") for name in names),
    ):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("updates\na clock", justify="right", no_wrap=True)
    table.add_column("million\n/s  ", justify="right", no_wrap=True)
    front = exploration.front()
    for index, result in enumerate(results):
        if index == 0 or results[index - 1].board != result.board:
            table.add_section()
            table.add_row(Text(result.board, style="bold"))
        table.add_row(*_cells(result, names, "*" if index in front else " "))
    seeds = max(len(result.fmax_mhz) for result in results)
    return Group(table, Text(_NOTES.format(seeds=seeds)))


def _cells(result: Result, names: list[str], mark: str) -> list[Text]:
    low, median, high = result.spread
    use = {name: f"{used:,}" for name, (used, _) in result.resources.items()}
    return [
        _two(f"{result.config['states']} x {result.config['actions']}", f"{result.width} bit"),
        Text(str(result.config["loop_depth"])),
        _two(f"{median:.1f}", f"{low:.1f}..{high:.1f}"),
        Text(f"{result.logic[1]:,}"),
        *(Text(use.get(name, "")) for name in names),
        _two(f"{result.independent:.3f}", f"{result.walker:.3f}"),
        _two(f"{result.rate:.1f} {mark}", f"{result.walker_rate:.1f}  "),
    ]


def _two(upper: str, lower: str) -> Text:
    return Text(f"{upper}\n").append(lower, style="dim")
