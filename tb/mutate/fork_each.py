"""cocotb tests that run before and after those of a bench, and repeat the bench for each mutant.

The simulation forks once for each mutant, before any test of the bench has run. The child process
switches the mutant on and runs the bench. If all tests pass, it exits with a special code. If it ends in
any other way (a failed test or assertion, too much CPU time), the mutant is killed. The parent continues
with the unmutated netlist, which must pass.

Plusargs: ``+mutants=1,5,7`` selects the mutants, ``+verdicts=PATH`` names the file that gets a line for
each mutant, and ``+jobs=N`` sets the number of parallel processes.
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
