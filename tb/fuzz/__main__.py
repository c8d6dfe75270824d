"""Fuzz the driver and the simulated device, guided by the branches that inputs exercise.

    python -m tb.fuzz [TARGET]... [--seconds N] [--jobs N] [--keep]

Fuzzing of each target starts from the inputs in ``tb/fuzz/corpus``. It fails if an input violates a
property; that input is written to ``build/fuzz``. ``--keep`` adds a minimal set of inputs that reach all
new branches to the repository's corpus.
"""

import os
import re
import shutil
import subprocess
import sys
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import click
from tb.bench import TB
from tb.fuzz.targets import TARGETS, corpus, kept

from qstep._io.files import make_folder, write_atomically

OUT = TB.parent / "build" / "fuzz"

_LIMITS = ("-timeout=20", "-max_len=4096", "-seed=1")
_TAIL = 20


def _engine(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tb.fuzz.engine", name, *_LIMITS, *arguments],
        cwd=TB.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def _is_passed(name: str, seconds: int, keep: bool) -> bool:
    """Fuzz a target, print its result, and return whether it passed."""
    inputs, merged = OUT / name / "corpus", OUT / name / "merged"
    for folder in (inputs, merged):
        shutil.rmtree(folder, ignore_errors=True)
        make_folder(folder)
        for number, data in enumerate(kept(name)):
            (folder / str(number)).write_bytes(data)
    wanted = (f"-max_total_time={seconds}", "-print_final_stats=1")
    done = _engine(name, *wanted, f"-artifact_prefix={OUT / name}/", inputs)
    if done.returncode:
        print(f"{name}: FAIL", *done.stderr.splitlines()[-_TAIL:], sep="\n", flush=True)
        return False
    tried = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    *_, branches = re.findall(r" cov: (\d+)", done.stderr)
    print(f"{name}: pass, {tried and tried[1]} inputs, {branches} branches", flush=True)
    if keep:
        _engine(name, "-merge=1", merged, inputs).check_returncode()
        found = sorted((path.read_bytes() for path in merged.iterdir()), key=lambda d: (len(d), d))
        write_atomically(corpus(name), b"".join(b64encode(data) + b"\n" for data in found))
    return True


@click.command(help=(__doc__ or "").splitlines()[0])
@click.argument("names", nargs=-1, type=click.Choice(list(TARGETS)), metavar="[TARGET]...")
@click.option("--seconds", default=300, show_default=True, help="For each target.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Targets at a time.")
@click.option("--keep", is_flag=True, help="Add inputs that take new branches to tb/fuzz/corpus.")
def main(names: tuple[str, ...], seconds: int, jobs: int, keep: bool) -> None:
    if find_spec("atheris") is None:
        raise click.UsageError("atheris is not installed; make fuzz installs it")
    with ThreadPoolExecutor(jobs) as pool:
        passed = list(pool.map(partial(_is_passed, seconds=seconds, keep=keep), names or TARGETS))
    sys.exit(not all(passed))


if __name__ == "__main__":
    main()
