"""cocotb tests around those of a bench: they run first and last, and repeat the bench for each mutant.

The simulation forks once for each mutant, before any test of the bench has run. The child process
switches the mutant on and runs the bench. If all its tests pass, it ends with a code of its own;
however else it ends (a failed test or assertion, too much processor time), the mutant is killed. The
parent goes on with the unmutated netlist, which must pass.

Plusargs: ``+mutants=1,5,7`` are those to run, ``+verdicts=PATH`` gets a line for each, and ``+jobs=N``
run at once.
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
import signal
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import Timer

PASSED = 42
_SPARE_S = 5

_FAILURE = re.compile(r"Assertion failed in .*|^ *\S*(?:Error|Exception)\b.*", re.MULTILINE)

_is_child = False


def _leave_at_once() -> None:
    """Make every way out of this process skip what waits for threads, which a fork does not have."""
    libc = ctypes.CDLL(None)
    libc.__cxa_atexit(libc._exit, ctypes.c_void_p(1), None)


def _end(pid: int, status: int, usage: Any) -> tuple[int, str, float]:
    seconds = usage.ru_utime + usage.ru_stime
    if os.WIFSIGNALED(status):
        late = os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
        return pid, "never ends" if late else "crashes", seconds
    code = os.WEXITSTATUS(status)
    return pid, "passes" if code == PASSED else "fails", seconds


@cocotb.test(stage=-1)
async def each_mutant_runs_the_bench_in_a_process_of_its_own(dut: Any) -> None:
    global _is_child
    mutants = [int(word) for word in str(cocotb.plusargs["mutants"]).split(",") if word]
    jobs = int(cocotb.plusargs["jobs"])
    path = Path(cocotb.plusargs["verdicts"])
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

        # The unmutated netlist first: it must pass, and its time is the measure of all others.
        for number in (0, *mutants):
            if len(running) == jobs:
                wait()
            pid = os.fork()
            if not pid:
                _is_child = True
                log = os.open(
                    path.with_name(f"{path.stem}-{os.getpid()}.log"), os.O_CREAT | os.O_WRONLY
                )
                os.dup2(log, 1)
                os.dup2(log, 2)
                resource.setrlimit(resource.RLIMIT_CPU, (int(limit_s), int(limit_s) + 1))
                _leave_at_once()
                dut.mutant.value = number
                await Timer(1, unit="ns")
                return
            running[pid] = number
            if not number:
                limit_s = 3 * wait() + _SPARE_S
        while running:
            wait()


@cocotb.test(stage=1)
async def all_tests_of_the_bench_have_passed(dut: Any) -> None:
    if _is_child:
        os._exit(PASSED)
