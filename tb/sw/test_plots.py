"""Pictures: written as PNG, with something on them that depends on what was learnt."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.quiver import Quiver
from numpy.typing import NDArray

from qstep.envs import GridWorld, make, table_size
from qstep.learn.checkpoint import Episode
from qstep.learn.evaluate import Evaluation
from qstep.learn.plots import plot_learning_curve, plot_policy

pytestmark = pytest.mark.unit


def picture(path: Path) -> NDArray[np.float32]:
    """Return the pixels of a PNG, after checking that it is one and not of a single colour."""
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    pixels = np.asarray(imread(path))
    assert pixels.shape[0] > 200
    assert pixels.shape[1] > 200
    assert pixels[..., :3].std() > 0.05
    return pixels


def episodes(count: int, total: float) -> list[Episode]:
    return [Episode(k + 1, 0.5, total / (k + 1), 8, True, k % 2 == 0) for k in range(count)]


def evaluations(*success: float) -> list[Evaluation]:
    return [Evaluation(10 * k + 10, -6.0, value, 1.0, 8.0) for k, value in enumerate(success)]


@pytest.mark.parametrize(("count", "total"), [(1, -10.0), (2, 0.0), (300, -10_000.0)])
def test_learning_curve_of_any_length_and_scale(tmp_path: Path, count: int, total: float) -> None:
    path = tmp_path / "curve.png"
    plot_learning_curve(path, "run", episodes(count, total), evaluations(0.0, 1.0))
    picture(path)


def test_learning_curve_without_evaluations(tmp_path: Path) -> None:
    plot_learning_curve(tmp_path / "curve.png", "run", episodes(30, -5.0), [])
    picture(tmp_path / "curve.png")


def test_learning_curve_shows_the_evaluations(tmp_path: Path) -> None:
    one, other = tmp_path / "one.png", tmp_path / "other.png"
    plot_learning_curve(one, "run", episodes(30, -5.0), evaluations(0.2, 0.9))
    plot_learning_curve(other, "run", episodes(30, -5.0), evaluations(0.2, 0.1))
    assert (picture(one) != picture(other)).any()


@pytest.mark.parametrize("env_id", ["gridworld", "FrozenLake-v1", "CliffWalking-v1"])
def test_policy_picture_shows_the_greedy_action(tmp_path: Path, env_id: str) -> None:
    env = make(env_id, 0)
    q = np.random.default_rng(0).normal(size=table_size(env))
    turned = q.copy()
    turned[2] = np.roll(q[2], 1)
    paths = [tmp_path / "one.png", tmp_path / "other.png", tmp_path / "none.png"]
    for path, table in zip(paths, (q, turned, np.zeros_like(q)), strict=True):
        plot_policy(path, env_id, env, table)
    one, other = picture(paths[0]), picture(paths[1])
    assert one.shape == other.shape
    assert (one != other).any()
    picture(paths[2])


def test_same_run_gives_the_same_picture(tmp_path: Path) -> None:
    env = make("gridworld", 0)
    q = np.random.default_rng(0).normal(size=(25, 4))
    for name in ("one.png", "other.png"):
        plot_policy(tmp_path / name, "gridworld", env, q)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "other.png").read_bytes()


def test_states_of_the_device_that_the_map_lacks_are_left_out(tmp_path: Path) -> None:
    env = make("gridworld", 0)
    q = np.random.default_rng(0).normal(size=(32, 4))
    for path, table in ((tmp_path / "one.png", q), (tmp_path / "other.png", q[:25])):
        assert plot_policy(path, "gridworld", env, table)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "other.png").read_bytes()


@pytest.mark.parametrize("env_id", ["snake", "cartpole", "Taxi-v3"])
def test_nothing_is_drawn_where_states_are_no_places(tmp_path: Path, env_id: str) -> None:
    env = make(env_id, 0)
    assert plot_policy(tmp_path / "policy.png", env_id, env, np.zeros(table_size(env))) is False
    assert not (tmp_path / "policy.png").exists()


@pytest.mark.parametrize("env_id", ["gridworld", "FrozenLake-v1", "CliffWalking-v1"])
def test_arrow_points_to_where_the_action_leads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, env_id: str
) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr("qstep.learn.plots.write_picture", lambda figure, _: drawn.append(figure))
    env = make(env_id, 0)
    model = env.unwrapped
    states, actions = table_size(env)
    for action in range(actions):
        q = np.zeros((states, actions))
        q[:, action] = 1.0
        assert plot_policy(tmp_path / "policy.png", env_id, env, q)
        axes = drawn.pop().axes[0]
        (arrows,) = (entry for entry in axes.collections if isinstance(entry, Quiver))
        width = round(axes.get_xlim()[1] + 0.5)
        assert axes.yaxis_inverted()  # so that a row further down is further down
        moved = 0
        for (column, row), right, up in zip(arrows.XY, arrows.U, arrows.V, strict=True):
            state = int(row) * width + int(column)
            # Of slippery moves the one that is meant is between those to both sides.
            if isinstance(model, GridWorld):
                to = model.deterministic_model().next_state[state, action]
            else:
                outcomes = model.P[state][action]  # type: ignore[attr-defined]
                to = outcomes[len(outcomes) // 2][1]
            to_row, to_column = divmod(int(to), width)
            step = (to_column - int(column), int(row) - to_row)
            if abs(step[0]) + abs(step[1]) == 1:  # neither the border nor back to the start
                assert (right, up) == step
                moved += 1
        assert moved >= 5


def test_learning_curve_without_a_goal_shows_the_return_alone(tmp_path: Path) -> None:
    with_goal = episodes(30, -5.0)
    without = [replace(episode, success=None) for episode in with_goal]
    evaluation = replace(evaluations(1.0)[0], success=None)
    plot_learning_curve(tmp_path / "one.png", "run", with_goal, evaluations(1.0))
    plot_learning_curve(tmp_path / "other.png", "run", without, [evaluation])
    assert picture(tmp_path / "other.png").shape[0] < picture(tmp_path / "one.png").shape[0]
