"""The compiled implementation matches the same loop in C bit for bit."""

from pathlib import Path

import numpy as np
import pytest

from qstep._io import workers as processes
from qstep.envs.gridworld import DeterministicModel, GridWorld
from qstep.envs.maps import MAPS
from qstep.errors import BuildError
from qstep_bench import yardstick
from qstep_bench.baselines import numba_table
from qstep_bench.baselines.learning import Learning
from qstep_bench.baselines.problem import Stream
from qstep_bench.workloads import WORKLOADS
from qstep_bench.yardstick import Yardstick


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
        c_loop.replay(np.zeros((1024, 4), np.float32), WORKLOADS["stream"]().record(10))


def test_the_loop_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("QSTEP_CACHE", str(tmp_path))
    yardstick.library(3)
    (made,) = tmp_path.rglob("*.so")
    monkeypatch.setattr(yardstick, "run", lambda *_: pytest.fail("it is compiled again"))
    yardstick.library(3)
    assert list(tmp_path.rglob("*.so")) == [made]


def test_failing_compiler_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "broken.c"
    broken.write_text("#error this is no loop\n", encoding="utf-8")
    monkeypatch.setattr(yardstick, "_SOURCE", broken)
    with pytest.raises(BuildError, match="this is no loop"):
        Yardstick(4)


@pytest.mark.parametrize("known", ["-march=native", "-mcpu=native", "neither"])
def test_the_loop_is_compiled_for_the_processor_at_hand(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, known: str
) -> None:
    """Compilers for some CPUs reject -march=native."""
    used: list[list[str]] = []

    def run(command: list[str], error: type[BuildError]) -> str:
        native = [flag for flag in command if str(flag).endswith("=native")]
        if native and native != [known]:
            raise error("unknown flag")
        used.append(native)
        return processes.run([part for part in command if part != "-mcpu=native"], error)

    monkeypatch.setenv("QSTEP_CACHE", str(tmp_path))
    monkeypatch.setattr(yardstick, "run", run)
    yardstick.library(3)
    assert used == [[known] if known != "neither" else []]
