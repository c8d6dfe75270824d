"""Tabular Q-learning in software, from a dictionary through compiled code to tensors on a GPU.

No program is deliberately slow, so :mod:`qstep_bench` can fairly compare their speed with that of
hardware. They do not all run the same algorithm. `dictionary`, `numpy_table` and `numba_table` are
textbook Q-learning, one update at a time. In the PyTorch programs with a shared table, many agents learn
at once, which is a different algorithm (`torch_batched`); `reference` follows a public program with
different rules. Each program has a function `learn`, which walks through an environment. The textbook
programs also have `replay`, which applies recorded transitions; PyTorch's `replay` is in `torch_replay`.
All programs share `problem`, `learning` and `random_walk`.
"""
