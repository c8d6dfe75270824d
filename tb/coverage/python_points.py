"""Points of Python: what must be taken, from Coverage.py's report, and what became of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tb.coverage.points import ROOT, Point
from tb.coverage.waivers import Verdict, Waiver, judged

__all__ = ["WAIVERS", "judged_python", "python_points"]

WAIVERS = Path(__file__).with_name("python_waivers.toml")


def python_points(report: Path, root: Path = ROOT) -> Counter[Point]:
    """Return lines and branches by whether they were taken, from Coverage.py's report as JSON.

    A line is ``FUNCTION: SOURCE LINE``, a branch ``FUNCTION: SOURCE LINE -> NEXT SOURCE LINE``, or
    ``-> exit``; outside functions, the name is empty. A branch's column is the line that it leads to.
    """
    hits: Counter[Point] = Counter()
    for name, file in json.loads(report.read_text(encoding="utf-8"))["files"].items():
        path = Path(name).resolve()
        text = ["", *path.read_text(encoding="utf-8").splitlines()]
        source = path.relative_to(root).as_posix()
        for function, counts in file["functions"].items():
            for kind, line, to, taken in _counts(counts):
                what = f"{function}: {text[line].strip()}"
                if kind == "branch":
                    what += f" -> {text[to].strip() if to > 0 else 'exit'}"
                hits[Point(source, line, to, kind, what)] = taken
    return hits


def _counts(counts: Mapping[str, Any]) -> Iterator[tuple[str, int, int, int]]:
    for taken, word in enumerate(("missing", "executed")):
        yield from (("line", line, 0, taken) for line in counts[f"{word}_lines"])
        yield from (("branch", line, to, taken) for line, to in counts[f"{word}_branches"])


def judged_python(hits: Counter[Point], waivers: Sequence[Waiver]) -> Verdict:
    """Compare what was taken with what must be; a line is waived with the branches from and to it."""
    lines = judged(
        Counter({point: taken for point, taken in hits.items() if point.kind == "line"}),
        [waiver for waiver in waivers if waiver.kind == "line"],
        _is_no_constant,
    )
    of_line = {(point.file, point.line): waiver for point, waiver in lines.waived.items()}
    branches = {point: taken for point, taken in hits.items() if point.kind == "branch"}
    for point in [point for point, taken in branches.items() if not taken]:
        ends = ((point.file, point.line), (point.file, point.column))
        waiver = next((of_line[end] for end in ends if end in of_line), None)
        if waiver is not None:
            lines.waived[point] = waiver
            del branches[point]
    others = judged(
        Counter(branches), [waiver for waiver in waivers if waiver.kind != "line"], _is_no_constant
    )
    return Verdict(
        lines.covered + others.covered,
        lines.waived | others.waived,
        sorted(lines.missed + others.missed),
        lines.unneeded + others.unneeded,
        lines.unproved + others.unproved,
    )


def _is_no_constant(_: Point) -> bool:
    return False
