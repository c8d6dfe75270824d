"""Tabular Q-learning in software, from a dictionary to compiled code and to tensors on a GPU.

None is slow on purpose, so :mod:`qstep_bench` can compare their speed with hardware. They do not all run
the same algorithm. `dictionary`, `numpy_table` and `numba_table` are textbook Q-learning, one update at
a time. In the PyTorch forms with a shared table, many agents learn at once, which is another algorithm
(`torch_batched`); `reference` is a public program with its own rules. Each form has `learn`, which walks
through an environment. The textbook forms, and PyTorch in `torch_replay`, also have `replay`, which
applies recorded transitions. `problem`, `learning` and `random_walk` are shared.
"""
