"""Accesses to a lane with agents: the encoding of words to write and the decoding of words read.

An access is (region, index, data), as on the bus of ``qs_acting``, with the indexes of
``qstep.spec.memory_map``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep.errors import ConfigError
from qstep.mdp.memory import WorldTable
from qstep.spec.config import Config
from qstep.spec.memory_map import (
    CONTEXT,
    COUNTER_WORD_BITS,
    COUNTERS,
    COUNTS,
    EPSILON,
    GENERATOR_HIGH,
    GENERATOR_LOW,
    INDEX,
    LIMIT,
    NUMBERS,
    PLACE,
    RATES,
    SCHEDULE_END,
    SCHEDULE_PERIOD,
    SCHEDULE_STEP,
    WORD_BITS,
    Region,
    Word,
)
from qstep.spec.random import DRAW_BITS, retreated
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState

__all__ = [
    "HOLDS",
    "Access",
    "Words",
    "begin_write",
    "counters_from",
    "counters_writes",
    "epsilon_writes",
    "limit_write",
    "numbers_from",
    "row_indexes",
    "rows_of",
    "settings_writes",
    "state_from",
    "state_writes",
    "table_index",
    "words_from",
    "world_writes",
]

HOLDS = INDEX[Region.COUNTERS].pack(holds=1)
"""Index, in the counter region, of a shared table's count of held slots, modulo 2^32."""

_SPLIT_BITS = DRAW_BITS + 1
_WORD_MASK = (1 << WORD_BITS) - 1
_COUNTER_MASK = (1 << COUNTER_WORD_BITS) - 1

Read = Callable[[int, int], int]
"""A function that returns the word at a region and an index."""


class Access(NamedTuple):
    """A write access: a region, an index within the region, and 32 bits of data."""

    region: Region
    place: int
    data: int


def settings_writes(config: Config, agent: int, settings: AgentSettings) -> list[Access]:
    """Return the writes for an agent's settings except its seed and initial epsilon, which are state."""
    coefficients, code = settings.coefficients_for(config), settings.epsilon.code
    return [
        _write(RATES, agent, alpha=coefficients.alpha, kappa=coefficients.kappa),
        _write(SCHEDULE_END, agent, epsilon=code.end, by_episodes=code.by_episodes),
        _write(SCHEDULE_STEP, agent, decrement=code.decrement, shift=code.shift),
        _write(SCHEDULE_PERIOD, agent, last_count=code.period - 1),
    ]


def state_writes(agent: int, state: AgentState, rows: Sequence[int] | None = None) -> list[Access]:
    """Return the writes that set an agent's state.

    In a tile-coded world, `rows` contains its row in each plane; otherwise, `state` contains the rows.
    """
    numbers = () if rows is None else state.state
    rows = rows or rows_of(state.state)
    return [
        _write(GENERATOR_LOW, agent, bits=state.word & _WORD_MASK),
        _write(GENERATOR_HIGH, agent, bits=state.word >> WORD_BITS),
        *epsilon_writes(agent, state),
        *(
            Access(
                PLACE.region,
                index,
                PLACE.pack(
                    state=row, action=state.action, explored=state.explored, begun=state.begun
                ),
            )
            for index, row in zip(row_indexes(agent, len(rows)), rows, strict=True)
        ),
        # Writing the last number moves the agent to the state with these numbers.
        *(
            Access(Region.WORLD, NUMBERS.pack(word=word, agent=agent), number & _WORD_MASK)
            for word, number in enumerate(numbers)
        ),
    ]


def epsilon_writes(agent: int, state: AgentState) -> list[Access]:
    """Return the writes that set only an agent's epsilon and counts, to their values in a state."""
    return [
        _write(EPSILON, agent, epsilon=state.epsilon),
        _write(COUNTS, agent, steps=state.episode_steps, count=state.epsilon_count),
    ]


def state_from(agent: int, read: Read) -> AgentState:
    """Read the state of an agent; with several planes, `state` is its row in the first plane.

    An agent that waits for its world has already made the draw of the pending step, so the result
    contains the previous generator word.
    """
    low, high, epsilon, counts, place = (
        word.unpack(read(word.region, _index(word, agent))) for word in CONTEXT
    )
    generator = high["bits"] << WORD_BITS | low["bits"]
    return AgentState(
        word=retreated(generator) if place["drawn"] else generator,
        epsilon=epsilon["epsilon"],
        epsilon_count=counts["count"],
        begun=bool(place["begun"]),
        state=place["state"],
        action=place["action"],
        explored=bool(place["explored"]),
        episode_steps=counts["steps"],
    )


def rows_of(state: Any) -> tuple[int, ...]:
    """Return an agent's row in each plane; its state is a row or a tuple of rows."""
    return state if isinstance(state, tuple) else (state,)


def row_indexes(agent: int, planes: int) -> list[int]:
    """Return the indexes of an agent's ``PLACE`` words, which contain its row in each plane."""
    place = INDEX[PLACE.region]
    return [place.pack(word=PLACE.number, agent=agent, plane=plane) for plane in range(planes)]


def numbers_from(agent: int, count: int, read: Read) -> tuple[int, ...]:
    """Read the numbers of an agent's state in a tile-coded world."""
    indexes = (NUMBERS.pack(word=word, agent=agent) for word in range(count))
    words = (read(Region.WORLD, index) for index in indexes)
    return tuple(word - (word >> (WORD_BITS - 1) << WORD_BITS) for word in words)


