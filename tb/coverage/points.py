"""Points of code coverage: what Verilator counted, merged over geometries, instances and runs."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tb.bench import TB

__all__ = ["KINDS", "ROOT", "Point", "counted", "merged"]

ROOT = TB.parent

KINDS = ("line", "branch", "expr", "toggle")
"""Blocks; ways of each decision; rows of each condition's truth table; both edges of each bit."""

_BITS = re.compile(r"\[\d+(:\d+)?\]")
"""Which bits of a structure or an index, in a condition, differs from one geometry to the next."""

_LEFT_OUT = re.compile(
    r"(^|\.)(unused\w*(\[\d+\])*:|(mem|copy|words|snapshot)\[\d+\]\[|places\[\d+\]\.)"
)
"""Signals that only linters read, and memories, of which Verilator counts small ones: their words count
where they are read."""

_RECORD = re.compile(r"C '(.*)' (\d+)$")


@dataclass(frozen=True, order=True, slots=True)
class Point:
    """Something that must happen in a source.

    Parameters
    ----------
    file : str
        The source, relative to the repository.
    line, column : int
    kind : str
        One of :data:`KINDS`.
    what : str
        What must happen: a bit and its edge; or a block, a decision's way or the values of a condition's
        parts, with ``: SOURCE LINE``. It holds no line number, so that waivers outlive edits elsewhere.
    """

    file: str
    line: int
    column: int
    kind: str
    what: str

    @property
    def signal(self) -> str:
        """What must happen, of a toggle without the edge: the bit."""
        return self.what.rpartition(":")[0] if self.kind == "toggle" else self.what


def counted(data: Path, root: Path = ROOT) -> Counter[Point]:
    """Return how often each point of the hardware was hit, from a ``coverage.dat`` of Verilator.

    Instances of a source count together. Left out are benches and what is generated, and in the
    hardware assertions, what synthesis does not see, signals that only linters read, and words of
    memories.
    """
    hits: Counter[Point] = Counter()
    sources: dict[str, dict[int, str]] = {}
    for record in data.read_text(encoding="utf-8", errors="replace").splitlines():
        if (found := _RECORD.match(record)) is None:
            continue
        fields = dict(part.split("\2", 1) for part in found[1].split("\1")[1:])
        name, line = fields["f"], int(fields["l"])
        if name not in sources:
            sources[name] = _hardware(Path(name).resolve(), root)
        if line not in sources[name] or _LEFT_OUT.search(fields["o"]):
            continue
        kind, what = fields["page"].split("/")[0].removeprefix("v_"), fields["o"]
        if kind == "expr":
            what = _BITS.sub("[]", what)
        if kind != "toggle":
            what = f"{what}: {sources[name][line]}"
        file = Path(name).resolve().relative_to(root).as_posix()
        hits[Point(file, line, int(fields["n"]), kind, what)] += int(found[2])
    return hits


def _hardware(path: Path, root: Path) -> dict[int, str]:
    """Return the lines of a hand-written source, by number, without what only checks it."""
    if not path.is_relative_to(root) or path.relative_to(root).parts[0] in ("build", "tb"):
        return {}
    lines, checks, unclosed = {}, False, 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line in ("`ifndef SYNTHESIS", "`endif"):
            checks = line != "`endif"
        elif unclosed or "`QS_ASSERT(" in line:
            unclosed += line.count("(") - line.count(")")
        elif not checks and not re.match(r" *assign unused", line):
            lines[number] = line.strip()
    return lines


def merged(all_hits: Iterable[Counter[Point]]) -> Counter[Point]:
    """Return the sum, with points that were never hit."""
    total: Counter[Point] = Counter()
    for hits in all_hits:
        total.update(hits)
    return total
