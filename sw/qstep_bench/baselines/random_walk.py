"""Recorded random walks through an environment, for replay."""

from __future__ import annotations

import numpy as np

from qstep._io.compiled import compiled
from qstep.envs.gridworld import DeterministicModel
from qstep.envs.splitmix_kernels import below
from qstep_bench.baselines.problem import Stream

__all__ = ["fill", "walk"]


@compiled
def _walk(stream, model, word):  # type: ignore[no-untyped-def]
    states, chosen, rewards, next_states, ends = stream
    next_state, reward, terminated, start = model
    state = start
    for i in range(len(states)):
        action = below(word, 0, next_state.shape[1])
        states[i], chosen[i] = state, action
        rewards[i] = reward[state, action]
        next_states[i] = next_state[state, action]
        ends[i] = terminated[state, action]
        state = start if terminated[state, action] else next_state[state, action]


def fill(stream: Stream, model: DeterministicModel, *, seed: int = 0) -> None:
    """Fill `stream` with the transitions of a walker that acts uniformly at random.

    Parameters
    ----------
    stream : Stream
        Stream to fill, which is overwritten completely.
    model : DeterministicModel
    seed : int
        Seed of the random numbers, 0..2^64-1.
    """
    _walk(tuple(stream), tuple(model), np.array([seed], np.uint64))


def walk(model: DeterministicModel, count: int, *, seed: int = 0) -> Stream:
    """Record `count` transitions of a uniformly random walker."""
    stream = Stream.empty(count)
    fill(stream, model, seed=seed)
    return stream
