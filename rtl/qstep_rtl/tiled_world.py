"""A continuous-state world: stores the state of each agent, and answers with its row in each plane.

Function    Implements the worlds of :mod:`qstep.spec.integer_worlds`, tile-coded as in
            :class:`qstep.spec.tiles.Tiles`, bit for bit. After each step, the next state for every
            action is computed, so that the next answer only selects one of these states.
Latency     An answer is valid 3 clocks after its request. An agent's next request may come 11 clocks
            after the agent acts, or 12 clocks after the host writes its state.
Throughput  One request per clock.
Reset       none: an agent's state is undefined until it begins an episode or the host writes it.
Hazards     A request that comes too early is answered from the agent's previous state.
Invariants  none
"""

from __future__ import annotations

from bisect import bisect_left
from functools import partial

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out
from amaranth.utils import ceil_log2

from qstep.errors import ConfigError
from qstep.spec.integer_worlds import IntegerWorld
from qstep.spec.memory_map import NUMBERS, WORD_BITS
from qstep.spec.tiles import Tiles
from qstep_rtl.motions import (
    MOTIONS,
    ORIGINS,
    START_FIELDS,
    Outcomes,
    later,
    starts,
    state_shapes,
    times,
)
from qstep_rtl.tile_coder import (
    UNIT_CLOCKS,
    drive_rows,
    rows_layout,
    tile_at,
    unit_of,
)

__all__ = ["WRITE_CLOCKS", "TiledWorldCircuit", "check_starts"]

WRITE_CLOCKS = 12
"""Clocks from a write of a state until its agent may send a request."""

_MOST_EDGES = 64
"""Maximum number of tile edges within a number's range of start values; each edge needs a comparator."""

_AGENTS = 16
_DRAW_BITS = 16
_ANSWER_CLOCKS = 3
_ACT_CLOCKS = 5
"""Clocks from a request until it is known whether the agent's episode continues."""


