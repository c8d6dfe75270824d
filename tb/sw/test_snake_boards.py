"""`SnakeBoards` goes move for move as `Snake` does, resets by itself, and refuses bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tb.sw.test_snake import along_the_cycle

from qstep.envs import Snake
from qstep.envs.snake_boards import SnakeBoards
from qstep.envs.snake_rules import MOVES, TURNS, Cell, Observation
from qstep.envs.splitmix import GOLDEN, SplitMix64
from qstep.errors import EnvironmentSpaceError

pytestmark = pytest.mark.unit

KINDS: list[Observation] = ["state", "features", "flood"]


def check_equal(snake: Snake, seen: Any, boards: SnakeBoards, i: int) -> None:
    assert (seen == boards.observation[i]).all()
    assert list(snake.body) == boards.body(i)
    assert snake.food == boards.food(i)


def check_step(
    snakes: list[Snake], boards: SnakeBoards, actions: NDArray[np.int64]
) -> list[tuple[float, bool, bool]]:
    """Step both forms and compare all that can be seen; return rewards and flags."""
    outcome = boards.step(actions)
    results = []
    for i, snake in enumerate(snakes):
        seen, reward, terminated, truncated, info = snake.step(int(actions[i]))
        assert (seen == outcome.next_observation[i]).all()
        assert reward == outcome.reward[i]
        assert terminated == outcome.terminated[i]
        assert truncated == outcome.truncated[i]
        assert info["score"] == outcome.score[i]
        if terminated or truncated:
            seen, _ = snake.reset()
        check_equal(snake, seen, boards, i)
        results.append((reward, terminated, truncated))
    return results


def begin(kind: Observation, count: int, seed: int) -> tuple[list[Snake], SnakeBoards]:
    boards = SnakeBoards(count, kind, seed=seed)
    snakes = [Snake(kind) for _ in range(count)]
    for i, snake in enumerate(snakes):
        check_equal(snake, snake.reset(seed=seed + i)[0], boards, i)
    return snakes, boards


def careful(snake: Snake, rng: np.random.Generator) -> int:
    """Choose a move that does not kill and leads to the food, where there is one: for long snakes."""

    def goodness(action: int) -> float:
        down, right = MOVES[(snake.direction + TURNS[action]) % 4]
        cell: Cell = snake.body[0][0] + down, snake.body[0][1] + right
        food = snake.food or cell
        distance = abs(cell[0] - food[0]) + abs(cell[1] - food[1])
        alive = all(0 <= k < 10 for k in cell) and cell not in list(snake.body)[:-1]
        return 100 * alive - distance + float(rng.random())

    return max(range(3), key=goodness)


@given(st.integers(0, 2**64 - 2), st.lists(st.integers(0, 2), max_size=60))
@settings(max_examples=60, deadline=None)
def test_any_actions_from_any_seed_go_alike(seed: int, actions: list[int]) -> None:
    snakes, boards = begin("flood", 2, seed)
    for action in actions:
        check_step(snakes, boards, np.array([action, 2 - action]))


@pytest.mark.parametrize(("kind", "steps"), [("state", 2500), ("features", 2500), ("flood", 500)])
def test_careful_players_go_alike(kind: Observation, steps: int) -> None:
    rng = np.random.default_rng(1)
    snakes, boards = begin(kind, 4, 100)
    results = []
    for _ in range(steps):
        actions = np.array([careful(snake, rng) for snake in snakes])
        results += check_step(snakes, boards, actions)
    rewards = [reward for reward, _, _ in results]
    assert rewards.count(10.0) > steps / 5  # they do eat, and
    assert rewards.count(-10.0) > 3  # they do die


def test_snake_goes_alike_up_to_the_full_board_with_flood_fill() -> None:
    snakes, boards = begin("flood", 1, 0)
    body = [(0, 3), (0, 2), (0, 1)]
    assert (snakes[0].place(body, (0, 9)) == boards.place(0, body, (0, 9))[0]).all()
    results = [(0.0, False, False)]
    while not results[-1][1]:
        action = along_the_cycle(list(snakes[0].body))
        results += check_step(snakes, boards, np.array([action]))
    assert sum(reward for reward, _, _ in results) == 970.0


def test_truncation_goes_alike() -> None:
    snakes, boards = begin("state", 2, 0)
    body = [(5, 5), (5, 4), (4, 4)]
    for i, snake in enumerate(snakes):
        snake.place(body, (0, 9 - i))
        boards.place(i, body, (0, 9 - i))
    results = [check_step(snakes, boards, np.array([2, 2])) for _ in range(300)]
    assert results[-1] == [(0.0, False, True)] * 2


def test_discarded_draw_goes_alike() -> None:
    # The next number of this word is 0, which any bound that is no power of two discards.
    word = 2**64 - GOLDEN
    snakes, boards = begin("state", 1, 0)
    body = [(5, 5), (5, 4), (5, 3)]
    snakes[0].place(body, (5, 6))
    snakes[0]._chance = SplitMix64(0)
    snakes[0]._chance.word = word
    boards.place(0, body, (5, 6))
    boards.restore({**boards.snapshot(), "word": np.array([word], np.uint64)})
    assert check_step(snakes, boards, np.array([0])) == [(10.0, False, False)]
    assert snakes[0]._chance.word == boards.snapshot()["word"][0] == GOLDEN  # two draws later


class Rigid(Snake):
    """A snake that is wrong: it may not enter the cell that its tail leaves."""

    def _deadly(self, cell: Cell) -> bool:
        return super()._deadly(cell) or cell in self.body


@pytest.mark.parametrize("kind", KINDS)
def test_comparison_notices_another_rule(kind: Observation) -> None:
    ring = [(5, 5), (5, 4), (4, 4), (4, 5)]
    snake, boards = Rigid(kind), SnakeBoards(1, kind)
    snake.reset(seed=0)
    seen = snake.place(ring, (0, 0))
    boards.place(0, ring, (0, 0))
    with pytest.raises(AssertionError):
        check_equal(snake, seen, boards, 0)
    with pytest.raises(AssertionError):
        check_step([snake], boards, np.array([2]))


def test_comparison_notices_another_seed() -> None:
    boards, snake = SnakeBoards(1, "state", seed=1), Snake("state")
    with pytest.raises(AssertionError):
        check_equal(snake, snake.reset(seed=2)[0], boards, 0)


def test_autoreset_shows_the_new_episode_and_keeps_where_the_old_one_ended() -> None:
    boards = SnakeBoards(1, "features")
    before = boards.place(0, [(0, 5), (1, 5), (2, 5)], (9, 9)).copy()
    outcome = boards.step([0])
    assert outcome.terminated[0]
    assert (outcome.next_observation == before).all()  # death leaves the board as it was
    assert (boards.observation != before).any()
    assert len(boards.body(0)) == 3


def test_observation_that_was_acted_on_stays_until_the_next_step() -> None:
    boards = SnakeBoards(8, "flood", seed=3)
    rng = np.random.default_rng(0)
    for _ in range(50):
        acted_on = boards.observation
        before = acted_on.copy()
        boards.step(rng.integers(3, size=8))
        assert (acted_on == before).all()
        assert boards.observation is not acted_on


def test_steps_return_the_same_arrays() -> None:
    boards = SnakeBoards(2)
    first, second = boards.step([0, 0]), boards.step([1, 2])
    assert all(one is other for one, other in zip(first, second, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_reset_starts_over(kind: Observation) -> None:
    boards = SnakeBoards(5, kind, seed=9)
    actions = np.random.default_rng(0).integers(3, size=(100, 5))

    def run() -> list[Any]:
        return [[column.tolist() for column in boards.step(row)] for row in actions]

    first = run()
    assert run() != first
    boards.reset(9)
    assert run() == first
    boards.reset(10)
    assert run() != first


@pytest.mark.parametrize("kind", KINDS)
def test_restored_boards_go_on_as_the_saved_ones(kind: Observation) -> None:
    boards, other = SnakeBoards(5, kind, seed=1), SnakeBoards(5, kind, seed=2)
    actions = np.random.default_rng(0).integers(3, size=(60, 5))
    for row in actions[:30]:
        boards.step(row)
        other.step(row)
    assert boards.snapshot()["food"].tolist() != other.snapshot()["food"].tolist()
    assert (other.restore(boards.snapshot()) == boards.observation).all()
    for row in actions[30:]:
        for one, two in zip(boards.step(row), other.step(row), strict=True):
            assert (one == two).all()
        assert (boards.observation == other.observation).all()


def test_snapshot_is_a_copy() -> None:
    boards = SnakeBoards(1)
    saved = boards.snapshot()
    before = {name: array.tolist() for name, array in saved.items()}
    boards.step([0])
    assert {name: array.tolist() for name, array in saved.items()} == before
    assert boards.snapshot()["head"].tolist() != before["head"]


def test_snapshot_that_does_not_fit_is_refused_and_nothing_changes() -> None:
    boards = SnakeBoards(2)
    good, before = boards.snapshot(), boards.snapshot()
    message = r"word of the snapshot is uint64 of shape \(3,\); it must be uint64 of shape \(2,\)"
    with pytest.raises(EnvironmentSpaceError, match=message):
        boards.restore(SnakeBoards(3).snapshot())
    with pytest.raises(EnvironmentSpaceError, match="food of the snapshot is float64"):
        boards.restore({**good, "word": good["word"] + 1, "food": np.zeros(2)})
    del good["food"]
    with pytest.raises(EnvironmentSpaceError, match="the snapshot has no 'food'"):
        boards.restore({**good, "word": good["word"] + 1})
    assert all((array == before[name]).all() for name, array in boards.snapshot().items())


@pytest.mark.parametrize("boards", [0, -1, 2.0, True])
def test_bad_number_of_boards_is_refused(boards: Any) -> None:
    with pytest.raises(EnvironmentSpaceError, match=f"boards is {boards}; .* 1 or more"):
        SnakeBoards(boards)


@pytest.mark.parametrize("seed", [-1, 2**64 - 1])
def test_seed_without_room_for_every_board_is_refused(seed: int) -> None:
    with pytest.raises(EnvironmentSpaceError, match=r"seed is .* from 0 to 2\^64-1"):
        SnakeBoards(2, seed=seed)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 1], r"actions are int64 of shape \(2,\); they must be integers of shape \(3,\)"),
        ([0.0, 1.0, 2.0], r"actions are float64 of shape \(3,\)"),
        ([0, 1, 3], "action of board 2 is 3; it must be from 0 to 2"),
        ([0, -1, 0], "action of board 1 is -1; it must be from 0 to 2"),
    ],
)
def test_bad_actions_are_refused_and_nothing_moves(actions: Any, message: str) -> None:
    boards = SnakeBoards(3, "state")
    before = [boards.body(i) for i in range(3)], boards.observation.tolist()
    with pytest.raises(EnvironmentSpaceError, match=message):
        boards.step(actions)
    assert ([boards.body(i) for i in range(3)], boards.observation.tolist()) == before
