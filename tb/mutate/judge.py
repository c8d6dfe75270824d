"""Judges each mutant of a block with its benches and the solver.

Cached verdicts are keyed by the netlist and by the substance of all Python code that the bench reads.
"""

import json
import os
import random
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from unittest.mock import patch

from tb.bench import BUILD, Run, parameter_id, run
from tb.keys import digest, imported
from tb.mutate.blocks import Block
from tb.mutate.contracts import Contract
from tb.mutate.equivalence import SECONDS, verdict
from tb.mutate.generated import Generated
from tb.mutate.netlist import Netlist, netlist
from tb.mutate.seen import write_circuit

__all__ = ["KEPT", "LEFT", "Judged", "judge", "outcomes"]

KEPT = BUILD.parent / "mutate"

LEFT = ("differs", "open")
"""Verdicts on a surviving mutant that is not proved equivalent."""

_ASSERTION = "Assertion failed in"
_CHECK_SECONDS = 10
"""Time limit for comparing a killed mutant; for large blocks, even a minute is seldom enough."""

_CLOCKS = 64
_FIRST = "each_mutant_runs_the_bench_in_a_process_of_its_own"
_LAST = "all_tests_of_the_bench_have_passed"
_LENIENT = ("-Wno-fatal", "-Wno-lint", "-Wno-style", "-Wno-UNOPTFLAT")


@dataclass(frozen=True)
class Judged:
    """A mutant and its verdict.

    Parameters
    ----------
    geometry : str
    number : int
    mode, place, source : str
        As in :class:`tb.mutate.netlist.Mutant`.
    verdict : str
        ``killed``, ``equivalent``, ``differs`` (no test finds it, but it differs) or ``open``
        (undecided).
    why : str
        The test failure, the method of the proof, or the differing output.
    compared : str
        For a killed mutant that was also compared: ``equivalent``, ``differs`` or ``open``.
    """

    geometry: str
    number: int
    mode: str
    place: str
    source: str
    verdict: str
    why: str
    compared: str = ""

    @property
    def is_disputed(self) -> bool:
        """Whether a test kills the mutant although the comparison proves it equivalent."""
        return self.verdict == "killed" and self.compared == "equivalent"


def judge(
    block: Block,
    count: int,
    seed: int,
    jobs: int,
    seconds: int = SECONDS,
    *,
    check: int = 0,
    quiet: bool = True,
) -> list[Judged]:
    """Return the verdicts on `count` mutants of a block, divided equally among its geometries.

    Each comparison is limited to `seconds`. In addition, `check` of the killed mutants are compared,
    each for at most 10 seconds: none of them may be equivalent under the contract's assumptions.
    """
    judged = []
    for position, (bench, contract) in enumerate(block.runs):
        share, checked = (
            n // len(block.runs) + (position < n % len(block.runs)) for n in (count, check)
        )
        this = bench.run if isinstance(bench, Generated) else bench
        geometry = parameter_id(this.parameters) or this.top
        folder = KEPT / block.name
        made = netlist(this, block.sources, block.words, share, seed, folder)
        numbers = [mutant.number for mutant in made.mutants]
        found = _simulated(bench, made, numbers, jobs, quiet=quiet)
        passed = [number for number in numbers if found[number][0] == "passes"]
        # A mutant found by an assertion in the hardware need not affect an output.
        by_test = [n for n in numbers if found[n][0] == "fails" and _ASSERTION not in found[n][1]]
        killed = random.Random(seed).sample(by_test, min(checked, len(by_test)))
        compare = partial(_compared, made, this.top, contract, jobs=jobs, quiet=quiet)
        proofs = compare(passed, seconds=seconds)
        checks = compare(killed, seconds=min(seconds, _CHECK_SECONDS))
        if isinstance(bench, Generated) and bench.release:
            left = [number for number in passed if proofs[number][0] in LEFT]
            found |= _simulated(bench.in_release, made, left, jobs, quiet=quiet)
        for mutant in made.mutants:
            outcome, why = found[mutant.number]
            kind, reason = (
                proofs[mutant.number] if outcome == "passes" else ("killed", why or outcome)
            )
            compared = checks[mutant.number][0] if mutant.number in killed else ""
            judged.append(
                Judged(geometry, **asdict(mutant), verdict=kind, why=reason, compared=compared)
            )
    return judged


