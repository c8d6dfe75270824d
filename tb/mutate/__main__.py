"""Mutate blocks of the hardware, and report which mutants their benches find.

    python -m tb.mutate              # all blocks; an interrupted run continues
    python -m tb.mutate tree hazard --mutants 200
    python -m tb.mutate hazard --cross-check 50  # also compares 50 of the killed mutants

Each mutant runs the block's own bench (``tb.mutate.fork_each``) until a test or an assertion fails. A
solver compares the survivors with the original (``tb.mutate.equivalence``), under the assumptions of the
bench's contract. Verdicts are cached in ``build/mutate`` until the hardware or the bench changes.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tb.mutate.blocks import BLOCKS
from tb.mutate.equivalence import SECONDS
from tb.mutate.judge import KEPT, LEFT, judge

from qstep._io.files import make_folder, write_atomically


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge the mutants of the named blocks; return 1 if tests and comparison disagree.

    They disagree if a surviving mutant differs from the original, or if a killed one is equivalent.
    """
    parser = argparse.ArgumentParser(
        description="Find out which faults in the hardware no test finds."
    )
    parser.add_argument("block", nargs="*", help="blocks (default: all)")
    parser.add_argument("--mutants", type=int, default=1000, help="of each block")
    parser.add_argument("--seed", type=int, default=1, help="of their choice")
    parser.add_argument(
        "--cross-check", type=int, default=0, help="compare so many killed ones of each block, too"
    )
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
            check=given.cross_check,
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
        compared = Counter(one.compared for one in judged if one.compared)
        if compared:
            print(
                f"    of {compared.total()} killed ones, the comparison says that {compared['differs']}"
                f" differ, {compared['equivalent']} are equivalent; {compared['open']} are open"
            )
        for one in judged:
            where = f"    {one.geometry} {one.number} {one.mode} {one.place} ({one.source})"
            if one.verdict in LEFT:
                print(f"{where}: {one.verdict}, {one.why}")
            if one.is_disputed:
                print(f"{where}: equivalent, but killed: {one.why}. An assumption is too strong.")
        disputed = sum(one.is_disputed for one in judged)
        counts += Counter(blocks=1, mutants=len(judged), disputed=disputed)
        counts += found + Counter(compared=compared.total())
    if given.json:
        names = (
            "blocks",
            "mutants",
            "killed",
            "equivalent",
            "differs",
            "open",
            "compared",
            "disputed",
        )
        write_atomically(given.json, json.dumps({name: counts[name] for name in names}).encode())
    return 1 if counts["differs"] or counts["disputed"] else 0


if __name__ == "__main__":
    sys.exit(main())
