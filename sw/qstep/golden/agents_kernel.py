"""The loop of :mod:`qstep.golden.agents_fast`: the steps of all agents, compiled.

Agents run in blocks of lanes, one agent per lane. A step of a block is a series of loops over its
lanes. The compiler can vectorize these loops, which step 8 agents at once with AVX2, because

- the number of lanes is a constant of the block's type, and no loop branches on data;
- the arrays do not overlap (``noalias``), and only the last loop writes to tables;
- all numbers have 32 bits; Numba adds 32-bit numbers in 64 bits, so every result is cast back;
- indices are not checked for a negative sign (:func:`_index`).

One loop is compiled per algorithm, number of actions, number of lanes and width of values. Agents that
share a table are in blocks of one lane, which run round-robin.
"""

from __future__ import annotations

from dataclasses import fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep._io.compiled import compiled, inner
from qstep.spec.agents import Algorithm
from qstep.spec.epsilon import EPSILON_BITS
from qstep.spec.random import DRAW_BITS, ROUNDS
from qstep.spec.settings import AgentCounters, AgentState

__all__ = [
    "AGENT",
    "ALGORITHMS",
    "SETTINGS",
    "SURE",
    "Memory",
    "Rules",
    "blocks_of",
    "drawn",
    "expectation",
    "explores",
    "halves",
    "noise",
    "random_action",
    "run",
    "threshold_of",
]

ALGORITHMS = (
    Algorithm.Q_LEARNING,
    Algorithm.SARSA,
    Algorithm.EXPECTED_SARSA,
    Algorithm.DOUBLE_Q_LEARNING,
)
"""The algorithms, in the order of their numbers in the loop."""

_, _SARSA, _EXPECTED, _DOUBLE = range(4)

_TYPES = {"word": np.uint64, "begun": np.bool_, "explored": np.bool_}
AGENT = np.dtype(
    [
        (field.name, _TYPES.get(field.name, np.int64))
        for field in (*fields(AgentState), *fields(AgentCounters))
    ],
    align=True,
)
"""An agent's state and counters."""

_SETTINGS = "alpha", "kappa", "end", "decrement", "shift", "period", "by_episodes"
SETTINGS = np.dtype([(name, np.int64) for name in _SETTINGS])
"""Coefficients and epsilon's schedule."""

SURE = -1
"""Value of `slot_bits` if the memory has a single outcome per set."""


class Memory(NamedTuple):
    """A memory of outcome sets: one set per state-action pair of a world, or a set of start states.

    Attributes
    ----------
    slot_bits : int
        Bits of a slot's number, or :data:`SURE`.
    split : ndarray of int32, shape (sets * slots,)
    reward, onward : ndarray of int32, shape (sets * slots * 2,), or (sets,)
        Raw reward, and ``base << 1 | terminated``, where `base` is the first entry of the next row.
    """

    slot_bits: int
    split: NDArray[np.int32]
    reward: NDArray[np.int32]
    onward: NDArray[np.int32]


class Rules(NamedTuple):
    """Everything that is constant during a run.

    Attributes
    ----------
    size : int
        Number of entries of a table; if the algorithm has two tables, they are contiguous.
    row : tuple of int
        A tuple of A zeros, whose length is part of its type.
    algorithm : tuple of int
        A tuple of N zeros for algorithm number N.
    fraction : int
        Fractional bits of coefficients.
    bias : int
        The amount that rounding adds, or -1 if it is drawn for each update.
    ends : ndarray of int32 or int64
        Lowest and highest value. The type is int64 if an update's sum does not fit in 32 bits.
    world, starts : Memory
    limit : int
        Step limit of an episode; 0 for none.
    """

    size: int
    row: tuple[int, ...]
    algorithm: tuple[int, ...]
    fraction: int
    bias: int
    ends: NDArray[np.signedinteger]
    world: Memory
    starts: Memory
    limit: int


