"""Any file is either rejected, or read such that writing and rereading it gives the same content."""

import hashlib
import io
import json
import os
import re
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nst
from tb.planted import plant_python
from tb.sw.checkpoints import load_checkpoint

from qstep._io import checkpoint, npz
from qstep._io.checkpoint import Checkpoint
from qstep.errors import QStepError
from qstep.learn.evaluate import Evaluation
from qstep.learn.host_checkpoint import PENDING_TYPES, Episode, TableCheckpoint
from qstep.mdp import transitions
from qstep.mdp import world as world_file
from qstep.mdp.world import World
from qstep.spec import config as config_module
from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep.spec.random import NoiseState

CONFIG = Config(3, 2)

EXAMPLES = 200

BOUNDED = settings(max_examples=EXAMPLES, phases=[Phase.generate], derandomize=True, database=None)

RUN = TableCheckpoint(
    table=np.array([[1, -2], [3, 4], [5, 6]], np.int32),
    noise=NoiseState(1, 2),
    generators=(dict(np.random.PCG64(1).state), dict(np.random.PCG64(2).state)),
    pending=(tuple(np.zeros(1, dtype) for dtype in PENDING_TYPES),),
    evaluations=(Evaluation(1, 0.5, 0.5, 1.0, 8.0),),
    episode=1,
    history=(Episode(1, 1.0, -7.0, 8, True, False),),
).packed()

STREAM = {
    "state": np.array([0, 1]),
    "action": np.array([0, 1]),
    "reward": np.array([0.0, -1.5]),
    "next_state": np.array([2, 1]),
    "terminated": np.array([False, True]),
}

WORLD = World.from_arrays(
    state=[0, 0, 0, 1, 1],
    action=[0, 1, 1, 0, 1],
    next_state=[0, 1, 0, 1, 1],
    reward=[-1, 1, -1, 0, 0],
    terminated=[False, True, False, True, True],
    probability=[1, 0.75, 0.25, 1, 1],
    start_state=[0],
)

CONFIGS = [CONFIG, Config(4, 3, acting=Acting(agents=2, world="pins", deadline=1000))]

EDITS = st.lists(
    st.tuples(
        st.integers(0, 4095),
        st.binary(max_size=2) | st.text("()[]{}<,:'0", min_size=1, max_size=2).map(str.encode),
        st.sampled_from([0, 0, 0, 1, -1, 64]),
    ),
    min_size=1,
    max_size=3,
)
"""Position in a file, modulo its length; new bytes; number of replaced bytes minus new bytes."""

ARRAYS = nst.arrays(
    nst.scalar_dtypes() | nst.unicode_string_dtypes(max_len=4),
    nst.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=4),
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)
"""Plain values, as in JSON."""


TOML_VALUES = st.one_of(
    st.integers().map(str),
    st.floats().map(str),
    st.text(max_size=8).map(json.dumps),
    st.sampled_from(["true", "[]", "[[1]]", "{}", "{a = 1}", "1979-05-27", "07:32:00"]),
)


@pytest.fixture(autouse=True, scope="module")
def no_waits_for_the_disk() -> Iterator[None]:
    with patch.object(os, "fsync"):
        yield


def edited(data: bytes, edits: list[tuple[int, bytes, int]]) -> bytes:
    for at, new, more in edits:
        at %= len(data) + 1
        data = data[:at] + new + data[max(at, at + len(new) + more) :]
    return data


def others(array: Any) -> st.SearchStrategy[Any]:
    """Return a strategy: any arrays, or arrays of the same type and shape with values from `array`."""
    values = st.sampled_from([*array.ravel().tolist(), 0, 1])
    return ARRAYS | nst.arrays(array.dtype, array.shape, elements=values)


@st.composite
def damaged(draw: st.DrawFn, archive: bytes) -> bytes:
    """Edit an archive anywhere, or edit one of its members and correct the checksum."""
    edits = draw(EDITS)
    if draw(st.booleans()):
        return edited(archive, edits)
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(changed, "w") as new:
        chosen = draw(st.sampled_from(old.namelist()))
        for name in old.namelist():
            part = old.read(name)
            new.writestr(zipfile.ZipInfo(name), edited(part, edits) if name == chosen else part)
        new.comment = old.comment
    return changed.getvalue()


@st.composite
def archives(draw: st.DrawFn, arrays: dict[str, Any]) -> bytes:
    """Damage an archive of these arrays, or replace one of the arrays."""
    if draw(st.booleans()):
        name = draw(st.sampled_from([*arrays]))
        return npz.archived({**arrays, name: draw(others(arrays[name]))})
    return draw(damaged(npz.archived(arrays)))


