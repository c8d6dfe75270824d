"""The generated parts of ``docs/verification.md``: the sixteen rows, their runs, proofs, mutants."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tb.bench import TB
from tb.mutate import record as mutants
from tb.verify.rows import ROWS, Found, commands_of

__all__ = ["PAGE", "renewed"]

PAGE = TB.parent / "docs/verification.md"


def _rows(record: dict[str, Found]) -> Iterator[str]:
    yield "| row | figure to reach | reached | command |"
    yield "|---|---|---|---|"
    for row in ROWS:
        commands = "<br>".join(f"`{command}`" for command in row.commands) or "none"
        says = ": ".join(part for part in (f"**{row.verdict(record)}**", row.says(record)) if part)
        yield f"| {row.number} {row.name} | {row.goal} | {says} | {commands} |"


def _proofs(record: dict[str, Found]) -> Iterator[str]:
    yield "| proof | what is proved | how | time, s |"
    yield "|---|---|---|---|"
    found = record.get("make formal")
    for proof in found.details if found else ():
        yield f"| `{proof['name']}` | {proof['says']} | {proof['how']} | {proof['seconds']:.0f} |"


def _runs(record: dict[str, Found]) -> Iterator[str]:
    yield "| command | run on | commit | time, s | passed tests | skipped |"
    yield "|---|---|---|---|---|---|"
    for command in commands_of(ROWS):
        if found := record.get(command):
            counts = [found.figures.get(name) for name in ("tests", "skipped")]
            cells = ["" if count is None else f"{count:,}" for count in counts]
            yield (
                f"| `{command}` | {found.date} | {found.commit} | {found.seconds:,.0f} | "
                f"{' | '.join(cells)} |"
            )


_PARTS: dict[str, Callable[[dict[str, Found]], Iterator[str]]] = {
    "rows": _rows,
    "runs": _runs,
    "proofs": _proofs,
    "mutants": lambda _: mutants.table(),
    "survivors": lambda _: mutants.survivors_table(),
    "modules": lambda _: mutants.modules_table(),
}


def renewed(page: str, record: dict[str, Found]) -> str:
    """Return the page with its generated parts made from the record again."""
    for name, part in _PARTS.items():
        begin, end = f"<!-- {name}: make verify -->\n", f"<!-- {name} end -->"
        lines = "\n".join(part(record))
        page, count = re.subn(
            f"{re.escape(begin)}.*?{re.escape(end)}",
            lambda _, text=f"{begin}\n{lines}\n\n{end}": text,
            page,
            flags=re.DOTALL,
        )
        assert count == 1, f"the page has {count} parts {name}, not one"
    return page
