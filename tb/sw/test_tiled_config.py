"""A configuration with a world seen through tiles: its file, its digest and its checks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qstep.errors import ConfigError
from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep.spec.integer_worlds import CART_POLE, MOUNTAIN_CAR
from qstep.spec.tiles import Tiles

SMALL = Tiles([-1.2, -0.07], [0.6, 0.07], 5, 4, units=MOUNTAIN_CAR.units)
ONE = Tiles([-1.2, -0.07], [0.6, 0.07], 5, 1, units=MOUNTAIN_CAR.units)
HASHED = Tiles([-1.2, -0.07], [0.6, 0.07], 16, 8, units=MOUNTAIN_CAR.units, rows=128)


def config_of(tiles: Tiles, **given: Any) -> Config:
    acting = Acting(world="MountainCar-v0", tiles=tiles)
    return Config(
        **{"states": tiles.rows, "actions": 3, "planes": tiles.planes, **given}, acting=acting
    )


@pytest.mark.parametrize("tiles", [SMALL, HASHED, MOUNTAIN_CAR.tiles])
def test_a_tiled_configuration_survives_its_file(tiles: Tiles, tmp_path: Path) -> None:
    config, path = config_of(tiles), tmp_path / "device.toml"
    path.write_text(config.to_toml(), encoding="utf-8")
    again = Config.from_toml(path)
    assert again == config
    assert again.digest == config.digest
    assert again.acting is not None
    assert again.acting.integer_world == replace(MOUNTAIN_CAR, tiles=tiles)


def test_the_digest_depends_on_the_tiles() -> None:
    other = Tiles([-1.2, -0.07], [0.5, 0.07], 5, 4, units=MOUNTAIN_CAR.units)
    assert config_of(SMALL).digest != config_of(other).digest


def test_a_world_brings_its_own_tiles() -> None:
    assert Acting(world="CartPole-v1").tiles == CART_POLE.tiles
    assert Acting().tiles is None


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Acting(tiles=SMALL),
         r"acting.tiles is Tiles\(.*; it must be left out where acting.world is 'table'"),
        (lambda: Acting(world="CartPole-v1", tiles=SMALL),
         r"units of tiles are \(.*; those of CartPole-v1 are"),
        (lambda: Acting(world="MountainCar-v0", tiles=8),  # type: ignore[arg-type]
         "acting.tiles is 8; it must be a Tiles"),
        (lambda: config_of(SMALL, planes=8), "planes is 8; MountainCar-v0 and its tiles need 4"),
        (lambda: config_of(SMALL, actions=2), "actions is 2; MountainCar-v0 and its tiles need 3"),
        (lambda: config_of(SMALL, states=30),
         "states is 30; the tiles of MountainCar-v0 need 36 rows in each plane, 6 more"),
        (lambda: Config(81, 2, acting=Acting(algorithm="double-q", world="CartPole-v1"), planes=8),
         "planes is 8; it must be 1 where acting.algorithm is 'double-q'"),
        (lambda: Config(36, 3, acting=Acting(algorithm="double-q", world="MountainCar-v0", tiles=ONE)),
         "acting.algorithm is 'double-q'; MountainCar-v0 needs another"),
        (lambda: Tiles.from_dict(8), "tiles are 8; they must be a table"),
        (lambda: Tiles.from_dict({"low": [0]}), "tiles.high is missing; tiles need low and high"),
        (lambda: Tiles.from_dict({"low": [0], "high": [1], "bins": 3}),
         "unknown field 'tiles.bins'; known fields: low, high, tiles, tilings, groups, units, rows"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(call: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        call()
