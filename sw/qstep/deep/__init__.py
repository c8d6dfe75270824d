"""Learning with networks instead of a table: DQN in plain and fast code, PQN and SAC.

Each algorithm is implemented in one file. Everything here needs PyTorch, which the extra ``torch``
installs.
"""
