"""Transitions: rejected values, the error messages, and transition files."""

from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tb.reference_device import ReferenceDevice
from tb.sw.lossy_port import DirectPort

from qstep import Config, Rounding, Transitions
from qstep.device import Device
from qstep.device.lane import LinkDevice
from qstep.device.link.records import extend_digest
from qstep.device.model import ModelDevice
from qstep.errors import TransitionError
from qstep.golden.lane import Model
from qstep.golden.lane_fast import FastModel

CONFIG = Config(25, 4)


def columns(**changed: Any) -> dict[str, Any]:
    """Return two legal transitions, with some columns replaced."""
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
    assert len(Transitions.from_arrays(CONFIG, **EMPTY)) == 0
    assert len(Transitions.from_arrays(CONFIG, [], [], [], [], [])) == 0


EMPTY = {name: np.array(values)[:0] for name, values in columns().items()}


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
        ({"action": [0]},
         r"arrays differ in length \(state 2, action 1, .*their lengths must be equal"),
        ({"reward": [[1.0], [2.0, 3.0]]}, "reward is not one-dimensional: .* inhomogeneous shape"),
        ({"terminated": [False, [True]]}, "terminated is not one-dimensional: .* inhomogeneous"),
        ({"state": [[0, 1]]}, r"state has shape \(1, 2\); it must be one-dimensional"),
        ({"state": 3}, r"state has shape \(\); it must be one-dimensional"),
        ({"state": np.array([0, 2**40], ">i8")}, r"state\[1\] is 1099511627776; it must be from 0"),
        ({"state": np.array([0, 200], np.uint8)}, r"state\[1\] is 200; it must be from 0 to 24"),
        ({"action": np.array([-7, 0, 9], np.int8)[::2]}, r"action\[0\] is -7; it must"),
        ({**EMPTY, "reward": np.array([], "U1")}, "reward has dtype <U1; it must be real numbers"),
        ({**EMPTY, "state": np.array([])}, "state has dtype float64; it must be integers"),
    ],
)  # fmt: skip
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


def test_a_file_gives_back_what_was_saved(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    np.savez(path, **columns())
    assert Transitions.load(path, CONFIG).reward_raw.tolist() == [-256, 128]


def test_a_batch_cannot_be_changed_after_its_check() -> None:
    given = {
        "state": np.array([0, 24], np.int32),
        "action": np.array([0, 3], np.int32),
        "reward": np.array([-1.0, 0.5]),
        "next_state": np.array([1, 0], np.int32),
        "terminated": np.array([False, True]),
    }
    batch = Transitions.from_arrays(CONFIG, **given)
    before = [column.tolist() for column in batch.columns]
    for array in given.values():
        array[:] = 1
    assert [column.tolist() for column in batch.columns] == before
    for part in (batch, batch[:1], batch[::2]):
        for column in part.columns:
            with pytest.raises(ValueError, match="read-only"):
                column[0] = 1
            with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
                column.setflags(write=True)
    with pytest.raises(FrozenInstanceError):
        batch.state = batch.action  # type: ignore[misc]


def test_slices_are_views_and_strides_are_contiguous() -> None:
    many = {name: np.resize(values, 10) for name, values in columns().items()}
    batch = Transitions.from_arrays(CONFIG, **many)
    assert np.shares_memory(batch[2:].state, batch.state)
    assert batch[1::3].action.tolist() == [3, 0, 3]
    assert batch[1::3].action.flags.c_contiguous
    assert batch[1::3].table_type == batch.table_type


@pytest.mark.parametrize("index", [0, -1, None, (0, 1), np.array([True, False])], ids=repr)
def test_transitions_are_taken_by_slices(index: Any) -> None:
    batch = Transitions.from_arrays(CONFIG, **columns())
    with pytest.raises(TransitionError, match="transitions are indexed by slices, not by "):
        batch[index]


def test_there_is_no_unchecked_way_to_make_transitions() -> None:
    column = np.array([-3], np.int32)
    made = r"made by Transitions\.from_arrays\(config, \.\.\.\)"
    with pytest.raises(TransitionError, match=made):
        Transitions(column, column, column, column, column > 0)
    batch = Transitions.from_arrays(CONFIG, **columns())
    with pytest.raises(TransitionError, match="which checks them"):
        replace(batch, state=column)


def test_a_true_of_another_byte_becomes_one() -> None:
    odd = np.array([0, 255], np.uint8).view(np.bool_)  # a file can contain this
    batch = Transitions.from_arrays(CONFIG, **columns(terminated=odd))
    assert batch.terminated.view(np.uint8).tolist() == [0, 1]


def over_the_link(config: Config) -> LinkDevice:
    return LinkDevice(DirectPort(ReferenceDevice(config)), config)


USERS = [Model, FastModel, ModelDevice, over_the_link]
OTHERS = [
    (Config(36, 6), "36 states x 6 actions, Q8.8"),
    (Config(25, 4, "Q4.12"), "25 states x 4 actions, Q4.12"),
    (Config(25, 5), "25 states x 5 actions, Q8.8"),
]


def bytes_of(user: Any) -> bytes:
    """Return the table of a model or a device."""
    return (user.read() if isinstance(user, Device) else user.table).tobytes()


@pytest.mark.parametrize("make", USERS, ids=lambda make: make.__name__)
def test_transitions_of_another_configuration_change_nothing(make: Callable[[Config], Any]) -> None:
    user = make(CONFIG)
    user.apply(Transitions.from_arrays(CONFIG, **columns()))
    before = bytes_of(user)
    for config, name in OTHERS:
        other = Transitions.from_arrays(config, [1], [3], [1.0], [2], [False])
        message = (
            f"transitions are for a table of {name}; this table is 25 states x 4 actions, Q8.8"
        )
        for part in (other, other[:0]):
            with pytest.raises(TransitionError, match=message):
                user.apply(part)
    for nothing in (None, columns(), user):
        with pytest.raises(TransitionError, match=r"transitions are \w+; make them with"):
            user.apply(nothing)
    assert bytes_of(user) == before
    if isinstance(user, Device):
        assert user.status().applied == 2
    same = Config(25, 4, rounding=Rounding.FLOOR, loop_depth=3)  # with tables of the same shape
    user.apply(Transitions.from_arrays(same, **columns()))
    assert bytes_of(user) != before


def test_many_transitions_of_a_larger_table_do_not_write_outside_a_smaller_one() -> None:
    config = Config(65536, 64)
    rng = np.random.default_rng(0)
    n = 200_000
    state, next_state = rng.integers(65536, size=(2, n))
    batch = Transitions.from_arrays(
        config, state, rng.integers(64, size=n), np.ones(n), next_state, rng.random(n) < 0.1
    )
    for use in (FastModel(CONFIG).apply, lambda batch: extend_digest(CONFIG, batch)):
        with pytest.raises(TransitionError, match="of 65536 states x 64 actions"):
            use(batch)
