"""`SnakeVectorEnv` gives the same results as `Snake` in every move, and resets automatically."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tb.sw.test_snake import along_the_cycle
from tb.sw.vector_steps import snakes as games
from tb.sw.vector_steps import stepped

from qstep.envs import Snake
from qstep.envs.snake import MOVES, TURNS, Cell, Observation
from qstep.envs.snake_vector import SnakeVectorEnv
from qstep.spec.random import GOLDEN


def check_equal(snake: Snake, seen: Any, envs: SnakeVectorEnv, i: int) -> None:
    assert (seen == envs.observation[i]).all()
    assert list(snake.body) == envs.body(i)
    assert snake.food == envs.food(i)


def check_step(
    snakes: list[Snake], envs: SnakeVectorEnv, actions: NDArray[np.int64]
) -> list[tuple[float, bool, bool]]:
    """Step both implementations, compare everything visible, and return rewards and flags."""
    outcome = stepped(envs, actions)
    results = []
    for i, snake in enumerate(snakes):
        seen, reward, terminated, truncated, info = snake.step(int(actions[i]))
        assert (seen == outcome.next_observation[i]).all()
        assert reward == outcome.reward[i]
        assert terminated == outcome.terminated[i]
        assert truncated == outcome.truncated[i]
        assert outcome.score is not None
        assert info["score"] == outcome.score[i]
        if terminated or truncated:
            seen, _ = snake.reset()
        check_equal(snake, seen, envs, i)
        results.append((reward, terminated, truncated))
    return results


def begin(kind: Observation, count: int, seed: int) -> tuple[list[Snake], SnakeVectorEnv]:
    envs = games(count, kind, seed)
    snakes = [Snake(kind) for _ in range(count)]
    for i, snake in enumerate(snakes):
        check_equal(snake, snake.reset(seed=seed + i)[0], envs, i)
    return snakes, envs


def careful(snake: Snake, rng: np.random.Generator) -> int:
    """Return a move that leads to the food and avoids death if possible, so that snakes grow long."""

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
    snakes, envs = begin("flood", 2, seed)
    for action in actions:
        check_step(snakes, envs, np.array([action, 2 - action]))


@pytest.mark.parametrize(("kind", "steps"), [("state", 2500), ("features", 2500), ("flood", 500)])
def test_careful_players_go_alike(kind: Observation, steps: int) -> None:
    rng = np.random.default_rng(1)
    snakes, envs = begin(kind, 4, 100)
    results = []
    for _ in range(steps):
        actions = np.array([careful(snake, rng) for snake in snakes])
        results += check_step(snakes, envs, actions)
    rewards = [reward for reward, _, _ in results]
    assert rewards.count(10.0) > steps / 5  # the snakes often eat
    assert rewards.count(-10.0) > 3  # and they sometimes die


def test_snake_goes_alike_up_to_the_full_grid_with_flood_fill() -> None:
    snakes, envs = begin("flood", 1, 0)
    body = [(0, 3), (0, 2), (0, 1)]
    assert (snakes[0].place(body, (0, 9)) == envs.place(0, body, (0, 9))[0]).all()
    results = [(0.0, False, False)]
    while not results[-1][1]:
        action = along_the_cycle(list(snakes[0].body))
        results += check_step(snakes, envs, np.array([action]))
    assert sum(reward for reward, _, _ in results) == 970.0


def test_truncation_goes_alike() -> None:
    snakes, envs = begin("state", 2, 0)
    body = [(5, 5), (5, 4), (4, 4)]
    for i, snake in enumerate(snakes):
        snake.place(body, (0, 9 - i))
        envs.place(i, body, (0, 9 - i))
    results = [check_step(snakes, envs, np.array([2, 2])) for _ in range(300)]
    assert results[-1] == [(0.0, False, True)] * 2


def test_discarded_draw_goes_alike() -> None:
    # The next number of this word is 0, which is discarded for bounds that are not powers of two.
    word = 2**64 - GOLDEN
    snakes, envs = begin("state", 1, 0)
    body = [(5, 5), (5, 4), (5, 3)]
    snakes[0].place(body, (5, 6))
    snakes[0].chance.word = word
    envs.place(0, body, (5, 6))
    envs.restore({**envs.checkpoint(), "word": np.array([word], np.uint64)})
    assert check_step(snakes, envs, np.array([0])) == [(10.0, False, False)]
    assert snakes[0].chance.word == envs.checkpoint()["word"][0] == GOLDEN  # two draws later


class Rigid(Snake):
    """A faulty snake that dies when it enters the cell that its tail leaves."""

    def _deadly(self, cell: Cell) -> bool:
        return super()._deadly(cell) or cell in self.body


@pytest.mark.parametrize("kind", ["state", "features", "flood"])
def test_comparison_notices_another_rule(kind: Observation) -> None:
    ring = [(5, 5), (5, 4), (4, 4), (4, 5)]
    snake, envs = Rigid(kind), games(1, kind)
    snake.reset(seed=0)
    seen = snake.place(ring, (0, 0))
    envs.place(0, ring, (0, 0))
    with pytest.raises(AssertionError):
        check_equal(snake, seen, envs, 0)
    with pytest.raises(AssertionError):
        check_step([snake], envs, np.array([2]))


def test_comparison_notices_another_seed() -> None:
    envs, snake = games(1, "state", seed=1), Snake("state")
    with pytest.raises(AssertionError):
        check_equal(snake, snake.reset(seed=2)[0], envs, 0)


def test_autoreset_shows_the_new_episode_and_keeps_where_the_old_one_ended() -> None:
    envs = games(1)
    before = envs.place(0, [(0, 5), (1, 5), (2, 5)], (9, 9))
    outcome = stepped(envs, [0])
    assert outcome.terminated[0]
    assert (outcome.next_observation == before).all()  # death leaves the grid as it was
    assert (envs.observation != before).any()
    assert len(envs.body(0)) == 3
