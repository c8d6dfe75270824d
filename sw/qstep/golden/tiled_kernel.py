"""The loop of :mod:`qstep.golden.tiled_fast`: the steps of agents in an integer world, compiled.

One loop is compiled per world, algorithm, number of actions, shape of the tiles and width of sums, so
the loops over planes and actions are unrolled. A row is read as one vector. The draws of a batch of
steps are computed in advance, with vector instructions.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from qstep._io.compiled import compiled, inner
from qstep.golden.agents_kernel import (
    ALGORITHMS,
    drawn,
    expectation,
    explores,
    halves,
    noise,
    random_action,
    threshold_of,
)
from qstep.spec.agents import Algorithm
from qstep.spec.integer_worlds import CART_POLE, MOUNTAIN_CAR, State
from qstep.spec.random import WEYL
from qstep.spec.tiles import Tiles, hashed

__all__ = ["KINDS", "Rules", "Scratch", "TileTables", "row_entries", "run"]

_SARSA, _EXPECTED = (ALGORITHMS.index(own) for own in (Algorithm.SARSA, Algorithm.EXPECTED_SARSA))
_BATCH = 32
"""Number of steps whose draws are computed in advance."""
_M16 = np.uint32((1 << 16) - 1)
_M32 = (1 << 32) - 1


def row_entries(actions: int) -> int:
    """Return the size of a row in memory: a power of two, so that the row can be read as one vector."""
    return 1 << (actions - 1).bit_length()


_Columns = tuple[NDArray[np.int32], ...]


class Car(NamedTuple):
    """Mountain Car's table; its type selects the world's functions when a loop is compiled."""

    columns: _Columns


class Pole(NamedTuple):
    """CartPole's table."""

    columns: _Columns


KINDS: dict[str, type[Car] | type[Pole]] = {MOUNTAIN_CAR.env_id: Car, CART_POLE.env_id: Pole}
"""Table types by environment id."""

_WORLDS = {Car: MOUNTAIN_CAR, Pole: CART_POLE}
_hashed = compiled(hashed)


class TileTables(NamedTuple):
    """Lookup tables for tile coding with G groups of T tilings and up to D coordinates per group.

    Attributes
    ----------
    low, scale, shift, most : ndarray of int64, shape (C,)
        Parameters of each coordinate; `most` is n T, where n is its number of tiles.
    pick : ndarray of int64, shape (G, D)
        The coordinates of each group.
    part : ndarray of int64
        The contribution of a coordinate, by unit and tiling, to the first entry of the row, or to the
        number that is hashed.
    start : ndarray of int64, shape (G, D)
        Index in `part` of the first contribution of each coordinate of a group.
    groups, depth, tilings : tuple of int
        Tuples of G, D and T zeros, whose lengths are part of their types.
    hashing : ndarray of bool, shape (G,)
        True for each group whose tile indexes are hashed.
    rows, stride, width : int
        Number of rows that indexes are hashed into, entries per plane, and entries per row.
    """

    low: NDArray[np.int64]
    scale: NDArray[np.int64]
    shift: NDArray[np.int64]
    most: NDArray[np.int64]
    pick: NDArray[np.int64]
    part: NDArray[np.int64]
    start: NDArray[np.int64]
    groups: tuple[int, ...]
    depth: tuple[int, ...]
    tilings: tuple[int, ...]
    hashing: NDArray[np.bool_]
    rows: int
    stride: int
    width: int

    @classmethod
    def of(cls, tiles: Tiles, states: int, actions: int) -> Self:
        """Return the tables of `tiles` for planes of `states` rows and `actions` actions."""
        width = row_entries(actions)
        low, _, most, scale, shift = np.array(tiles.coordinates, np.int64).T.copy()
        most *= tiles.tilings
        depth = max(map(len, tiles.groups))
        pick, start = np.zeros((2, len(tiles.groups), depth), np.int64)
        hashing = np.zeros(len(tiles.groups), np.bool_)
        parts: list[NDArray[np.int64]] = []
        t = np.arange(tiles.tilings)
        for g, group in enumerate(tiles.groups):
            radices = [tiles.coordinates[k].tiles + 1 for k in group]
            hashing[g] = math.prod(radices) > tiles.rows
            for d in range(depth):
                pick[g, d] = group[d] if d < len(group) else group[0]
                radix = math.prod(radices[d + 1 :]) if d < len(group) else 0
                units = np.arange(most[pick[g, d]] + 1)
                part = (units[:, None] + t * (2 * d + 1) % len(t)) // len(t) * radix
                if not hashing[g]:
                    part *= width
                    part += (g * len(t) + t) * states * width if d == 0 else 0
                start[g, d] = sum(map(np.size, parts))
                parts.append(part)
        return cls(
            low=low,
            scale=scale,
            shift=shift,
            most=most,
            pick=pick,
            part=np.concatenate(parts, axis=None),
            start=start,
            groups=(0,) * len(tiles.groups),
            depth=(0,) * depth,
            tilings=(0,) * tiles.tilings,
            hashing=hashing,
            rows=tiles.rows,
            stride=states * width,
            width=width,
        )