class TiledWorldCircuit(Component):
    """A world with tile-coded observations.

    Parameters
    ----------
    world : IntegerWorld
    tiles : Tiles
        Tile coding of the world's observations.

    Attributes
    ----------
    agent, action, start : In(4), In, In(16)
        A request: the agent, its action, and the draw for a start state.
    rows, terminated : Out, Out(1)
        Three clocks later: the row in each plane after the step, and whether the episode terminates.
    start_rows : Out
        Three clocks later: the rows of the start state.
    acting : In(4)
        Four clocks after the request: the agent.
    goes, restarts : In(1), In(1)
        Five clocks after the request: the agent's episode continues after the step, or another one
        begins.
    index, write, data : In(6), In(1), In(32)
        The host's access to a number of an agent's state, by ``NUMBERS`` of the memory map. Writing the
        last number moves that agent to the state given by the latest writes of all numbers. `index` is
        held for one more clock, and no agent sends a request meanwhile.
    read : Out(32)
        The number at `index`, two clocks later.
    """

    def __init__(self, world: IntegerWorld, tiles: Tiles) -> None:
        self._world, self._tiles = world, tiles
        rows = rows_layout(tiles)
        super().__init__(
            {
                "agent": In(ceil_log2(_AGENTS)),
                "action": In(ceil_log2(world.actions)),
                "start": In(_DRAW_BITS),
                "rows": Out(rows),
                "terminated": Out(1),
                "start_rows": Out(rows),
                "acting": In(ceil_log2(_AGENTS)),
                "goes": In(1),
                "restarts": In(1),
                "index": In(sum(NUMBERS.widths.values())),
                "write": In(1),
                "data": In(WORD_BITS),
                "read": Out(WORD_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        world, tiles = self._world, self._tiles
        shifts = _shifts(world)
        lows = [own.low << shift for own, shift in zip(tiles.coordinates, shifts, strict=True)]

        # The host writes a state, number by number.
        shapes, origins = state_shapes(world), ORIGINS[world.env_id]
        number, owner = (self.index[NUMBERS.bits(field)] for field in NUMBERS.widths)
        loads = later(m, self.write & (number == len(shapes) - 1))
        given = [Signal(shape, reset_less=True) for shape in shapes]
        for k, origin in enumerate(origins):
            with m.If(self.write & (number == k)):
                m.d.sync += given[k].eq(self.data.as_signed() - origin)

        # An agent acts, or the host sets its state.
        acted = later(m, Mux(loads, owner, later(m, self.acting)))
        writes = later(m, self.goes | self.restarts | loads)
        action, restarts = later(m, self.action, _ACT_CLOCKS), later(m, self.restarts)
        first = starts(m, world, later(m, self.start, _ACT_CLOCKS - 1))
        went = [Signal(shape, reset_less=True) for shape in shapes]
        state = [Mux(restarts, start, value) for start, value in zip(first, went, strict=True)]
        moved, ends = MOTIONS[world.env_id](m, state, went, restarts, lows)
        for k, (values, _) in enumerate(moved):
            kept = self._kept(m, f"after{k}", values, acted, writes, self.acting)
            after = data.View(kept.shape(), later(m, kept.as_value()))
            m.d.sync += went[k].eq(Mux(loads, given[k], _of(after, action)))

        # The host reads a state.
        numbers = [
            self._kept(m, f"state{k}", Outcomes([value], 1), acted, writes, owner)[0]
            for k, value in enumerate(state)
        ]
        m.d.sync += self.read.eq(later(m, Array(numbers)[number]) + Array(origins)[number])

        # An agent's request.
        agent, asked = later(m, self.agent), later(m, self.action)
        units = []
        for k, (_, above) in enumerate(moved):
            own = tiles.coordinates[k]
            seen = [unit_of(m, own, tiles.tilings, value >> shifts[k]) for value in above.values]
            seen_later = Outcomes(seen, above.clocks + UNIT_CLOCKS)
            kept = self._kept(m, f"seen{k}", seen_later, acted, writes, agent)
            units.append(later(m, _of(kept, asked)))
        drive_rows(m, tiles, self.rows, partial(tile_at, tiles, units))
        ended = self._kept(m, "end", ends, acted, writes, agent)
        m.d.comb += self.terminated.eq(later(m, _of(ended, asked), _ANSWER_CLOCKS - 1))

        # The start state. Start states are close together, so few tiles are possible.
        places = [self._start_units(k) for k in range(len(went))]

        def start_tile(k: int, offset: int, factor: int) -> Value:
            indices = [(unit + offset) // tiles.tilings for unit in places[k]]
            return times(self._start_index(m, k, indices), factor)

        drive_rows(m, tiles, self.start_rows, start_tile)
        return m

    def _kept(
        self,
        m: Module,
        name: str,
        outcomes: Outcomes,
        acted: Value,
        writes: Value,
        agent: Value,
    ) -> data.View[data.ArrayLayout]:
        """Store the outcomes for the agent that acted, if `writes`; return the outcomes for `agent`."""
        values, clocks = outcomes
        shape = data.ArrayLayout(values[0].shape(), len(values))
        memory = Memory(shape=shape, depth=_AGENTS, init=[])
        m.submodules[name] = memory
        write, read = memory.write_port(), memory.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(later(m, acted, clocks - 1)),
            write.en.eq(later(m, writes, clocks - 1)),
            read.addr.eq(agent),
            *(write.data[k].eq(value) for k, value in enumerate(values)),
        ]
        return read.data

    def _start_units(self, k: int) -> list[int]:
        """Return the positions of number k of a start state, one per value of its field of the draw."""
        _, width = START_FIELDS[self._world.env_id][k]
        return [_start_unit(self._world, self._tiles, k, field) for field in range(1 << width)]

    def _start_index(self, m: Module, k: int, indices: list[int]) -> Value:
        """Return the index for the draw, two clocks later; the draw is compared with each bound."""
        low, width = START_FIELDS[self._world.env_id][k]
        field = self.start[low : low + width]
        chosen: Value = Const(indices[0])
        for index in range(indices[0] + 1, indices[-1] + 1):
            reached = later(m, field >= bisect_left(indices, index))
            chosen = Mux(reached, index, chosen)
        return later(m, chosen)


def _of(outcomes: data.View[data.ArrayLayout], action: Value) -> Value:
    """Return the outcome of an action."""
    value: Value = outcomes[0 if outcomes.shape().length == 1 else action]
    return value


def check_starts(world: IntegerWorld) -> None:
    """Raise ConfigError if too many tile edges lie within a world's range of start states."""
    tiles = world.tiles
    for k, (_, width) in enumerate(START_FIELDS[world.env_id]):
        first, last = (_start_unit(world, tiles, k, field) for field in (0, (1 << width) - 1))
        if last - first > _MOST_EDGES:
            raise ConfigError(
                f"acting.tiles have {last - first} edges where episodes start, in number {k}; hardware "
                f"has up to {_MOST_EDGES}: use fewer tiles or tilings, or wider bounds"
            )


def _start_unit(world: IntegerWorld, tiles: Tiles, k: int, field: int) -> int:
    """Return the position of number k of a start state, given its field of the draw."""
    state = world.start(field << START_FIELDS[world.env_id][k][0])
    return tiles.coordinates[k].unit(world.observe(state)[k], tiles.tilings)


def _shifts(world: IntegerWorld) -> list[int]:
    """Return the number of bits by which each number of a state is shifted down for an observation."""
    wide = 64
    return [
        wide + 1 - seen.bit_length() for seen in world.observe((1 << wide,) * len(world.limits))
    ]
