"""Builds the command line of a row's command, and reads the figures that the command writes.

A test uses pytest's fixture ``record_property`` to report how much it compared, as the name and value of
a figure. Values with the same name are added up.
"""

import json
import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

__all__ = ["Count", "arguments", "read"]

Count = Callable[[str, int], None]
"""The type of ``record_property`` in tests that report figures."""

_MODULES = {
    "make sim": "python -m tb.run_sim",
    "make coverage": "python -m tb.coverage",
    "make formal": "python -m tb.formal.run",
}
"""Commands run by the Makefile's targets; ``make`` cannot pass on the path of the figures."""


def arguments(command: str, figures: Path) -> list[str]:
    """Return the program and arguments that run a command and write its figures, if any, to a file."""
    if command == "make pycoverage":
        totals = shlex.join([sys.executable, "-m", "coverage", "json", "-q", "-o", str(figures)])
        return ["sh", "-c", f"{command} && {totals}"]
    program, *rest = shlex.split(_MODULES.get(command, command))
    if program == "pytest":
        processes = ["-q", "-n", str(os.cpu_count() or 1), "--dist", "worksteal"]
        return [sys.executable, "-m", "pytest", *processes, "--junitxml", str(figures), *rest]
    if program == "python":
        return [sys.executable, *rest, "--json", str(figures)]
    return [program, *rest]


def read(command: str, figures: Path) -> dict[str, int]:
    """Return the figures that a command has written; empty if it has written no file."""
    if not figures.exists():
        return {}
    text = figures.read_text(encoding="utf-8")
    if command.startswith("pytest "):
        return _junit(text)
    found = json.loads(text)
    if command == "make sim":
        bins = sum(hit for run in found for hit, _ in run["coverage"].values())
        return {"runs": len(found), "exact": sum(run["exact"] for run in found), "bins": bins}
    if command == "make formal":
        induction = sum(proof["how"].startswith("induction") for proof in found)
        faults = sum(len(proof["faults"]) for proof in found)
        return {"proofs": len(found), "induction": induction, "faults": faults}
    if command == "make pycoverage":
        found = found["totals"]
    sizes = {name: len(what) if isinstance(what, list) else what for name, what in found.items()}
    return {name: size for name, size in sizes.items() if type(size) is int}


def _junit(text: str) -> dict[str, int]:
    figures: Counter[str] = Counter(tests=0, skipped=0)
    for case in ElementTree.fromstring(text).iter("testcase"):
        figures["skipped" if case.find("skipped") is not None else "tests"] += 1
        for counted in case.iter("property"):
            figures[counted.attrib["name"]] += int(counted.attrib["value"])
    return dict(figures)
