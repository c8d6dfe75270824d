"""Mutate Python modules of QStep with mutmut, and report the mutants that their tests do not find.

    python -m tb.mutate.python                 # the modules of [tool.mutmut] in pyproject.toml
    python -m tb.mutate.python qstep.spec.fixed

mutmut finds packages only in the current folder or in ``src``, with their tests next to them. So it runs
in ``build/mutate/python``, which contains links to the whole repository and to ``qstep`` as a package.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tb.bench import TB

from qstep._io.files import write_atomically

__all__ = ["main"]

ROOT = TB.parent
FOLDER = ROOT / "build/mutate/python"

_ENOUGH = 0.9
"""Minimum fraction of a module's mutants that its tests have to find."""


def _mutmut(*words: str) -> str:
    """Run mutmut in the folder; return the output of ``results``; other commands print theirs."""
    command = [sys.executable, "-m", "mutmut", *words]
    keep = words[0] == "results"
    answer = subprocess.run(command, cwd=FOLDER, stdout=-1 if keep else None, text=True, check=True)
    return answer.stdout or ""


def _link() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    tests = FOLDER / "mutants"
    tests.mkdir(parents=True)
    for path in ROOT.iterdir():
        if path.name not in {".git", ".venv", "build", "pyproject.toml"}:
            (tests / path.name).symlink_to(path)
    (FOLDER / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    (FOLDER / "qstep").symlink_to(ROOT / "sw/qstep")


def main(arguments: Sequence[str] | None = None) -> int:
    """Test the mutants of the named modules; return 1 if less than 90 % of a module's are found."""
    parser = argparse.ArgumentParser(description="Find out which faults in Python no test finds.")
    parser.add_argument(
        "module", nargs="*", help="modules, such as qstep.spec.fixed (default: all)"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    parser.add_argument("--json", type=Path, help="write the counts, too")
    given = parser.parse_args(arguments)
    _link()
    _mutmut("run", "--max-children", str(given.jobs), *(f"{name}.x*" for name in given.module))
    tried, found = Counter[str](), Counter[str]()
    for line in _mutmut("results", "--all", "true").splitlines():
        name, _, verdict = line.strip().rpartition(": ")
        module = name.partition(".x")[0]
        if verdict != "not checked":
            tried[module] += 1
            found[module] += verdict in {"killed", "timeout"}
        if verdict not in {"killed", "timeout", "not checked"}:
            print(f"    {name}: {verdict}")
    for module, count in tried.items():
        print(f"{module}: {found[module]} of {count} found, {found[module] / count:.1%}")
    enough = sum(found[module] >= _ENOUGH * tried[module] for module in tried)
    counts = {"modules": len(tried), "enough": enough}
    counts |= {"faults": tried.total(), "found": found.total()}
    if given.json:
        write_atomically(given.json, json.dumps(counts).encode())
    return 0 if tried and enough == len(tried) else 1


if __name__ == "__main__":
    sys.exit(main())
