"""Mutate Python modules of QStep, and say which faults their tests find.

    python -m tb.mutate.python                # all modules; an interrupted run continues
    python -m tb.mutate.python fixed --mutants 50

Each fault gets a process forked from one that has loaded NumPy, Numba and pytest. There QStep is
imported with the fault in one module, and the module's tests run until one fails. Verdicts are kept
under ``build/mutate``, by the module and its tests.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType
from typing import Any

import numba
import numpy
import pytest
from tb.mutate.python_mutants import Fault, faults

from qstep.files import write_atomically

__all__ = ["MODULES", "survivors"]

_LOADED = (numba, numpy)
"""Loaded once, in front of all forks."""

_AGAIN = {"qstep", "qstep_rtl", "qstep_sim", "qstep_fpga", "tb", "gymnasium"}
"""Packages that each fork imports again: ours, and Gymnasium, which has our environments registered."""

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "mutate" / "python"
_SPARE_S = 20

_ENOUGH = 0.9
"""The share of its faults that a module's tests have to find."""

_CHOSEN = "unit and not release"

_WINDOW = tuple(f"tb/sw/test_window{what}.py" for what in ("", "_errors"))
_SESSION = tuple(
    f"tb/sw/test_session_{what}.py"
    for what in ("opening", "timed", "retries", "refused", "rates", "lost")
)

MODULES: dict[str, tuple[str, ...]] = {
    "fixed": ("tb/sw/test_fixed.py", "tb/sw/test_config.py"),
    "model": ("tb/sw/test_model.py",),
    "protocol": tuple(f"tb/sw/test_{what}.py" for what in ("protocol", "frames", "records")),
    "link/frames": ("tb/sw/test_frames.py",),
    "link/window": (*_WINDOW, *_SESSION, "tb/sw/test_session.py"),
    "link/session": (*_SESSION, "tb/sw/test_driver_errors.py", "tb/sw/test_session.py"),
}
"""The tests of each module under ``sw/qstep``, fast ones first."""


class _Faulty(importlib.abc.MetaPathFinder):
    """Imports one module with other source text."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        self._name, self._path = name, str(path)
        self._code = compile(source, self._path, "exec")

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != self._name:
            return None
        code = self._code

        class _Loader(importlib.machinery.SourceFileLoader):
            def get_code(self, fullname: str) -> CodeType:
                return code

        loader = _Loader(fullname, self._path)
        return importlib.util.spec_from_file_location(fullname, self._path, loader=loader)


def _path(module: str) -> Path:
    return ROOT / "sw" / "qstep" / f"{module}.py"


def _is_found(module: str, source: str, limit_s: float) -> tuple[bool, float]:
    """Run the module's tests on this text of it; return if one fails, and the time of the processor."""
    pid = os.fork()
    if not pid:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit_s), int(limit_s) + 1))
        code: int = 1
        try:
            name = f"qstep.{module.replace('/', '.')}"
            for loaded in list(sys.modules):
                if loaded.partition(".")[0] in _AGAIN:
                    del sys.modules[loaded]
            sys.meta_path.insert(0, _Faulty(name, _path(module), source))
            options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", _CHOSEN]
            code = int(pytest.main([*options, *MODULES[module]]))
        finally:
            os._exit(code)
    _, status, usage = os.wait4(pid, 0)
    return status != 0, usage.ru_utime + usage.ru_stime


def _key(module: str) -> str:
    digest = hashlib.sha256()
    for path in (f"sw/qstep/{module}.py", *MODULES[module], "tb/mutate/python_mutants.py"):
        digest.update((ROOT / path).read_bytes())
    return digest.hexdigest()[:16]


def survivors(module: str, count: int, seed: int, *, quiet: bool = True) -> tuple[int, list[Fault]]:
    """Return the number of faults tried, and those that no test finds.

    Raises
    ------
    AssertionError
        The tests fail on the module as it is.
    """
    source = _path(module).read_text(encoding="utf-8")
    every = faults(source)
    chosen = every if len(every) <= count else random.Random(seed).sample(every, count)
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"{module.replace('/', '-')}-{_key(module)}.json"
    found: dict[str, bool] = json.loads(path.read_text()) if path.exists() else {}
    limit_s = 0.0
    for done, fault in enumerate(chosen, 1):
        key = hashlib.sha256(fault.source.encode()).hexdigest()[:16]
        if key not in found:
            if not limit_s:
                wrong, seconds = _is_found(module, source, 3600)
                assert not wrong, f"the tests of {module} fail without a fault"
                limit_s = 3 * seconds + _SPARE_S
            found[key], _ = _is_found(module, fault.source, limit_s)
            path.write_text(json.dumps(found), encoding="utf-8")
        if not quiet:
            print(f"\r{module}: {done} of {len(chosen)}", end="", file=sys.stderr, flush=True)
    missed = [
        fault
        for fault in chosen
        if not found[hashlib.sha256(fault.source.encode()).hexdigest()[:16]]
    ]
    return len(chosen), missed


def main(arguments: Sequence[str] | None = None) -> int:
    """Try faults in the modules named; return 1 if less than 90 % of a module's are found."""
    parser = argparse.ArgumentParser(description="Find out which faults in Python no test finds.")
    parser.add_argument("module", nargs="*", help="modules (default: all)")
    parser.add_argument("--mutants", type=int, default=1000, help="of each module")
    parser.add_argument("--seed", type=int, default=1, help="of their choice, if there are more")
    parser.add_argument("--json", type=Path, help="write the counts, too")
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.module if name not in MODULES]:
        parser.error(f"no such module: {', '.join(unknown)}; there are {', '.join(MODULES)}")
    os.chdir(ROOT)
    counts = dict.fromkeys(("modules", "enough", "faults", "found"), 0)
    for module in given.module or MODULES:
        tried, missed = survivors(module, given.mutants, given.seed, quiet=not sys.stderr.isatty())
        share = 1 - len(missed) / tried
        add = {
            "modules": 1,
            "enough": share >= _ENOUGH,
            "faults": tried,
            "found": tried - len(missed),
        }
        counts = {name: count + int(add[name]) for name, count in counts.items()}
        print(f"{module}: {tried - len(missed)} of {tried} found, {share:.1%}")
        for fault in missed:
            print(f"    line {fault.line}: {fault.text}")
    if given.json:
        write_atomically(given.json, json.dumps(counts).encode())
    return 0 if counts["enough"] == counts["modules"] else 1


if __name__ == "__main__":
    sys.exit(main())
