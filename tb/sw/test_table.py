"""Tables as files: complete, the same bytes each time, and checked on the way in."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest

from qstep import Config, Hyperparameters
from qstep.errors import FileFormatError, TableError
from qstep.files import write_atomically
from qstep.table import TableWorld, load_table, save_table, table_world

CONFIG = Config(25, 4)
TABLE = np.arange(-50, 50, dtype=np.int32).reshape(25, 4)


def test_table_comes_back(tmp_path):
    save_table(tmp_path / "t.npz", TABLE, CONFIG, Hyperparameters())
    assert np.array_equal(load_table(tmp_path / "t.npz", CONFIG), TABLE)


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
        assert table_world(tmp_path / "t.npz") == known
        assert np.array_equal(load_table(tmp_path / "t.npz", CONFIG), TABLE)


@pytest.mark.parametrize("world", [1, "gridworld", {}, {"name": "a", "states": "25", "actions": 4}])
def test_file_with_a_malformed_world_is_refused(tmp_path, world):
    tree = {"config": CONFIG.to_dict(), "world": world}
    arrays = {"q_raw": TABLE, "q": TABLE / 256, "config": np.array(json.dumps(tree))}
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(FileFormatError, match=r"t\.npz: config does not describe a world: "):
        table_world(tmp_path / "t.npz")


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


def test_file_in_a_folder_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(FileFormatError, match=r"t\.npz: cannot be written: No such file"):
        save_table(tmp_path / "absent" / "t.npz", TABLE, CONFIG, Hyperparameters())


def test_values_that_do_not_fit_are_not_saved(tmp_path):
    with pytest.raises(TableError, match=r"table\[0, 0\] is 40000"):
        save_table(tmp_path / "t.npz", np.full((25, 4), 40000), CONFIG, Hyperparameters())
    assert not (tmp_path / "t.npz").exists()


@pytest.mark.parametrize(
    ("there", "message"),
    [
        (Config(26, 4), r"t\.npz: table has shape \(26, 4\); this configuration needs \(25, 4\)"),
        (Config(25, 4, "Q4.12"), r"t\.npz: holds Q4\.12 values; this configuration has Q8\.8"),
    ],
    ids=["shape", "format"],
)
def test_table_of_another_configuration_is_refused(tmp_path, there, message):
    table = np.zeros((there.states, there.actions), np.int32)
    save_table(tmp_path / "t.npz", table, there, Hyperparameters())
    with pytest.raises(TableError, match=message):
        load_table(tmp_path / "t.npz", CONFIG)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"config": 1}'])
def test_file_without_a_configuration_is_refused(tmp_path, text):
    np.savez(tmp_path / "t.npz", q_raw=TABLE, q=TABLE / 256, config=text)
    with pytest.raises(FileFormatError, match="config is not the JSON text of a configuration"):
        load_table(tmp_path / "t.npz", CONFIG)


def test_file_that_is_not_a_table_is_refused(tmp_path):
    (tmp_path / "t.npz").write_bytes(b"not a zip")
    with pytest.raises(FileFormatError, match=r"cannot be read as a \.npz file"):
        load_table(tmp_path / "t.npz", CONFIG)
    np.savez(tmp_path / "t.npz", q_raw=TABLE)
    with pytest.raises(FileFormatError, match="lacks q, config; it must hold q_raw, q, config"):
        load_table(tmp_path / "t.npz", CONFIG)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "9" * 5000,
        '{"config": 3}',
        '{"config": {"format": "Q8.8"}}',
        '{"config": {"states": 25, "actions": 4, "format": [[8]]}}',
        "[]",
        "null",
        "",
    ],
    ids=lambda text: text[:20],
)
def test_table_whose_config_is_none_is_refused(tmp_path, text):
    path = tmp_path / "t.npz"
    np.savez(path, q_raw=TABLE, q=TABLE / 256, config=text)
    with pytest.raises(FileFormatError, match="config is not the JSON text of a configuration"):
        load_table(path, CONFIG)


def test_hyperparameters_of_numpy_are_saved(tmp_path):
    hyper = Hyperparameters(np.float32(0.5), np.float64(0.75), seed=np.int64(7))
    save_table(tmp_path / "a.npz", TABLE, CONFIG, hyper)
    save_table(tmp_path / "b.npz", TABLE, CONFIG, Hyperparameters(0.5, 0.75, "nearest", 7))
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
