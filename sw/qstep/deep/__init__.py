"""Q-learning with networks in place of a table: DQN and PQN, as people write them and fast.

One algorithm, one file. All of it needs PyTorch (``pip install 'qstep[torch]'``).
"""