def blocks_of(agents: int, lanes: int) -> NDArray[np.void]:
    """Allocate blocks for agents: records whose fields have one element per lane.

    The agents of a block step together, so agents that share a table need blocks of 1 lane.
    """
    words = ("high", "low", "upper", "lower", "extra")
    numbers = (
        *("number", "base", "alpha", "kappa", "end", "decrement", "shift", "period", "by_steps"),
        *("epsilon", "epsilon_count", "entry", "explored", "episode_steps"),
        *("terminations", "truncations", "saturations", "return_high", "return_low"),
        *("start", "outcome", "truncated", "place", "value"),
    )
    members = [
        *((name, np.uint32, (lanes,)) for name in words),
        *((name, np.int32, (lanes,)) for name in numbers),
    ]
    return np.zeros(-(-agents // lanes), np.dtype(members, align=True))


_CERTAIN = 1 << DRAW_BITS
_PIECE = 1 << 15
"""Number of steps after which sums are stored, so that the sum of each reward half fits in 32 bits."""
_TO_NOTHING = 31
"""A shift that reduces any epsilon to 0."""
_M16 = np.uint32((1 << 16) - 1)
_M15_HIGH = np.uint32(((1 << 15) - 1) << 17)


@inner
def _rotated(half, by):  # type: ignore[no-untyped-def]
    return np.uint32(np.uint32(half << np.uint32(by)) | np.uint32(half >> np.uint32(32 - by)))


@inner
def _mixing(half):  # type: ignore[no-untyped-def]
    return np.uint32(np.uint32(_rotated(half, 1) & _rotated(half, 8)) ^ _rotated(half, 2))


@inner
def _joined(first, second, by):  # type: ignore[no-untyped-def]
    """Return `first`, shifted left and filled with the upper bits of `second`."""
    return np.uint32(np.uint32(first << np.uint32(by)) | np.uint32(second >> np.uint32(32 - by)))


@inner
def _advanced(high, low):  # type: ignore[no-untyped-def]
    """Return the halves of the generator's next word."""
    high = np.uint32(high ^ _joined(high, low, 13))
    low = np.uint32(low ^ np.uint32(low << np.uint32(13)))
    low = np.uint32(low ^ _joined(high, low, 25))
    high = np.uint32(high ^ np.uint32(high >> np.uint32(7)))
    high = np.uint32(high ^ _joined(high, low, 17))
    return high, np.uint32(low ^ np.uint32(low << np.uint32(17)))


@inner
def drawn(high, low):  # type: ignore[no-untyped-def]
    """Return the halves of a word's draw, and the result of the extra round."""
    for _ in range(ROUNDS):
        high, low = np.uint32(low ^ _mixing(high)), high
    return high, low, np.uint32(low ^ _mixing(high))


@inner
def threshold_of(epsilon):  # type: ignore[no-untyped-def]
    return np.int32(epsilon >> (EPSILON_BITS - DRAW_BITS))


@inner
def _index(place):  # type: ignore[no-untyped-def]
    """Return `place`, below 2^31, as an index that Numba does not check for a negative sign."""
    return np.uint64(np.int64(np.int32(place)))


@inner
def _slot(split, slot_bits, number, draw):  # type: ignore[no-untyped-def]
    """Return the index of the outcome that a 16-bit draw selects in a set with several slots."""
    rest_bits = np.int32(DRAW_BITS - slot_bits)
    slot = np.int32(np.int32(number << slot_bits) | (draw >> rest_bits))
    rest = np.int32(draw & ((1 << rest_bits) - 1))
    return np.int32((slot << 1) | (rest >= split[_index(slot)]))


@inner
def _greedy(q, base, row):  # type: ignore[no-untyped-def]
    """Return the maximum of the row at `base` and the lowest action with that value."""
    best, lowest = q[base], np.int32(0)
    for k in range(1, len(row)):
        value = q[base + np.uint64(k)]
        lowest = np.int32(k) if value > best else lowest
        best = max(value, best)
    return best, lowest


@inner
def _greedy_in_sum(q, base, other, row):  # type: ignore[no-untyped-def]
    """Return the lowest action that maximises the sum of two rows."""
    best, lowest = np.int64(q[base]) + np.int64(q[other]), np.int32(0)
    for k in range(1, len(row)):
        value = np.int64(q[base + np.uint64(k)]) + np.int64(q[other + np.uint64(k)])
        lowest = np.int32(k) if value > best else lowest
        best = max(value, best)
    return lowest


@inner
def expectation(best, total, threshold, row):  # type: ignore[no-untyped-def]
    """Return the expectation of a row under the policy, given the row's maximum and total."""
    actions = np.int64(len(row))
    share = (np.int64(threshold) * ((2 * _CERTAIN + actions) // (2 * actions))) >> DRAW_BITS
    return best - ((share * (actions * best - total) + _CERTAIN // 2) >> DRAW_BITS)


@inner
def _expected(q, base, best, threshold, row):  # type: ignore[no-untyped-def]
    """Return the expectation of the row at `base`, whose maximum is `best`, under the policy."""
    total = np.int64(0)
    for k in range(len(row)):
        total += np.int64(q[base + np.uint64(k)])
    return np.int32(expectation(best, total, threshold, row))


@inner
def _policy(q, place, size, algorithm, row):  # type: ignore[no-untyped-def]
    """Return the maximum of the row at `place` and the greedy action there.

    The policy of Double Q-learning maximises the sum of both tables' rows. This maximum is not used, so
    0 is returned instead.
    """
    if len(algorithm) == _DOUBLE:
        return np.int32(0), _greedy_in_sum(q, _index(place), _index(place + size), row)
    return _greedy(q, _index(place), row)


@inner
def explores(lower, epsilon):  # type: ignore[no-untyped-def]
    return np.int32(np.int32(lower >> np.uint32(DRAW_BITS)) < threshold_of(epsilon))


@inner
def random_action(lower, row):  # type: ignore[no-untyped-def]
    """Return the random action of an exploring agent."""
    return np.int32(
        np.uint32(np.uint32(lower & _M16) * np.uint32(len(row))) >> np.uint32(DRAW_BITS)
    )


@inner
def noise(extra, bits):  # type: ignore[no-untyped-def]
    """Return the `bits`-bit number that stochastic rounding adds; bit 16 of `extra` is skipped."""
    joined = np.uint32(
        np.uint32(extra & _M15_HIGH) | np.uint32(np.uint32(extra & _M16) << np.uint32(1))
    )
    return np.uint32(joined >> np.uint32(32 - bits))


@inner
def _keep(trace, block, at, actions, algorithm, world, limit):  # type: ignore[no-untyped-def]
    """Write a step of a block to the trace, from row `at` on."""
    state, action, reward, next_state, terminated, truncated, explored, table = trace
    for k in range(len(block.number)):
        i = at + block.number[k]
        outcome = block.outcome[k]
        state[i], action[i] = block.entry[k] // actions, block.entry[k] % actions
        reward[i], next_state[i] = world.reward[outcome], (world.onward[outcome] >> 1) // actions
        terminated[i] = world.onward[outcome] & 1
        truncated[i] = not terminated[i] and block.episode_steps[k] + 1 == limit
        explored[i] = block.explored[k]
        table[i] = (block.extra[k] >> np.uint32(16)) & 1 if len(algorithm) == _DOUBLE else 0


@inner(noalias=True)
def _steps(q, rules, blocks, turns, steps, trace, at, every):  # type: ignore[no-untyped-def]
    """Run each block for `steps` steps in each of its turns; parameters as for :func:`run`.

    `q` starts with the tables of the first block.
    """
    # Unpacked, because Numba counts references whenever it reads an array from a tuple.
    size, row, algorithm, fraction, bias, ends, world, starts, limit = rules
    slot_bits, split, rewards, onwards = world
    starts_bits, starts_split, _, starts_onward = starts
    traced = len(trace[0]) > 0
    kind, lanes = ends.dtype.type, len(blocks[0].entry)
    limit, limited, size = np.int32(limit), np.int32(limit > 0), np.int32(size)
    low, high, fixed = kind(ends[0]), kind(ends[1]), kind(bias)
    bits = fraction & 31  # shows the compiler that 32 bits are enough
    for turn in range(turns):
        for number in range(len(blocks)):
            block = blocks[number]
            row_of_trace = at + turn * steps * every
            for _ in range(steps):
                for k in range(lanes):
                    upper, lower = _advanced(block.high[k], block.low[k])
                    block.high[k], block.low[k] = upper, lower
                    block.upper[k], block.lower[k], block.extra[k] = drawn(upper, lower)
                if starts_bits != SURE:
                    for k in range(lanes):
                        draw = np.int32(block.upper[k] & _M16)
                        place = _slot(starts_split, starts_bits, np.int32(0), draw)
                        block.start[k] = np.int32(starts_onward[_index(place)] >> 1)
                if slot_bits != SURE:
                    for k in range(lanes):
                        draw = np.int32(block.upper[k] >> np.uint32(DRAW_BITS))
                        block.outcome[k] = _slot(split, slot_bits, block.entry[k], draw)
                if traced:
                    _keep(trace, block, row_of_trace, len(row), algorithm, world, limit)
                    row_of_trace += every

                some = np.int32(0)
                for k in range(lanes):
                    outcome = _index(block.outcome[k])
                    reward, word = rewards[outcome], onwards[outcome]
                    terminated, onward = np.int32(word & 1), np.int32(word >> 1)
                    length = np.int32(block.episode_steps[k] + limited)
                    truncated = np.int32(
                        np.int32(length == limit) & np.int32(limited & ~terminated)
                    )
                    ended, some = np.int32(terminated | truncated), np.int32(some | truncated)
                    block.truncated[k] = truncated
                    block.episode_steps[k] = np.int32(0) if ended else length
                    block.terminations[k] += terminated
                    block.truncations[k] += truncated
                    block.return_high[k] += np.int32(reward >> 16)
                    block.return_low[k] += np.int32(reward & 0xFFFF)

                    start, extra = block.start[k], block.extra[k]
                    onward = np.int32(onward ^ np.int32(np.int32(onward ^ start) & -terminated))
                    base, epsilon = np.int32(block.base[k] + onward), block.epsilon[k]
                    target, following = _policy(q, base, size, algorithm, row)
                    explored = explores(block.lower[k], epsilon)
                    random = random_action(block.lower[k], row)
                    following = random if explored else following
                    place = np.int32(block.base[k] + block.entry[k])
                    if len(algorithm) == _SARSA:
                        target = q[_index(base + following)]
                    elif len(algorithm) == _EXPECTED:
                        target = _expected(q, _index(base), target, threshold_of(epsilon), row)
                    elif len(algorithm) == _DOUBLE:
                        table = np.int32(np.uint32(block.extra[k] >> np.uint32(16)) & 1)
                        greedy = _greedy(q, _index(base + table * size), row)[1]
                        target = q[_index(base + (1 - table) * size + greedy)]
                        place = np.int32(place + table * size)
                    target = np.int32(target & np.int32(terminated - 1))
                    entry = np.int32(onward + following)
                    block.entry[k], block.outcome[k], block.explored[k] = entry, entry, explored

                    # beta Q + alpha r + kappa m with one product fewer; only the total must fit.
                    old = kind(q[_index(place)])
                    change = kind(block.alpha[k] * kind(reward - old))
                    change = kind(change + kind(kind(block.kappa[k]) * target))
                    added = kind(noise(extra, bits)) if bias < 0 else fixed
                    total = kind(kind(kind(old << bits) + change) + added)
                    exact = kind(total >> bits)
                    value = kind(min(max(exact, low), high))
                    block.place[k], block.value[k] = place, value
                    block.saturations[k] += np.int32(value != exact)

                    unit = np.int32(ended | block.by_steps[k])
                    count = np.int32(block.epsilon_count[k] + unit)
                    over = count == block.period[k]
                    part = np.int32(np.uint32(epsilon) >> np.uint32(block.shift[k] & 31))
                    fallen = np.int32(np.int32(epsilon - block.decrement[k]) - part)
                    fallen = max(block.end[k], fallen)
                    block.epsilon_count[k] = np.int32(0) if over else count
                    block.epsilon[k] = fallen if over else epsilon
                if some:
                    for k in range(lanes):
                        if block.truncated[k]:
                            base = np.int32(block.base[k] + block.start[k])
                            following = _policy(q, base, size, algorithm, row)[1]
                            random = random_action(block.lower[k], row)
                            following = random if block.explored[k] else following
                            entry = np.int32(block.start[k] + following)
                            block.entry[k], block.outcome[k] = entry, entry
                for k in range(lanes):
                    q[_index(block.place[k])] = block.value[k]


@inner
def halves(word):  # type: ignore[no-untyped-def]
    return np.uint32(word >> np.uint64(32)), np.uint32(word)


@inner
def _word(high, low):  # type: ignore[no-untyped-def]
    return np.uint64(high) << np.uint64(32) | np.uint64(low)


@inner
def _begin(q, base, rules, agent):  # type: ignore[no-untyped-def]
    """Draw an agent's first start state and its action there."""
    row, starts = rules.row, rules.starts
    high, low = _advanced(*halves(agent.word))
    agent.word = _word(high, low)
    upper, lower, _ = drawn(high, low)
    place = np.int32(0)
    if starts.slot_bits != SURE:
        place = _slot(starts.split, starts.slot_bits, place, np.int32(upper & _M16))
    start = np.int32(starts.onward[place] >> 1)
    agent.state, agent.explored = start // len(row), explores(lower, agent.epsilon) != 0
    greedy = _policy(q, np.int32(base + start), rules.size, rules.algorithm, row)[1]
    agent.action = random_action(lower, row) if agent.explored else greedy
    agent.begun = True


@inner
def _load(block, k, number, base, agent, own, rules):  # type: ignore[no-untyped-def]
    """Load the state and settings of an agent that has begun into a lane."""
    block.number[k], block.base[k] = number, base
    block.alpha[k], block.kappa[k] = own.alpha, own.kappa
    block.end[k], block.decrement[k] = own.end, own.decrement
    block.shift[k] = own.shift if own.shift else _TO_NOTHING
    block.period[k], block.by_steps[k] = own.period, 1 - own.by_episodes
    block.high[k], block.low[k] = halves(agent.word)
    block.epsilon[k], block.epsilon_count[k] = agent.epsilon, agent.epsilon_count
    block.entry[k] = block.outcome[k] = agent.state * len(rules.row) + agent.action
    block.explored[k], block.episode_steps[k] = agent.explored, agent.episode_steps
    block.start[k] = rules.starts.onward[0] >> 1
    block.terminations[k] = block.truncations[k] = block.saturations[k] = 0
    block.return_high[k] = block.return_low[k] = 0


@inner
def _store(block, k, agent, steps, row):  # type: ignore[no-untyped-def]
    """Store the state and counters of an agent from its lane after `steps` steps."""
    agent.word = _word(block.high[k], block.low[k])
    agent.epsilon, agent.epsilon_count = block.epsilon[k], block.epsilon_count[k]
    agent.state, agent.action = block.entry[k] // len(row), block.entry[k] % len(row)
    agent.explored, agent.episode_steps = block.explored[k] != 0, block.episode_steps[k]
    agent.steps += steps
    agent.terminations += block.terminations[k]
    agent.truncations += block.truncations[k]
    agent.saturations += block.saturations[k]
    agent.return_sum += (block.return_high[k] << 16) + block.return_low[k]


@compiled
def run(tables, stride, rules, agents, settings, blocks, steps, trace, at, every):  # type: ignore[no-untyped-def]
    """Run every agent for `steps` steps.

    Parameters
    ----------
    tables : ndarray of int32
        All tables, flat.
    stride : int
        Number of entries from an agent's tables to the next agent's; 0 if all agents share tables.
    rules : Rules
    agents, settings : structured ndarray, shape (P,)
    blocks : structured ndarray
        Blocks from :func:`blocks_of`, enough for all agents.
    steps : int
    trace : tuple of ndarray
        Columns, filled in step order unless they are empty.
    at, every : int
        First row of agent 0 in the trace, and the distance to its next row.
    """
    row = rules.row
    lanes, done = len(blocks[0].entry), 0
    while done < steps:
        # Agents that share a table begin one after another, so their first step is a separate part.
        fresh = stride == 0 and not agents["begun"].all()
        part = 1 if fresh else min(_PIECE, steps - done)
        group = 1 if stride or fresh else len(blocks)
        for n in range(0, len(blocks), group):
            first, some = n * lanes, blocks[n : n + group]
            q = tables[first * stride :]
            for k in range(len(some) * lanes):
                # A spare lane repeats the last agent.
                number = min(first + k, len(agents) - 1)
                agent = agents[number]
                base = (number - first) * stride
                if not agent.begun:
                    _begin(q, base, rules, agent)
                own = settings[number]
                _load(some[k // lanes], k % lanes, number, base, agent, own, rules)
            turns = part if stride == 0 else 1
            _steps(q, rules, some, turns, part // turns, trace, at + done * every, every)
            for k in range(min(len(some) * lanes, len(agents) - first)):
                _store(some[k // lanes], k % lanes, agents[first + k], part, row)
        done += part
