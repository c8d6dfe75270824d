"""The benchmark: every backend on the same workloads, checked, and timed in turns.

`workloads` says what is learnt, `backends` by whom, `checks` whether it was, `measure` times
them, `machine` says on what, `table` and `plot` show it.
"""

__all__ = ["WORKLOAD_NAMES"]

WORKLOAD_NAMES = ("gridworld", "stream")
"""Workloads in the order in which they run; here, as importing the others takes half a second."""