def outcomes(bench: Run | Generated, made: Netlist) -> Path:
    """Return the cache file for a bench's outcomes, keyed by the netlist and the bench's Python code."""
    if isinstance(bench, Generated):
        around, chosen = "tb.mutate.generated", repr((bench.chosen, bench.marker))
    else:
        around, chosen = "tb.mutate.fork_each", repr((bench.test, bench.options, bench.seed))
    read = imported(*bench.module.split(","), around)
    key = digest(chosen + made.verilog.read_text(encoding="utf-8"), read)
    return made.verilog.parents[1] / f"{key}.tsv"


def _simulated(
    bench: Run | Generated, made: Netlist, mutants: Sequence[int], jobs: int, *, quiet: bool
) -> dict[int, tuple[str, str]]:
    """Return the outcomes of mutants, running the bench on those without an outcome."""
    path = outcomes(bench, made)
    found = _verdicts(path)
    missing = [number for number in mutants if number not in found]
    if missing:
        done = threading.Event()
        watch = threading.Thread(target=_watch, args=(path, len(mutants), done, quiet))
        watch.start()
        try:
            if isinstance(bench, Generated):
                bench.judge(made.verilog, missing, path, jobs)
            else:
                _run_each(bench, made.verilog, missing, path, jobs)
        finally:
            done.set()
            watch.join()
        found = _verdicts(path)
    return found


def _run_each(bench: Run, verilog: Path, mutants: Sequence[int], verdicts: Path, jobs: int) -> None:
    names = [name for name in bench.module.split(",") if name]
    around = replace(
        bench,
        module=",".join(["tb.mutate.fork_each", *names]),
        test=f"{bench.test}$|\\.{_FIRST}$|\\.{_LAST}" if bench.test else "",
        sources=(verilog,),
        build_args=_LENIENT,
        options={
            **bench.options,
            "mutants": ",".join(map(str, mutants)),
            "verdicts": str(verdicts),
            "jobs": str(jobs),
        },
    )
    # The first failed test ends a mutant's process.
    with patch.dict(os.environ, COCOTB_MAX_FAILURES="1"):
        run(around)


def _verdicts(path: Path) -> dict[int, tuple[str, str]]:
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    fields = [line.split("\t") for line in lines if line.count("\t") == 3]
    return {int(number): (outcome, why) for number, outcome, _, why in fields}


def _watch(path: Path, count: int, done: threading.Event, quiet: bool) -> None:
    while not quiet and not done.wait(2):
        _say(f"{path.parent.name}: {len(_verdicts(path))} of {count} simulated")


def _say(text: str) -> None:
    print(f"\r{text[:100]:100}", end="\r", file=sys.stderr, flush=True)


def _compared(
    made: Netlist,
    top: str,
    contract: Contract,
    numbers: Sequence[int],
    *,
    jobs: int,
    seconds: int,
    quiet: bool,
) -> dict[int, tuple[str, str]]:
    """Return the verdicts of comparing each of these mutants with the original."""
    text = write_circuit(made.verilog, top, contract).read_text(encoding="utf-8")
    key = digest(f"{seconds}\n{text}", imported("tb.mutate.equivalence"))
    path = made.verilog.parents[1] / f"equivalent-{key}.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if missing := [number for number in numbers if str(number) not in found]:
        with ProcessPoolExecutor(jobs) as pool:
            compare = partial(verdict, text, clocks=_CLOCKS, limit_s=seconds)
            answers = pool.map(compare, missing)
            for number, answer in zip(missing, answers, strict=True):
                kind, _, why = answer.partition(": ")
                found[str(number)] = (kind, why)
                if not quiet:
                    _say(f"{path.parent.name}: {len(found)} of {len(numbers)} compared")
                path.write_text(json.dumps(found), encoding="utf-8")
    return {number: tuple(found[str(number)]) for number in numbers}
