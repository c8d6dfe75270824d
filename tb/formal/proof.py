"""A proof: what it states, about which hardware, its method, and the faults that it must find."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tb.bench import RTL
from tb.formal.blocks import BLOCKS, block

__all__ = ["Fault", "Proof"]

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Fault:
    """A planted text in a file; a search from power-up must find it within `clocks` clocks."""

    name: str
    file: str
    old: str
    new: str
    clocks: int


@dataclass(frozen=True)
class Proof:
    """One proof.

    Parameters
    ----------
    name : str
    says : str
        Its statement in one line, for the table.
    top : str
        The module with the properties.
    files : tuple of str
        Sources by name, packages first: a generated block, a file of `tb/formal`, or else of `rtl`.
    parameters : dict of str to int
    clocks : int
        Clocks of the induction, or of the search from power-up if it is not inductive.
    cover_clocks : int
        Clocks from power-up within which all covers are reached.
    faults : tuple of Fault
    is_inductive : bool
    free_products : bool
        Multipliers of one width are the same unknown function of their operands.
    memories : bool
        Memories stay memories.
    rtl_assertions : bool
        The assertions in the RTL are properties as well.
    apart : bool
        Each question to the solver has a solver of its own. Says how it is proved, not what, so it is no
        part of the proof's `repr`.
    """

    name: str
    says: str
    top: str
    files: tuple[str, ...]
    parameters: dict[str, int]
    clocks: int
    cover_clocks: int
    faults: tuple[Fault, ...]
    is_inductive: bool = True
    free_products: bool = False
    memories: bool = False
    rtl_assertions: bool = True
    apart: bool = field(default=False, repr=False)

    def paths(self) -> list[Path]:
        """Return the paths of its files."""
        return [
            block(file) if file in BLOCKS else own if (own := _HERE / file).exists() else RTL / file
            for file in self.files
        ]
