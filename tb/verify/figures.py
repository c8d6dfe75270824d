"""How the commands of the sixteen rows are carried out, and how the figures are read that they write.

A test counts what it compared with pytest's fixture ``record_property``: a name that the rows use, and
how many. Counts of one name are added up.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

__all__ = ["Count", "Figures", "arguments", "read"]

Figures = tuple[dict[str, int], list[dict[str, Any]]]
"""Counts by name, and the details behind them."""

Count = Callable[[str, int], None]
"""What the fixture ``record_property`` is here: takes the name of a figure, and how many."""


def _junit(text: str) -> Figures:
    figures: Counter[str] = Counter(tests=0, skipped=0)
    for case in ElementTree.fromstring(text).iter("testcase"):
        figures["skipped" if case.find("skipped") is not None else "tests"] += 1
        for counted in case.iter("property"):
            figures[counted.attrib["name"]] += int(counted.attrib["value"])
    return dict(figures), []


def _formal(text: str) -> Figures:
    proofs = json.loads(text)
    figures = {
        "proofs": len(proofs),
        "induction": sum(proof["how"].startswith("induction") for proof in proofs),
        "faults": sum(len(proof["faults"]) for proof in proofs),
    }
    return figures, proofs


def _sim(text: str) -> Figures:
    runs = json.loads(text)
    covered = [point for run in runs for point in run["coverage"].values()]
    figures = {
        "runs": len(runs),
        "exact": sum(run["exact"] for run in runs),
        "bins": sum(hit for hit, _ in covered),
    }
    return figures, runs


def _coverage(text: str) -> Figures:
    found = json.loads(text)
    waived, missed = len(found["waived"]), len(found["missed"])
    points = found["covered"] + waived + missed
    figures = {"covered": found["covered"], "waived": waived, "points": points}
    return figures | {"constants": found["constants"]}, []


def _counts(text: str) -> Figures:
    return json.loads(text), []


_PYTEST = ["-m", "pytest", "-q", "-n", str(os.cpu_count() or 1), "--dist", "worksteal"]
_TOOLS: dict[str, tuple[list[str], str, Callable[[str], Figures]]] = {
    "pytest": (_PYTEST, "--junitxml", _junit),
    "make sim": (["-m", "tb.run_sim"], "--json", _sim),
    "make coverage": (["-m", "tb.coverage"], "--json", _coverage),
    "make formal": (["-m", "tb.formal.run"], "--json", _formal),
    "python -m tb.coverage.python": (["-m", "tb.coverage.python"], "--json", _counts),
    "python -m tb.mutate": (["-m", "tb.mutate"], "--json", _counts),
    "python -m tb.mutate.python": (["-m", "tb.mutate.python"], "--json", _counts),
}
"""The module, its option for a file of figures, and what reads that file."""


def _tool(command: str) -> str:
    return next((name for name in _TOOLS if f"{command} ".startswith(f"{name} ")), "")


def arguments(command: str, figures: Path) -> list[str]:
    """Return the program and its arguments for a command of a row, with its figures to a file.

    A tool of ours runs in this very Python, so that the environment is the one that verifies.
    """
    name = _tool(command)
    if not name:
        return shlex.split(command)
    module, option, _ = _TOOLS[name]
    return [sys.executable, *module, option, str(figures), *shlex.split(command[len(name) :])]


def read(command: str, figures: Path) -> Figures:
    """Return the figures that a command has written; none if it is no tool that writes any."""
    name = _tool(command)
    return _TOOLS[name][2](figures.read_text(encoding="utf-8")) if name else ({}, [])
