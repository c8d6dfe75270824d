"""Lemmas of a contract: proved of the hardware without a mutant before they are used."""

from __future__ import annotations

from bitwuzla import TermManager
from tb.formal.btor import Circuit
from tb.formal.engine import Solver, induction, search
from tb.mutate.one_mutant import with_mutant

__all__ = ["prove"]


def prove(text: str, most_clocks: int = 4) -> None:
    """Prove the properties of a circuit by induction over up to so many clocks.

    Parameters
    ----------
    text : str
        The netlist in BTOR2, with the input ``mutant``.
    most_clocks : int

    Raises
    ------
    AssertionError
        A property is false, or is not proved.
    OutOfTimeError
        The solver gave no answer within its time.
    """
    plain, solver = with_mutant(text, 0), Solver()
    if not Circuit(TermManager(), plain).properties:
        return
    for clocks in range(1, most_clocks + 1):
        false = search(plain, clocks, solver)
        assert false is None, f"lemmas are false in clock {false.clock + 1}: {false.name}"
        failing = induction(plain, clocks, solver)
        if failing is None:
            return
    raise AssertionError(f"lemmas are not proved: {failing.name}")
