"""Tabular Q-learning in software, from a dictionary to compiled code and to tensors on a GPU.

No program is deliberately slow, so :mod:`qstep_bench` can fairly compare their speed with hardware. They
do not all run the same algorithm. `dictionary`, `numpy_table` and `numba_table` are textbook Q-learning,
one update at a time. In the PyTorch programs with a shared table, many agents learn at once, which is a
different algorithm (`torch_batched`); `reference` is a public program with different rules. Each program
has `learn`, which walks through an environment. The textbook programs, and PyTorch in `torch_replay`,
also have `replay`, which applies recorded transitions. All programs share `problem`, `learning` and
`random_walk`.
"""