class Rules(NamedTuple):
    """Everything that is constant during a run.

    Attributes
    ----------
    row, planes : tuple of int
        Tuples of A and P zeros, whose lengths are part of their types.
    algorithm : tuple of int
        A tuple of N zeros for algorithm number N.
    fraction : int
        Fractional bits of coefficients.
    bias : int
        The amount that rounding adds, or -1 if it is drawn for each update.
    reward : int
        Raw reward of every step.
    ends : ndarray of int32 or int64
        Lowest and highest value. The type is int64 if a sum of values does not fit in 32 bits.
    limit : int
        Step limit of an episode; 0 for none.
    """

    row: tuple[int, ...]
    planes: tuple[int, ...]
    algorithm: tuple[int, ...]
    fraction: int
    bias: int
    reward: int
    ends: NDArray[np.signedinteger]
    limit: int


class Scratch(NamedTuple):
    """Work arrays for an agent's steps: a batch of draws, units, and the entries of two states."""

    high: NDArray[np.uint32]
    low: NDArray[np.uint32]
    extra: NDArray[np.uint32]
    units: NDArray[np.int64]
    entries: NDArray[np.int64]
    next_entries: NDArray[np.int64]

    @classmethod
    def of(cls, coordinates: int, planes: int) -> Self:
        """Return arrays for observations of `coordinates` numbers."""
        high, low, extra = np.zeros((3, _BATCH), np.uint32)
        entries, next_entries = np.zeros((2, planes), np.int64)
        return cls(high, low, extra, np.zeros(coordinates, np.int64), entries, next_entries)


def _started(world: Any, draw: Any) -> State:  # pragma: no cover: Numba takes its overload
    return _WORLDS[type(world)].start(draw)


def _moved(
    world: Any, state: State, action: int
) -> tuple[State, bool]:  # pragma: no cover: as above
    return _WORLDS[type(world)].move(world.columns, state, action)


def _observed(world: Any, state: State) -> State:  # pragma: no cover: as above
    return _WORLDS[type(world)].observe(state)


@overload(_started, inline="always")
def _(world, draw):  # type: ignore[no-untyped-def]
    kernel = inner(_WORLDS[world.instance_class].start)
    return lambda world, draw: kernel(draw)


@overload(_moved, inline="always")
def _(world, state, action):  # type: ignore[no-untyped-def]
    kernel = inner(_WORLDS[world.instance_class].move)
    return lambda world, state, action: kernel(world.columns, state, action)


@overload(_observed, inline="always")
def _(world, state):  # type: ignore[no-untyped-def]
    kernel = inner(_WORLDS[world.instance_class].observe)
    return lambda world, state: kernel(state)


def _tuple_of(array: NDArray[np.int64], like: State) -> State:  # pragma: no cover: as above
    return tuple(array.tolist())


@overload(_tuple_of)
def _(array, like):  # type: ignore[no-untyped-def]
    if like.count == 2:
        return lambda array, like: (array[0], array[1])
    return lambda array, like: (array[0], array[1], array[2], array[3])


