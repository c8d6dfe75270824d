"""Fuzzes the readers of files: whatever a file holds, it is read, or refused by one of QStep's errors.

An input is the content of a file, or the parts of an archive whose checksums and digest are then made
right, so that mutations reach what lies behind them.
"""

from __future__ import annotations

import hashlib
import io
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import numpy as np
from tb.fuzz.pieces import Bytes
from tb.planted import plant_python

from qstep import checkpoint, npz, transitions
from qstep import config as config_module
from qstep.acting import world_file
from qstep.acting.world import World
from qstep.config import Acting, Config
from qstep.errors import QStepError
from qstep.learn.checkpoint import PENDING_TYPES, Episode, TableCheckpoint
from qstep.learn.evaluate import Evaluation
from qstep.noise import NoiseState

__all__ = ["READERS"]

CONFIG = Config(3, 2)

_DIGEST_BYTES = 64


def _archive(data: bytes) -> bytes:
    """Return a file's content, or an archive with the parts that `data` lists behind a zero byte."""
    if data[:1] != b"\0":
        return data
    source, file = Bytes(data[1:]), io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        warnings.simplefilter("ignore")  # two parts of one name
        while source.left:
            name = source.string().decode("latin-1")
            archive.writestr(zipfile.ZipInfo(name), source.take(source.number(2)))
    return file.getvalue()


def _as_parts(content: bytes) -> bytes:
    """Return the input that stands for an archive."""
    data = b"\0"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            part = archive.read(name)
            data += bytes([len(name)]) + name.encode() + len(part).to_bytes(2, "little") + part
    return data


@contextmanager
def _file(content: bytes, suffix: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file{suffix}"
        path.write_bytes(content)
        yield path


def one_checkpoint(data: bytes) -> None:
    """Read a checkpoint with a good digest; what is read must come back if it is written again."""
    content = _archive(data)
    if data[:1] == b"\0":
        file = io.BytesIO(content)
        with zipfile.ZipFile(file, "a") as archive:
            archive.comment = b"0" * _DIGEST_BYTES
        content = file.getvalue()[:-_DIGEST_BYTES]
    content += hashlib.sha256(content).hexdigest().encode()
    with _file(content, ".npz") as path:
        try:
            identity, found = checkpoint.read_checkpoint(path)
        except QStepError:
            return
        checkpoint.save_checkpoint(path, found, identity)
        again = checkpoint.load_checkpoint(path, identity)
    assert again.head == found.head
    assert {name: part.tobytes() for name, part in again.arrays.items()} == {
        name: part.tobytes() for name, part in found.arrays.items()
    }
    try:
        TableCheckpoint.unpacked(found, CONFIG)
    except QStepError:
        return


def one_stream(data: bytes) -> None:
    """Read a file of transitions."""
    with _file(_archive(data), ".npz") as path:
        try:
            found = transitions.Transitions.load(path, CONFIG)
        except QStepError:
            return
    for column, end in ((found.state, 3), (found.action, 2), (found.next_state, 3)):
        assert all(0 <= number < end for number in column.tolist())


def one_world(data: bytes) -> None:
    """Read the file of a world."""
    with _file(_archive(data), ".npz") as path:
        try:
            found = World.from_file(path)
        except QStepError:
            return
    assert found.state.max() < found.states <= 1 << 16


def one_config(data: bytes) -> None:
    """Read a configuration; what is read must come back if it is written again."""
    with _file(data, ".toml") as path:
        try:
            found = Config.from_toml(path)
        except QStepError:
            return
        path.write_text(found.to_toml(), encoding="utf-8")
        assert Config.from_toml(path) == found


_EVERYTHING = "except Exception as cause:"
_EXPECTED = "except (ValueError, KeyError, OSError, zipfile.BadZipFile) as cause:"


@contextmanager
def _checkpoint_planted() -> Iterator[None]:
    made = plant_python(checkpoint, _EVERYTHING, _EXPECTED)
    with patch.object(checkpoint, "read_checkpoint", made.read_checkpoint):
        yield


@contextmanager
def _npz_planted(user: ModuleType) -> Iterator[None]:
    made = plant_python(npz, _EVERYTHING, _EXPECTED)
    with patch.object(user, "load_arrays", made.load_arrays):
        yield


@contextmanager
def _config_planted() -> Iterator[None]:
    made = plant_python(
        config_module, "(OSError, ValueError,", "(OSError, tomllib.TOMLDecodeError,"
    )
    from_toml = made.Config.__dict__["from_toml"].__func__
    with patch.object(Config, "from_toml", classmethod(from_toml)):
        yield


def _checkpoint() -> list[bytes]:
    run = TableCheckpoint(
        table=np.array([[1, -2], [3, 4], [5, 6]], np.int32),
        noise=NoiseState(1, 2),
        generators=(dict(np.random.PCG64(1).state), dict(np.random.PCG64(2).state)),
        pending=(tuple(np.zeros(1, dtype) for dtype in PENDING_TYPES),),
        evaluations=(Evaluation(1, 0.5, 0.5, 1.0, 8.0),),
        episode=1,
        history=(Episode(1, 1.0, -7.0, 8, True, False),),
    )
    with _file(b"", ".npz") as path:
        checkpoint.save_checkpoint(path, run.packed(), {"config": {"states": 3}})
        return [_as_parts(path.read_bytes())]


def _stream() -> list[bytes]:
    ints, flags = np.array([0, 1], np.int32), np.array([False, True])
    columns = (ints, ints, ints.astype(np.float64), ints, flags)
    return [_as_parts(npz.archived(dict(zip(transitions.FIELDS, columns, strict=True))))]


def _world() -> list[bytes]:
    world = World.from_arrays(
        state=[0, 0, 0, 1, 1],
        action=[0, 1, 1, 0, 1],
        next_state=[0, 1, 0, 1, 1],
        reward=[-1, 1, -1, 0, 0],
        terminated=[False, True, False, True, True],
        probability=[1, 0.75, 0.25, 1, 1],
        start_state=[0],
    )
    return [_as_parts(npz.archived(world_file.file_arrays(world)))]


def _configs() -> list[bytes]:
    configs = (CONFIG, Config(4, 3, acting=Acting(agents=2, world="pins", deadline=1000)))
    return [config.to_toml().encode() for config in configs]


Faults = dict[str, Callable[[], object]]

READERS: list[tuple[str, Callable[[bytes], None], Faults, Callable[[], list[bytes]]]] = [
    (
        "checkpoint",
        one_checkpoint,
        {
            "only what is expected of damage is an error of ours": _checkpoint_planted,
        },
        _checkpoint,
    ),
    (
        "stream",
        one_stream,
        {
            "only what is expected of damage is an error of ours": lambda: _npz_planted(
                transitions
            ),
        },
        _stream,
    ),
    (
        "world",
        one_world,
        {
            "only what is expected of damage is an error of ours": lambda: _npz_planted(world_file),
        },
        _world,
    ),
    (
        "config",
        one_config,
        {
            "what is no text is no error of ours": _config_planted,
        },
        _configs,
    ),
]
"""Name, what tries one input, faults that must be found, and examples to begin with."""
