"""Tabular Q-learning in software, from a dictionary to compiled code and to tensors on a GPU.

None is slowed down, so that :mod:`qstep.bench` can compare their speed with hardware's. They do not all
learn the same: `dictionary`, `numpy_table` and `numba_table` are textbook Q-learning, one update after
the other. In the forms in PyTorch many agents learn from one table at once, which is another algorithm
(`torch_agents`), and `reference` is a public program with habits of its own. Each form has `learn`,
which walks through an environment; the textbook ones, and PyTorch's in `torch_replay`, have `replay`,
which applies recorded transitions. `problem`, `progress` and `random_walk` hold what they share.
"""
