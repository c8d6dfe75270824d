"""The sixteen rows of verification, and the record of what their commands found."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tb.bench import TB

from qstep.files import write_atomically

__all__ = ["RECORD", "ROWS", "Found", "Row", "commands_of", "read_record", "write_record"]

RECORD = TB.parent / "build/verify/results.json"


@dataclass(frozen=True)
class Found:
    """What a command found when it was last carried out.

    Parameters
    ----------
    passed : bool
    date : str
        ISO 8601, UTC.
    commit : str
        Abbreviated; ``+`` if there were changes on top.
    sources : str
        Digest of all sources at that time.
    seconds : float
    figures : dict of str to int
        Counts, by the names that the rows' texts use.
    details : list of dict
        One for each proof, block or file, for the report.
    """

    passed: bool
    date: str
    commit: str
    sources: str
    seconds: float
    figures: dict[str, int] = field(default_factory=dict)
    details: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Row:
    """A figure to reach, and the commands that show how much of it is reached; as in ``rows.toml``."""

    number: int
    name: str
    goal: str
    commands: tuple[str, ...]
    reached: str = ""
    missing: str = ""

    def verdict(self, record: dict[str, Found]) -> str:
        """Return ``met``, ``partly`` or ``not met``."""
        settled = self.commands and all(c in record and record[c].passed for c in self.commands)
        return "not met" if not settled else "partly" if self.missing else "met"

    def says(self, record: dict[str, Found]) -> str:
        """Return what is reached and missing, with figures from the record, or which commands lack."""
        failures = []
        figures: Counter[str] = Counter()
        for command in self.commands:
            if command not in record:
                failures.append(f"`{command}` was not run")
            elif not record[command].passed:
                failures.append(f"`{command}` fails")
            else:
                figures.update(record[command].figures)
        counts = {name: f"{count:,}" for name, count in figures.items()}
        said = (text.format_map(counts) for text in (self.reached, self.missing) if text)
        return "; ".join(failures or said)


def _rows() -> tuple[Row, ...]:
    text = Path(__file__).with_name("rows.toml").read_text(encoding="utf-8")
    return tuple(
        Row(number, **{**fields, "commands": tuple(fields["commands"])})
        for number, fields in enumerate(tomllib.loads(text)["row"], 1)
    )


ROWS = _rows()


def commands_of(rows: Iterable[Row]) -> list[str]:
    """Return the commands of rows, each once."""
    return list(dict.fromkeys(command for row in rows for command in row.commands))


def read_record(path: Path) -> dict[str, Found]:
    """Return the record by command; it is empty if there is none yet."""
    if not path.exists():
        return {}
    return {c: Found(**f) for c, f in json.loads(path.read_text(encoding="utf-8")).items()}


def write_record(record: dict[str, Found], path: Path) -> None:
    """Write the record, whole or not at all."""
    text = json.dumps({c: asdict(record[c]) for c in sorted(record)}, indent=1)
    write_atomically(path, f"{text}\n".encode())
