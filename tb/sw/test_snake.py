"""Rules and observations of Snake on hand-made positions, in both implementations."""

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from tb.sw.vector_steps import snakes, stepped

from qstep.envs import Snake, make, table_size
from qstep.envs.snake import Cell, Observation
from qstep.envs.snake_vector import SnakeVectorEnv
from qstep.envs.splitmix import SplitMix64
from qstep.errors import ConfigError, EnvironmentSpaceError, EpisodeError

STRAIGHT, RIGHT, LEFT = range(3)

Result = tuple[Any, float, bool, bool, int]


class Plain:
    """A plain game with the interface of these tests."""

    def __init__(self, kind: Observation) -> None:
        self.snake = Snake(kind)
        self.snake.reset(seed=0)

    def place(self, body: Sequence[Cell], food: Cell) -> Any:
        return self.snake.place(body, food)

    def step(self, action: int) -> Result:
        observation, reward, terminated, truncated, info = self.snake.step(action)
        return observation, reward, terminated, truncated, info["score"]

    def body(self) -> list[Cell]:
        return list(self.snake.body)

    def food(self) -> Cell | None:
        return self.snake.food


class Compiled:
    """The second of three compiled games, with the interface of these tests."""

    def __init__(self, kind: Observation) -> None:
        self.envs = snakes(3, kind)

    def place(self, body: Sequence[Cell], food: Cell) -> Any:
        return self.envs.place(1, body, food)[1]

    def step(self, action: int) -> Result:
        outcome = stepped(self.envs, [STRAIGHT, action, RIGHT])
        observation, *rest = (column[1] for column in outcome if column is not None)
        return observation, *rest

    def body(self) -> list[Cell]:
        return self.envs.body(1)

    def food(self) -> Cell:
        return self.envs.food(1)


Game = Plain | Compiled
Make = Callable[[Observation], Game]

ROW = [(5, 5), (5, 4), (5, 3)]
"""A body heading right in the middle of the grid."""

RING = [(5, 5), (5, 4), (4, 4), (4, 5)]
"""A ring whose head is next to its tail; turning left enters the cell that the tail leaves."""

HOOK = [(5, 5), (6, 5), (6, 6), (5, 6), (4, 6), (4, 5), (3, 5)]
"""A body heading up into itself, with more of itself on its right."""

WALL = [*((row, 2) for row in range(10)), (9, 3)]
"""A body along column 2 from the top border to the bottom border, with the tail next to it."""

POCKET = [(0, 1), (1, 1), (1, 0), (2, 0), (2, 1)]
"""A body that cuts off the corner cell."""


@pytest.fixture(params=[Plain, Compiled], ids=["plain", "compiled"])
def form(request: pytest.FixtureRequest) -> Make:
    made: Make = request.param
    return made


@pytest.mark.parametrize(
    ("action", "head"),
    [(STRAIGHT, (5, 6)), (RIGHT, (6, 5)), (LEFT, (4, 5))],
    ids=["straight", "right", "left"],
)
def test_actions_turn_relative_to_the_heading(form: Make, action: int, head: Cell) -> None:
    game = form("state")
    game.place(ROW, (0, 0))
    assert game.step(action)[1:] == (0.0, False, False, 0)
    assert game.body() == [head, (5, 5), (5, 4)]


def test_eating_grows_at_once_and_new_food_appears_on_a_free_cell(form: Make) -> None:
    game = form("state")
    game.place(ROW, (5, 6))
    assert game.step(STRAIGHT)[1:] == (10.0, False, False, 1)
    assert game.body() == [(5, 6), *ROW]
    assert game.food() not in game.body()


def test_head_may_enter_the_cell_that_the_tail_leaves(form: Make) -> None:
    game = form("state")
    game.place(RING, (0, 0))
    assert game.step(LEFT)[1:4] == (0.0, False, False)
    assert game.body() == [(4, 5), (5, 5), (5, 4), (4, 4)]


@pytest.mark.parametrize(
    ("body", "action"),
    [
        ([(0, 5), (1, 5), (2, 5)], STRAIGHT),
        ([(9, 5), (9, 4), (9, 3)], RIGHT),
        ([(5, 0), (6, 0), (7, 0)], LEFT),
        ([(5, 9), (5, 8), (5, 7)], STRAIGHT),
        (HOOK, STRAIGHT),
        (HOOK, RIGHT),
    ],
    ids=["upper", "lower", "left", "right", "body-ahead", "body-beside"],
)
def test_border_and_body_kill_and_leave_the_grid(form: Make, body: list[Cell], action: int) -> None:
    game = form("state")
    before = int(game.place(body, (7, 7)))
    assert game.step(action) == (before, -10.0, True, False, len(body) - 3)


