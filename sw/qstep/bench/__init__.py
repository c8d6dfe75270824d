"""The benchmark: every backend on the same workloads, checked, and timed in turns.

`workloads` says what is learnt, `backends` by whom, `yardstick` is the same loop in C, `checks` says
whether it was learnt, `measure` times them, `line` and `limits` say what a link allows, `boards` what
boards would do, `machine` on what it all ran; `report` runs it and `table` and `plot` show it.
"""

__all__ = ["WORKLOAD_NAMES"]

WORKLOAD_NAMES = ("gridworld", "stream")
"""Workloads in the order in which they run; here, as importing the others takes half a second."""
