"""A proof: its statement, its hardware, its method, and the faults that it must find."""

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
        The statement in one line, for the table.
    files : tuple of str
        Names of the sources, packages first. A name refers to a generated block, or else to a file in
        `tb/formal`, or else to a file in `rtl`. The last file contains the properties.
    clocks : int
        Number of clocks of the induction.
    cover_clocks : int
        Number of clocks from power-up within which all covers are reached.
    parameters : dict of str to int
        Parameters of the module with the properties.
    free_products : bool
        Whether all multipliers of the same width are replaced with one uninterpreted function.
    memories : bool
        Whether memories stay memories instead of becoming registers.
    rtl_assertions : bool
        Whether the assertions in the RTL are also properties.
    apart : bool
        Whether each query runs in a separate solver. This affects only the method, not the statement, so
        it is not part of the proof's `repr`.
    faults : tuple of Fault
        Planted faults, each of which must be found within the number of clocks after power-up that is
        given in the table of faults.
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
        """Name of the module with the properties."""
        return Path(self.files[-1]).stem

    def paths(self) -> list[Path]:
        """Return the paths of the proof's files."""
        return [
            block(file)
            if file in BLOCKS
            else own
            if (own := _HERE / file).exists()
            else source(file)
            for file in self.files
        ]
