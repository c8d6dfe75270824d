"""``qstep export``: write a table as CSV, C header or memory image, or a network as ONNX."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from qstep._io.files import write_atomically
from qstep.cli._options import (
    FILE,
    NEW_FILE,
    agent_option,
    network_of,
    option,
    refuse,
    table_of,
)
from qstep.cli._output import room_for
from qstep.errors import TableError
from qstep.learn.table import load_table
from qstep.spec.agents import Algorithm
from qstep.spec.config import Config
from qstep.spec.tiles import Tiles

__all__ = ["command", "to_c", "to_csv", "to_readmemh"]


def _about(config: Config) -> str:
    fraction = config.format.fraction
    return (
        f"Q-table of QStep: {_size(config)}, {config.format}: "
        f"integers of {config.format.width} bits, value = integer / 2^{fraction}."
    )


def _size(config: Config) -> str:
    planes = "" if config.planes == 1 else f"{config.planes} planes x "
    return f"{planes}{config.states} states x {config.actions} actions"


def _coder(tiles: Tiles) -> str:
    """Return C functions that turn an observation into a row of each plane, and choose the action."""
    numbers = len(tiles.coordinates)
    tables = {
        name: ", ".join(str(getattr(own, name)) for own in tiles.coordinates)
        for name in ("low", "scale", "shift", "tiles")
    }
    groups = ", ".join(f"{{{', '.join(map(str, (len(g), *g)))}}}" for g in tiles.groups)
    longest = max(map(len, tiles.groups)) + 1
    units = ", ".join(map(repr, tiles.units))
    mixed = (
        ""
        if not tiles.hashes
        else f"""
            if (count > {tiles.rows}) {{
                uint32_t k = (uint32_t)(word >> 32) ^ (uint32_t)word ^ (uint32_t)t * 0x9E3779B9u;
                k += k << 12; k ^= k >> 22; k += k << 4; k ^= k >> 9;
                k += k << 10; k ^= k >> 2; k += k << 7; k ^= k >> 12;
                word = k & {tiles.rows - 1}u;
            }}"""
    )
    return f"""
/* 1.0 of each number of an observation in raw units: raw = floor(x * unit + 0.5). */
#define QSTEP_NUMBERS {numbers}
static const double qstep_units[{numbers}] = {{{units}}};

/* The row in each plane of an observation in raw units. */
static void qstep_rows(const int32_t raw[{numbers}], uint32_t rows[QSTEP_PLANES]) {{
    static const int64_t low[] = {{{tables["low"]}}}, scale[] = {{{tables["scale"]}}};
    static const int shift[] = {{{tables["shift"]}}}, tiles[] = {{{tables["tiles"]}}};
    static const int groups[][{longest}] = {{{groups}}}; /* the length of each comes first */
    int plane = 0;
    for (int g = 0; g < {len(tiles.groups)}; g++)
        for (int t = 0; t < {tiles.tilings}; t++, plane++) {{
            uint64_t word = 0, count = 1;
            for (int d = 0; d < groups[g][0]; d++) {{
                int k = groups[g][d + 1];
                int64_t u = ((raw[k] - low[k]) * scale[k]) >> shift[k]; /* arithmetic */
                if (u < 0) u = 0;
                if (u > tiles[k] * {tiles.tilings}) u = tiles[k] * {tiles.tilings};
                word = word * (tiles[k] + 1) + (u + t * (2 * d + 1) % {tiles.tilings}) / {tiles.tilings};
                count *= tiles[k] + 1;
            }}{mixed}
            rows[plane] = (uint32_t)word;
        }}
}}

/* The greedy action for an observation in raw units. */
static int qstep_action(const int32_t raw[{numbers}]) {{
    uint32_t rows[QSTEP_PLANES];
    int64_t best = INT64_MIN;
    int action = 0;
    qstep_rows(raw, rows);
    for (int a = 0; a < QSTEP_ACTIONS; a++) {{
        int64_t sum = 0;
        for (int p = 0; p < QSTEP_PLANES; p++) sum += qstep_table[p][rows[p]][a];
        if (sum > best) {{ best = sum; action = a; }}
    }}
    return action;
}}
"""


def to_csv(q_raw: NDArray[np.signedinteger], config: Config) -> str:
    """Return one line per state, or per plane and state, with its number and the actions' raw values."""
    axes = ["state"] if config.planes == 1 else ["plane", "state"]
    names = ",".join([*axes, *(f"action_{action}" for action in range(config.actions))])
    lines = [
        ",".join(map(str, [*place, *q_raw[place].tolist()]))
        for place in np.ndindex(*q_raw.shape[:-1])
    ]
    return "\n".join([f"# {_about(config)}", names, *lines]) + "\n"


