"""A proof: what it states, about which hardware, its method, and the faults that it must find."""

from dataclasses import dataclass, field
from pathlib import Path

from tb.formal.blocks import BLOCKS, block
from tb.planted import Fault

from qstep_rtl.sources import source

__all__ = ["Proof"]

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Proof:
    """One proof by induction.

    Parameters
    ----------
    name : str
    says : str
        Its statement in one line, for the table.
    files : tuple of str
        Sources by name, packages first: a generated block, a file of `tb/formal`, or else of `rtl`. The
        last one has the properties.
    clocks : int
        Clocks of the induction.
    cover_clocks : int
        Clocks from power-up within which all covers are reached.
    parameters : dict of str to int
        Parameters of the module with the properties.
    free_products : bool
        Multipliers of one width are the same unknown function of their operands.
    memories : bool
        Memories stay memories.
    rtl_assertions : bool
        The assertions in the RTL are properties as well.
    apart : bool
        Each question to the solver has a solver of its own. Says how it is proved, not what, so it is no
        part of the proof's `repr`.
    faults : tuple of Fault
        Each must be found from power-up, within as many clocks as the table of faults says.
    """

    name: str
    says: str
    files: tuple[str, ...]
    clocks: int
    cover_clocks: int
    parameters: dict[str, int] = field(default_factory=dict)
    free_products: bool = False
    memories: bool = False
    rtl_assertions: bool = True
    apart: bool = field(default=False, repr=False)
    faults: tuple[Fault, ...] = ()

    @property
    def top(self) -> str:
        """The module with the properties."""
        return Path(self.files[-1]).stem

    def paths(self) -> list[Path]:
        """Return the paths of its files."""
        return [
            block(file)
            if file in BLOCKS
            else own
            if (own := _HERE / file).exists()
            else source(file)
            for file in self.files
        ]
