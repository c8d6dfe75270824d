"""Tabular Q-learning in software, from a dictionary to compiled code and to tensors on a GPU.

None is slow on purpose, so that :mod:`qstep_bench` can compare their speed with hardware. They do
not all run the same algorithm: `dictionary`, `numpy_table` and `numba_table` are textbook
Q-learning, one update after the other. In the PyTorch forms many agents learn one table at once,
which is another algorithm (`torch_batched`), and `reference` is a public program with its own rules.
Each form has `learn`, which walks through an environment; the textbook forms, and PyTorch's in
`torch_replay`, have `replay`, which applies recorded transitions. `problem`, `progress` and
`random_walk` are shared.
"""
