"""The benchmark: every backend on the same workloads, checked, and timed in turns.

`workloads` says what is learnt, `backends` by whom, `measure` times them, `machine` says on what,
`table` and `plot` show it.
"""
