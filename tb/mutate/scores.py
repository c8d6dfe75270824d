"""Say what the last runs on all blocks and modules found; fail if one is missing or out of date.

    python -m tb.mutate.scores --json FILE

The runs themselves, ``python -m tb.mutate BLOCK --note`` and ``python -m tb.mutate.python MODULE
--note``, take minutes to hours. They keep what they find in ``docs/mutants.json``, with a digest of
what they mutated.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from tb.mutate.blocks import BLOCKS
from tb.mutate.python import ENOUGH, MODULES, files
from tb.mutate.record import digest, kept

from qstep.files import write_atomically

__all__ = ["figures", "outdated"]


def outdated(record: Mapping[str, Any]) -> list[str]:
    """Return the commands that renew what is missing in the record, or is of other sources."""
    current = [
        *(("blocks", "tb.mutate", name, block.files()) for name, block in BLOCKS.items()),
        *(("modules", "tb.mutate.python", name, files(name)) for name in MODULES),
    ]
    return [
        f"python -m {tool} {name} --note"
        for kind, tool, name, sources in current
        if record[kind].get(name, {}).get("digest") != digest(sources)
    ]


def figures(record: Mapping[str, Any]) -> dict[str, int]:
    """Return the counts that row 4 of the verification shows."""
    blocks, modules = record["blocks"].values(), record["modules"].values()
    return {
        "blocks": len(blocks),
        "mutants": sum(block["mutants"] for block in blocks),
        "killed": sum(block["killed"] for block in blocks),
        "equivalent": sum(block["equivalent"] for block in blocks),
        "survived": sum(len(block["survived"]) for block in blocks),
        "leaving": sum(bool(block["survived"]) for block in blocks),
        "modules": len(modules),
        "enough": sum(module["found"] >= ENOUGH * module["faults"] for module in modules),
        "faults": sum(module["faults"] for module in modules),
        "found": sum(module["found"] for module in modules),
    }


@click.command(help=(__doc__ or "").splitlines()[0])
@click.option("--json", "file", type=click.Path(path_type=Path), help="Write the figures, too.")
def main(file: Path | None) -> None:
    record = kept()
    counts = figures(record)
    for name, count in counts.items():
        click.echo(f"{name:12}{count:>8,}")
    if file:
        write_atomically(file, json.dumps(counts).encode())
    stale = outdated(record)
    for command in stale:
        click.echo(f"out of date: {command}", err=True)
    sys.exit(bool(stale))


if __name__ == "__main__":
    main()
