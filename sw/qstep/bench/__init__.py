"""The benchmark: every way of doing the same thing, checked, and timed in turns.

Of the grid world, `workloads` says what is learnt, `backends` by whom, `yardstick` is the same loop in
C, `checks` says whether it was learnt, `measure` times them, `line` and `limits` say what a link allows,
`boards` what boards would do. Every other system is a module of `systems`, whose forms `pairs` times.

`report` runs it all, `machine` says on what, and `table`, `plot` and `html` show it (`pairs_table`,
`pairs_plot`). Beside it stand `profilers`, which say where the time of any form goes, and `matmul`,
which compares devices.
"""

__all__ = ["WORKLOAD_NAMES"]

WORKLOAD_NAMES = ("gridworld", "stream")
"""Workloads in the order in which they run; here, as importing the others takes half a second."""
