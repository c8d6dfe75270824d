"""Runs a command, ends it with a signal at random moments, and resumes it until it finishes."""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["disturbed", "learnt", "run"]

# The timer counts CPU time: in wall-clock time, all moments would fall near the start of a run on a busy
# computer.
PROGRAM = """
import os, signal, sys
number, seconds = int(sys.argv.pop(1)), float(sys.argv.pop(1))
signal.signal(signal.SIGPROF, lambda *_: os.kill(os.getpid(), number))
signal.setitimer(signal.ITIMER_PROF, seconds)
import qstep_command
qstep_command.main()
"""


def run(typed: str, folder: Path, number: int = 0, seconds: float = 0.0) -> tuple[int, str]:
    """Run a command; unless `seconds` is 0, send it a signal after that much CPU time.

    Return the exit status, negative if a signal ended the command, and its last line of stderr.
    """
    words = [*typed.split(), "--out", str(folder)]
    command = [sys.executable, "-c", PROGRAM, str(int(number)), str(seconds), *words]
    # An exception that a signal handler raises while coverage.py holds its lock makes the command hang.
    unmeasured = {k: v for k, v in os.environ.items() if k != "COVERAGE_PROCESS_CONFIG"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=unmeasured)
    return done.returncode, (done.stderr.splitlines() or [""])[-1]


def learnt(folder: Path) -> dict[str, Any]:
    """Return a run's history and learned files, without times and memory use."""
    history = json.loads((folder / "history.json").read_text(encoding="utf-8"))
    for name in ("learning_s", "peak_mib"):
        history["evaluations"].pop(name, None)
    files = [folder / name for name in ("table.npz", "network.safetensors")]
    return {"history": history, **{f.name: f.read_bytes() for f in files if f.exists()}}


def processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def disturbed(
    typed: str, number: int, deaths: int, folder: Path, more: str = "", resumes: int = 0
) -> tuple[int, int]:
    """Interrupt a run at random moments, resume it, and compare what it learns.

    It is interrupted `deaths` times, and then until it has resumed from a checkpoint `resumes` times,
    but not more than three times `deaths`. The options in `more`, appended to the command, must not
    change what it learns. Return how often it was interrupted, and how often a checkpoint was resumed.
    """
    before = processor_seconds()
    assert run(typed, folder / "whole")[0] == 0
    most = processor_seconds() - before
    whole = learnt(folder / "whole")
    rng = random.Random(f"{typed} {number}")
    place = folder / "disturbed"
    ended = resumed = 0
    while True:
        before = processor_seconds()
        goes_on = (place / "checkpoint.npz").exists()
        resumed += goes_on
        resume = " --resume" if goes_on else ""
        enough = ended >= deaths and (resumed >= resumes or ended >= 3 * deaths)
        seconds = 0.0 if enough else rng.uniform(0.2, 1) * most
        status, said = run(f"{typed} {more}{resume}", place, number, seconds)
        if status == 0:
            if not goes_on:  # the first run may have compiled code for the cache
                most = min(most, processor_seconds() - before)
            assert learnt(place) == whole
            if enough:
                return ended, resumed
            shutil.rmtree(place)
        else:
            assert not enough, (status, said)
            # Before its handlers are installed, the command dies of the signal like any program; after
            # Python has removed them, the timer's own SIGPROF ends it.
            assert status in (-number, 128 + number, -signal.SIGPROF), (status, said)
            ended += 1