def begin_write(agent: int, read: Read) -> Access:
    """Return the write that makes an agent draw a start state next, using any pending draw."""
    place = PLACE.unpack(read(PLACE.region, _index(PLACE, agent)))
    return _write(PLACE, agent, drawn=place["drawn"])


def counters_writes(agent: int, counters: AgentCounters) -> list[Access]:
    """Return the writes that set an agent's counters, which are undefined before the first run."""
    region, words = Region.COUNTERS, []
    for name, length in COUNTERS.items():
        value = getattr(counters, name)
        words += [value >> COUNTER_WORD_BITS * n & _COUNTER_MASK for n in range(length)]
    indexes = (INDEX[region].pack(word=n, agent=agent) for n in range(len(words)))
    return [Access(region, index, word) for index, word in zip(indexes, words, strict=True)]


def counters_from(agent: int, read: Read) -> AgentCounters:
    """Read an agent's counters, all sampled at the same moment."""
    numbers = range(sum(COUNTERS.values()))
    region = Region.COUNTERS
    words = iter([read(region, INDEX[region].pack(word=n, agent=agent)) for n in numbers])
    values = {
        name: sum(next(words) << COUNTER_WORD_BITS * n for n in range(length))
        for name, length in COUNTERS.items()
    }
    values["return_sum"] -= (values["return_sum"] >> 63) << 64
    return AgentCounters(**values)


def table_index(agent: int, table: int, state: int, action: int) -> int:
    """Return the index of a table entry; `table` is the table of Double Q-learning, or the plane."""
    return INDEX[Region.TABLE].pack(action=action, state=state, agent=agent, table_number=table)


def world_writes(config: Config, world: WorldTable) -> Iterator[Access]:
    """Yield the writes that load a world, its start states and its step limit.

    Raises ConfigError if a single slot has two outcomes, which the hardware cannot store.
    """
    acting = config.acting
    if acting is None:
        raise ConfigError("acting is None; agents need a configuration that has it")
    state_bits = (config.states - 1).bit_length()
    width = config.format.width
    outcomes = (
        world.terminated.astype(object) << (state_bits + width)
        | world.next_state.astype(object) << width
        | world.reward.astype(object) & ((1 << width) - 1)
    )
    bits = width + state_bits + 1
    starts = world.start_state.astype(object)
    for slot in range(len(starts)):
        word = _word(starts, world.start_split, slot, state_bits, "start states")
        for column, data in _columns(word, len(starts), state_bits):
            index = INDEX[Region.STARTS].pack(column=column, start=slot)
            yield Access(Region.STARTS, index, data)
    for state, action, slot in np.ndindex(*world.split.shape):
        word = _word(outcomes[state, action], world.split[state, action], slot, bits, "outcomes")
        for column, data in _columns(word, len(world.split[state, action]), bits):
            place = {"column": column, "slot": slot, "action": action, "state": state}
            index = INDEX[Region.WORLD].pack(**place)
            yield Access(Region.WORLD, index, data)
    yield limit_write(world.max_episode_steps)


def limit_write(max_episode_steps: int) -> Access:
    """Return the write that sets the step limit of an episode, 0 for none."""
    if max_episode_steps:
        return _write(LIMIT, 0, last_steps=max_episode_steps - 1, limits=1)
    return _write(LIMIT, 0)


def _index(word: Word, agent: int) -> int:
    return INDEX[word.region].pack(word=word.number, agent=agent)


def _write(word: Word, agent: int, **values: int) -> Access:
    return Access(word.region, _index(word, agent), word.pack(**values))


def _word(items: NDArray[Any], split: NDArray[np.int32], slot: int, bits: int, what: str) -> int:
    """Return a slot's word {split, second, first}, or only its outcome if it is the only slot."""
    first, second = (int(item) for item in items[slot])
    at = int(split[slot])
    if len(split) > 1:
        return at << 2 * bits | second << bits | first
    if first != second and 0 < at < 1 << DRAW_BITS:
        raise ConfigError(f"the device stores one of the world's {what}, but the world has two")
    return first if at else second


def _columns(word: int, slots: int, bits: int) -> Iterator[tuple[int, int]]:
    length = 2 * bits + _SPLIT_BITS if slots > 1 else bits
    for column in range(-(-length // WORD_BITS)):
        yield column, word >> WORD_BITS * column & _WORD_MASK


_LONGEST_RUN = 255


class Words(NamedTuple):
    """Words of a region: runs of `run` consecutive words that start `stride` words apart.

    There are `total` words; the last run may be shorter.
    """

    first: int
    run: int
    stride: int
    total: int


def words_from(indexes: Sequence[int], at: int, most: int) -> Words:
    """Return the words from position `at` of the given indexes that fit in one request.

    The indexes belong to one region and are in transfer order. At most `most` words fit.

    Examples
    --------
    >>> words_from([64, 65, 128, 129, 192, 400], 0, 100)
    Words(first=64, run=2, stride=64, total=5)
    """
    first = indexes[at]
    length = min(len(indexes) - at, most)
    run = 1
    while run < min(length, _LONGEST_RUN) and indexes[at + run] == first + run:
        run += 1
    stride = indexes[at + run] - first if run < length else 0
    count = run
    if stride > 0:
        while count < length and indexes[at + count] == first + count // run * stride + count % run:
            count += 1
    return Words(first, run, max(stride, 0), count)
