"""The benchmark: every implementation of the same task, checked and timed in turns.

`measure` times the forms of any system. For tables, `workloads` defines the tasks, `tables` the
learners, `yardstick` is the same loop in C, `checks` verifies the results, `limits` computes a link's
capacity, and `boards` estimates the speed of boards. Every other system is a module of `systems`.

`report` runs everything, `machine` describes the computer, and `table`, `plot` and `html` show the
result. `profilers` shows where a form spends its time, and `matmul` compares devices.
"""
