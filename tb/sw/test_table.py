"""Table files are complete and reproducible byte for byte, and are checked when they are read."""

import json
import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from qstep import Config, Hyperparameters
from qstep._io.files import write_atomically
from qstep.errors import FileFormatError, TableError
from qstep.learn.table import TableWorld, load_table, save_table

CONFIG = Config(25, 4)
TABLE = np.arange(-50, 50, dtype=np.int32).reshape(25, 4)


def test_table_comes_back(tmp_path):
    save_table(tmp_path / "t.npz", TABLE, CONFIG, Hyperparameters())
    assert np.array_equal(load_table(tmp_path / "t.npz", CONFIG).q_raw, TABLE)


def test_file_holds_what_is_documented(tmp_path):
    hyper = Hyperparameters(alpha=0.25, seed=7, rounding="floor")
    save_table(tmp_path / "t.npz", TABLE, CONFIG, hyper)
    with np.load(tmp_path / "t.npz", allow_pickle=False) as archive:
        assert sorted(archive) == ["config", "q", "q_raw"]
        assert archive["q_raw"].dtype == np.int32
        assert np.array_equal(archive["q_raw"], TABLE)
        assert archive["q"].dtype == np.float64
        assert np.array_equal(archive["q"], TABLE / 256)
        tree = json.loads(str(archive["config"]))
    assert Config.from_dict(tree["config"]) == CONFIG
    assert Hyperparameters(**tree["hyperparameters"]) == hyper


def test_world_of_a_table_comes_back(tmp_path):
    world = TableWorld("gridworld", 25, 4, "0" * 64)
    for known in (world, replace(world, digest=None), None):
        save_table(tmp_path / "t.npz", TABLE, CONFIG, Hyperparameters(), known)
        assert load_table(tmp_path / "t.npz").world == known
        assert np.array_equal(load_table(tmp_path / "t.npz", CONFIG).q_raw, TABLE)


def test_same_table_is_the_same_bytes_at_any_time(tmp_path, monkeypatch):
    save_table(tmp_path / "a.npz", TABLE, CONFIG, Hyperparameters())
    monkeypatch.setattr("time.time", lambda: 2e9)
    monkeypatch.setattr("time.localtime", lambda *_: (2033, 5, 18, 3, 33, 20, 2, 138, 0))
    save_table(tmp_path / "b.npz", np.asfortranarray(TABLE), CONFIG, Hyperparameters())
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    save_table(tmp_path / "b.npz", TABLE, CONFIG, Hyperparameters(seed=1))
    assert (tmp_path / "a.npz").read_bytes() != (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_interrupted_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, step):
    path = tmp_path / "t.npz"
    path.write_bytes(b"old")

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(*((os, step) if step == "fsync" else (type(path), step)), fail)
    with pytest.raises(
        FileFormatError, match=r"t\.npz: cannot be written: No space left on device"
    ):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.npz"]


def saved(config, table=None):
    """Return a function that writes a table of this configuration."""
    zeros = np.zeros((config.states, config.actions), np.int32)
    return lambda path: save_table(
        path, zeros if table is None else table, config, Hyperparameters()
    )


def holding(**arrays):
    """Return a function that writes a file with these arrays; a world is put into its configuration."""
    if "world" in arrays:
        arrays["config"] = json.dumps({"config": CONFIG.to_dict(), "world": arrays.pop("world")})
    return lambda path: np.savez(path, q_raw=TABLE, **arrays)


WORLDS: tuple[Any, ...] = 1, "gridworld", {}, {"name": "a", "states": "25", "actions": 4}
SETTINGS: tuple[tuple[dict[str, Any], str], ...] = (
    ({}, "config does not hold the settings of a run"),
    ({"hyperparameters": {"speed": 1}}, "config does not hold the settings of a run"),
    ({"hyperparameters": {"alpha": 2}}, r"t\.npz: holds illegal settings: alpha is 2; it must be"),
    ({"agents": [{"alpha": 0.5, "gamma": 7, "epsilon": {"start": 0.1}}]},
     r"t\.npz: holds illegal settings: gamma is 7; it must be"),
    ({"median_agent": 1}, r"t\.npz: median_agent is 1; it must be an integer from 0 to 0"),
    ({"median_agent": "0"}, r"t\.npz: median_agent is '0'; it must be an integer"),
)  # fmt: skip
CONFIGS = ("", "[]", "{}", '{"config": 1}', "[" * 100_000, "9" * 5000, '{"config": 3}', "null",
           '{"config": {"format": "Q8.8"}}',
           '{"config": {"states": 25, "actions": 4, "format": [[8]]}}')  # fmt: skip


@pytest.mark.parametrize(
    ("write", "error", "text"),
    [
        (saved(Config(26, 4)), TableError,
         r"t\.npz: table has shape \(26, 4\); this configuration needs \(25, 4\)"),
        (saved(Config(25, 4, "Q4.12")), TableError,
         r"t\.npz: holds Q4\.12 values; this configuration has Q8\.8"),
        (lambda path: path.write_bytes(b"not a zip"), FileFormatError,
         r"cannot be read as a \.npz file"),
        (holding(), FileFormatError, "lacks q, config; it must contain q_raw, q, config"),
        *((holding(q=TABLE / 256, config=config), FileFormatError,
           "config is not the JSON text of a configuration") for config in CONFIGS),
        *((holding(q=TABLE / 256, config=json.dumps({"config": CONFIG.to_dict(), **settings})),
           FileFormatError, text) for settings, text in SETTINGS),
        *((holding(q=TABLE / 256, world=world), FileFormatError,
           r"t\.npz: config does not describe a world: ") for world in WORLDS),
    ],
)  # fmt: skip
def test_file_that_is_no_table_of_the_configuration_is_refused(tmp_path, write, error, text):
    write(tmp_path / "t.npz")
    with pytest.raises(error, match=text):
        load_table(tmp_path / "t.npz", CONFIG)


@pytest.mark.parametrize(
    ("path", "table", "error", "text"),
    [
        ("absent/t.npz", TABLE, FileFormatError, r"t\.npz: cannot be written: No such file"),
        ("t.npz", np.full((25, 4), 40000), TableError, r"table\[0, 0\] is 40000"),
    ],
)
def test_what_cannot_be_saved_is_refused(tmp_path, path, table, error, text):
    with pytest.raises(error, match=text):
        save_table(tmp_path / path, table, CONFIG, Hyperparameters())
    assert list(tmp_path.iterdir()) == []


def test_hyperparameters_of_numpy_are_saved(tmp_path):
    hyper = Hyperparameters(np.float32(0.5), np.float64(0.75), seed=np.int64(7))  # type: ignore[arg-type]
    save_table(tmp_path / "a.npz", TABLE, CONFIG, hyper)
    save_table(tmp_path / "b.npz", TABLE, CONFIG, Hyperparameters(0.5, 0.75, "nearest", 7))
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
