"""Fuzz the driver, the readers of files and the simulated device, guided by the branches they take.

    python -m tb.fuzz [TARGET]... [--seconds N] [--jobs N] [--keep]

First each planted fault must be found, from nothing or from an example of a file. Then each target is
fuzzed from the inputs that are kept in ``tb/fuzz/corpus``. It fails if a fault is not found, or an
input breaks a property; such an input is written to ``build/fuzz``. ``--keep`` writes the fewest inputs
that take all branches back to the repository, and those that found the faults.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from tb.bench import TB
from tb.fuzz.targets import TARGETS, Target

from qstep.files import make_folder, write_atomically

OUT = TB.parent / "build" / "fuzz"

_SECONDS_FOR_A_FAULT = 300
_SECONDS_FOR_AN_INPUT = 20
_MOST_BYTES = 4096
_CRASHED = 77
"""libFuzzer's exit status after an input that broke a property."""

_TAIL = 20


@dataclass(frozen=True)
class Fuzzed:
    """What became of a target.

    Parameters
    ----------
    inputs : int
        How many were tried.
    branches : int
        How many they took.
    found : list of bytes
        The inputs that found the planted faults.
    missed : list of str
        The faults that were not found.
    failure : str
        What the fuzzer said at an input that broke a property.
    """

    inputs: int
    branches: int
    found: list[bytes]
    missed: list[str]
    failure: str


def _engine(target: Target, *arguments: str) -> subprocess.CompletedProcess[str]:
    common = (f"-timeout={_SECONDS_FOR_AN_INPUT}", f"-max_len={_MOST_BYTES}", "-seed=1")
    return subprocess.run(
        [sys.executable, "-m", "tb.fuzz.engine", target.name, *arguments, *common],
        cwd=TB.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def _filled(folder: Path, inputs: Iterable[bytes]) -> Path:
    """Return a new folder with these inputs."""
    shutil.rmtree(folder, ignore_errors=True)
    make_folder(folder)
    for number, data in enumerate(inputs):
        (folder / f"{number:04}").write_bytes(data)
    return folder


def _finds(target: Target, fault: str, folder: Path) -> bytes | None:
    """Return an input that finds a planted fault."""
    crash = folder / "crash"
    seeds = _filled(folder / "seeds", target.seeds())
    limit = f"-max_total_time={_SECONDS_FOR_A_FAULT}"
    done = _engine(target, "--fault", fault, limit, f"-exact_artifact_path={crash}", str(seeds))
    return crash.read_bytes() if done.returncode == _CRASHED and crash.exists() else None


def _fuzzed(target: Target, seconds: int) -> Fuzzed:
    """Find the planted faults of a target, then fuzz it without one."""
    folder = OUT / target.name
    results = {
        fault: _finds(target, fault, _filled(folder / f"fault-{number}", ()))
        for number, fault in enumerate(target.faults)
    }
    seeds = _filled(folder / "corpus", [*target.seeds(), *target.kept()])
    done = _engine(
        target,
        *(f"-max_total_time={seconds}", "-print_final_stats=1"),
        *(f"-artifact_prefix={folder}/", str(seeds)),
    )
    tried = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    branches = re.findall(r" cov: (\d+)", done.stderr)
    return Fuzzed(
        int(tried[1]) if tried else 0,
        int(branches[-1]) if branches else 0,
        [data for data in results.values() if data is not None],
        [fault for fault, data in results.items() if data is None],
        "\n".join(done.stderr.splitlines()[-_TAIL:]) if done.returncode else "",
    )


def _keep(target: Target, found: Iterable[bytes]) -> None:
    """Write the fewest inputs that take all branches, and `found`, to the repository."""
    folder = OUT / target.name
    least = _filled(folder / "least", ())
    _engine(target, "-merge=1", str(least), str(folder / "corpus")).check_returncode()
    kept = {path.read_bytes() for path in least.iterdir()} | set(found)
    ordered = sorted(kept, key=lambda data: (len(data), data))
    write_atomically(target.corpus, b"".join(b64encode(data) + b"\n" for data in ordered))


@click.command(help=(__doc__ or "").splitlines()[0])
@click.argument("names", nargs=-1, type=click.Choice(list(TARGETS)), metavar="[TARGET]...")
@click.option("--seconds", default=300, show_default=True, help="For each target.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Targets at a time.")
@click.option("--keep", is_flag=True, help="Write the fewest inputs back to tb/fuzz/corpus.")
def main(names: tuple[str, ...], seconds: int, jobs: int, keep: bool) -> None:
    if find_spec("atheris") is None:
        raise click.UsageError("atheris is not installed; make fuzz installs it")
    chosen = [TARGETS[name] for name in names or TARGETS]
    console = Console()
    table = Table("target", "inputs tried", "branches", "faults found", "result")
    verdicts = []
    with ThreadPoolExecutor(jobs) as pool:
        for target, fuzzed in zip(
            chosen, pool.map(lambda target: _fuzzed(target, seconds), chosen), strict=True
        ):
            passed = not fuzzed.missed and not fuzzed.failure
            faults = len(target.faults)
            table.add_row(
                target.name,
                f"{fuzzed.inputs:,}",
                f"{fuzzed.branches:,}",
                f"{faults - len(fuzzed.missed)}/{faults}",
                "pass" if passed else "FAIL",
            )
            verdicts.append(passed)
            for fault in fuzzed.missed:
                console.print(f"{target.name}: not found: {fault}", markup=False)
            if fuzzed.failure:
                console.print(fuzzed.failure, markup=False, highlight=False)
            if keep and passed:
                _keep(target, fuzzed.found)
            console.print(f"{target.name}: {'pass' if passed else 'FAIL'}")
    console.print(table)
    sys.exit(not all(verdicts))


if __name__ == "__main__":
    main()
