"""Reports on code coverage: a table of sources, a list of uncovered points, and summary figures."""

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table
from tb.coverage.points import KINDS, ROOT, Point
from tb.coverage.waivers import Verdict, Waiver

__all__ = ["as_table", "as_text", "figures_of"]


def as_table(verdict: Verdict) -> Table:
    """Return a table with a row per source: covered and total points by kind, waived and missed ones."""
    missed, covered = set(verdict.missed), set(verdict.covered)
    everything = [*verdict.covered, *verdict.waived, *verdict.missed]
    table = Table("source", *KINDS, "points", "waived", "missed")
    for column in table.columns[1:]:
        column.justify = "right"
    sources: dict[str, list[Point]] = {}
    for point in everything:
        sources.setdefault(point.file, []).append(point)
    for name, points in (*sorted(sources.items()), ("all", everything)):
        cells = []
        for kind in KINDS:
            of_kind = [point for point in points if point.kind == kind]
            cells.append(f"{sum(p in covered for p in of_kind)}/{len(of_kind)}" if of_kind else "")
        table.add_row(
            name,
            *cells,
            f"{len(points):,}",
            f"{sum(point in verdict.waived for point in points):,}",
            f"{sum(point in missed for point in points):,}",
        )
    return table


def as_text(verdict: Verdict, root: Path = ROOT) -> str:
    """Return a list of uncovered points under their source lines, with the reasons for waivers."""
    parts = []
    if verdict.missed:
        parts += ["Neither covered nor waived", *_listed(verdict.missed, root)]
    if verdict.unneeded:
        parts += ["", "Waivers that are not needed", *verdict.unneeded]
    if verdict.unproved:
        parts += ["", "Waived as constants, and not proved to be", *_listed(verdict.unproved, root)]
    by_waiver: dict[Waiver, list[Point]] = {}
    for point, waiver in verdict.waived.items():
        by_waiver.setdefault(waiver, []).append(point)
    for waiver, points in by_waiver.items():
        parts += ["", f"Waived, {len(points)} points: {waiver}", f"  {waiver.reason.strip()}"]
        parts += _listed(points, root)
    return "\n".join(parts) + "\n"


def _listed(points: Sequence[Point], root: Path) -> list[str]:
    lines, place = [], ("", 0)
    for point in points:
        if (point.file, point.line) != place:
            place = (point.file, point.line)
            text = (root / point.file).read_text(encoding="utf-8").splitlines()
            lines.append(f"{point.file}:{point.line}: {text[point.line - 1].strip()}")
        lines.append(f"    {point.kind} {point.what}")
    return lines


def figures_of(verdict: Verdict) -> dict[str, int]:
    """Return the numbers of points, of points with each outcome, and of distinct waiver reasons."""
    waived = verdict.waived
    return {
        "points": len(verdict.covered) + len(waived) + len(verdict.missed),
        "covered": len(verdict.covered),
        "waived": len(waived),
        "reasons": len({waiver.reason for waiver in waived.values()}),
        "constants": verdict.constants,
        "missed": len(verdict.missed),
    }
