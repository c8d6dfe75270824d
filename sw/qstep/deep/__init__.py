"""Learning with networks instead of a table: DQN in plain and in fast code, PQN and SAC.

One algorithm, one file. Everything here needs PyTorch, which comes with the extra ``torch``.
"""
