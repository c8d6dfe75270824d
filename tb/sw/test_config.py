"""Config and Hyperparameters: ranges, immutability, TOML and digest."""

import builtins
import dataclasses
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tb.reference_device import ReferenceDevice
from tb.sw.lossy_port import DirectPort

import qstep
from qstep import Config, Hyperparameters, Link, QFormat, Rounding, Transitions
from qstep.device import open_device
from qstep.device.lane import LinkDevice
from qstep.device.model import ModelDevice
from qstep.envs import GridWorld
from qstep.errors import ConfigError, FileFormatError
from qstep.golden.lane import Model
from qstep.golden.lane_fast import FastModel
from qstep.learn.table import save_table
from qstep.spec.agents import SWITCHES, Acting
from qstep.spec.settings import AgentSettings


def config(**fields: Any) -> Config:
    return Config(**{"states": 25, "actions": 4, **fields})


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: config(states=1), "states is 1; it must be an integer from 2 to 65536"),
        (lambda: config(states=65537), "states is 65537; it must be an integer from 2 to 65536"),
        (lambda: config(states=25.0), r"states is 25.0; it must be an integer"),
        (lambda: config(states=True), "states is True; it must be an integer"),
        (lambda: config(actions=1), "actions is 1; it must be an integer from 2 to 64"),
        (lambda: config(actions=65), "actions is 65; it must be an integer from 2 to 64"),
        (lambda: config(loop_depth=4), "loop_depth is 4; it must be an integer from 1 to 3"),
        (lambda: config(format="Q4.3"), r"Q4.3 is 7 bits wide; m \+ F must be from 8 to 32"),
        (lambda: config(format="Q0.8"),
         "integer bits of the format is 0; it must be an integer from 1 to 32"),
        (lambda: config(states=16**5000),
         "states is <int that cannot be printed>; it must be an integer"),
        (lambda: config(states="a" * 1000), r"states is 'a{75} \.\.\.; it must be an integer"),
        (lambda: config(format="Q20.13"), "33 bits wide"),
        (lambda: config(format="8.8"), "format is '8.8'; write it as Qm.F"),
        (lambda: config(format=8), "format is 8; write it as Qm.F"),
        (lambda: config(format=None), "format is None; write it as Qm.F"),
        (lambda: config(rounding="up"),
         "rounding is 'up'; it must be one of nearest, floor, stochastic"),
        (lambda: config(link=None), "link is None; it must be a Link"),
        (lambda: Link(clock_hz=10), "link.clock_hz is 10; it must be an integer from 1000000"),
        (lambda: Link(baud=300), "link.baud is 300; it must be an integer from 9600"),
        (lambda: Link(baud=20_000_000), "link.baud is 20000000; .* to 6000000"),
        (lambda: Link(buffer_bytes=1000), "link.buffer_bytes is 1000; it must be a power of two"),
        (lambda: Link(clock_hz=12_000_000, baud=1_450_000),
         "link.baud is 1450000; .* misses it by"),
        (lambda: Acting(world="live.txt"),
         "acting.world is 'live.txt'; it must be 'table', 'live', .*, 'CartPole-v1' or a file that end"),
        (lambda: Acting(world=None),  # type: ignore[arg-type]
         "acting.world is None; it must be 'table', 'live', .*, 'CartPole-v1' or a file that ends"),
        (lambda: Acting(world="a.sv", outcomes=4),
         "acting.outcomes is 4; it must be 1 where acting.world is"),
        (lambda: Acting(world="a.sv", starts=2),
         "acting.starts is 2; it must be 1 where acting.world is not"),
        (lambda: Acting(deadline=999),
         "acting.deadline is 999; it must be an integer from 1000 to 2147483647"),
        (lambda: Acting(clock_hz=999_999),
         "acting.clock_hz is 999999; it must be an integer from 1000000 to 500000000"),
        (lambda: Acting(clock_hz=10**8, world="live"),
         "acting.clock_hz is 100000000; it must be left out where acting.world is 'live'"),
        (lambda: Acting(clock_hz=10**8, world="pins"),
         "acting.clock_hz is 100000000; it must be left out where acting.world is 'pins'"),
        (lambda: Acting(schedules=1), "acting.schedules is 1; it must be true or false"),  # type: ignore[arg-type]
        (lambda: Acting(step_limit="no"), "acting.step_limit is 'no'; it must be true or false"),  # type: ignore[arg-type]
        (lambda: Hyperparameters(alpha=1.5), "alpha is 1.5; it must be from 0 to 1"),
        (lambda: Hyperparameters(alpha=float("nan")), "alpha is nan; it must be from 0 to 1"),
        (lambda: Hyperparameters(gamma=-0.1), "gamma is -0.1; it must be from 0 to 1"),
        (lambda: Hyperparameters(gamma="high"), "gamma is 'high'; it must be a number from 0 to 1"),  # type: ignore[arg-type]
        (lambda: Hyperparameters(alpha=True), "alpha is True; it must be a number from 0 to 1"),
        (lambda: Hyperparameters(alpha=10**400), "alpha is 1000.*; it must be from 0 to 1"),
        (lambda: Hyperparameters(alpha=0.00001).coefficients_for(config()),
         "alpha is 1e-05, which is rounded to 0 with 15 fractional bits; .* 1.52587890625e-05"),
        (lambda: AgentSettings(1e-8).coefficients_for(config(coefficient_bits=24)),
         "alpha is 1e-08, which is rounded to 0 with 24 fractional bits; .* 2.98023223876953"),
        (lambda: Hyperparameters(alpha=0.5).coefficients_for(config(coefficient_bits=17)),
         "alpha is 0.5, too large for 16 bits of which 17 are .* be 0 to 0.49999237060546875"),
        (lambda: config(coefficient_bits=14),
         "coefficient_bits is 14; it must be an integer from 15 to 24"),
        (lambda: config(coefficient_bits=25),
         "coefficient_bits is 25; it must be an integer from 15 to 24"),
        (lambda: Hyperparameters(rounding="up"), "rounding is 'up'"),
        (lambda: Hyperparameters(rounding=[]), r"rounding is \[\]; it must be one of nearest"),  # type: ignore[arg-type]
        (lambda: Hyperparameters(seed=1.0), "seed is 1.0; it must be an integer"),  # type: ignore[arg-type]
        (lambda: Hyperparameters(seed=-1), r"seed is -1; it must be an integer from 0 to 2\^64-1"),
        (lambda: config(lanes=0, acting=Acting(2)),
         "lanes is 0; it must be an integer from 1 to 128"),
        (lambda: config(lanes=129, acting=Acting(129)),
         "lanes is 129; it must be an integer from 1 to 128"),
        (lambda: config(lanes=2, acting=None),
         "lanes is 2; it must be 1 without agents"),
        (lambda: config(lanes=2, acting=Acting(3)),
         "acting.agents is 3; it must be a multiple of lanes, 2"),
        (lambda: config(lanes=2, acting=Acting(2, shared_table=True)),
         "lanes is 2; .* where acting.shared_table is true"),
        (lambda: config(lanes=2, acting=Acting(2, world="live")),
         "lanes is 2; it must be 1 where acting.world is 'live'"),
    ],
)  # fmt: skip
def test_an_illegal_value_is_refused_with_its_range(call: Callable[[], object], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        call()


def test_a_clock_of_the_lanes_is_the_links_unless_it_is_given() -> None:
    one, two = (Config(25, 4, acting=Acting(2, clock_hz=hz)) for hz in (None, 150_000_000))
    assert "clock_hz" not in one.to_dict()["acting"]
    assert Config.from_dict(two.to_dict()) == two
    assert (one.lane_clock_hz, two.lane_clock_hz) == (one.link.clock_hz, 150_000_000)
    assert Config(25, 4).lane_clock_hz == Link().clock_hz


@pytest.mark.parametrize("name", SWITCHES)
def test_what_hardware_is_built_with_is_said_only_where_it_is_left_out(name: str) -> None:
    off: dict[str, Any] = {name: False}
    whole, less = (Config(25, 4, acting=Acting(**given)) for given in ({}, off))
    assert name not in whole.to_dict()["acting"]
    assert Config.from_dict(less.to_dict()) == less != whole
    assert less.digest != whole.digest


def test_one_lane_is_what_a_config_was_before_there_were_more() -> None:
    one, two = (Config(25, 4, acting=Acting(32), lanes=lanes) for lanes in (1, 2))
    assert "lanes" not in one.to_dict()
    assert Config.from_dict(two.to_dict()) == two
    assert (one.lane_agents, two.lane_agents) == (32, 16)
    assert one.digest != two.digest


@pytest.mark.parametrize(
    ("states", "actions", "state_bits", "action_bits"),
    [(2, 2, 1, 1), (25, 4, 5, 2), (1024, 6, 10, 3), (65536, 64, 16, 6)],
)
def test_widths_of_geometry(states: int, actions: int, state_bits: int, action_bits: int) -> None:
    config = Config(states, actions)
    assert (config.state_bits, config.action_bits) == (state_bits, action_bits)


def test_config_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config(25, 4).states = 26  # type: ignore[misc]


def test_toml_gives_back_the_same_config_and_digest(tmp_path: Path) -> None:
    config = Config(
        *(500, 6, QFormat(10, 12), Rounding.STOCHASTIC, 2),
        *(Link(12_000_000, 1_000_000, 512), Acting(3, world="worlds/mine.sv", deadline=5000)),
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
        ("states = 25\nactions = 4\ncolour = 2", ConfigError,
         "unknown field 'colour'; known fields: states"),
        ("states = 25\nactions = 4\n[link]\nbits = 9", ConfigError, "unknown field .link.bits."),
        ("states = 25\nactions = 4\nlink = 3", ConfigError, "link is 3; it must be a table"),
        ("states = ", FileFormatError, "cannot be read as a TOML configuration"),
        ("a = " + "[" * 5000, FileFormatError, "cannot be read as a TOML configuration"),
        ("a = " + "{a=" * 5000, FileFormatError, "cannot be read as a TOML configuration"),
        (f"states = {'9' * 5000}", FileFormatError, "cannot be read as a TOML configuration"),
        (f"states = 0x{'f' * 5000}\nactions = 4", ConfigError,
         "states is <int that cannot be printed>; it must be an integer"),
        ("states = 1e400\nactions = 4", ConfigError, "states is inf; it must be an integer"),
        ("states = 25\nactions = [[4]]", ConfigError, r"actions is \[\[4\]\]; it must be an"),
        ("states = 25\nactions = 4\nformat = 8.8", ConfigError,
         "format is 8.8; write it as Qm.F"),
        (f"{'k' * 5000} = 1", ConfigError, "unknown field 'k{40}'; known fields:"),
        ("# " + "x" * (1 << 16), FileFormatError, "it has more than 65536 bytes"),
    ],
)  # fmt: skip
def test_toml_refuses_what_it_does_not_know(
    tmp_path: Path, text: str, error: type[Exception], message: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(error, match=message):
        Config.from_toml(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_toml_may_come_from_windows(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(Config(25, 4).to_toml().replace("\n", "\r\n").encode(encoding))
    assert Config.from_toml(path) == Config(25, 4)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (None, "cannot be read as a TOML configuration"),
        (1.5, "cannot be read as a TOML configuration"),
        ("a\0b", "cannot be read as a TOML configuration"),
        ("nowhere.toml", r"nowhere\.toml: no such file"),
    ],
    ids=repr,
)
def test_what_is_no_path_is_refused(path: Any, text: str) -> None:
    with pytest.raises(FileFormatError, match=text):
        Config.from_toml(path)


def test_any_whole_number_is_kept_as_an_int() -> None:
    small: Any = np.uint8
    given = Config(small(25), small(4), QFormat(small(6), small(10)), loop_depth=small(2))
    assert given == Config(25, 4, "Q6.10", loop_depth=2)
    assert given.digest == Config(25, 4, "Q6.10", loop_depth=2).digest
    assert {type(given.states), type(given.format.integer), type(given.loop_depth)} == {int}
    large: Any = np.int64
    link = Link(large(12_000_000), large(1_000_000), large(512))
    assert type(link.baud) is int
    assert Hyperparameters(seed=np.uint64(2**64 - 1)).noise == Hyperparameters(seed=2**64 - 1).noise  # type: ignore[arg-type]


def test_any_real_number_is_kept_as_a_float() -> None:
    hyper = Hyperparameters(np.float32(0.5), Fraction(3, 4), seed=np.int64(3))  # type: ignore[arg-type]
    assert hyper == Hyperparameters(0.5, 0.75, seed=3)
    text = json.dumps(hyper.to_dict(Config(25, 4)))
    assert json.loads(text) == {"alpha": 0.5, "gamma": 0.75, "rounding": "nearest", "seed": 3}


def test_the_spaces_of_an_environment_make_a_config() -> None:
    world = GridWorld("S.G")
    sizes = world.observation_space.n, world.action_space.n  # type: ignore[attr-defined]
    assert Config(*sizes) == Config(3, 4)


def test_smallest_alpha_is_the_one_that_the_message_names() -> None:
    assert Hyperparameters(alpha=1.52587890625e-05).coefficients_for(config()).alpha == 1
    assert Hyperparameters(alpha=0.0).coefficients_for(config()).alpha == 0


def test_a_device_of_the_usual_coefficients_keeps_its_digest() -> None:
    usual, finer = config(), config(coefficient_bits=22)
    assert "coefficient_bits" not in usual.to_dict()
    assert usual == config(coefficient_bits=15)
    assert usual.digest == "eaf238c010d9b16fee56452710b0657cc7770f233d7de99f69d86cc5e102e93c"
    assert Config.from_dict(finer.to_dict()) == finer != usual
    assert finer.digest != usual.digest


@pytest.mark.parametrize(("bits", "alpha"), [(15, 0.5), (16, 0.5), (17, 65535 / 2**17)])
def test_a_device_begins_with_an_alpha_that_fits(bits: int, alpha: float) -> None:
    assert Hyperparameters.first_for(config(coefficient_bits=bits)) == Hyperparameters(alpha)


@pytest.mark.parametrize("make", [Model, FastModel, ModelDevice], ids=lambda kind: kind.__name__)
def test_alpha_that_does_not_fit_changes_nothing(make: Any) -> None:
    user = make(config(coefficient_bits=22))
    user.configure(Hyperparameters(2**-10, 0.5))
    moves = Transitions.from_arrays(user.config, [1], [2], [100.0], [3], [True])
    with pytest.raises(ConfigError, match=r"alpha is 0\.5, too large for 16 bits"):
        user.configure(Hyperparameters(0.5))
    user.apply(moves)
    table = user.read() if isinstance(user, ModelDevice) else user.table
    assert table[1, 2] == 25  # 100 * 256 / 1024


@pytest.mark.parametrize("make", [Model, FastModel, ModelDevice], ids=lambda kind: kind.__name__)
def test_rounding_is_that_of_the_config_unless_told_otherwise(make: Any) -> None:
    config = Config(25, 4, rounding=Rounding.FLOOR)
    tables = {}
    for name, hyper in {
        "config": Hyperparameters(),
        "floor": Hyperparameters(rounding=Rounding.FLOOR),
        "nearest": Hyperparameters(rounding=Rounding.NEAREST),
    }.items():
        user = make(config)
        user.configure(hyper)
        user.apply(
            Transitions.from_arrays(config, [1, 1], [2, 2], [0.3, 0.3], [3, 3], [True, True])
        )
        table = user.read() if isinstance(user, ModelDevice) else user.table
        tables[name] = table.tolist()
        assert hyper.to_dict(config)["rounding"] == hyper.rounding_for(config).value
    assert tables["config"] == tables["floor"] != tables["nearest"]


@pytest.mark.parametrize("config", [None, {"states": 25, "actions": 4}, (25, 4)], ids=repr)
def test_what_is_no_config_is_refused_by_every_user_of_one(config: Any) -> None:
    none = np.zeros(0, np.int64)
    for use in (
        Model,
        FastModel,
        lambda given: qstep.open("model", given),
        lambda given: Transitions.from_arrays(given, none, none, none, none, none > 0),
    ):
        with pytest.raises(
            ConfigError,
            match=r"configuration is .*; it must be a Config, as returned by Config\.from",
        ):
            use(config)
    if not isinstance(config, dict):
        with pytest.raises(ConfigError, match=r"configuration is .*; it must be a table"):
            Config.from_dict(config)


@pytest.mark.parametrize("hyper", [None, {"alpha": 0.5}], ids=repr)
def test_what_are_no_hyperparameters_changes_nothing(hyper: Any, tmp_path: Path) -> None:
    config = Config(25, 4)
    over_the_link = LinkDevice(DirectPort(ReferenceDevice(config)), config)
    for user in (Model(config), FastModel(config), ModelDevice(config), over_the_link):
        with pytest.raises(ConfigError, match=r"hyperparameters are .*; they must be Hyperparam"):
            user.configure(hyper)
    with pytest.raises(ConfigError, match="they must be Hyperparameters"):
        save_table(tmp_path / "t.npz", np.zeros((25, 4), np.int32), config, hyper)
    assert not [*tmp_path.iterdir()]


def test_a_star_import_leaves_the_builtins_alone() -> None:
    there: dict[str, object] = {}
    exec("from qstep import *", there)
    assert not set(dir(builtins)) & (set(there) - {"__builtins__"})
    assert qstep.open is open_device
