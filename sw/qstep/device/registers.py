"""The interleaved lane's memory map: the words to write, and the meaning of the words read.

An access is (region, index, data), as the bus of ``qs_acting`` takes it; docs/agents.md has the map. The
twin in hardware is ``qs_agents_pkg`` and ``qs_agent_bus``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep.errors import ConfigError
from qstep.mdp.memory import WorldTable
from qstep.spec.config import Config
from qstep.spec.protocol import AGENT_BITS, FIRST_AGENT_BIT, Region
from qstep.spec.random import DRAW_BITS, retreated
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState

__all__ = [
    "BEGUN",
    "DRAWN",
    "HOLDS",
    "PLACE",
    "Access",
    "Words",
    "begin_write",
    "counters_from",
    "counters_writes",
    "epsilon_writes",
    "limit_write",
    "settings_writes",
    "state_from",
    "state_writes",
    "table_index",
    "words_from",
    "world_writes",
]

HOLDS = 1 << FIRST_AGENT_BIT[Region.COUNTERS] + AGENT_BITS
"""Index, in the counters' region, of the number of held slots of a shared table, modulo 2^32."""

PLACE = 4
"""The word of a context that says where the agent is; two of its bits: it has begun, it has drawn."""
BEGUN, DRAWN = 30, 31

_COLUMN_BITS = 32
_SPLIT_BITS = DRAW_BITS + 1
_LIMIT = 7
_MASK32 = (1 << 32) - 1
_COUNTERS = (
    ("steps", 3),
    ("terminations", 3),
    ("truncations", 3),
    ("return_sum", 4),
    ("saturations", 3),
)

Read = Callable[[int, int], int]
"""A function that reads a word, given region and index."""


class Access(NamedTuple):
    """A write: region, index in it, data of 32 bits."""

    region: Region
    place: int
    data: int


def settings_writes(agent: int, settings: AgentSettings) -> list[Access]:
    """Return the writes of an agent's settings; its seed and first epsilon are part of its state."""
    coefficients, code = settings.coefficients, settings.epsilon.code
    data = (
        coefficients.kappa << 16 | coefficients.alpha,
        code.by_episodes << 25 | code.end,
        code.shift << 25 | code.decrement,
        code.period - 1,
    )
    return _writes(Region.SETTINGS, agent, data)


def state_writes(agent: int, state: AgentState) -> list[Access]:
    """Return the writes that put an agent into a state."""
    data = (
        state.word & _MASK32,
        state.word >> 32,
        state.epsilon,
        state.epsilon_count << 16 | state.episode_steps,
        state.begun << BEGUN | state.explored << 29 | state.action << 16 | state.state,
    )
    return _writes(Region.CONTEXT, agent, data)


def epsilon_writes(agent: int, state: AgentState) -> list[Access]:
    """Return the writes that set an agent's epsilon to that of a state, and nothing else."""
    return state_writes(agent, state)[2:4]


def state_from(agent: int, read: Read) -> AgentState:
    """Read the state of an agent.

    An agent that waits for its world has already drawn for the pending step: its word is the
    previous one.
    """
    low, high, epsilon, counts, place = (read(*_at(Region.CONTEXT, agent, n)) for n in range(5))
    word = high << 32 | low
    return AgentState(
        word=retreated(word) if place >> DRAWN else word,
        epsilon=epsilon,
        epsilon_count=counts >> 16,
        begun=bool(place >> BEGUN & 1),
        state=place & 0xFFFF,
        action=place >> 16 & 63,
        explored=bool(place >> 29 & 1),
        episode_steps=counts & 0xFFFF,
    )


def begin_write(agent: int, read: Read) -> Access:
    """Return the writes that make an agent draw a start state next, with any pending draw."""
    region, place = _at(Region.CONTEXT, agent, PLACE)
    return Access(region, place, read(region, place) & 1 << DRAWN)


def counters_writes(agent: int, counters: AgentCounters) -> list[Access]:
    """Return the writes of an agent's counters, which are undefined before the first run."""
    words = []
    for name, length in _COUNTERS:
        value = getattr(counters, name)
        words += [value >> 16 * n & 0xFFFF for n in range(length)]
    return _writes(Region.COUNTERS, agent, words)


def counters_from(agent: int, read: Read) -> AgentCounters:
    """Read the counters of an agent, all of the same moment."""
    words = iter([read(*_at(Region.COUNTERS, agent, n)) for n in range(16)])
    values = {name: sum(next(words) << 16 * n for n in range(length)) for name, length in _COUNTERS}
    values["return_sum"] -= (values["return_sum"] >> 63) << 64
    return AgentCounters(**values)


def table_index(agent: int, table: int, state: int, action: int) -> int:
    """Return the index of a table's value; `table` is 0 except in Double Q-learning."""
    return table << 26 | agent << FIRST_AGENT_BIT[Region.TABLE] | state << 6 | action


def world_writes(config: Config, world: WorldTable) -> Iterator[Access]:
    """Yield the writes that load a world, its start states and its limit of steps.

    Raises ConfigError if a single slot has two outcomes, for which the hardware has no room.
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
            yield Access(Region.STARTS, slot << 1 | column, data)
    for state, action, slot in np.ndindex(*world.split.shape):
        word = _word(outcomes[state, action], world.split[state, action], slot, bits, "outcomes")
        for column, data in _columns(word, len(world.split[state, action]), bits):
            index = state << 14 | action << 8 | slot << 2 | column
            yield Access(Region.WORLD, index, data)
    yield limit_write(world.max_episode_steps)


def limit_write(max_episode_steps: int) -> Access:
    """Return the writes of the limit of steps of an episode, 0 for none."""
    word = 1 << 16 | max_episode_steps - 1 if max_episode_steps else 0
    return Access(Region.SETTINGS, _LIMIT, word)


def _at(region: Region, agent: int, word: int) -> tuple[Region, int]:
    return region, agent << FIRST_AGENT_BIT[region] | word


def _writes(region: Region, agent: int, words: Iterable[int]) -> list[Access]:
    return [Access(*_at(region, agent, n), word) for n, word in enumerate(words)]


def _word(items: NDArray[Any], split: NDArray[np.int32], slot: int, bits: int, what: str) -> int:
    """Return {split, second, first} of a slot, or only the outcome if there is a single slot."""
    first, second = (int(item) for item in items[slot])
    at = int(split[slot])
    if len(split) > 1:
        return at << 2 * bits | second << bits | first
    if first != second and 0 < at < 1 << DRAW_BITS:
        raise ConfigError(f"a world with room for one of its {what} chooses between two")
    return first if at else second


def _columns(word: int, slots: int, bits: int) -> Iterator[tuple[int, int]]:
    length = 2 * bits + _SPLIT_BITS if slots > 1 else bits
    for column in range(-(-length // _COLUMN_BITS)):
        yield column, word >> _COLUMN_BITS * column & _MASK32


_LONGEST_RUN = 255


class Words(NamedTuple):
    """Words of a region: runs of `run` consecutive words, each run `stride` after the previous one.

    The last run may be shorter; there are `total` words.
    """

    first: int
    run: int
    stride: int
    total: int


def words_from(indexes: Sequence[int], at: int, most: int) -> Words:
    """Return the words, starting at position `at` of the given indexes, that fit one request.

    The indexes are of one region, in the order in which to move them; at most `most` words fit.

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
