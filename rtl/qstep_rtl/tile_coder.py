"""Tile coding in hardware: maps the numbers of an observation to its row in each plane.

Function    Matches :meth:`qstep.spec.tiles.Tiles.of` bit for bit, for tiles without hashed rows.
Latency     CODER_CLOCKS
Throughput  One observation per clock.
Reset       none
Hazards     none
Invariants  none
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from amaranth.hdl import Array, C, Cat, Const, Module, Mux, Shape, Value, signed
from amaranth.lib import data
from amaranth.lib.wiring import Component, In, Out
from amaranth.utils import ceil_log2

from qstep.errors import ConfigError
from qstep.spec.config import Config
from qstep.spec.tiles import Coordinate, Tiles
from qstep_rtl.motions import exceeds, later, times

__all__ = [
    "CODER_CLOCKS",
    "UNIT_CLOCKS",
    "TileCoder",
    "check_no_hash",
    "drive_rows",
    "number_shapes",
    "rows_layout",
    "states_of",
    "tile_at",
    "unit_of",
]

UNIT_CLOCKS = 4
"""Clocks from a number, less its lower bound, to its position."""

CODER_CLOCKS = UNIT_CLOCKS + 2
"""Clocks from an observation to its rows."""

_FEW_TILES = 15
"""Maximum tile count with a 4-bit index; each bit of its product with a constant is then one LUT."""


class TileCoder(Component):
    """Computes the rows of observations.

    Parameters
    ----------
    tiles : Tiles

    Attributes
    ----------
    numbers : In
        The numbers of an observation in raw units, with the shapes of :func:`number_shapes`.
    rows : Out
        The row in each plane, CODER_CLOCKS later.
    """

    def __init__(self, tiles: Tiles) -> None:
        self._tiles = tiles
        numbers = {f"number{k}": shape for k, shape in enumerate(number_shapes(tiles))}
        super().__init__(
            {"numbers": In(data.StructLayout(numbers)), "rows": Out(rows_layout(tiles))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tiles = self._tiles
        units = [
            unit_of(m, own, tiles.tilings, later(m, self.numbers[f"number{k}"] - own.low))
            for k, own in enumerate(tiles.coordinates)
        ]
        drive_rows(m, tiles, self.rows, partial(tile_at, tiles, units))
        return m


def rows_layout(tiles: Tiles) -> data.ArrayLayout:
    """Return the layout of one row per plane, with the first plane's row lowest."""
    return data.ArrayLayout(ceil_log2(tiles.rows), tiles.planes)


def states_of(config: Config, rows: Iterable[Value]) -> Value:
    """Return rows as an agent's state: the row in each plane, each as wide as a state."""
    return Cat(Cat(row, C(0, config.state_bits - len(row))) for row in rows)


def number_shapes(tiles: Tiles) -> list[Shape]:
    """Return the shape of each number of an observation: the narrowest shape that fits both bounds."""
    return [
        signed(1 + max(abs(bound + (bound < 0)).bit_length() for bound in (own.low, own.high)))
        for own in tiles.coordinates
    ]


def check_no_hash(tiles: Tiles) -> None:
    """Raise ConfigError if the tile coding hashes rows."""
    if tiles.hashes:
        raise ConfigError(
            f"acting.tiles.rows is {tiles.rows} and a tiling has {tiles.most_rows}; hardware does not "
            "hash them: leave rows out, and use fewer tiles or smaller groups if they are too many"
        )


def unit_of(m: Module, own: Coordinate, tilings: int, above: Value) -> Value:
    """Return the position in units of 1/T tile, UNIT_CLOCKS after `above`, a number less its bound."""
    most = own.tiles * tilings
    # The operand determines whether the product is out of range, in parallel with the multiplier.
    least = -(-(most << own.shift) // own.scale)
    below, beyond = later(m, above < 0, 3), later(m, exceeds(above, least - 1), 3)
    unit = later(m, later(m, above) * own.scale, 2) >> own.shift
    low = unit[: (most - 1).bit_length()]
    return later(m, Mux(below, 0, Mux(beyond, most, low)))


def tile_at(tiles: Tiles, units: Sequence[Value], k: int, offset: int, factor: int) -> Value:
    """Return the index of the tile at the position of number k, shifted by `offset`, times a factor.

    With few tiles, a lookup replaces the adder. The shift moves some positions to the next tile.
    """
    unit, last, low = units[k], tiles.coordinates[k].tiles, ceil_log2(tiles.tilings)
    if last > _FEW_TILES:
        return times((unit + offset) >> low, factor)
    own, following = (
        Array(Const(factor * min(n, last)) for n in range(first, first + last + 1))[unit[low:]]
        for first in (0, 1)
    )
    return Mux(unit[:low] >= tiles.tilings - offset, following, own)


def drive_rows(
    m: Module, tiles: Tiles, rows: data.View, tile: Callable[[int, int, int], Value]
) -> None:
    """Drive the row in each plane one clock after the tiles: see :func:`tile_at`.

    If two coordinates are tiled together, one addition remains after the registers of the tiles.
    """
    planes = iter(rows)
    for group in tiles.groups:
        for t in range(tiles.tilings):
            word: Value = Const(0)
            factor = 1
            for d, k in reversed(list(enumerate(group))):
                word = word + later(m, tile(k, t * (2 * d + 1) % tiles.tilings, factor))
                factor *= tiles.coordinates[k].tiles + 1
            m.d.comb += next(planes).eq(word)
