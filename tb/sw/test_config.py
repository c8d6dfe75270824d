"""Config and Hyperparameters: ranges, immutability, TOML, digest."""

import dataclasses
from pathlib import Path

import pytest

from qstep import Config, Hyperparameters, Link, QFormat, Rounding
from qstep.errors import ConfigError, FileFormatError

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"states": 1}, "states is 1; it must be an integer from 2 to 65536"),
        ({"states": 65537}, "states is 65537; it must be an integer from 2 to 65536"),
        ({"states": 25.0}, r"states is 25.0; it must be an integer"),
        ({"states": True}, "states is True; it must be an integer"),
        ({"actions": 1}, "actions is 1; it must be an integer from 2 to 64"),
        ({"actions": 65}, "actions is 65; it must be an integer from 2 to 64"),
        ({"loop_depth": 4}, "loop_depth is 4; it must be an integer from 1 to 3"),
        ({"format": "Q4.3"}, r"Q4.3 is 7 bits wide; Qm.F needs .* m \+ F from 8 to 32"),
        ({"format": "Q0.8"}, r"m >= 1"),
        ({"format": "Q20.13"}, "33 bits wide"),
        ({"format": "8.8"}, "format is '8.8'; write it as Qm.F"),
        ({"format": 8}, "format is 8; it must be a QFormat"),
        ({"rounding": "up"}, "rounding is 'up'; it must be one of nearest, floor, stochastic"),
        ({"link": None}, "link is None; it must be a Link"),
    ],
)
def test_config_refuses_an_illegal_value_and_names_the_range(
    fields: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        Config(**{"states": 25, "actions": 4, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"clock_hz": 10}, "link.clock_hz is 10; it must be an integer from 1000000"),
        ({"baud": 300}, "link.baud is 300; it must be an integer from 9600"),
        ({"baud": 20_000_000}, "link.baud is 20000000; .* to 12000000"),
        ({"buffer_bytes": 1000}, "link.buffer_bytes is 1000; it must be a power of two"),
        ({"clock_hz": 12_000_000, "baud": 2_700_000}, "link.baud is 2700000; .* misses it by"),
    ],
)
def test_link_refuses_an_illegal_value_and_names_the_range(
    fields: dict[str, int], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        Link(**fields)


@pytest.mark.parametrize(
    ("states", "actions", "state_bits", "action_bits"),
    [(2, 2, 1, 1), (25, 4, 5, 2), (1024, 6, 10, 3), (65536, 64, 16, 6)],
)
def test_widths_follow_from_the_geometry(
    states: int, actions: int, state_bits: int, action_bits: int
) -> None:
    config = Config(states, actions)
    assert (config.state_bits, config.action_bits) == (state_bits, action_bits)


def test_config_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config(25, 4).states = 26  # type: ignore[misc]


def test_toml_gives_back_the_same_config_and_digest(tmp_path: Path) -> None:
    config = Config(
        500, 6, QFormat(10, 12), Rounding.STOCHASTIC, 2, Link(12_000_000, 1_000_000, 512)
    )
    path = tmp_path / "config.toml"
    path.write_text(config.to_toml(), encoding="utf-8")
    assert Config.from_toml(path) == config
    assert Config.from_toml(path).digest == config.digest


@pytest.mark.parametrize(
    "other",
    [
        Config(26, 4),
        Config(25, 5),
        Config(25, 4, QFormat(8, 9)),
        Config(25, 4, rounding=Rounding.FLOOR),
        Config(25, 4, loop_depth=2),
        Config(25, 4, link=Link(baud=1_000_000)),
    ],
    ids=["states", "actions", "format", "rounding", "loop", "link"],
)
def test_digest_depends_on_every_field(other: Config) -> None:
    assert other.digest != Config(25, 4).digest


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("states = 25", ConfigError, "actions is missing"),
        (
            "states = 25\nactions = 4\nlanes = 2",
            ConfigError,
            "unknown field lanes; known are states",
        ),
        ("states = 25\nactions = 4\n[link]\nbits = 9", ConfigError, "unknown field link.bits"),
        ("states = 25\nactions = 4\nlink = 3", ConfigError, "link is 3; it must be a table"),
        ("states = ", FileFormatError, "cannot be read as a TOML configuration"),
    ],
)
def test_toml_refuses_what_it_does_not_know(
    tmp_path: Path, text: str, error: type[Exception], message: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(error, match=message):
        Config.from_toml(path)


def test_a_missing_toml_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"nowhere\.toml: cannot be read"):
        Config.from_toml(tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"alpha": 1.5}, "alpha is 1.5; it must be from 0 to 1"),
        ({"alpha": float("nan")}, "alpha is nan; it must be from 0 to 1"),
        ({"gamma": -0.1}, "gamma is -0.1; it must be from 0 to 1"),
        ({"gamma": "high"}, "gamma is 'high'; it must be a number from 0 to 1"),
        ({"rounding": "up"}, "rounding is 'up'"),
        ({"seed": -1}, r"seed is -1; it must be an integer from 0 to 2\^64-1"),
    ],
)
def test_hyperparameters_refuse_an_illegal_value(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Hyperparameters(**fields)  # type: ignore[arg-type]