@st.composite
def checkpoints(draw: st.DrawFn) -> bytes:
    """Change a value or an array of a checkpoint, or damage the file, then correct its digest."""
    head, arrays = dict(RUN.head), dict(RUN.arrays)
    kind = draw(st.sampled_from(["value", "array", "damage", "damage"]))
    if kind == "value":
        head[draw(st.sampled_from([*head]))] = draw(VALUES)
    elif kind == "array":
        name = draw(st.sampled_from([*arrays]))
        arrays[name] = draw(others(arrays[name]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        checkpoint.save_checkpoint(path, Checkpoint(head, arrays), {"states": 3})
        whole = path.read_bytes()
    content = (draw(damaged(whole)) if kind == "damage" else whole)[: -checkpoint._DIGEST_BYTES]
    return content + hashlib.sha256(content).hexdigest().encode()


@st.composite
def configs(draw: st.DrawFn) -> bytes:
    """Damage a configuration, or replace one of its values."""
    text = draw(st.sampled_from(CONFIGS)).to_toml()
    if draw(st.booleans()):
        return edited(text.encode(), draw(EDITS))
    old = draw(st.sampled_from(re.findall(r"(?<== ).+", text)))
    return text.replace(f"= {old}", f"= {draw(TOML_VALUES)}", 1).encode()


def read_checkpoint(path: Path) -> None:
    identity, found = checkpoint.read_checkpoint(path)
    checkpoint.save_checkpoint(path, found, identity)
    again = load_checkpoint(path, identity)
    assert again.head == found.head
    assert again.arrays.keys() == found.arrays.keys()
    for name, part in found.arrays.items():
        assert (again.arrays[name].dtype, again.arrays[name].shape) == (part.dtype, part.shape)
        assert again.arrays[name].tobytes() == part.tobytes()
    TableCheckpoint.unpacked(found, CONFIG)


def read_stream(path: Path) -> None:
    found = transitions.Transitions.load(path, CONFIG)
    for column, end in ((found.state, 3), (found.action, 2), (found.next_state, 3)):
        assert all(0 <= number < end for number in column.tolist())
    columns = (*found.columns[:2], found.reward_raw * CONFIG.format.resolution, *found.columns[3:])
    path.write_bytes(npz.archived(dict(zip(transitions.FIELDS, columns, strict=True))))
    again = transitions.Transitions.load(path, CONFIG)
    assert [column.tolist() for column in again.columns] == [c.tolist() for c in found.columns]


def read_world(path: Path) -> None:
    found = World.from_file(path)
    assert found.state.max() < found.states <= 1 << 16
    found.save(path)
    assert World.from_file(path).digest == found.digest


def read_config(path: Path) -> None:
    found = Config.from_toml(path)
    path.write_text(found.to_toml(), encoding="utf-8")
    assert Config.from_toml(path) == found


class Reader(NamedTuple):
    """A reader of one kind of file, a strategy for such files, and a fault that must be detected."""

    read: Callable[[Path], None]
    contents: st.SearchStrategy[bytes]
    fault: Callable[[], AbstractContextManager[object]]


def planted(module: ModuleType, old: str, new: str, user: Any, function: str) -> Any:
    """Plant a fault in a function of a module, for calls through `user`."""
    parts = function.split(".")
    return patch.object(user, parts[-1], attrgetter(function)(plant_python(module, old, new)))


_ALL = "except Exception as cause:"
_LISTED = "except (ValueError, KeyError, OSError, zipfile.BadZipFile) as cause:"

READERS = {
    "checkpoint": Reader(
        read_checkpoint,
        checkpoints(),
        lambda: planted(checkpoint, _ALL, _LISTED, checkpoint, "read_checkpoint"),
    ),
    "stream": Reader(
        read_stream,
        archives(STREAM),
        lambda: planted(npz, _ALL, _LISTED, transitions, "load_arrays"),
    ),
    "world": Reader(
        read_world,
        archives(WORLD._arrays),
        lambda: planted(npz, _ALL, _LISTED, world_file, "load_arrays"),
    ),
    "config": Reader(
        read_config,
        configs(),
        lambda: planted(
            config_module,
            "(OSError, ValueError, TypeError,",
            "(OSError, tomllib.TOMLDecodeError,",
            Config,
            "Config.from_toml",
        ),
    ),
}

kinds = pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())


def is_read(reader: Reader, content: bytes) -> bool:
    """Return whether a file is read rather than rejected with a QStepError."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        path = Path(folder) / "file"
        path.write_bytes(content)
        try:
            reader.read(path)
        except QStepError:
            return False
        return True


@pytest.mark.slow
@kinds
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_a_file_is_refused_or_comes_back_when_it_is_written_again(
    reader: Reader, data: st.DataObject
) -> None:
    is_read(reader, data.draw(reader.contents))


@kinds
@pytest.mark.parametrize("verdict", [True, False], ids=["read", "refused"])
def test_files_of_both_kinds_are_tried(reader: Reader, verdict: bool) -> None:
    find(reader.contents, lambda content: is_read(reader, content) is verdict, settings=BOUNDED)


@kinds
def test_a_fault_of_a_reader_is_found(reader: Reader) -> None:
    def breaks(content: bytes) -> bool:
        try:
            is_read(reader, content)
        except Exception:  # a fault may raise anything
            return True
        return False

    with reader.fault():
        find(reader.contents, breaks, settings=BOUNDED)