def test_episode_is_truncated_after_100_steps_a_cell_without_food(form: Make) -> None:
    game = form("state")
    game.place(RING, (0, 0))
    ends = [game.step(LEFT)[2:4] for _ in range(400)]
    assert ends == [(False, False)] * 399 + [(False, True)]


def test_food_starts_the_count_again(form: Make) -> None:
    game = form("state")
    game.place([(5, 5), (5, 4), (4, 4)], (5, 6))
    for _ in range(296):
        assert game.step(LEFT)[1:4] == (0.0, False, False)
    assert game.step(STRAIGHT)[1:4] == (10.0, False, False)
    assert game.food() not in [(4, 6), (4, 5), (5, 5), (5, 6)]  # the cells where it now circles
    ends = [game.step(LEFT)[2:4] for _ in range(400)]
    assert ends == [(False, False)] * 399 + [(False, True)]


def cycle(cell: Cell) -> Cell:
    """Return the next cell on a closed path through every cell."""
    row, column = cell
    if column == 0 and row > 0:
        return row - 1, 0
    if row % 2 == 0:
        return (row, column + 1) if column < 9 else (row + 1, column)
    last = 0 if row == 9 else 1
    return (row, column - 1) if column > last else (row + 1, column)


def along_the_cycle(body: Sequence[Cell]) -> int:
    """Return the action that follows the cycle, given a snake that lies on it."""
    (row, column), (old_row, old_column) = body[0], body[1]
    down, right = row - old_row, column - old_column
    to_row, to_column = cycle(body[0])
    step = to_row - row, to_column - column
    return {(down, right): STRAIGHT, (right, -down): RIGHT, (-right, down): LEFT}[step]


def test_snake_that_covers_the_grid_has_won(form: Make) -> None:
    game = form("state")
    game.place([(0, 3), (0, 2), (0, 1)], (0, 9))
    total, length, terminated = 0.0, 0, False
    while not terminated:
        _, reward, terminated, truncated, score = game.step(along_the_cycle(game.body()))
        assert not truncated
        total += reward
        length += 1
    assert (total, score, reward) == (970.0, 97, 10.0)
    assert length > 97


@pytest.mark.parametrize(
    ("body", "food", "expected"),
    [
        (ROW, (2, 7), [0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0]),
        (ROW, (5, 0), [0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0]),
        (ROW[::-1], (9, 3), [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1]),
        ([(0, 9), (0, 8), (0, 7)], (9, 0), [1, 0, 1, 0, 1, 0, 0, 1, 0, 0, 1]),
        ([(9, 0), (8, 0), (7, 0)], (0, 0), [1, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0]),
        (HOOK, (0, 6), [1, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0]),
        (RING, (0, 5), [0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0]),
    ],
    ids=["right", "food-behind", "left", "upper-corner", "lower-corner", "body", "tail-is-free"],
)
def test_features_of_a_grid(form: Make, body: list[Cell], food: Cell, expected: list[int]) -> None:
    assert form("features").place(body, food).tolist() == expected
    assert form("flood").place(body, food)[:11].tolist() == expected
    assert form("state").place(body, food) == sum(bit << k for k, bit in enumerate(expected))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (ROW, [1, 1, 1]),
        (RING, [1, 1, 1]),
        (WALL, [0, 70 / 90, 20 / 90]),
        (WALL[:-1], [0, 1, 1]),
        (POCKET, [0, 95 / 96, 1 / 96]),
        (HOOK, [0, 0, 1]),
    ],
    ids=["open", "ring", "wall", "wall-whose-tail-opens", "pocket", "one-way"],
)
def test_flood_fill_counts_near_cells(form: Make, body: list[Cell], expected: list[float]) -> None:
    seen = form("flood").place(body, (9, 9))
    assert seen.dtype == np.float32
    assert (seen[11:] == np.array(expected, np.float32)).all()


