"""Textbook Q-learning in software, one form a file, from a dictionary to compiled code.

They learn the same thing and none is slowed down, so that :mod:`qstep.bench` can compare their
speed with hardware's. Each file has `learn`, which walks through an environment; most have `replay`,
which applies recorded transitions. `problem` and `progress` hold what they share.
"""
