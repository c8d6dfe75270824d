"""The host's memory map of a lane with agents: regions, the fields of their indexes, and words.

It defines ``rtl/agents/qs_map_pkg.sv`` and the tables of ``docs/agents.md`` (both written by
``python -m tools.generated``), the driver's accesses, and the index bits that the head of a farm's chain
sends.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from itertools import accumulate

__all__ = [
    "CONTEXT",
    "COUNTERS",
    "COUNTER_WORD_BITS",
    "COUNTS",
    "EPSILON",
    "GENERATOR_HIGH",
    "GENERATOR_LOW",
    "INDEX",
    "INDEX_BITS",
    "LIMIT",
    "NUMBERS",
    "PLACE",
    "RATES",
    "REGION_BITS",
    "SCHEDULE_END",
    "SCHEDULE_PERIOD",
    "SCHEDULE_STEP",
    "SETTINGS",
    "WORD_BITS",
    "Fields",
    "Region",
    "Word",
]

REGION_BITS, INDEX_BITS, WORD_BITS = 3, 30, 32
"""Widths of a region number, an index and a word, in bits."""


class Region(IntEnum):
    """The memories of a lane with agents."""

    SETTINGS = 0
    CONTEXT = 1
    COUNTERS = 2
    TABLE = 3
    WORLD = 4
    STARTS = 5


class Fields:
    """Consecutive unsigned fields of an index or a word, given by name and width, low bit first."""

    def __init__(self, **widths: int) -> None:
        self.widths = widths
        ends = accumulate(widths.values(), initial=0)
        self.offsets = dict(zip(widths, ends, strict=False))

    def pack(self, **values: int) -> int:
        """Pack the given fields into a number; the others are 0."""
        return sum(value << self.offsets[name] for name, value in values.items())

    def unpack(self, number: int) -> dict[str, int]:
        """Return all fields of a number."""
        return {
            name: number >> self.offsets[name] & (1 << width) - 1
            for name, width in self.widths.items()
        }

    def bits(self, name: str) -> slice:
        """Return the bits of a field."""
        return slice(self.offsets[name], self.offsets[name] + self.widths[name])


INDEX: Mapping[Region, Fields] = {
    Region.SETTINGS: Fields(word=3, agent=4),
    Region.CONTEXT: Fields(word=3, agent=4, plane=4),
    Region.COUNTERS: Fields(word=4, agent=4, holds=1),
    Region.TABLE: Fields(action=6, state=16, agent=4, table_number=4),
    Region.WORLD: Fields(column=2, slot=6, action=6, state=16),
    Region.STARTS: Fields(column=1, start=16),
}
"""The fields of each region's indexes."""

NUMBERS = Fields(word=2, agent=4)
"""Index fields of WORLD for a tile-coded world: the numbers of an agent's state."""


class Word(Fields):
    """A word of settings or context, with its region, number, name, meaning and fields."""

    def __init__(
        self, region: Region, number: int, name: str, meaning: str, /, **widths: int
    ) -> None:
        super().__init__(**widths)
        self.region, self.number, self.name, self.meaning = region, number, name, meaning


RATES = Word(Region.SETTINGS, 0, "rates", "f fractional bits each", alpha=16, kappa=16)
SCHEDULE_END = Word(
    Region.SETTINGS, 1, "schedule_end", "epsilon's end and unit", epsilon=25, by_episodes=1
)
SCHEDULE_STEP = Word(
    Region.SETTINGS, 2, "schedule_step", "decrease per period", decrement=25, shift=4
)
SCHEDULE_PERIOD = Word(
    Region.SETTINGS, 3, "schedule_period", "units per period, minus 1", last_count=16
)
LIMIT = Word(
    Region.SETTINGS,
    7,
    "limit",
    "steps per episode, minus 1; shared by all agents",
    last_steps=16,
    limits=1,
)
GENERATOR_LOW = Word(
    Region.CONTEXT, 0, "generator_low", "state of the random generator, lower half", bits=32
)
GENERATOR_HIGH = Word(
    Region.CONTEXT, 1, "generator_high", "state of the random generator, upper half", bits=32
)
EPSILON = Word(Region.CONTEXT, 2, "epsilon", "24 fractional bits, 0..1", epsilon=25)
COUNTS = Word(
    Region.CONTEXT,
    3,
    "counts",
    "steps of the episode; units of epsilon's current period",
    steps=16,
    count=16,
)
PLACE = Word(
    Region.CONTEXT,
    4,
    "place",
    "the agent's state-action pair, and the progress of its next step",
    state=16,
    action=6,
    spare=7,
    explored=1,
    begun=1,
    drawn=1,
)
SETTINGS = (RATES, SCHEDULE_END, SCHEDULE_STEP, SCHEDULE_PERIOD, LIMIT)
CONTEXT = (GENERATOR_LOW, GENERATOR_HIGH, EPSILON, COUNTS, PLACE)

COUNTERS = {"steps": 3, "terminations": 3, "truncations": 3, "return_sum": 4, "saturations": 3}
"""An agent's counters in address order, and the number of words of each, low word first."""

COUNTER_WORD_BITS = 16
"""Bits per word of an agent's counter."""