@pytest.mark.parametrize(
    ("body", "food", "message"),
    [
        (ROW[:2], (0, 0), "the body has 2 cells; it must have 3 to 99"),
        ([(0, 0), (0, -1), (0, -2)], (5, 5), r"cell \(0, -1\) is off the grid; .* from 0 to 9"),
        (ROW, (10, 0), r"cell \(10, 0\) is off the grid"),
        ([(5, 5), (5, 4), (5, 2)], (0, 0), r"goes from \(5, 4\) to \(5, 2\); .* side by side"),
        ([(5, 5), (5, 4), (5, 5)], (0, 0), r"cell \(5, 5\) holds the body and the body a second"),
        (ROW, (5, 4), r"cell \(5, 4\) holds the body and the food"),
    ],
)
def test_bad_placement_is_refused(form: Make, body: list[Cell], food: Cell, message: str) -> None:
    game = form("state")
    before = game.body(), game.food()
    with pytest.raises(ConfigError, match=message):
        game.place(body, food)
    assert (game.body(), game.food()) == before


@pytest.mark.parametrize("action", [-1, 3])
def test_action_out_of_range_is_refused_and_nothing_moves(form: Make, action: int) -> None:
    game = form("state")
    game.place(ROW, (0, 0))
    with pytest.raises(EnvironmentSpaceError, match=f"is {action}; it must be .*from 0 to 2"):
        game.step(action)
    assert game.body() == ROW


def test_step_needs_an_episode() -> None:
    snake = Snake()
    with pytest.raises(EpisodeError, match="the episode is over; call reset"):
        snake.step(STRAIGHT)
    snake.reset()
    snake.place([(0, 5), (1, 5), (2, 5)], (9, 9))
    snake.step(STRAIGHT)
    with pytest.raises(EpisodeError, match="the episode is over; call reset"):
        snake.step(STRAIGHT)


@pytest.mark.parametrize("form_of", [Snake, lambda kind: SnakeVectorEnv(1, kind)])
def test_unknown_observation_is_refused(form_of: Callable[[Any], Any]) -> None:
    message = "observation is 'pixels'; it must be one of state, features, flood"
    with pytest.raises(ConfigError, match=message):
        form_of("pixels")


@pytest.mark.parametrize("kind", ["state", "features", "flood"])
def test_gymnasium_accepts_the_environment(kind: Observation) -> None:
    check_env(gym.make("qstep/Snake-v0", observation=kind).unwrapped)


def test_snake_is_a_table_of_2048_states() -> None:
    assert table_size(make("snake", 0)) == (2048, 3)


def test_start_keeps_its_distance_and_every_start_and_food_occurs() -> None:
    snake = Snake("state")
    starts, foods = set(), set()
    for seed in range(1500):
        snake.reset(seed=seed)
        (row, column), neck, tail = snake.body
        assert 3 <= row <= 6
        assert 3 <= column <= 6
        down, right = row - neck[0], column - neck[1]
        assert (tail[0] + 2 * down, tail[1] + 2 * right) == (row, column)
        assert snake.food not in snake.body
        starts.add((row, column, down, right))
        foods.add(snake.food)
    assert len(starts) == 64
    assert len(foods) == 100


def test_seed_gives_the_episode_and_reset_without_one_goes_on() -> None:
    one, other = Snake(), Snake()
    for seed in (3, None, None):
        one.reset(seed=seed)
        other.reset(seed=seed)
        assert (one.body, one.food) == (other.body, other.food)
    first = Snake()
    first.reset(seed=3)
    assert (first.body, first.food) != (one.body, one.food)


@pytest.mark.parametrize("seed", [-1, 1 << 64, True, 0.5, "x"])
def test_bad_seed_is_refused(seed: Any) -> None:
    with pytest.raises(ConfigError, match=rf"seed is {seed!r}; .* from 0 to 2\^64-1"):
        Snake().reset(seed=seed)


def test_generator_is_splitmix64() -> None:
    chance = SplitMix64(0)
    chance.word = 1234567
    published = (  # for this seed, from rosettacode.org
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    )
    assert [chance.below(1 << 32) for _ in published] == [number >> 32 for number in published]


def test_generator_discards_what_would_favour_a_number() -> None:
    # Of 2^32 words, 3 * 2^30 are used; plain multiplication would favour every third number twofold.
    chance = SplitMix64(1)
    draws = [chance.below(3 << 30) for _ in range(3000)]
    assert 900 < sum(number % 3 == 0 for number in draws) < 1100
