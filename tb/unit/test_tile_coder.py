"""The tile coder matches the definition of tiles bit for bit, even far outside the bounds."""

import random
from types import ModuleType
from typing import Any

import pytest
from tb.planted import Fault, faults, plant_python
from tb.unit.streams import simulate

from qstep.errors import ConfigError
from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep.spec.tiles import Tiles
from qstep_rtl import tile_coder
from qstep_rtl.agents import check_room

pytestmark = pytest.mark.unit

SENSORS = Tiles([-400, 30, -9], [420, 4095, -2], [4, 255, 3], 4, [(0, 1), (2,)], units=1)
TILES = [
    SENSORS,
    Tiles([-1.2, -0.07], [0.6, 0.07]),
    Tiles([0], [1], tiles=1, tilings=1, units=1),
]


def check(module: ModuleType, tiles: Tiles) -> None:
    """Check a coder with one observation per clock, including the bounds and values close to them."""
    coder = module.TileCoder(tiles)
    rng = random.Random(3)
    ends: list[tuple[int, int]] = []
    for shape in module.number_shapes(tiles):
        half = 1 << (shape.width - 1)
        ends.append((-half, half - 1))

    def number(k: int) -> int:
        own = tiles.coordinates[k]
        near = rng.choice((own.low, own.high, *ends[k])) + rng.randint(-2, 2)
        value: int = rng.choice((near, rng.randint(*ends[k])))
        return max(ends[k][0], min(ends[k][1], value))

    async def bench(ctx: Any) -> None:
        given = []
        for clock in range(500):
            given.append([number(k) for k in range(len(ends))])
            for k, value in enumerate(given[-1]):
                ctx.set(coder.numbers[f"number{k}"], value)
            if clock >= module.CODER_CLOCKS:
                seen = given[clock - module.CODER_CLOCKS]
                assert tuple(ctx.get(coder.rows)) == tiles.of(seen)
            await ctx.tick()

    simulate(coder, bench)


@pytest.mark.parametrize("tiles", TILES, ids=("sensors", "car", "smallest"))
def test_the_coder_gives_the_rows_of_its_tiles(tiles: Tiles) -> None:
    check(tile_coder, tiles)


def test_numbers_are_as_narrow_as_their_bounds_allow() -> None:
    shapes = tile_coder.number_shapes(SENSORS)
    assert [(shape.signed, shape.width) for shape in shapes] == [(True, 10), (True, 13), (True, 5)]


@pytest.mark.parametrize("fault", faults("test_tile_coder"), ids=lambda fault: fault.name)
def test_a_fault_is_noticed(fault: Fault) -> None:
    with pytest.raises(AssertionError):
        check(plant_python(tile_coder, fault.old, fault.new), SENSORS)


def test_tiles_that_hash_rows_are_refused_at_the_pins() -> None:
    tiles = Tiles([0, 0], [1, 1], rows=64)
    config = Config(64, 2, acting=Acting(world="pins", tiles=tiles), planes=8)
    with pytest.raises(
        ConfigError, match=r"acting\.tiles\.rows is 64 and a tiling has 81; hardware"
    ):
        check_room(config)
