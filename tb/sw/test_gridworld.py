"""GridWorld behaves as its docstring describes, and rejects invalid maps."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qstep.envs import MAPS, GridWorld, make
from qstep.errors import FileFormatError, QStepError, WorldError
from qstep.mdp.solve import solve
from qstep.mdp.world import World

UP, DOWN, LEFT, RIGHT = range(4)


def test_default_board_is_the_reference_board() -> None:
    world = make("gridworld", 0)
    assert isinstance(world, GridWorld)
    assert world.shape == (5, 5)
    assert world.start == 0
    model = world.deterministic_model()
    assert set(model.next_state[model.reward == 1.0].tolist()) == {4 * 5 + 4}
    holes = {5 * row + column for row, column in [(1, 0), (3, 1), (4, 2), (1, 3)]}
    assert set(model.next_state[model.reward == -5.0].tolist()) == holes


@pytest.mark.parametrize(
    ("board", "cells"),
    [("...\n.S.\n..G", (1, 7, 3, 5)), ("S#G\n#..", (0, 0, 0, 0))],
    ids=["one-cell", "edge-and-wall"],
)
def test_actions_move_one_cell_or_none_at_an_edge_and_a_wall(
    board: str, cells: tuple[int, ...]
) -> None:
    world = GridWorld(board)
    for action, cell in zip((UP, DOWN, LEFT, RIGHT), cells, strict=True):
        world.reset()
        assert world.step(action) == (cell, -1.0, False, False, {})


@pytest.mark.parametrize(("more", "reward"), [(0, -5.0), (23, -100.0)])
def test_hole_terminates_and_costs_more_on_a_larger_board(more: int, reward: float) -> None:
    world = GridWorld("HSG" + "." * more)
    world.reset()
    assert world.step(LEFT) == (0, reward, True, False, {})


def test_step_cap_truncates_and_reset_starts_it_again() -> None:
    world = GridWorld("S.G")
    for _ in range(2):
        world.reset()
        ends = [world.step(LEFT)[2:4] for _ in range(12)]
        assert ends == [(False, False)] * 11 + [(False, True)]


def test_step_cap_is_what_a_device_counts_up_to() -> None:
    assert GridWorld("S" + "." * 16381 + "G").step_cap == 65532
    assert GridWorld("S" + "." * 16382 + "G").step_cap == 65535


def test_goal_on_the_last_step_terminates_and_does_not_truncate() -> None:
    world = GridWorld("S.G")
    world.reset()
    for action in [LEFT] * 10 + [RIGHT]:
        world.step(action)
    assert world.step(RIGHT) == (2, 1.0, True, False, {})


@pytest.mark.parametrize("name", MAPS)
def test_walk_follows_the_transition_model(name: str) -> None:
    world = make(name, 0)
    assert isinstance(world, GridWorld)
    model = world.deterministic_model()
    rng = np.random.default_rng(0)
    state, _ = world.reset()
    for action in rng.integers(4, size=2000).tolist():
        following, reward, terminated, truncated, _ = world.step(action)
        at = state, action
        assert following == model.next_state[at]
        assert reward == model.reward[at]
        assert terminated == model.terminated[at]
        state = world.reset()[0] if terminated or truncated else following


def test_walls_holes_and_goals_absorb() -> None:
    model = GridWorld("SHG\n#..").deterministic_model()
    for cell in (1, 2, 3):
        assert model.next_state[cell].tolist() == [cell] * 4
        assert model.reward[cell].tolist() == [0.0] * 4
        assert model.terminated[cell].all()


@pytest.mark.parametrize(("name", "steps"), list(zip(MAPS, (8, 14, 30, 74), strict=True)))
def test_best_policy_of_a_bundled_board_reaches_the_goal(name: str, steps: int) -> None:
    world = make(name, 0)
    model = World.from_env(world)
    policy = solve(model, 0.9).q.argmax(axis=1)
    state, _ = world.reset()
    total, terminated, length = 0.0, False, 0
    while not terminated:
        state, reward, terminated, truncated, _ = world.step(int(policy[state]))
        assert not truncated
        total += float(reward)
        length += 1
    assert (length, total) == (steps, 2.0 - steps)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "map, line 1, column 1: the map is empty"),
        ("S.\n.x\n.G", "map, line 2, column 2: 'x' is not a cell"),
        ("S. \n..G", "map, line 1, column 3: ' ' is not a cell"),
        ("S..\n.S.\n..G", "map, line 2, column 2: another start"),
        ("S..\n..\n..G", "map, line 2, column 3: the line has 2 cells and line 1 has 3"),
        ("S..\n....\n..G", "map, line 2, column 4: the line has 4 cells and line 1 has 3"),
        ("S..\n\n..G", "map, line 2, column 1: the line has 0 cells"),
        ("...\n..G", "map, line 2, column 3: the map ends without a start S"),
        ("S..\n...", "map, line 2, column 3: the map ends without a goal G"),
        ("SG" + "." * 65535, "map, line 1, column 65537: the map has 65537 cells; at most 65536"),
    ],
)
def test_bad_map_is_refused_with_line_and_column(text: str, message: str) -> None:
    with pytest.raises(WorldError) as caught:
        GridWorld(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("separator", "\v\f\x1c\x1d\x1e\x85\u2028\u2029")
def test_only_a_line_feed_or_a_carriage_return_ends_a_line(separator: str) -> None:
    with pytest.raises(WorldError) as caught:
        GridWorld(f"S.{separator}.G")
    assert str(caught.value).startswith(f"map, line 1, column 3: {separator!r} is not a cell")
    for end in ("\n", "\r", "\r\n"):
        assert GridWorld(f"S.{end}.G{end}").rows == ("S.", ".G")


@pytest.mark.parametrize(
    ("name", "encoding"),
    [("board.txt", "utf-8"), ("BOARD.TXT", "utf-8-sig"), ("board.Txt", "utf-16")],
)
def test_map_file_is_read_by_path(name: str, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes("S.\r\n.G\r\n".encode(encoding))
    world = make(str(path), 0)
    assert isinstance(world, GridWorld)
    assert world.rows == ("S.", ".G")


@pytest.mark.parametrize(
    ("content", "error", "text"),
    [
        (None, FileFormatError, r"board\.txt: no such file"),
        (b"\xff\xff", FileFormatError, r"board\.txt: cannot be read as a map"),
        (b"S?\n", WorldError, r"board\.txt, line 1, column 2: '\?' is not a cell"),
    ],
    ids=["absent", "no-text", "no-cell"],
)
def test_map_file_of_no_map_is_refused(
    tmp_path: Path, content: bytes | None, error: type[QStepError], text: str
) -> None:
    path = tmp_path / "board.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(error, match=text):
        make(str(path), 0)


@pytest.mark.parametrize("text", [["S.", "..G"], None, b"SG"], ids=repr)
def test_map_that_is_no_text_is_refused(text: Any) -> None:
    said = r"map is .*; it must be text, one line for each"
    with pytest.raises(WorldError, match=said):
        GridWorld(text)
