"""Transitions: what is refused, with which words, and the file they come from."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qstep import Config, Transitions
from qstep.errors import FileFormatError, TransitionError
from qstep.transitions import FIELDS, load_arrays

pytestmark = pytest.mark.unit

CONFIG = Config(25, 4)


def columns(**changed: Any) -> dict[str, Any]:
    """Two legal transitions, with some columns replaced."""
    return {
        "state": [0, 24],
        "action": [0, 3],
        "reward": [-1.0, 0.5],
        "next_state": [1, 0],
        "terminated": [False, True],
        **changed,
    }


def test_legal_columns_become_raw_arrays() -> None:
    t = Transitions.from_arrays(CONFIG, **columns())
    assert len(t) == 2
    assert t.reward_raw.tolist() == [-256, 128]
    assert t[1:].state.tolist() == [24]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"state": [0, 25]}, r"state\[1\] is 25; it must be from 0 to 24"),
        ({"state": [-1, 0]}, r"state\[0\] is -1; it must be from 0 to 24"),
        ({"action": [4, 0]}, r"action\[0\] is 4; it must be from 0 to 3"),
        ({"next_state": [0, 99]}, r"next_state\[1\] is 99; it must be from 0 to 24"),
        ({"state": [0.0, 1.0]}, "state has dtype float64; it must be integers"),
        ({"reward": [0.0, np.nan]}, r"reward\[1\] is nan; Q8.8 holds"),
        ({"reward": [500.0, 0.0]}, r"reward\[0\] is 500.0; Q8.8 holds -128.0 to 127.99609375"),
        ({"terminated": [0, 1]}, "terminated has dtype int64; it must be bool"),
        (
            {"action": [0]},
            r"arrays differ in length \(state 2, action 1, .*they must be equally long",
        ),
        ({"reward": [[1.0], [2.0, 3.0]]}, "reward is not one-dimensional: .* inhomogeneous shape"),
        ({"terminated": [False, [True]]}, "terminated is not one-dimensional: .* inhomogeneous"),
        ({"state": [[0, 1]]}, r"state has shape \(1, 2\); it must be one-dimensional"),
    ],
)
def test_an_illegal_column_is_refused_by_name(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(TransitionError, match=message):
        Transitions.from_arrays(CONFIG, **columns(**changed))


def test_long_columns_become_what_short_ones_do() -> None:
    rng = np.random.default_rng(0)
    n = 3 * (1 << 16) + 17
    long = {
        "state": rng.integers(25, size=n),
        "action": rng.integers(4, size=n),
        "reward": rng.normal(0, 20, size=2 * n)[::2],
        "next_state": rng.integers(25, size=n),
        "terminated": rng.random(n) < 0.1,
    }
    t = Transitions.from_arrays(CONFIG, **long)
    assert np.array_equal(t.reward_raw, CONFIG.format.quantise(long["reward"]))
    assert all(column.flags.c_contiguous for column in t.columns)


@pytest.mark.parametrize("where", [0, 1 << 16, (1 << 16) + 5])
def test_a_reward_far_behind_is_refused_by_its_place(where: int) -> None:
    reward = np.zeros((1 << 16) + 6)
    reward[where] = 500.0
    same = {name: np.resize(values, len(reward)) for name, values in columns().items()}
    with pytest.raises(TransitionError, match=rf"reward\[{where}\] is 500.0; Q8.8 holds -128.0"):
        Transitions.from_arrays(CONFIG, **{**same, "reward": reward})


def test_no_rewards_must_be_numbers_too() -> None:
    empty = {name: np.array(values)[:0] for name, values in columns().items()}
    assert len(Transitions.from_arrays(CONFIG, **empty)) == 0
    with pytest.raises(TransitionError, match="reward has dtype <U1; it must be real numbers"):
        Transitions.from_arrays(CONFIG, **{**empty, "reward": np.array([], "U1")})


def test_a_file_gives_back_what_was_saved(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    np.savez(path, **columns())
    assert Transitions.load(path, CONFIG).reward_raw.tolist() == [-256, 128]


def test_a_file_that_lacks_an_array_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    np.savez(path, state=[0], action=[0])
    with pytest.raises(
        FileFormatError, match="lacks reward, next_state, terminated; it must hold state"
    ):
        Transitions.load(path, CONFIG)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 cut off"])
def test_a_file_that_is_no_npz_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.npz"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"t\.npz: cannot be read as a \.npz file"):
        Transitions.load(path, CONFIG)


def test_a_pickled_array_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    np.savez(path, **columns(state=np.array([0, None], dtype=object)))
    with pytest.raises(FileFormatError, match=r"cannot be read as a \.npz file"):
        Transitions.load(path, CONFIG)


def compressed(path: Path) -> bytearray:
    """Return a compressed file of a long walk, so that most of it is deflated data."""
    rng = np.random.default_rng(1)
    walk = {name: np.resize(values, 100) for name, values in columns().items()}
    np.savez_compressed(path, **{**walk, "reward": rng.normal(0, 20, 100)})
    return bytearray(path.read_bytes())


@pytest.mark.parametrize("flip", [0x01, 0x08, 0x40, 0xFF])
def test_a_compressed_file_with_a_changed_byte_is_equal_or_refused(
    tmp_path: Path, flip: int
) -> None:
    path = tmp_path / "t.npz"
    whole = compressed(path)
    right = load_arrays(path, FIELDS)
    refused = equal = 0
    for at in range(flip % 5, len(whole), 5):  # elsewhere for each flip
        changed = whole.copy()
        changed[at] ^= flip
        path.write_bytes(changed)
        try:
            arrays = load_arrays(path, FIELDS)
        except FileFormatError:
            refused += 1
        else:  # a date, say, or a permission
            equal += 1
            assert all(np.array_equal(arrays[name], right[name]) for name in FIELDS), at
    assert refused > 200
    assert equal > 20


@pytest.mark.parametrize(
    ("field", "offset", "value", "message"),
    [
        ("data", 0, 0x07, "Error -3 while decompressing data: invalid block type"),
        ("flags", 8, 0x01, "File 'state.npy' is encrypted, password required"),
        ("method", 10, 9, "That compression method is not supported"),
    ],
    ids=["zlib", "encrypted", "method"],
)
def test_damage_of_a_compressed_file_is_named(
    tmp_path: Path, field: str, offset: int, value: int, message: str
) -> None:
    path = tmp_path / "t.npz"
    changed = compressed(path)
    start = changed.index(b"PK\x01\x02")  # what the central directory says of the first member
    if field == "data":
        start = 30 + sum(
            struct.unpack_from("<HH", changed, 26)
        )  # behind its header, name and extra
    changed[start + offset] = value
    path.write_bytes(changed)
    with pytest.raises(
        FileFormatError, match=rf"t\.npz: cannot be read as a \.npz file: {message}"
    ):
        load_arrays(path, FIELDS)
