"""A checkpoint restores exactly what was saved, and any other file is rejected."""

import hashlib
import io
import itertools
import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tb.sw.checkpoints import load_checkpoint
from tb.verify.figures import Count

from qstep._io import checkpoint as module
from qstep._io.checkpoint import Checkpoint, read_checkpoint, save_checkpoint
from qstep.errors import CheckpointError, FileFormatError
from qstep.learn.evaluate import Evaluation
from qstep.learn.host_checkpoint import Episode, TableCheckpoint
from qstep.spec.config import Config
from qstep.spec.random import NoiseState

IDENTITY: dict[str, Any] = {"env_id": "gridworld", "alpha": 0.5, "config": {"states": 3}}

CHECKPOINT = Checkpoint(
    {"word": 2**127 + 1, "seconds": 0.1},
    {"table": np.arange(6, dtype=np.int32).reshape(3, 2), "flags": np.array([True, False])},
)

CONFIG = Config(3, 2)

TRUE_LAST = np.array([False, True])

RUN = TableCheckpoint(
    table=np.array([[1, -2], [3, -(2**15)], [5, 2**15 - 1]], np.int32),
    noise=NoiseState(0xDEADBEEF, 0),
    generators=(dict(np.random.PCG64(1).state), dict(np.random.PCG64(2).state)),
    pending=(
        (np.array([0, 2]), np.array([1, 0]), np.array([-1.5, 1e-3]), np.array([2, 1]), TRUE_LAST),
        (np.array([1]), np.array([1]), np.array([2.0]), np.array([0]), np.array([False])),
    ),
    actor={"turn": np.array([3])},
    episode=2,
    evaluations=(Evaluation(2, -1 / 3, 0.5, 1.0, 8.1),),
    history=(Episode(1, 1.0, -7.0, 8, True, False), Episode(2, 0.1 + 0.2, 1 / 3, 4, True, None)),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "checkpoint.npz"
    save_checkpoint(file, CHECKPOINT, IDENTITY)
    return file


def test_what_was_saved_comes_back(path: Path) -> None:
    back = load_checkpoint(path, IDENTITY)
    assert back.head == CHECKPOINT.head
    assert back.arrays.keys() == CHECKPOINT.arrays.keys()
    for name, array in CHECKPOINT.arrays.items():
        assert back.arrays[name].dtype == array.dtype
        assert np.array_equal(back.arrays[name], array)
    assert read_checkpoint(path)[0] == IDENTITY


def test_run_of_train_comes_back() -> None:
    back = TableCheckpoint.unpacked(RUN.packed(), CONFIG)
    assert back.table.dtype == np.int32
    assert (back.table == RUN.table).all()
    assert [column.tolist() for column in back.pending[0]] == [
        [0, 2, 1],
        [1, 0, 1],
        [-1.5, 1e-3, 2.0],
        [2, 1, 0],
        [False, True, False],
    ]
    assert len(back.pending) == 1
    assert {name: array.tolist() for name, array in back.actor.items()} == {"turn": [3]}
    same: dict[str, Any] = {"table": RUN.table, "pending": (), "actor": {}, "history": ()}
    assert replace(back, **same) == replace(RUN, **same)
    assert tuple(back.episodes) == RUN.history


def test_episodes_after_the_checkpoint_are_not_packed() -> None:
    packed = replace(RUN, episode=1).packed()
    assert tuple(TableCheckpoint.unpacked(packed, CONFIG).episodes) == RUN.history[:1]


def test_file_is_a_plain_npz_without_pickles(path: Path) -> None:
    with np.load(path, allow_pickle=False) as archive:
        assert (archive["table"] == CHECKPOINT.arrays["table"]).all()
        assert all(archive[name].dtype != object for name in archive)


def test_every_truncation_is_refused(path: Path) -> None:
    data = path.read_bytes()
    for length in range(0, len(data), 7):
        path.write_bytes(data[:length])
        with pytest.raises(
            CheckpointError, match=f"damaged, or not a checkpoint; .* {length} bytes"
        ):
            load_checkpoint(path, IDENTITY)


def test_every_flipped_bit_is_refused(path: Path) -> None:
    data = path.read_bytes()
    for position in [*range(0, len(data) - 100, 5), *range(len(data) - 100, len(data))]:
        damaged = bytearray(data)
        damaged[position] ^= 1 << (position % 8)
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="SHA-256 does not match"):
            load_checkpoint(path, IDENTITY)


@pytest.mark.release
def test_every_length_and_bit_of_4_kib_is_refused(tmp_path: Path, record_property: Count) -> None:
    file = tmp_path / "checkpoint.npz"
    noise = np.random.default_rng(1).integers(0, 256, 4096, dtype=np.uint8)
    save_checkpoint(file, Checkpoint({}, {"noise": noise}), IDENTITY)
    data = file.read_bytes()
    assert len(data) > 4096
    for length in range(len(data)):
        file.write_bytes(data[:length])
        with pytest.raises(CheckpointError, match="damaged, or not a checkpoint"):
            load_checkpoint(file, IDENTITY)
    for position, bit in itertools.product(range(len(data)), range(8)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << bit
        file.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="SHA-256 does not match"):
            load_checkpoint(file, IDENTITY)
    record_property("damaged", 9 * len(data))


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("longer.npz", "SHA-256 does not match"),
        ("table.npz", r"table\.npz: damaged, or not a checkpoint"),
        ("absent.npz", "cannot be read"),
        (".", "cannot be read"),
    ],
)
def test_file_that_is_no_checkpoint_is_refused(path: Path, file: str, message: str) -> None:
    (path.parent / "longer.npz").write_bytes(path.read_bytes() + b"0")
    np.savez(path.parent / "table.npz", q_raw=RUN.table)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(path.parent / file, IDENTITY)


