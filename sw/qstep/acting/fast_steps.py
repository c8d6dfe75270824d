"""The loop of :mod:`qstep.acting.fast_model`: the steps of all agents, compiled.

One loop is compiled per algorithm and number of actions, so that a row's maximum unrolls. All other
choices depend on numbers that are constant during a run, which the processor predicts. The critical path
of a step goes from a state through its row to an action, and through the world to the next state; the
generator runs beside it. So no branch depends on a draw, and Numba need not test an index for its sign.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from qstep.acting.agent import AgentCounters, AgentState
from qstep.acting.config import Algorithm
from qstep.acting.draws import DRAW_BITS, ROUNDS
from qstep.acting.epsilon import EPSILON_BITS
from qstep.compiled import compiled
from qstep.fixed import COEFFICIENT_BITS

__all__ = ["AGENT", "ALGORITHMS", "SETTINGS", "SLOT_WORDS", "SURE", "run"]

ALGORITHMS = (
    Algorithm.Q_LEARNING,
    Algorithm.SARSA,
    Algorithm.EXPECTED_SARSA,
    Algorithm.DOUBLE_Q_LEARNING,
)
"""The loop numbers algorithms by their position here."""

_, _SARSA, _EXPECTED, _DOUBLE = range(4)

AGENT = np.dtype(
    [
        (field.name, np.uint64 if field.name == "word" else np.int64)
        for field in (*fields(AgentState), *fields(AgentCounters))
    ]
)
"""An agent's state and counters."""

SETTINGS = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("alpha", "beta", "kappa"),
            *("end", "decrement", "shift", "period", "by_episodes"),
        )
    ]
)
"""Coefficients and epsilon's schedule."""

SLOT_WORDS = 4
"""Words of a memory's slot: first outcome, second outcome, split, and one for a power of two."""

SURE = -1
"""In place of the number of slots: the memory has one word per place."""

_CERTAIN = 1 << DRAW_BITS
_M16 = (1 << 16) - 1
_M32 = (1 << 32) - 1
_M57 = (1 << 57) - 1
_INDEX = (1 << 31) - 1


@compiled
def _advanced(word):  # type: ignore[no-untyped-def]
    """Return the next word; int64 holds its 64 bits."""
    word ^= word << 13
    word ^= (word >> 7) & _M57
    return word ^ (word << 17)


@compiled
def _rotated(half, by):  # type: ignore[no-untyped-def]
    return np.uint32(half << np.uint32(by)) | (half >> np.uint32(32 - by))


@compiled
def _mixing(half):  # type: ignore[no-untyped-def]
    return np.uint32((_rotated(half, 1) & _rotated(half, 8)) ^ _rotated(half, 2))


@compiled
def _drawn(word):  # type: ignore[no-untyped-def]
    """Return the halves of the draw, and the extra round."""
    high, low = np.uint32(word >> 32), np.uint32(word)
    for _ in range(ROUNDS):
        high, low = np.uint32(low ^ _mixing(high)), high
    return np.int64(high), np.int64(low), np.int64(np.uint32(low ^ _mixing(high)))


@compiled
def _outcome(memory, place, draw):  # type: ignore[no-untyped-def]
    """Return the outcome that a draw of 16 bits selects: reward, base of the next row, termination.

    `memory` is an array of words and the bits of a slot's number. A word is ``reward << 32 | base << 1 |
    terminated``.
    """
    words, slot_bits = memory
    if slot_bits == SURE:
        word = words[place]
    else:
        rest_bits = DRAW_BITS - slot_bits
        slot = ((place << slot_bits) | (draw >> rest_bits)) * SLOT_WORDS
        first, second = words[slot], words[slot + 1]
        word = first if draw & ((1 << rest_bits) - 1) < words[slot + 2] else second
    return word >> 32, (word >> 1) & _INDEX, word & 1


@compiled
def _greedy(q, base, row):  # type: ignore[no-untyped-def]
    """Return the maximum of the row at `base` and the lowest action with that value."""
    best, lowest = np.int64(q[base]), np.int64(0)
    for k in range(1, len(row)):
        value = np.int64(q[base + k])
        lowest = np.int64(k) if value > best else lowest
        best = max(value, best)
    return best, lowest


@compiled
def _greedy_in_sum(q, base, other, row):  # type: ignore[no-untyped-def]
    """Return the lowest action with the maximum of the sum of two rows."""
    best, lowest = np.int64(q[base]) + np.int64(q[other]), np.int64(0)
    for k in range(1, len(row)):
        value = np.int64(q[base + k]) + np.int64(q[other + k])
        lowest = np.int64(k) if value > best else lowest
        best = max(value, best)
    return lowest


