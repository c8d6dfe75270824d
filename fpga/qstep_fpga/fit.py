"""Says that a design does not fit before anybody waits for a placement."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from qstep.config import Config
from qstep.errors import BuildError
from qstep_fpga.board import Board
from qstep_fpga.families import FAMILIES
from qstep_fpga.top import TOP

__all__ = ["Shortage", "check_fit", "needs", "shortages"]


@dataclass(frozen=True)
class Shortage:
    """A resource of which a netlist needs more than there is."""

    resource: str
    needed: int
    there: int

    @property
    def over(self) -> int:
        """How much is lacking."""
        return self.needed - self.there


def needs(board: Board, netlist: Path, without: str | None = None) -> dict[str, int]:
    """Return how many of each resource a netlist needs at least, by the names of `board.limits`.

    Cells whose names begin with `without` are not counted.
    """
    module = json.loads(netlist.read_text(encoding="utf-8"))["modules"][TOP]
    cells = Counter(
        cell["type"]
        for name, cell in module["cells"].items()
        if without is None or not name.startswith(without)
    )
    return {
        name: max(sum(cells[kind] for kind in group) for group in groups)
        for name, groups in FAMILIES[board.family].cells.items()
    }


def shortages(board: Board, need: dict[str, int]) -> list[Shortage]:
    """Return what the chip has too little of; empty if a netlist that needs that much may fit."""
    found = [Shortage(name, needed, board.limits[name]) for name, needed in need.items()]
    return [shortage for shortage in found if shortage.over > 0]


def check_fit(board: Board, config: Config, netlist: Path) -> None:
    """Raise BuildError if a netlist needs more than the chip has."""
    need = needs(board, netlist)
    lacking = [
        f"{short.resource}: needs {short.needed}, {short.over} more than the {short.there} there are"
        for short in shortages(board, need)
    ]
    if lacking:
        raise BuildError(
            f"{config.states} x {config.actions} of {config.format} does not fit {board.title} "
            f"({board.part}). {'; '.join(lacking)}. {_advice(board, config, need)}"
        )


def _advice(board: Board, config: Config, need: dict[str, int]) -> str:
    memory = "block RAM"
    if need[memory] > board.limits[memory]:
        # The table takes blocks in proportion to its states; a power of two wastes none.
        fitting = config.states * board.limits[memory] // need[memory]
        return f"About {1 << max(1, fitting.bit_length() - 1)} states of this width would fit"
    return "Fewer actions or a narrower format would fit; logic hardly depends on the states"
