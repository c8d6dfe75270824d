"""Points of code coverage: Verilator's counts, merged over geometries, instances and runs."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tb.bench import TB

__all__ = ["KINDS", "ROOT", "Point", "counted", "merged"]

ROOT = TB.parent

KINDS = ("line", "branch", "expr", "toggle")
"""Blocks, branches of decisions, rows of conditions' truth tables, and edges of bits, respectively."""

_BITS = re.compile(r"\[\d+(:\d+)?\]")
"""Bit ranges in a condition, which depend on the geometry."""

_LEFT_OUT = re.compile(
    r"(^|\.)(unused\w*(\[\d+\])*:|(mem|copy|words|snapshot)\[\d+\]\[|places\[\d+\]\.)"
)
"""Excluded signals: those read only by linters, and memory words. Verilator counts words of small
memories only, so memory contents are counted where they are read."""

_RECORD = re.compile(r"C '(.*)' (\d+)$")


@dataclass(frozen=True, order=True, slots=True)
class Point:
    """A coverage point in a source.

    Parameters
    ----------
    file : str
        The source, relative to the repository.
    line, column : int
    kind : str
        One of :data:`KINDS`.
    what : str
        What must be exercised: a bit and its edge; or a block, a branch or the values of a condition's
        operands, followed by ``: SOURCE LINE``. It contains no line number, so waivers survive edits
        elsewhere.
    """

    file: str
    line: int
    column: int
    kind: str
    what: str

    @property
    def signal(self) -> str:
        """:attr:`what`; for a toggle, without the edge."""
        return self.what.rpartition(":")[0] if self.kind == "toggle" else self.what


def counted(data: Path, root: Path = ROOT) -> Counter[Point]:
    """Return how often each point of the hardware was hit, as read from Verilator's ``coverage.dat``.

    All instances of a source are counted together. Benches and generated files are excluded. Within the
    hardware, assertions, code hidden from synthesis, signals read only by linters and memory words are
    excluded.
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
    """Return the lines of a hand-written source by number, without its assertions and checks."""
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
    """Return the sum of all counts, including points that were never hit."""
    total: Counter[Point] = Counter()
    for hits in all_hits:
        total.update(hits)
    return total
