"""``qstep export``: a learnt table for other tools."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from qstep._io.files import write_atomically
from qstep.cli._options import agent_option, table_of
from qstep.cli._output import room_for
from qstep.errors import TableError
from qstep.learn.export import EXPORTERS
from qstep.learn.table import load_table, table_config
from qstep.spec.agents import Algorithm

__all__ = ["command"]


@click.command(short_help="Write a learnt table as CSV, C header or memory image.")
@click.argument("table_file", metavar="TABLE.npz", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "name",
    type=click.Choice(tuple(EXPORTERS)),
    required=True,
    help="CSV, a C header, or a memory image for Verilog's $readmemh.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="The file.",
)
@agent_option
def command(table_file: Path, name: str, out: Path, agent: int) -> None:
    """Write a learnt table as text, with exact raw values.

    The first line gives the size and the number format. A C header holds the array
    qstep_table[state][action] of the narrowest integers that fit the format. A memory image has one
    word per line in two's complement, at word state * actions + action.

    \b
    Examples:
      qstep export runs/gridworld/table.npz --format csv --out table.csv
      qstep export runs/gridworld/table.npz --format c --out table.h
      qstep export runs/gridworld/table.npz --format readmemh --out table.hex
    """
    config = table_config(table_file)
    if config.acting is not None and config.acting.algorithm is Algorithm.DOUBLE_Q_LEARNING:
        raise TableError(
            f"{table_file}: holds the two tables of Double Q-learning, and the policy uses their sum; "
            "only a single table can be exported"
        )
    q_raw = table_of(config, load_table(table_file, config), agent, table_file).astype(np.int32)
    with room_for(out):
        write_atomically(out, EXPORTERS[name](q_raw, config).encode())
    click.echo(f"{config.states} states x {config.actions} actions, {config.format}: {out}")
