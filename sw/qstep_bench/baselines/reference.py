"""Q-learning on the grid world with a dictionary, exactly as in a public program.

It reproduces every peculiarity of ronanmmurphy/Q-Learning-Algorithm, so the same seed gives the same
moves and the same table. The program differs from the textbook algorithm in
:mod:`qstep_bench.baselines.dictionary`:

- The reward is that of the state *left*, so every move has reward -1. The reward of a hole or the goal
  is received one iteration later. That iteration is not a move: it sets all four values of the state to
  its reward, and ends the episode.
- A terminal next state is therefore not masked: its value is its reward.
- The highest action wins ties.
- Every value is rounded to three decimals, so learning stops short of the exact values.
- Two generators have the same seed: the first decides whether to explore, and the second chooses the
  direction.

The public program also copies the table in every iteration. This only costs time and changes no result,
so it is omitted here. Nothing was added to make the program slow.

``python -m qstep_bench.baselines.reference`` prints figures for comparing two implementations.
"""

from __future__ import annotations

import random
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep.envs.gridworld import MOVES
from qstep.envs.maps import MAPS
from qstep.envs.rendering import GOAL, HOLE

__all__ = ["Learnt", "learn", "main", "to_array"]

_BOARD = {
    (row, column): cell
    for row, line in enumerate(MAPS["gridworld"].splitlines())
    for column, cell in enumerate(line)
}
_START = (0, 0)
_REWARD = {place: {HOLE: -5, GOAL: 1}.get(cell, -1) for place, cell in _BOARD.items()}
_END = {place for place, cell in _BOARD.items() if cell in (HOLE, GOAL)}

Table = dict[tuple[int, int, int], float]
"""Value of each (row, column, action)."""


class Learnt(NamedTuple):
    """The result of learning.

    Attributes
    ----------
    q : dict
        Value of each (row, column, action).
    moves : int
        Moves made, each with one update, excluding the iterations that end episodes.
    episodes, wins : int
        Finished episodes, and how many of them reached the goal.
    """

    q: Table
    moves: int
    episodes: int
    wins: int


def learn(
    episodes: int = 10_000,
    *,
    most_moves: int | None = None,
    alpha: float = 0.5,
    gamma: float = 0.9,
    epsilon: float = 0.1,
    seed: int = 0,
) -> Learnt:
    """Play episodes on the 5x5 grid, and learn from every move.

    Parameters
    ----------
    episodes : int
        Episodes to play; their length is not limited.
    most_moves : int, optional
        Number of moves after which learning stops early.
    alpha, gamma, epsilon : float
        Learning rate, discount and share of random actions, each 0..1.
    seed : int
        Seed of both generators, 0..2^32-1.
    """
    actions = range(len(MOVES))
    q: Table = {(*place, action): 0.0 for place in _BOARD for action in actions}
    whether, where = random.Random(seed), np.random.RandomState(seed)
    moves = ended = wins = 0

    place = _START
    while ended < episodes and moves != most_moves:
        reward = _REWARD[place]
        if place in _END:
            for action in actions:
                q[*place, action] = reward
            wins += _BOARD[place] == GOAL
            ended += 1
            place = _START
            continue

        if whether.random() > epsilon:
            action = max(reversed(actions), key=lambda a: q[*place, a])
        else:
            action = where.choice(len(actions))

        down, right = MOVES[action]
        to = place[0] + down, place[1] + right
        if to not in _BOARD:
            to = place
        target = reward + gamma * max(q[*to, a] for a in actions)
        q[*place, action] = round((1 - alpha) * q[*place, action] + alpha * target, 3)
        moves += 1
        place = to
    return Learnt(q, moves, ended, wins)


def to_array(learnt: Learnt) -> NDArray[np.float64]:
    """Return the table as an array of shape (25, 4), in row order of the grid."""
    return np.array([[learnt.q[*place, a] for a in range(len(MOVES))] for place in _BOARD])


def main() -> None:
    """Print the results and the speed of 10,000 episodes for seeds 0, 1 and 2."""
    print(f"{'seed':>4} {'moves':>8} {'ends':>8} {'wins':>8} {'V(0,0)':>8} {'moves/s':>9}")
    for seed in range(3):
        began = time.perf_counter()
        learnt = learn(seed=seed)
        rate = learnt.moves / (time.perf_counter() - began)
        value = max(learnt.q[*_START, action] for action in range(len(MOVES)))
        share = learnt.wins / learnt.episodes
        print(
            f"{seed:4} {learnt.moves:8,} {learnt.episodes:8,} {share:8.2%} {value:8.3f} {rate:9,.0f}"
        )


if __name__ == "__main__":
    main()