def to_c(q_raw: NDArray[np.signedinteger], config: Config) -> str:
    """Return a header with the table as a constant array of the narrowest type that fits.

    With several planes, the header also has functions to find rows and choose the action.
    """
    width = next(bits for bits in (8, 16, 32) if bits >= config.format.width)
    planes = [
        ",\n".join(f"    {{{', '.join(map(str, row))}}}" for row in plane)
        for plane in q_raw.reshape(-1, config.states, config.actions).tolist()
    ]
    tiles = None if config.acting is None else config.acting.tiles
    if tiles is None:
        size, axis, (rows,), coder = "", "", planes, ""
    else:
        size, axis = f"#define QSTEP_PLANES {config.planes}\n", "[QSTEP_PLANES]"
        rows = ",\n".join(f"  {{\n{plane}\n  }}" for plane in planes)
        coder = _coder(tiles)
    return f"""\
/* {_about(config)} */
#ifndef QSTEP_TABLE_H
#define QSTEP_TABLE_H

#include <stdint.h>

{size}#define QSTEP_STATES {config.states}
#define QSTEP_ACTIONS {config.actions}
#define QSTEP_FRACTION_BITS {config.format.fraction}

static const int{width}_t qstep_table{axis}[QSTEP_STATES][QSTEP_ACTIONS] = {{
{rows}
}};
{coder}
#endif
"""


def to_readmemh(q_raw: NDArray[np.signedinteger], config: Config) -> str:
    """Return one two's-complement word per line, in hexadecimal, action 0 of each state first."""
    width = config.format.width
    words = (q_raw.astype(np.int64) & ((1 << width) - 1)).reshape(-1).tolist()
    digits = -(-width // 4)
    at = "state" if config.planes == 1 else f"(plane * {config.states} + state)"
    about = f"// {_about(config)}\n// Word {at} * {config.actions} + action.\n"
    return about + "".join(f"{word:0{digits}x}\n" for word in words)


_TABLE_FORMATS = {"csv": to_csv, "c": to_c, "readmemh": to_readmemh}
_ONNX = "onnx"


@click.command(short_help="Write a table as CSV, C header or memory image, or a network as ONNX.")
@click.argument("source", metavar="TABLE.npz|FOLDER", type=FILE)
@option(
    "--format",
    "For a table: CSV, a C header, or a memory image for Verilog's $readmemh. For a network: ONNX.",
    "name",
    type=click.Choice((*_TABLE_FORMATS, _ONNX)),
    required=True,
)
@option("--out", "File to write.", type=NEW_FILE, required=True, metavar="FILE")
@agent_option
def command(source: Path, name: str, out: Path, agent: int | None) -> None:
    """Write a learned table as text, with exact raw values, or a network as an ONNX model.

    The first line of a table's file gives its size and number format. A C header contains the array
    qstep_table[state][action] of the narrowest integers that fit the format. A memory image has one
    word per line in two's complement, at word state * actions + action. With several planes, the plane
    comes first: qstep_table[plane][state][action], or word (plane * states + state) * actions + action.
    The C header then also has qstep_rows and qstep_action.

    A network is given by its run's FOLDER. The ONNX model maps a batch of Gymnasium observations to
    action values. It needs neither QStep nor PyTorch.

    \b
    Examples:
      qstep export runs/gridworld/table.npz --format csv --out table.csv
      qstep export runs/gridworld/table.npz --format c --out table.h
      qstep export runs/gridworld/table.npz --format readmemh --out table.hex
      qstep export runs/dqn-cartpole --format onnx --out cartpole.onnx
    """
    if name == _ONNX:
        refuse(["agent"], "is for tables; a run has one network")
        if source.is_file():
            raise click.UsageError(
                f"--format {_ONNX} exports the network of a run's folder; {source} is a file"
            )
        network = network_of(source)
        data, about = network.onnx(), f"{network.name}, {network.report['algorithm']}"
    else:
        if source.is_dir():
            raise click.UsageError(
                f"--format {name} exports a table's file; {source} is a folder; export its "
                f"network with --format {_ONNX}"
            )
        data, about = _table(source, name, agent)
    with room_for(out):
        write_atomically(out, data)
    click.echo(f"{about}: {out}")


def _table(source: Path, name: str, agent: int | None) -> tuple[bytes, str]:
    """Return a table in a text format, and its description."""
    saved = load_table(source)
    config = saved.config
    if config.acting is not None and config.acting.algorithm is Algorithm.DOUBLE_Q_LEARNING:
        raise TableError(
            f"{source}: holds the two tables of Double Q-learning, and the policy uses their sum; "
            "only a single table can be exported"
        )
    text = _TABLE_FORMATS[name](table_of(source, saved, agent), config)
    return text.encode(), f"{_size(config)}, {config.format}"
