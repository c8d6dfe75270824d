"""Verilator's header that counts toggles, without a mistake of it about wide signals.

A signal of more than 64 bits is counted word by word. In Verilator 5.049, ``VL_COV_TOGGLE_CHG_ST_W``
takes the bits of all later words for bits of the word at hand, and shifts by 32 and more, which
processors take modulo 32: a bit that toggles also counts for the bits 32, 64, ... above it.
"""

from qstep_sim.verilator import root

__all__ = ["HEADER", "header"]

HEADER = "verilated_cov.h"
_WRONG = "j < width - i * VL_EDATASIZE;"
_RIGHT = "j < VL_EDATASIZE && j < width - i * VL_EDATASIZE;"


def header() -> bytes:
    """Return the text of the header, for a folder where Verilator's C++ looks first.

    Raises
    ------
    ValueError
        This Verilator has another header.
    """
    path = root() / "include" / HEADER
    text = path.read_text(encoding="utf-8")
    if text.count(_WRONG) != 2:
        raise ValueError(f"{path} does not count toggles of wide signals as 5.049 does")
    return text.replace(_WRONG, _RIGHT).encode()
