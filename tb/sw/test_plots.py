"""Pictures are written as PNG, and their contents depend on what was learned."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread
from matplotlib.quiver import Quiver
from numpy.typing import NDArray

from qstep._io.pictures import write_pictures
from qstep.envs import GridWorld, make, table_size
from qstep.envs.maps import map_of
from qstep.envs.rendering import GridMap
from qstep.learn.plots import (
    PolicyMap,
    draw_agents,
    draw_learning_curve,
    draw_policy,
    draw_tiles,
    mean_returns,
)
from qstep.learn.result import History
from qstep.spec.integer_worlds import CART_POLE


def picture(path: Path) -> NDArray[np.float32]:
    """Return the pixels of a PNG, after checking its format and that it has several colours."""
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    pixels = np.asarray(imread(path))
    assert pixels.shape[0] > 200
    assert pixels.shape[1] > 200
    assert pixels[..., :3].std() > 0.05
    return pixels


def history(count: int, total: float, *success: float) -> History:
    """Return the history of `count` episodes, with one evaluation for each given success rate."""
    number = np.arange(1, count + 1)
    return {
        "episodes": {"return": total / number, "success": number % 2 == 1},
        "evaluations": {
            "episodes": 10 * np.arange(1, len(success) + 1),
            "greedy_return": np.full(len(success), -6.0),
            "greedy_success": np.array(success),
        },
    }


def arrows_of(axes: Any) -> Any:
    (arrows,) = (part for part in axes.collections if isinstance(part, Quiver))
    return arrows


def grid_map(env: Any) -> GridMap:
    grid = map_of(env)
    assert grid is not None
    return grid


@pytest.mark.parametrize(
    ("count", "total", "looks"),
    [(1, -10.0, 2), (2, 0.0, 2), (300, -10_000.0, 2), (30, -5.0, 0)],
)
def test_learning_curve_of_any_length_and_scale(
    tmp_path: Path, count: int, total: float, looks: int
) -> None:
    path, seen = tmp_path / "curve.png", (0.0, 1.0)[:looks]
    write_pictures({path: partial(draw_learning_curve, "run", history(count, total, *seen))})
    picture(path)


def test_learning_curve_shows_the_evaluations(tmp_path: Path) -> None:
    one, other = tmp_path / "one.png", tmp_path / "other.png"
    for path, last in ((one, 0.9), (other, 0.1)):
        curve = history(30, -5.0, 0.2, last)
        write_pictures({path: partial(draw_learning_curve, "run", curve)})
    assert (picture(one) != picture(other)).any()


@pytest.mark.parametrize("env_id", ["gridworld", "FrozenLake-v1", "CliffWalking-v1"])
def test_policy_picture_shows_the_greedy_action(tmp_path: Path, env_id: str) -> None:
    env = make(env_id, 0)
    q = np.random.default_rng(0).normal(size=table_size(env))
    turned = q.copy()
    turned[2] = np.roll(q[2], 1)
    paths = [tmp_path / "one.png", tmp_path / "other.png", tmp_path / "none.png"]
    for path, table in zip(paths, (q, turned, np.zeros_like(q)), strict=True):
        write_pictures({path: partial(draw_policy, env_id, grid_map(env), table)})
    one, other = picture(paths[0]), picture(paths[1])
    assert one.shape == other.shape
    assert (one != other).any()
    picture(paths[2])


def test_a_cell_is_pale_until_its_best_action_was_tried() -> None:
    q = np.array([[-1, 0, -1, -1], [-1, -1, -1, -1], [0, 0, 0, 0], [0, 0, 0.5, 0], [1, 0, 0, 0]])
    shown = PolicyMap.of(grid_map(GridWorld("S..\n.HG")), np.vstack([q, q[-1]]))
    assert shown.learnt.tolist() == [[False, True, False], [True, False, False]]
    assert shown.values.compressed().tolist() == [-1, 0.5]
    assert shown.legend == "S start, G goal, H hole, pale: not learned"
    axes = draw_policy("map", grid_map(GridWorld("S..\n.HG")), np.vstack([q, q[-1]])).axes[0]
    assert arrows_of(axes).XY.tolist() == [[1, 0], [0, 1]]
    assert axes.get_xlabel() == f"column\n{shown.legend}"
    everywhere = PolicyMap.of(grid_map(GridWorld("S#G")), np.ones((3, 4)))
    assert everywhere.legend == "S start, G goal, grey: wall"


def test_same_run_gives_the_same_picture_without_states_that_the_map_lacks(tmp_path: Path) -> None:
    env = make("gridworld", 0)
    q = np.random.default_rng(0).normal(size=(32, 4))
    pictures = []
    for number, table in enumerate((q, q[:25], q[:25])):
        path = tmp_path / f"{number}.png"
        write_pictures({path: partial(draw_policy, "gridworld", grid_map(env), table)})
        pictures.append(path.read_bytes())
    assert pictures[0] == pictures[1] == pictures[2]


@pytest.mark.parametrize("env_id", ["snake", "cartpole", "Taxi-v3"])
def test_there_is_no_map_where_states_are_no_places(env_id: str) -> None:
    assert map_of(make(env_id, 0)) is None


@pytest.mark.parametrize("env_id", ["gridworld", "FrozenLake-v1", "CliffWalking-v1"])
def test_arrow_points_to_where_the_action_leads(env_id: str) -> None:
    env = make(env_id, 0)
    model = env.unwrapped
    states, actions = table_size(env)
    for action in range(actions):
        q = np.zeros((states, actions))
        q[:, action] = 1.0
        axes = draw_policy(env_id, grid_map(env), q).axes[0]
        arrows = arrows_of(axes)
        width = round(axes.get_xlim()[1] + 0.5)
        assert axes.yaxis_inverted()  # so rows run downwards
        moved = 0
        for (column, row), right, up in zip(arrows.XY, arrows.U, arrows.V, strict=True):
            state = int(row) * width + int(column)
            # The intended outcome of a slippery move is listed between its sideways outcomes.
            if isinstance(model, GridWorld):
                to = model.deterministic_model().next_state[state, action]
            else:
                outcomes = model.P[state][action]  # type: ignore[attr-defined]
                to = outcomes[len(outcomes) // 2][1]
            to_row, to_column = divmod(int(to), width)
            step = (to_column - int(column), int(row) - to_row)
            if abs(step[0]) + abs(step[1]) == 1:  # no move into the border or back to the start
                assert (right, up) == step
                moved += 1
        assert moved >= 5


def test_learning_curve_without_a_goal_shows_the_return_alone(tmp_path: Path) -> None:
    one = history(30, -5.0, 1.0)
    without = {**one["episodes"], "success": np.full(30, np.nan)}
    seen = {**one["evaluations"], "greedy_success": np.array([np.nan])}
    other = draw_learning_curve("run", {"episodes": without, "evaluations": seen})
    assert other.get_figheight() < draw_learning_curve("run", one).get_figheight()


def test_a_large_map_has_no_arrows_and_letters() -> None:
    for side, drawn in ((64, True), (65, False)):
        rows = ["S" + "." * (side - 1), *["." * side] * (side - 2), "." * (side - 1) + "G"]
        grid = grid_map(GridWorld("\n".join(rows)))
        figure = draw_policy("map", grid, np.random.default_rng(0).random((side * side, 4)))
        axes = figure.axes[0]
        assert any(isinstance(part, Quiver) for part in axes.get_children()) == drawn
        assert bool(axes.texts) == drawn


def test_a_return_is_the_mean_of_the_last_fifty_episodes_or_more() -> None:
    columns = {
        "steps": np.array([100, 200, 300]),
        "step_reward": np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]),
        "episodes": np.array([[10, 0], [40, 0], [100, 2]]),
    }
    assert mean_returns(columns)[:, 0].tolist() == [100 / 10, 300 / 40, (600 - 300) / (100 - 40)]
    assert np.isnan(mean_returns(columns)[:2, 1]).all()
    assert mean_returns(columns)[2, 1] == 600 / 2


@pytest.mark.parametrize(("last", "scale"), [(60_000, "linear"), (200_000, "log")])
def test_steps_within_a_decade_are_drawn_on_a_linear_axis(last: int, scale: str) -> None:
    steps, ones = np.array([20_000, last]), np.ones((2, 1))
    columns = {"steps": steps, "step_reward": ones, "episodes": np.array([[20], [60]])}
    figure = draw_agents("run", columns, None)
    assert figure.axes[0].get_xscale() == scale


def test_planes_are_drawn_over_named_numbers() -> None:
    tiles = CART_POLE.tiles
    for world, names in (
        ("CartPole-v1", ["pole angle", "pole angular velocity"]),
        ("other", ["observation[2]", "observation[3]"]),
    ):
        axes = draw_tiles("policy", world, tiles, np.ones((8, 81, 2))).axes[0]
        assert [axes.get_xlabel(), axes.get_ylabel()] == names
