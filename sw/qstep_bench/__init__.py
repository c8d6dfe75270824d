"""The benchmark: all implementations of the same task, checked and timed alternately.

`measure` times the implementations of any system. For systems that fill a table, `workloads` defines the
tasks and `tables` the learners. `yardstick` contains the same loop in C, `checks` verifies the results,
`limits` computes a link's capacity, and `boards` estimates how fast boards are. Every other system is a
module of `systems`.

`report` runs everything, `machine` describes the computer, and `table`, `plot` and `html` render the
result. `profilers` shows where an implementation spends its time, and `matmul` compares how fast devices
multiply matrices.
"""