@compiled
def _expected(q, base, best, threshold, row):  # type: ignore[no-untyped-def]
    """Return the expectation of the row at `base`, whose maximum is `best`, under the policy."""
    actions, total = np.int64(len(row)), np.int64(0)
    for k in range(len(row)):
        total += np.int64(q[base + k])
    share = (threshold * ((2 * _CERTAIN + actions) // (2 * actions))) >> DRAW_BITS
    return best - ((share * (actions * best - total) + _CERTAIN // 2) >> DRAW_BITS)


@compiled
def _chosen(q, base, size, lower, threshold, algorithm, row):  # type: ignore[no-untyped-def]
    """Return the policy's action in the row at `base`, whether it explores, and the row's maximum.

    For Double Q-learning, whose policy does not use the maximum of one row, it is 0.
    """
    if len(algorithm) == _DOUBLE:
        best, lowest = np.int64(0), _greedy_in_sum(q, base, base + size, row)
    else:
        best, lowest = _greedy(q, base, row)
    explored = np.int64((lower >> DRAW_BITS) < threshold)
    drawn = ((lower & _M16) * np.int64(len(row))) >> DRAW_BITS
    return drawn if explored else lowest, explored, best


@compiled
def run(  # type: ignore[no-untyped-def]
    tables,
    size,
    row,
    algorithm,
    rounding,
    ends,
    world,
    starts,
    limit,
    agents,
    settings,
    turns,
    steps,
    trace,
):
    """Let the agents take `turns` turns of `steps` steps each.

    Parameters
    ----------
    tables : ndarray of int32, shape (P or 1, entries)
        One row per agent, or one for all.
    size : int
        Entries of one table; if the algorithm has two tables, they follow each other.
    row : tuple of int
        A zeros; their number is part of the tuple's type.
    algorithm : tuple of int
        As many zeros as the algorithm's number.
    rounding : int
        The amount added before rounding; -1 for a drawn one.
    ends : tuple of int
        Lowest and highest value.
    world, starts : tuple of (ndarray of int64, int)
        Memories, see :func:`_outcome`.
    limit : int
        Limit of steps of an episode; 0 for none.
    agents, settings : structured ndarray, shape (P,)
    trace : tuple of ndarray
        Columns, filled in the order of the steps unless they are empty.
    """
    actions, limited = np.int64(len(row)), np.int64(limit > 0)
    low, high = ends
    t_state, t_action, t_reward, t_next, t_terminated, t_truncated, t_explored, t_table = trace
    for turn in range(turns):
        for number in range(len(agents)):
            q = tables[number if len(tables) > 1 else 0]
            agent, own = agents[number], settings[number]
            alpha, beta, kappa, by_steps = own.alpha, own.beta, own.kappa, 1 - own.by_episodes
            word, epsilon, count = np.int64(agent.word), agent.epsilon, agent.epsilon_count
            falling = own.period > 1 or count > 0 or epsilon != own.end
            entry, explored = (agent.state * actions + agent.action) & _INDEX, agent.explored
            if not agent.begun:
                word = _advanced(word)
                upper, lower, _ = _drawn(word)
                start = _outcome(starts, 0, upper & _M16)[1]
                threshold = epsilon >> (EPSILON_BITS - DRAW_BITS)
                action, explored, _ = _chosen(q, start, size, lower, threshold, algorithm, row)
                entry = start + action
                agent.begun = 1
            episode_steps = agent.episode_steps
            terminations, truncations = agent.terminations, agent.truncations
            saturations, return_sum = agent.saturations, agent.return_sum
            for step in range(steps):
                word = _advanced(word)
                upper, lower, extra = _drawn(word)
                threshold = epsilon >> (EPSILON_BITS - DRAW_BITS)
                start = _outcome(starts, 0, upper & _M16)[1]

                reward, next_base, terminated = _outcome(world, entry, upper >> DRAW_BITS)
                episode_steps += limited
                truncated = limited & ~terminated & (episode_steps == limit)
                onward = next_base ^ ((next_base ^ start) & -terminated)

                following, exploring, target = _chosen(
                    q, onward, size, lower, threshold, algorithm, row
                )
                table = np.int64(0)
                if len(algorithm) == _SARSA:
                    target = np.int64(q[onward + following])
                elif len(algorithm) == _EXPECTED:
                    target = _expected(q, onward, target, threshold, row)
                elif len(algorithm) == _DOUBLE:
                    table = (extra >> 16) & 1
                    greedy = _greedy(q, onward + table * size, row)[1]
                    target = np.int64(q[onward + (1 - table) * size + greedy])
                target &= terminated - 1
                if truncated:
                    onward = start
                    following, _, _ = _chosen(q, onward, size, lower, threshold, algorithm, row)

                bias = extra >> 17 if rounding < 0 else rounding
                place = entry + table * size
                exact = beta * np.int64(q[place]) + alpha * reward + kappa * target
                exact = (exact + bias) >> COEFFICIENT_BITS
                value = min(max(exact, low), high)
                q[place] = value

                ended = terminated | truncated
                terminations += terminated
                truncations += truncated
                saturations += value != exact
                return_sum += reward
                episode_steps = np.int64(0) if ended else episode_steps
                if falling:
                    count += ended | by_steps
                    if count == own.period:
                        count = np.int64(0)
                        fall = own.decrement + (epsilon >> own.shift if own.shift else np.int64(0))
                        epsilon = max(own.end, epsilon - fall)
                if len(t_state):
                    i = (turn * steps + step) * len(agents) + number
                    t_state[i], t_action[i], t_reward[i] = entry // actions, entry % actions, reward
                    t_next[i], t_terminated[i], t_truncated[i] = (
                        next_base // actions,
                        terminated,
                        truncated,
                    )
                    t_explored[i], t_table[i] = explored, table
                entry, explored = onward + following, exploring
            agent.word, agent.epsilon, agent.epsilon_count = np.uint64(word), epsilon, count
            agent.state, agent.action, agent.explored = entry // actions, entry % actions, explored
            agent.episode_steps = episode_steps
            agent.steps += steps
            agent.terminations, agent.truncations = terminations, truncations
            agent.saturations, agent.return_sum = saturations, return_sum
