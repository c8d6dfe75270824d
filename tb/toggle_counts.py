"""Correct the toggle counts of wide signals in Verilator's coverage header.

Toggles of a signal of more than 64 bits are counted word by word. In Verilator 5.049,
``VL_COV_TOGGLE_CHG_ST_W`` treats the bits of all later words as bits of the current word. It shifts by
32 or more bits, and CPUs take the shift amount modulo 32. A toggle of a bit is therefore also counted
for the bits that are 32, 64, ... positions above it.
"""

from qstep_sim.verilator import root

__all__ = ["HEADER", "header"]

HEADER = "verilated_cov.h"
_WRONG = "j < width - i * VL_EDATASIZE;"
_RIGHT = "j < VL_EDATASIZE && j < width - i * VL_EDATASIZE;"


def header() -> bytes:
    """Return the corrected header, for a folder that the C++ compiler searches first.

    Raises
    ------
    ValueError
        This version of Verilator has a different header.
    """
    path = root() / "include" / HEADER
    text = path.read_text(encoding="utf-8")
    if text.count(_WRONG) != 2:
        raise ValueError(f"{path} does not count toggles of wide signals as 5.049 does")
    return text.replace(_WRONG, _RIGHT).encode()