@inner(inline="always")
def _locate(tiles, seen, units, entries):  # type: ignore[no-untyped-def]
    """Write the index of the row's first entry in each plane."""
    low, scale, shift, most, pick, part, start = tiles[:7]
    groups, depth, tilings, hashing, rows, stride, width = tiles[7:]
    for c in range(len(seen)):
        u = ((seen[c] - low[c]) * scale[c]) >> shift[c]
        units[c] = min(max(u, 0), most[c]) * len(tilings)
    for g in range(len(groups)):
        first = g * len(tilings)
        for t in range(len(tilings)):
            entries[first + t] = 0
        for d in range(len(depth)):
            at = start[g, d] + units[pick[g, d]]
            for t in range(len(tilings)):
                entries[first + t] += part[np.uint64(at) + np.uint64(t)]
        if hashing[g]:
            for t in range(len(tilings)):
                row = _hashed(entries[first + t], (t * WEYL) & _M32, rows)
                entries[first + t] = (first + t) * stride + row * width


@inner
def _sum(w, entries, planes, action, kind):  # type: ignore[no-untyped-def]
    total = kind(0)
    for p in range(len(planes)):
        total = kind(total + kind(w[np.uint64(entries[p]) + np.uint64(action)]))
    return total


@intrinsic
def _sums(context, w, entries, planes, row, zero):  # type: ignore[no-untyped-def]
    """Return the sums of all actions, in the type of `zero`, with one vector addition per plane."""
    result = types.UniTuple(zero, row.count)

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        weights, places = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip((w, entries), values, strict=False)
        )
        word, wide = ir.IntType(32), context.get_value_type(zero)
        read, added = (ir.VectorType(kind, row_entries(row.count)) for kind in (word, wide))
        total = ir.Constant(added, None)
        for p in range(planes.count):
            place = builder.load(builder.gep(places, [ir.Constant(word, p)]))
            start = builder.bitcast(builder.gep(weights, [place]), read.as_pointer())
            term = builder.load(start, align=4)
            total = builder.add(total, term if wide == word else builder.sext(term, added))
        sums = [builder.extract_element(total, ir.Constant(word, a)) for a in range(row.count)]
        return context.make_tuple(builder, result, sums)

    return result(w, entries, planes, row, zero), generate


@inner
def _greedy(w, entries, planes, row, kind):  # type: ignore[no-untyped-def]
    """Return the greatest sum, the lowest action with this sum, and the total of all sums."""
    sums = _sums(w, entries, planes, row, kind(0))
    best, lowest = sums[0], np.int32(0)
    total = np.int64(best)
    for action in range(1, len(row)):
        value = sums[action]
        lowest = np.int32(action) if value > best else lowest
        best = max(value, best)
        total += value
    return best, lowest, total


@inner
def _arrived(w, world, tiles, rules, state, units, entries):  # type: ignore[no-untyped-def]
    """Write the entries of a state's rows; return the greedy action in that state."""
    _locate(tiles, _observed(world, state), units, entries)
    return np.int64(_greedy(w, entries, rules.planes, rules.row, rules.ends.dtype.type)[1])


@inner
def _advanced(word):  # type: ignore[no-untyped-def]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    return word ^ word << np.uint64(17)