MAP = ["S" * 99, "." * 99]


@pytest.mark.parametrize(
    ("saved", "here", "differs"),
    [
        # Values are printed in full, so that differing parts are never cut off.
        (IDENTITY, {**IDENTITY, "alpha": 0.25, "config": {"states": 4}, "extra": list(range(99))},
         "alpha is 0.5 there and 0.25 here; config.states is 3 there and 4 here; "
         f"extra is None there and {list(range(99))} here"),
        ({"map": MAP, "agents": [{"alpha": 1}]},
         {"map": [MAP[0], "H" * 99], "agents": [{"alpha": 2}]},
         f"map.1 is {MAP[1]!r} there and {'H' * 99!r} here; agents.0.alpha is 1 there and 2 here"),
        ({}, {f"f{k}": 0 for k in range(8)},
         "; ".join(f"f{k} is None there and 0 here" for k in range(5)) + "; 3 more differ"),
    ],
    ids=["all", "lists", "many"],
)  # fmt: skip
def test_foreign_run_is_refused_with_every_difference_by_its_name(
    tmp_path: Path, saved: dict[str, Any], here: dict[str, Any], differs: str
) -> None:
    save_checkpoint(tmp_path / "c.npz", Checkpoint({}, {}), saved)
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(tmp_path / "c.npz", here)
    assert str(caught.value).partition("belongs to another run: ")[2] == differs


def sealed(path: Path, compression: int = zipfile.ZIP_STORED, **arrays: Any) -> None:
    """Write a zip file of arrays with a correct digest."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.save(member, array, allow_pickle=True)
            file.writestr(f"{name}.npy", member.getvalue())
        file.comment = b"0" * 64
    content = buffer.getvalue()[:-64]
    path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())


def head(**parts: Any) -> Any:
    return np.array(json.dumps({"kind": module._KIND, "identity": {}, "head": {}, **parts}))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"table": np.zeros(2)}, "not a checkpoint, or a checkpoint of another version .*'head'"),
        ({"head": np.array("{}")}, "not a checkpoint, .*'kind'"),
        ({"head": np.array("[" * 100_000)}, "not a checkpoint, .*RecursionError"),
        ({"head": np.array("9" * 5000)}, "not a checkpoint"),
        ({"head": np.array("[]")}, "not a checkpoint"),
        (
            {"head": np.array([34, 0x110000, 34], np.uint32).view("U3").reshape(())},
            "not a checkpoint, .*UnicodeDecodeError",
        ),
        ({"head": head(identity=3)}, "not a checkpoint, .*identity or head is not a dictionary"),
        ({"head": head(), "x": np.array([{}], object)}, "not a checkpoint, .*unpickled"),
        ({"head": head(kind="qstep checkpoint 1")}, "is a 'qstep checkpoint 1'; this version reads"),
        ({"head": head(), "x": np.zeros(1_000_000), "compression": zipfile.ZIP_DEFLATED},
         "a part is compressed"),
    ],
)  # fmt: skip
def test_wrong_content_is_refused(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    sealed(tmp_path / "c.npz", **arrays)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(tmp_path / "c.npz", {})


def set_head(name: str, value: Any) -> Callable[[Checkpoint], None]:
    return lambda packed: packed.head.update({name: value})


def set_array(name: str, value: Any) -> Callable[[Checkpoint], None]:
    return lambda packed: packed.arrays.update({name: np.array(value)})


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda packed: packed.head.clear(), "generators"),
        (lambda packed: packed.arrays.clear(), "pending_0"),
        (set_head("noise", {"x": 0, "w": 0}), "noise state is x=0"),
        (set_head("noise", {"y": 1}), "unexpected keyword"),
        (set_head("generators", [{}]), "not enough values"),
        (set_head("generators", [{}, {}]), "PCG64|state"),
        (set_head("evaluations", [3]), "must be a mapping"),
        (set_array("table", np.zeros((2, 2), np.int32)), r"table has shape \(2, 2\)"),
        (set_array("table", np.full((3, 2), 1 << 20)), r"table\[0, 0\] is 1048576"),
        (set_array("episodes_0", [2, 1]), "not numbered from 1"),
        (
            set_array("episodes_3", [1.5, 2.5]),
            "episodes_3 of the checkpoint is float64 of shape .* must be int64",
        ),
        (set_array("pending_0", np.zeros(2, np.int32)), "columns of pending differ in length"),
    ],
)
def test_a_wrong_part_is_refused(spoil: Callable[[Checkpoint], None], message: str) -> None:
    packed = RUN.packed()
    spoil(packed)
    with pytest.raises(CheckpointError, match=f"does not hold a run of qstep train .*{message}"):
        TableCheckpoint.unpacked(packed, CONFIG)


def test_failed_write_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileFormatError, match=r"cannot be written: .*No space left"):
        save_checkpoint(path, Checkpoint({}, {}), IDENTITY)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
    with pytest.raises(FileFormatError, match="cannot be written"):
        save_checkpoint(path.parent / "absent" / "c.npz", CHECKPOINT, IDENTITY)
