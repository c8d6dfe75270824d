"""A sweep as one table on the terminal."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table

from qstep_fpga.explore.result import Exploration, Result

__all__ = ["render"]


def render(exploration: Exploration) -> Table:
    """Return the table: a row a result, boards one after the other, a star at the Pareto front."""
    table = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        caption=(
            "* no other one is both smaller and faster. Highest clock: lowest, median, highest over "
            "the placement seeds, as place and route estimates it; nothing was measured on a board. "
            "Updates: of independent transitions / of one walker on an 8x8 grid; a second: at the "
            "median clock."
        ),
        caption_justify="left",
    )
    names = list(exploration.results[0].resources)
    for result in exploration.results:
        names += [name for name in result.resources if name not in names]
    table.add_column("table")
    table.add_column("bits", justify="right")
    table.add_column("loop", justify="right")
    table.add_column("clock, MHz", justify="right")
    table.add_column("seeds", justify="right")
    for name in names:
        table.add_column(name, justify="right")
    table.add_column("a clock", justify="right")
    table.add_column("million/s", justify="right")
    table.add_column("")
    front = exploration.front()
    board = ""
    for index, result in enumerate(exploration.results):
        if result.board != board:
            board = result.board
            table.add_section()
            table.add_row(f"[bold]{board}[/]")
        table.add_row(*_cells(result, names), "*" if index in front else "")
    return table


def _cells(result: Result, names: list[str]) -> list[str]:
    config = result.config
    use = {name: f"{used:,}" for name, (used, _) in result.resources.items()}
    return [
        f"{config['states']} x {config['actions']}",
        str(result.width),
        str(config["loop_depth"]),
        " ".join(f"{clock:.1f}" for clock in result.spread),
        str(len(result.fmax_mhz)),
        *(use.get(name, "") for name in names),
        f"{result.independent:.3f} / {result.walker:.3f}",
        f"{result.rate:.1f} / {result.walker_rate:.1f}",
    ]
