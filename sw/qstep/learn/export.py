"""A learnt table as text for other tools: CSV, a C header, or a memory image for ``$readmemh``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qstep.spec.config import Config

__all__ = ["EXPORTERS", "to_c", "to_csv", "to_readmemh"]


def _about(config: Config) -> str:
    fraction = config.format.fraction
    return (
        f"Q-table of QStep: {config.states} states x {config.actions} actions, {config.format}: "
        f"integers of {config.format.width} bits, value = integer / 2^{fraction}."
    )


def to_csv(q_raw: NDArray[np.int32], config: Config) -> str:
    """Return one line per state: its number and the raw value of each action.

    Parameters
    ----------
    q_raw : ndarray of int32, shape (S, A)
    config : Config
        Of the table.
    """
    names = ",".join(["state", *(f"action_{action}" for action in range(config.actions))])
    lines = [",".join(map(str, [state, *row])) for state, row in enumerate(q_raw.tolist())]
    return "\n".join([f"# {_about(config)}", names, *lines]) + "\n"


def to_c(q_raw: NDArray[np.int32], config: Config) -> str:
    """Return a header with the table as a constant array of the narrowest type that fits."""
    width = next(bits for bits in (8, 16, 32) if bits >= config.format.width)
    rows = [f"    {{{', '.join(map(str, row))}}}" for row in q_raw.tolist()]
    return "\n".join(
        [
            f"/* {_about(config)} */",
            "#ifndef QSTEP_TABLE_H",
            "#define QSTEP_TABLE_H",
            "",
            "#include <stdint.h>",
            "",
            f"#define QSTEP_STATES {config.states}",
            f"#define QSTEP_ACTIONS {config.actions}",
            f"#define QSTEP_FRACTION_BITS {config.format.fraction}",
            "",
            f"static const int{width}_t qstep_table[QSTEP_STATES][QSTEP_ACTIONS] = {{",
            ",\n".join(rows),
            "};",
            "",
            "#endif",
            "",
        ]
    )


def to_readmemh(q_raw: NDArray[np.int32], config: Config) -> str:
    """Return one word per line, in two's complement and hexadecimal, action 0 of each state first."""
    width = config.format.width
    words = (q_raw.astype(np.int64) & ((1 << width) - 1)).reshape(-1).tolist()
    digits = -(-width // 4)
    about = f"// {_about(config)}\n// Word state * {config.actions} + action.\n"
    return about + "".join(f"{word:0{digits}x}\n" for word in words)


EXPORTERS = {"csv": to_csv, "c": to_c, "readmemh": to_readmemh}
"""The functions that write a table, by the name of their format."""
