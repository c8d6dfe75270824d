"""``qstep export``: a learnt table as text for other tools: CSV, a C header, a memory image."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from qstep._io.files import write_atomically
from qstep.cli._options import FILE, NEW_FILE, agent_option, option, table_of
from qstep.cli._output import room_for
from qstep.errors import TableError
from qstep.learn.table import load_table
from qstep.spec.agents import Algorithm
from qstep.spec.config import Config

__all__ = ["command", "to_c", "to_csv", "to_readmemh"]


def _about(config: Config) -> str:
    fraction = config.format.fraction
    return (
        f"Q-table of QStep: {config.states} states x {config.actions} actions, {config.format}: "
        f"integers of {config.format.width} bits, value = integer / 2^{fraction}."
    )


def to_csv(q_raw: NDArray[np.signedinteger], config: Config) -> str:
    """Return one line per state: its number and the raw value of each action."""
    names = ",".join(["state", *(f"action_{action}" for action in range(config.actions))])
    lines = [",".join(map(str, [state, *row])) for state, row in enumerate(q_raw.tolist())]
    return "\n".join([f"# {_about(config)}", names, *lines]) + "\n"


def to_c(q_raw: NDArray[np.signedinteger], config: Config) -> str:
    """Return a header with the table as a constant array of the narrowest type that fits."""
    width = next(bits for bits in (8, 16, 32) if bits >= config.format.width)
    rows = ",\n".join(f"    {{{', '.join(map(str, row))}}}" for row in q_raw.tolist())
    return f"""\
/* {_about(config)} */
#ifndef QSTEP_TABLE_H
#define QSTEP_TABLE_H

#include <stdint.h>

#define QSTEP_STATES {config.states}
#define QSTEP_ACTIONS {config.actions}
#define QSTEP_FRACTION_BITS {config.format.fraction}

static const int{width}_t qstep_table[QSTEP_STATES][QSTEP_ACTIONS] = {{
{rows}
}};

#endif
"""


def to_readmemh(q_raw: NDArray[np.signedinteger], config: Config) -> str:
    """Return one word per line, in two's complement and hexadecimal, action 0 of each state first."""
    width = config.format.width
    words = (q_raw.astype(np.int64) & ((1 << width) - 1)).reshape(-1).tolist()
    digits = -(-width // 4)
    about = f"// {_about(config)}\n// Word state * {config.actions} + action.\n"
    return about + "".join(f"{word:0{digits}x}\n" for word in words)


_FORMATS = {"csv": to_csv, "c": to_c, "readmemh": to_readmemh}


@click.command(short_help="Write a learnt table as CSV, C header or memory image.")
@click.argument("table_file", metavar="TABLE.npz", type=FILE)
@option(
    "--format",
    "CSV, a C header, or a memory image for Verilog's $readmemh.",
    "name",
    type=click.Choice(tuple(_FORMATS)),
    required=True,
)
@option("--out", "The file.", type=NEW_FILE, required=True, metavar="FILE")
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
    saved = load_table(table_file)
    config = saved.config
    if config.acting is not None and config.acting.algorithm is Algorithm.DOUBLE_Q_LEARNING:
        raise TableError(
            f"{table_file}: holds the two tables of Double Q-learning, and the policy uses their sum; "
            "only a single table can be exported"
        )
    q_raw = table_of(table_file, saved, agent)
    with room_for(out):
        write_atomically(out, _FORMATS[name](q_raw, config).encode())
    click.echo(f"{config.states} states x {config.actions} actions, {config.format}: {out}")
