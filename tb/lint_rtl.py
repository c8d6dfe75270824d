"""Check the RTL with Verilator's linter, every warning on, over the corners of its parameters."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from qstep_sim import verilator

__all__ = ["CORNERS", "RTL", "lint"]

RTL = Path(__file__).resolve().parents[1] / "rtl"

CORNERS = [
    {"States": states, "Actions": actions, "Width": width, "LoopDepth": depth}
    for (states, actions), width, depth in itertools.product(
        [(2, 2), (25, 3), (65536, 4), (64, 64)], [8, 32], [1, 2, 3]
    )
]
"""Parameters of `qs_lane`: each at its ends, with sizes that are and are not powers of two."""


def lint(top: str, parameters: Mapping[str, int], rtl: Path = RTL) -> str:
    """Return what Verilator has to say about a module and all below it; empty if nothing."""
    settings = [f"-G{name}={value}" for name, value in parameters.items()]
    answer = subprocess.run(
        [
            str(verilator.find()),
            *("--lint-only", "-Wall", "--assert", f"-I{rtl}", "--top-module", top),
            *settings,
            *(str(rtl / name) for name in ("qs_pkg.sv", f"{top}.sv")),
        ],
        env=verilator.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode and not answer.stderr:
        return f"verilator ended with status {answer.returncode}"
    return answer.stderr


def _main() -> int:
    for parameters in CORNERS:
        complaint = lint("qs_lane", parameters)
        if complaint:
            print(f"qs_lane with {parameters}:\n{complaint}", file=sys.stderr)
            return 1
    print(f"RTL: no warnings in {len(CORNERS)} sets of parameters")
    return 0


if __name__ == "__main__":
    sys.exit(_main())
