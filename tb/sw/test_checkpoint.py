"""Checkpoints: what was saved comes back whole, and anything else is refused."""

import io
import json
import os
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qstep.errors import CheckpointError, FileFormatError
from qstep.learn import checkpoint
from qstep.learn.checkpoint import Episode, Snapshot, load_checkpoint, save_checkpoint
from qstep.learn.evaluate import Evaluation
from qstep.noise import NoiseState
from qstep.seal import write_sealed

pytestmark = pytest.mark.unit

IDENTITY: dict[str, Any] = {"env_id": "gridworld", "alpha": 0.5, "config": {"states": 3}}

SNAPSHOT = Snapshot(
    table=np.array([[1, -2], [3, -(2**31)], [5, 2**31 - 1]], np.int32),
    noise=NoiseState(0xDEADBEEF, 0),
    generators=(dict(np.random.PCG64(1).state), dict(np.random.PCG64(2).state)),
    pending=((0, 1, -1.5, 2, False), (2, 0, 1e-3, 1, True)),
    episode=2,
    evaluations=(Evaluation(2, -1 / 3, 0.5, 1.0, 8.1),),
    history=(Episode(1, 1.0, -7.0, 8, True, False), Episode(2, 0.1 + 0.2, 1 / 3, 4, True, True)),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "checkpoint.npz"
    save_checkpoint(file, SNAPSHOT, IDENTITY)
    return file


def test_what_was_saved_comes_back(path: Path) -> None:
    back = load_checkpoint(path, IDENTITY)
    assert back.table.dtype == np.int32
    assert (back.table == SNAPSHOT.table).all()
    assert replace(back, table=SNAPSHOT.table, history=()) == replace(SNAPSHOT, history=())
    assert tuple(back.episodes) == SNAPSHOT.history


def test_entries_after_the_snapshot_are_not_saved(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint.npz"
    save_checkpoint(file, replace(SNAPSHOT, episode=1), IDENTITY)
    assert tuple(load_checkpoint(file, IDENTITY).episodes) == SNAPSHOT.history[:1]


def test_file_is_a_plain_npz_without_pickles(path: Path) -> None:
    with np.load(path, allow_pickle=False) as archive:
        assert (archive["table"] == SNAPSHOT.table).all()
        assert all(archive[name].dtype != object for name in archive)


def test_every_truncation_is_refused(path: Path) -> None:
    data = path.read_bytes()
    for length in range(0, len(data), 7):
        path.write_bytes(data[:length])
        with pytest.raises(CheckpointError, match=f"damaged or no checkpoint; .* {length} bytes"):
            load_checkpoint(path, IDENTITY)


def test_every_flipped_bit_is_refused(path: Path) -> None:
    data = path.read_bytes()
    for position in [*range(0, len(data) - 100, 5), *range(len(data) - 100, len(data))]:
        damaged = bytearray(data)
        damaged[position] ^= 1 << (position % 8)
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="SHA-256 does not match"):
            load_checkpoint(path, IDENTITY)


def test_appended_byte_is_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"0")
    with pytest.raises(CheckpointError, match="SHA-256 does not match"):
        load_checkpoint(path, IDENTITY)


def test_other_npz_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "table.npz", q_raw=SNAPSHOT.table)
    with pytest.raises(CheckpointError, match=r"table\.npz: damaged or no checkpoint"):
        load_checkpoint(tmp_path / "table.npz", IDENTITY)


def test_absent_file_and_folder_are_refused(tmp_path: Path) -> None:
    for file in (tmp_path / "absent.npz", tmp_path):
        with pytest.raises(CheckpointError, match="cannot be read"):
            load_checkpoint(file, IDENTITY)


def test_foreign_run_is_refused_with_every_difference(path: Path) -> None:
    other = {**IDENTITY, "alpha": 0.25, "config": {"states": 4}, "extra": 1}
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(path, other)
    message = str(caught.value)
    assert "is of another run: alpha is 0.5 in it and 0.25 here" in message
    assert "config is {'states': 3} in it and {'states': 4} here" in message
    assert "extra is None in it and 1 here" in message
    assert "env_id" not in message


def test_checkpoint_of_another_version_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "_KIND", "qstep checkpoint 2")
    with pytest.raises(CheckpointError, match="is a 'qstep checkpoint 1'; this version reads"):
        load_checkpoint(path, IDENTITY)


def test_sealed_file_of_another_kind_is_refused(path: Path) -> None:
    sealed(path, "head.json", json.dumps({"kind": "qstep network checkpoint 1"}).encode())
    with pytest.raises(
        CheckpointError, match=r"checkpoint\.npz: is no checkpoint of qstep train; it has no head"
    ):
        load_checkpoint(path, IDENTITY)


def test_sealed_file_that_does_not_say_its_kind_is_refused(path: Path) -> None:
    head = io.BytesIO()
    np.save(head, np.array("{}"), allow_pickle=False)
    sealed(path, "head.npy", head.getvalue())
    with pytest.raises(CheckpointError, match="is a None; this version reads 'qstep checkpoint 1'"):
        load_checkpoint(path, IDENTITY)


def sealed(path: Path, name: str, content: bytes) -> None:
    """Write a sealed zip of one part."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(name, content)
    write_sealed(path, archive.getvalue())


def test_failed_write_leaves_the_old_file_and_nothing_else(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileFormatError, match=r"cannot be written: .*No space left"):
        save_checkpoint(path, replace(SNAPSHOT, episode=1), IDENTITY)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="cannot be written"):
        save_checkpoint(tmp_path / "absent" / "checkpoint.npz", SNAPSHOT, IDENTITY)
