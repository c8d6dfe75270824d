"""What the last runs found, kept in the repository, as tables of ``docs/verification.md``."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tb.bench import TB
from tb.mutate.netlist import Mutant

from qstep.files import write_atomically

__all__ = [
    "LEFT",
    "RECORD",
    "Judged",
    "digest",
    "kept",
    "left_of",
    "modules_table",
    "note",
    "rescored",
    "scores",
    "survivors_table",
    "table",
]

RECORD = TB.parent / "docs/mutants.json"

LEFT = ("differs", "open")
"""Verdicts on a mutant that survived: it differs, or the solver does not say."""


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


def kept() -> dict[str, Any]:
    """Return the record: of each block and of each Python module, the last run that was noted."""
    return dict(json.loads(RECORD.read_text(encoding="utf-8")))


def note(kind: str, name: str, found: Mapping[str, Any]) -> None:
    """Keep what a run found; `kind` is ``blocks`` or ``modules``."""
    record = kept()
    record[kind][name] = {"date": str(datetime.date.today()), **found}
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(RECORD, (json.dumps(record, indent=1, sort_keys=True) + "\n").encode())


def scores(judged: Sequence[Judged], seed: int, sources: Mapping[str, bytes]) -> dict[str, Any]:
    """Return what is kept of a run on a block: counts, every survivor, the hardware's digest."""
    counts = Counter(one.verdict for one in judged)
    return {
        "seed": seed,
        "geometries": list(dict.fromkeys(one.geometry for one in judged)),
        "mutants": len(judged),
        "killed": counts["killed"],
        "equivalent": counts["equivalent"],
        "survived": [asdict(one) for one in judged if one.verdict in LEFT],
        "digest": digest(sources),
    }


def left_of(
    survived: Sequence[Mapping[str, Any]], geometry: str, mutants: Sequence[Mutant]
) -> list[Mutant]:
    """Return the mutants of a geometry that survived in the record.

    Raises
    ------
    AssertionError
        They are others now.
    """
    noted = [one for one in survived if one["geometry"] == geometry]
    found = [one for one in mutants if any(asdict(one).items() <= other.items() for other in noted)]
    assert len(found) == len(noted), f"{geometry} has other mutants now: run it without --again"
    return found


def rescored(before: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scores of a block after its survivors were judged again: `found` is theirs alone."""
    assert found["digest"] == before["digest"], "the block is another now: run it without --again"
    sums = {name: before[name] + found[name] for name in ("killed", "equivalent")}
    return {**found, **{name: before[name] for name in ("seed", "geometries", "mutants")}, **sums}


def digest(sources: Mapping[str, bytes]) -> str:
    """Return the digest of the mutated files."""
    total = hashlib.sha256()
    for name, text in sorted(sources.items()):
        total.update(name.encode() + b"\0" + text)
    return total.hexdigest()[:16]


def table() -> Iterator[str]:
    """Yield the lines of the table of blocks."""
    yield "| block | geometries | mutants | killed | equivalent | survived | run on, seed |"
    yield "|---|---|---|---|---|---|---|"
    for name, found in kept()["blocks"].items():
        geometries = ", ".join(found["geometries"])
        yield (
            f"| `{name}` | {geometries} | {found['mutants']:,} | {found['killed']:,} "
            f"| {found['equivalent']:,} | {len(found['survived'])} | {found['date']}, {found['seed']} |"
        )


def survivors_table() -> Iterator[str]:
    """Yield the lines of the table of all mutants that survived."""
    yield "| block | geometry | change | source | first difference |"
    yield "|---|---|---|---|---|"
    for name, found in kept()["blocks"].items():
        for one in found["survived"]:
            yield (
                f"| `{name}` | {one['geometry']} | {one['mode']} of {one['place']} "
                f"| {one['source'].rpartition(', ')[2]} | {one['why']} |"
            )


def modules_table() -> Iterator[str]:
    """Yield the lines of the table of Python modules."""
    yield "| module | faults | found | not found | run on |"
    yield "|---|---|---|---|---|"
    for name, found in kept()["modules"].items():
        missed = "; ".join(f"line {one['line']}: `{one['text']}`" for one in found["missed"])
        yield (
            f"| `{name}.py` | {found['faults']} | {found['found']} | {missed or 'none'} "
            f"| {found['date']} |"
        )
