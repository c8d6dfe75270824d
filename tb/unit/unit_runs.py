"""Which simulations test the hand-written modules one by one."""

from __future__ import annotations

from tb.bench import TB, Run
from tb.lint_rtl import BOARD, BOARD_WAIVER

__all__ = ["BOARD_RUN", "EXHAUSTIVE", "STAND_IN", "UNITS"]


def _run(top: str, module: str, **parameters: int) -> Run:
    return Run(top, f"tb.unit.{module}", parameters)


STAND_IN = TB / "unit/qstep_top.sv"
"""What is inside the board instead of the device."""

# The fortieth of a second that the LED's shortest flicker takes is a whole number of its ticks here.
BOARD_RUN = Run(
    "qs_board",
    "tb.unit.rtl_board",
    {"ClockHz": 40 * 128},
    sources=(STAND_IN, BOARD),
    build_args=(BOARD_WAIVER,),
)

# Millions of clocks without Python between them: the compiler optimises here.
EXHAUSTIVE = Run(
    "qs_update_exhaustive", "tb.unit.rtl_update_exhaustive", build_args=("-CFLAGS", "-O2")
)

UNITS = [
    _run("qs_max_tree_bench", "rtl_max_tree", Width=8),
    _run("qs_max_tree_bench", "rtl_max_tree", Width=32),
    _run("qs_noise", "rtl_noise"),
    _run("qs_table", "rtl_table", States=16, Actions=4, Width=16),
    _run("qs_table", "rtl_table", States=7, Actions=3, Width=9),
    _run("qs_hazard", "rtl_hazard", States=5, Actions=3, LoopDepth=1),
    _run("qs_hazard", "rtl_hazard", States=16, Actions=4, LoopDepth=2),
    _run("qs_hazard", "rtl_hazard", States=7, Actions=2, LoopDepth=3),
    _run("qs_update", "rtl_update", Width=8, LoopDepth=1),
    _run("qs_update", "rtl_update", Width=16, LoopDepth=2),
    _run("qs_update", "rtl_update", Width=32, LoopDepth=3),
    EXHAUSTIVE,
    BOARD_RUN,
]
