"""Mutate blocks of the hardware, and say which mutants their benches find.

    python -m tb.mutate              # all blocks; an interrupted run continues
    python -m tb.mutate tree hazard --mutants 200

Each mutant runs the block's own bench (``tb.mutate.fork_each``) until a test or an assertion fails. The
ones that pass are compared with the original by a solver (``tb.mutate.equivalence``). Verdicts are kept
under ``build/mutate``, by the netlist and the sources of the bench. ``--json`` writes the counts.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from unittest.mock import patch

from tb.bench import BUILD, TB, Run, parameter_id, run
from tb.mutate.blocks import BLOCKS, Block
from tb.mutate.contracts import Contract
from tb.mutate.equivalence import SECONDS, verdict
from tb.mutate.generated import Generated
from tb.mutate.lemmas import prove
from tb.mutate.netlist import Netlist, netlist
from tb.mutate.seen import write_circuit

from qstep.files import make_folder, write_atomically

__all__ = ["Judged", "judge"]

KEPT = BUILD.parent / "mutate"
LEFT = ("differs", "open")
"""Verdicts on a mutant that survived: it differs, or the solver does not say."""

_CLOCKS = 64
FIRST = "each_mutant_runs_the_bench_in_a_process_of_its_own"
LAST = "all_tests_of_the_bench_have_passed"
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
        ``killed``, ``equivalent``, ``differs`` (no test finds it, but it differs), ``open`` (neither).
    why : str
        The failure, the method of the proof, or the output that differs.
    """

    geometry: str
    number: int
    mode: str
    place: str
    source: str
    verdict: str
    why: str


def judge(
    block: Block, count: int, seed: int, jobs: int, seconds: int = SECONDS, *, quiet: bool = True
) -> list[Judged]:
    """Return the verdicts on `count` mutants of a block, as many of each geometry.

    A comparison takes at most so many `seconds`.
    """
    judged = []
    for position, (bench, contract) in enumerate(block.runs):
        share = count // len(block.runs) + (position < count % len(block.runs))
        this = bench.run if isinstance(bench, Generated) else bench
        geometry = parameter_id(this.parameters) or this.top
        folder = KEPT / block.name / f"{geometry}-{share}-{seed}"
        made = netlist(this, block.sources, block.words, share, seed, folder)
        numbers = [mutant.number for mutant in made.mutants]
        found = _simulated(bench, made, numbers, jobs, quiet=quiet)
        passed = [number for number in numbers if found[number][0] == "passes"]
        proofs = _compared(made, this.top, contract, passed, jobs, seconds, quiet=quiet)
        if isinstance(bench, Generated) and bench.release:
            left = [number for number in passed if proofs[number][0] in LEFT]
            found |= _simulated(bench.in_release, made, left, jobs, quiet=quiet)
        for mutant in made.mutants:
            outcome, why = found[mutant.number]
            kind, reason = (
                proofs[mutant.number] if outcome == "passes" else ("killed", why or outcome)
            )
            judged.append(Judged(geometry, **asdict(mutant), verdict=kind, why=reason))
    return judged


def _simulated(
    bench: Run | Generated, made: Netlist, mutants: Sequence[int], jobs: int, *, quiet: bool
) -> dict[int, tuple[str, str]]:
    """Run the bench on each of these mutants that has no verdict yet."""
    path = made.verilog.parent / f"{_digest(bench, made)}.tsv"
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
        test=f"{bench.test}$|\\.{FIRST}$|\\.{LAST}" if bench.test else "",
        sources=(verilog,),
        build_args=_LENIENT,
        options={
            **bench.options,
            "mutants": ",".join(map(str, mutants)),
            "verdicts": str(verdicts),
            "jobs": str(jobs),
        },
    )
    # The first failed test ends the process of a mutant.
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
    jobs: int,
    seconds: int,
    *,
    quiet: bool,
) -> dict[int, tuple[str, str]]:
    """Compare each of these mutants with the original."""
    text = write_circuit(made.verilog, top, contract).read_text(encoding="utf-8")
    here = Path(__file__).parent
    digest = hashlib.sha256(f"{seconds}\n{text}".encode())
    for name in ("equivalence.py", "facts.py", "one_mutant.py", "pair.py"):
        digest.update((here / name).read_bytes())
    path = made.verilog.parent / f"equivalent-{digest.hexdigest()[:16]}.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if missing := [number for number in numbers if str(number) not in found]:
        prove(text)
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


def _digest(bench: Run | Generated, made: Netlist) -> str:
    """Return the digest of all that decides a verdict: the netlist, the bench and its neighbours."""
    chosen = repr((bench.chosen, bench.marker) if isinstance(bench, Generated) else bench.options)
    digest = hashlib.sha256(made.verilog.read_bytes() + chosen.encode())
    modules = [TB.parent / f"{name.replace('.', '/')}.py" for name in bench.module.split(",")]
    helpers = [
        path
        for folder in {module.parent for module in modules}
        for path in folder.glob("*.py")
        if not path.name.startswith(("rtl_", "test_"))
    ]
    own = (Path(__file__).with_name(f"{name}.py") for name in ("forks", "fork_each", "generated"))
    for path in (*own, *sorted({*modules, *helpers})):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge the mutants of the blocks named; return 1 if one differs that no test finds."""
    parser = argparse.ArgumentParser(
        description="Find out which faults in the hardware no test finds."
    )
    parser.add_argument("block", nargs="*", help="blocks (default: all)")
    parser.add_argument("--mutants", type=int, default=1000, help="of each block")
    parser.add_argument("--seed", type=int, default=1, help="of their choice")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="most for a comparison")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--json", type=Path, help="write the counts, too")
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.block if name not in BLOCKS]:
        parser.error(f"no such block: {', '.join(unknown)}; there are {', '.join(BLOCKS)}")
    counts: Counter[str] = Counter()
    for name in given.block or BLOCKS:
        judged = judge(
            BLOCKS[name],
            given.mutants,
            given.seed,
            given.jobs,
            given.seconds,
            quiet=not sys.stderr.isatty(),
        )
        make_folder(KEPT)
        text = json.dumps([asdict(one) for one in judged], indent=1) + "\n"
        write_atomically(KEPT / f"{name}.json", text.encode())
        found = Counter(one.verdict for one in judged)
        print(
            f"{name}: {len(judged)} mutants, {found['killed']} killed,"
            f" {found['equivalent']} equivalent, {found['differs']} differ, {found['open']} open",
            flush=True,
        )
        for one in judged:
            if one.verdict in LEFT:
                where = f"{one.geometry} {one.number} {one.mode} {one.place} ({one.source})"
                print(f"    {where}: {one.verdict}, {one.why}")
        counts += Counter(blocks=1, mutants=len(judged)) + found
    if given.json:
        names = ("blocks", "mutants", "killed", "equivalent", "differs", "open")
        write_atomically(given.json, json.dumps({name: counts[name] for name in names}).encode())
    return 1 if counts["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
