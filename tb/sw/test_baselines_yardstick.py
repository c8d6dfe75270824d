"""The compiled form equals the same loop in C, bit for bit, and is about as fast."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qstep.baselines import numba_table
from qstep.baselines.learning import Learning
from qstep.baselines.problem import Stream
from qstep.bench import yardstick
from qstep.bench.workloads import WORKLOADS
from qstep.bench.yardstick import Yardstick
from qstep.envs.gridworld import DeterministicModel, GridWorld
from qstep.envs.maps import MAPS
from qstep.errors import BuildError, ToolMissingError

pytestmark = pytest.mark.unit

UPDATES = 1 << 20


@pytest.fixture(scope="module")
def c_loop() -> Yardstick:
    return Yardstick(4)


def board(name: str) -> DeterministicModel:
    env = GridWorld(MAPS[name])
    return env.deterministic_model()


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
def test_c_and_numba_learn_the_same_table(name: str, epsilon: float, c_loop: Yardstick) -> None:
    how = Learning(alpha=0.3, gamma=0.95, epsilon=epsilon, seed=7)
    expected = numba_table.learn(board(name), 100_000, how)
    assert np.count_nonzero(expected) > 60
    assert np.array_equal(c_loop.learn(board(name), 100_000, how), expected)


@pytest.mark.parametrize("actions", [1, 2, 4, 7])
def test_c_and_numba_replay_to_the_same_table(actions: int) -> None:
    rng = np.random.default_rng(actions)
    count = 20_000
    stream = Stream(
        rng.integers(50, size=count, dtype=np.int32),
        rng.integers(actions, size=count, dtype=np.int32),
        rng.normal(size=count),
        rng.integers(50, size=count, dtype=np.int32),
        rng.random(count) < 0.1,
    )
    expected, given, shorter = (np.zeros((50, actions)) for _ in range(3))
    numba_table.replay(expected, stream, alpha=0.3, gamma=0.95)
    Yardstick(actions).replay(given, stream, alpha=0.3, gamma=0.95)
    Yardstick(actions).replay(shorter, stream.first(count - 1), alpha=0.3, gamma=0.95)
    assert np.array_equal(given, expected)
    assert not np.array_equal(shorter, expected)


def test_arrays_of_another_kind_are_refused(c_loop: Yardstick) -> None:
    with pytest.raises(Exception, match="must have data type float64"):
        c_loop.replay(np.zeros((1024, 4), np.float32), WORKLOADS["stream"]().record(10))  # type: ignore[arg-type]


def test_a_machine_without_a_compiler_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(ToolMissingError, match=r"C\+\+ compiler was not found; install one"):
        Yardstick(4)


def test_what_a_failing_compiler_says_is_passed_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.c"
    broken.write_text("#error this is no loop\n", encoding="utf-8")
    monkeypatch.setattr(yardstick, "_SOURCE", broken)
    with pytest.raises(BuildError, match="this is no loop"):
        Yardstick(4)


def speed(one: Callable[[], Any], other: Callable[[], Any]) -> float:
    """Return how many times as fast as `other` `one` is: median of pairs, in processor time."""

    def seconds(work: Callable[[], Any]) -> float:
        begin = time.process_time()
        work()
        return time.process_time() - begin

    one(), other()
    return statistics.median(seconds(other) / seconds(one) for _ in range(25))


def replaying(replay: Callable[..., None]) -> Callable[[], None]:
    stream, q = WORKLOADS["stream"]().record(UPDATES), np.zeros((1024, 4))
    return lambda: replay(q, stream)


def test_numba_learns_at_nine_tenths_of_the_speed_of_c_or_more(c_loop: Yardstick) -> None:
    world = board("gridworld")
    ours = lambda: numba_table.learn(world, UPDATES)  # noqa: E731
    assert speed(ours, lambda: c_loop.learn(world, UPDATES)) >= 0.9


def test_numba_replays_at_nine_tenths_of_the_speed_of_c_or_more(c_loop: Yardstick) -> None:
    assert speed(replaying(numba_table.replay), replaying(c_loop.replay)) >= 0.9


def test_a_form_of_half_the_speed_is_noticed(c_loop: Yardstick) -> None:
    world = board("gridworld")
    twice = lambda: numba_table.learn(world, 2 * UPDATES)  # noqa: E731
    assert speed(twice, lambda: c_loop.learn(world, UPDATES)) < 0.9