@inner(noalias=True)
def _steps(w, world, tiles, rules, scratch, agent, own, steps):  # type: ignore[no-untyped-def]
    """Run an agent for `steps` steps; `w` starts with the agent's planes."""
    row, planes, algorithm, fraction, bias, reward, ends, limit = rules
    high, low, extra, units, entries, next_entries = scratch
    kind = ends.dtype.type
    least, span = np.int64(ends[0]), np.uint64(np.int64(ends[1]) - np.int64(ends[0]))
    alpha, kappa = own.alpha, own.kappa
    word, epsilon, epsilon_count = agent.word, agent.epsilon, agent.epsilon_count
    length, explored, action = agent.episode_steps, agent.explored, agent.action
    terminations = truncations = saturations = np.int64(0)
    state = _started(world, np.int64(0))
    if agent.begun:
        state = _tuple_of(agent.state, state)
    else:
        word = _advanced(word)
        upper, lower, _ = drawn(*halves(word))
        state = _started(world, np.int64(upper & _M16))
        greedy = _arrived(w, world, tiles, rules, state, units, entries)
        explored = explores(lower, epsilon) != 0
        action = np.int64(random_action(lower, row)) if explored else greedy
    _arrived(w, world, tiles, rules, state, units, entries)
    done = 0
    while done < steps:
        batch = min(_BATCH, steps - done)
        for i in range(batch):
            word = _advanced(word)
            high[i], low[i] = halves(word)
        for i in range(batch):
            high[i], low[i], extra[i] = drawn(high[i], low[i])
        for i in range(batch):
            state, terminated = _moved(world, state, action)
            length += limit > 0
            truncated = (not terminated) & (limit > 0) & (length == limit)
            _locate(tiles, _observed(world, state), units, next_entries)
            best, following, total = _greedy(w, next_entries, planes, row, kind)
            threshold = threshold_of(epsilon)
            explored = explores(low[i], epsilon) != 0
            random = random_action(low[i], row)
            following = np.int64(random if explored else following)
            target = np.int64(best)
            if len(algorithm) == _SARSA:
                target = np.int64(_sum(w, next_entries, planes, following, kind))
            elif len(algorithm) == _EXPECTED:
                target = expectation(target, total, threshold, row)
            ended = terminated | truncated
            if ended:
                state = _started(world, np.int64(high[i] & _M16))
                greedy = _arrived(w, world, tiles, rules, state, units, next_entries)
                following = np.int64(random if explored else greedy)
                target = np.int64(0) if terminated else target
                terminations += terminated
                truncations += truncated
                length = 0

            old = np.int64(_sum(w, entries, planes, action, kind))
            added = np.int64(noise(extra[i], fraction)) if bias < 0 else np.int64(bias)
            change = (alpha * (reward - old) + kappa * target + added) >> fraction
            over, by = np.uint64(0), change - least
            for p in range(len(planes)):
                over |= np.uint64(w[np.uint64(entries[p]) + np.uint64(action)] + by)
            if over <= span:
                for p in range(len(planes)):
                    w[np.uint64(entries[p]) + np.uint64(action)] += np.int32(change)
            else:
                saturations += 1
                for p in range(len(planes)):
                    at = np.uint64(entries[p]) + np.uint64(action)
                    w[at] = min(max(w[at] + change, np.int64(ends[0])), np.int64(ends[1]))
            for p in range(len(planes)):
                entries[p] = next_entries[p]
            action = following

            epsilon_count += ended | (own.by_episodes == 0)
            if epsilon_count == own.period:
                epsilon_count = 0
                fallen = epsilon - own.decrement
                fallen -= epsilon >> own.shift if own.shift else 0
                epsilon = max(own.end, fallen)
        done += batch
    agent.word, agent.epsilon, agent.epsilon_count, agent.begun = word, epsilon, epsilon_count, True
    for c in range(len(state)):
        agent.state[c] = state[c]
    agent.action, agent.explored, agent.episode_steps = action, explored, length
    agent.steps += steps
    agent.terminations += terminations
    agent.truncations += truncations
    agent.saturations += saturations
    agent.return_sum += steps * reward


@compiled
def run(tables, stride, world, tiles, rules, scratch, agents, settings, steps):  # type: ignore[no-untyped-def]
    """Run every agent for `steps` steps.

    Parameters
    ----------
    tables : ndarray of int32
        All planes, flat.
    stride : int
        Number of entries from an agent's planes to the next agent's; 0 if all agents share planes.
    world : Car or Pole
    tiles : TileTables
    rules : Rules
    scratch : Scratch
    agents, settings : structured ndarray, shape (P,)
    steps : int
    """
    turns = steps if stride == 0 and len(agents) > 1 else min(steps, 1)
    for _ in range(turns):
        for number in range(len(agents)):
            w = tables[number * stride :]
            _steps(
                w, world, tiles, rules, scratch, agents[number], settings[number], steps // turns
            )
