"""The benchmark: every way of doing the same thing, checked and timed in turns.

`measure` times the forms of any system. For tables, `workloads` defines the tasks, `tables` the
learners, `yardstick` is the same loop in C, `checks` verifies the results, `limits` computes what a link
allows and `boards` what boards would do. Every other system is a module of `systems`.

`report` runs everything, `machine` describes the computer, and `table`, `plot` and `html` show the
result. `profilers` find out where any form spends its time, and `matmul` compares devices.
"""
