"""The benchmark: every way of doing the same thing, checked, and timed in turns.

`measure` times the forms of any system. Of tables, `workloads` says what is learnt, `tables` by whom,
`yardstick` is the same loop in C, `checks` says whether it was learnt, `limits` what a link allows and
`boards` what boards would do; every other system is a module of `systems`.

`report` runs it all, `machine` says on what, and `table`, `plot` and `html` show it. Beside it stand
`profilers`, which say where the time of any form goes, and `matmul`, which compares devices.
"""
