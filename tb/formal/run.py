"""Run the proofs about the hardware, and check that each of them can fail.

    python -m tb.formal.run [NAME ...] [--limit SECONDS] [--json FILE] [--list]

Settled proofs are cached in ``build/formal``, keyed by the content of all their dependencies, so an
interrupted run resumes.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tb.bench import TB
from tb.formal.proof import Proof
from tb.formal.proofs import PROOFS
from tb.formal.settle import Outcome, key, outcome

from qstep._io.files import make_folder, write_atomically

KEPT = TB.parent / "build" / "formal"


def _kept(proof: Proof, limit_s: float) -> Outcome:
    """Return the outcome of a proof, from the cache if an earlier run settled it."""
    path = KEPT / f"{proof.name}-{key(proof)}.json"
    if path.exists():
        return Outcome(**json.loads(path.read_text(encoding="utf-8")))
    new = outcome(proof, limit_s, quiet=not sys.stderr.isatty())
    if not new.wrong:
        make_folder(KEPT)
        write_atomically(path, json.dumps(asdict(new)).encode())
    return new


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the proofs named on the command line; return 1 if any of them is not settled."""
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
