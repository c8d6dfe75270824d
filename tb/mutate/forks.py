"""Runs a process for each mutant, forked from a process that has loaded everything."""

import atexit
import ctypes
import os
import re
import resource
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["PASSED", "fork_for_each"]

PASSED = 42
"""Exit code of a process in which all tests have passed."""

_SPARE_S = 1

_FAILURE = re.compile(
    r"Assertion failed in .*|^ *(?:assert|\S*(?:Error|Exception))\b.*", re.MULTILINE
)


def _leave_at_once() -> None:
    """Make every exit of this process skip the wait for threads, which a fork does not have.

    Python's normal exit would also visit every object, which takes longer than running most mutants.
    """
    atexit.register(os._exit, 1)
    libc = ctypes.CDLL(None)
    libc.__cxa_atexit(libc._exit, ctypes.c_void_p(1), None)


def _end(pid: int, status: int, usage: Any) -> tuple[int, str, float]:
    seconds = usage.ru_utime + usage.ru_stime
    if os.WIFSIGNALED(status):
        late = os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
        return pid, "never ends" if late else "crashes", seconds
    code = os.WEXITSTATUS(status)
    return pid, "passes" if code == PASSED else "fails", seconds


def fork_for_each(mutants: Sequence[int], path: Path, jobs: int) -> int | None:
    """Return the mutant's number in each child process, and None in the parent once they have ended.

    The first child gets 0, the unmutated netlist. It must pass, and its CPU time determines the limit
    for all others: three times as long, plus a margin. Each child's output goes to a separate file.

    Parameters
    ----------
    mutants : sequence of int
    path : Path
        File to which a line is appended for each mutant: number, ``passes``, ``fails``, ``crashes`` or
        ``never ends``, seconds of CPU time, and the failure.
    jobs : int
        Maximum number of parallel processes.

    Raises
    ------
    AssertionError
        The unmutated netlist does not pass.
    """
    running: dict[int, int] = {}
    limit_s = 600.0
    with path.open("a", encoding="utf-8") as verdicts:

        def wait() -> float:
            pid, verdict, seconds = _end(*os.wait3(0))
            number = running.pop(pid)
            log = path.with_name(f"{path.stem}-{pid}.log")
            said = _FAILURE.search(log.read_text(encoding="utf-8", errors="replace"))
            why = said[0].strip() if said and verdict == "fails" else ""
            log.unlink()
            print(number, verdict, f"{seconds:.2f}", why, sep="\t", file=verdicts, flush=True)
            assert number or verdict == "passes", f"the unmutated netlist {verdict}: {why}"
            return seconds

        for number in (0, *mutants):
            if len(running) == jobs:
                wait()
            pid = os.fork()
            if not pid:
                log = path.with_name(f"{path.stem}-{os.getpid()}.log")
                output = os.open(log, os.O_CREAT | os.O_WRONLY)
                os.dup2(output, 1)
                os.dup2(output, 2)
                resource.setrlimit(resource.RLIMIT_CPU, (int(limit_s), int(limit_s) + 1))
                _leave_at_once()
                return number
            running[pid] = number
            if not number:
                limit_s = 3 * wait() + _SPARE_S
        while running:
            wait()
    return None
