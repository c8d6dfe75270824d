"""Q-learning with networks in place of a table: DQN and PQN, in usual and in fast code.

One algorithm, one file. Everything here needs PyTorch, which comes with the extra ``torch``.
"""
