"""cocotb tests around those of a bench: they run first and last, and repeat the bench for each mutant.

The simulation forks once for each mutant, before any test of the bench has run. The child process
switches the mutant on and runs the bench. If all its tests pass, it ends with a code of its own;
however else it ends (a failed test or assertion, too much processor time), the mutant is killed. The
parent goes on with the unmutated netlist, which must pass.

Plusargs: ``+mutants=1,5,7`` are those to run, ``+verdicts=PATH`` gets a line for each, and ``+jobs=N``
run at once.
"""

import os
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import Timer
from tb.mutate.forks import PASSED, fork_for_each

_is_child = False


@cocotb.test(stage=-1)
async def each_mutant_runs_the_bench_in_a_process_of_its_own(dut: Any) -> None:
    global _is_child
    mutants = [int(word) for word in str(cocotb.plusargs["mutants"]).split(",") if word]
    path = Path(cocotb.plusargs["verdicts"])
    number = fork_for_each(mutants, path, int(cocotb.plusargs["jobs"]))
    if number is not None:
        _is_child = True
        dut.mutant.value = number
        await Timer(1, unit="ns")


@cocotb.test(stage=1)
async def all_tests_of_the_bench_have_passed(dut: Any) -> None:
    if _is_child:
        os._exit(PASSED)
