"""Commands that a signal ends at random moments, again and again, until they are done."""

import json
import random
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["disturbed", "learnt", "run"]

# Seconds of processor time, so that a busy computer does not move all moments to the beginning.
PROGRAM = """
import os, signal, sys
number, seconds = int(sys.argv.pop(1)), float(sys.argv.pop(1))
signal.signal(signal.SIGPROF, lambda *_: os.kill(os.getpid(), number))
signal.setitimer(signal.ITIMER_PROF, seconds)
import qstep_command
qstep_command.main()
"""


def run(typed: str, folder: Path, number: int = 0, seconds: float = 0.0) -> tuple[int, str]:
    """Run a command until it ends, or until a signal after so many seconds of processor time (0: never).

    Return its status, negative for a signal that ended it, and its last line.
    """
    words = [*typed.split(), "--out", str(folder)]
    command = [sys.executable, "-c", PROGRAM, str(int(number)), str(seconds), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, (done.stderr.splitlines() or [""])[-1]


def learnt(folder: Path) -> dict[str, Any]:
    """Return what a run learned and what happened meanwhile, without the times that it took."""
    history = json.loads((folder / "history.json").read_text(encoding="utf-8"))
    for name in ("learning_s", "peak_mib"):
        history["evaluations"].pop(name, None)
    files = [folder / name for name in ("table.npz", "network.safetensors")]
    return {"history": history, **{f.name: f.read_bytes() for f in files if f.exists()}}


def processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def disturbed(
    typed: str, number: int, deaths: int, folder: Path, more: str = ""
) -> tuple[int, int]:
    """End a run so many times at random moments, let it go on, and compare what it learns.

    With `more` behind the command, the run must learn what it learns without. Return how often it was
    ended, and how often it went on from a checkpoint.
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
        seconds = rng.uniform(0.2, 1) * most if ended < deaths else 0.0
        status, said = run(f"{typed} {more}{resume}", place, number, seconds)
        if status == 0:
            if not goes_on:  # the first run may have compiled what others find in the cache
                most = min(most, processor_seconds() - before)
            assert learnt(place) == whole
            if ended >= deaths:
                return ended, resumed
            shutil.rmtree(place)
        else:
            # Before its handlers are there, the command ends as every program does; and when Python has
            # let go of its handlers, the clock's own signal ends it.
            assert status in (-number, 128 + number, -signal.SIGPROF), (status, said)
            ended += 1
