"""`CartPoleBoards` goes number for number as Gymnasium's CartPole-v1, and resets by itself."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.typing import NDArray

from qstep.envs.boards import Boards
from qstep.envs.cartpole_boards import CartPoleBoards
from qstep.envs.snake_boards import SnakeBoards
from qstep.envs.splitmix import SplitMix64
from qstep.errors import EnvironmentSpaceError

pytestmark = pytest.mark.unit

NUMBERS = ("x", "x_dot", "theta", "theta_dot")


def numbers(boards: CartPoleBoards, board: int) -> list[float]:
    snapshot = boards.snapshot()
    return [float(snapshot[name][board]) for name in NUMBERS]


class Pole:
    """Gymnasium's environment, put into the state of a board whenever an episode begins."""

    def __init__(self, boards: CartPoleBoards, board: int) -> None:
        self.env: gym.Env[Any, Any] = gym.make("CartPole-v1")
        self.boards, self.board = boards, board
        self.begin()

    def begin(self) -> None:
        self.env.reset(seed=0)
        self.bare.state = np.array(numbers(self.boards, self.board))

    @property
    def bare(self) -> Any:
        return self.env.unwrapped

    def follow(self, action: int, outcome: Any) -> None:
        """Take the step that the board has taken, and compare all that it gave."""
        seen, reward, terminated, truncated, _ = self.env.step(action)
        assert (seen == outcome.next_observation[self.board]).all()
        assert reward == outcome.reward[self.board]
        assert terminated == outcome.terminated[self.board]
        assert (truncated and not terminated) == outcome.truncated[self.board]
        if terminated or truncated:
            self.begin()
        assert self.bare.state.tolist() == numbers(self.boards, self.board)
        assert (np.float32(self.bare.state) == self.boards.observation[self.board]).all()


def balanced(seen: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return actions that keep a pole up for long, and most often to the end of the episode."""
    return (seen @ [0.1, 0.3, 3.0, 1.0] > 0).astype(np.int64)


def test_any_actions_go_as_in_gymnasium() -> None:
    rng = np.random.default_rng(0)
    boards = CartPoleBoards(4, seed=3)
    poles = [Pole(boards, i) for i in range(4)]
    ends = 0
    for _ in range(1000):
        actions = rng.integers(2, size=4)
        outcome = boards.step(actions)
        ends += int(outcome.terminated.sum())
        for i, pole in enumerate(poles):
            pole.follow(int(actions[i]), outcome)
    assert ends > 100


def test_long_episodes_go_as_in_gymnasium_and_are_truncated_after_500_steps() -> None:
    boards = CartPoleBoards(3, seed=5)
    poles = [Pole(boards, i) for i in range(3)]
    for number in range(1, 1101):
        actions = balanced(boards.observation)
        outcome = boards.step(actions)
        for i, pole in enumerate(poles):
            pole.follow(int(actions[i]), outcome)
        assert outcome.truncated.tolist() == [number in (500, 1000)] * 3
        assert not outcome.terminated.any()
        assert outcome.score.tolist() == [(number - 1) % 500 + 1] * 3


def test_step_that_terminates_is_not_truncated_where_it_is_the_last_one() -> None:
    boards = CartPoleBoards(1)
    falling = {**boards.snapshot(), "theta": np.array([0.2]), "theta_dot": np.array([3.0])}
    boards.restore({**falling, "steps": np.array([499], np.int32)})
    outcome = boards.step([0])
    assert (outcome.terminated[0], outcome.truncated[0]) == (True, False)
    assert outcome.score[0] == 500


def test_comparison_notices_the_last_bit() -> None:
    boards = CartPoleBoards(1)
    pole = Pole(boards, 0)
    pole.bare.state[0] = np.nextafter(pole.bare.state[0], 1)
    with pytest.raises(AssertionError):
        pole.follow(0, boards.step([0]))


def test_start_states_are_the_documented_draws() -> None:
    boards = CartPoleBoards(2, seed=40)
    for board in range(2):
        chance = SplitMix64(40 + board)
        drawn = [0.05 * (chance.below(1 << 31) / (1 << 30) - 1) for _ in NUMBERS]
        assert numbers(boards, board) == drawn
    starts = np.array([numbers(CartPoleBoards(1, seed=s), 0) for s in range(500)])
    assert np.abs(starts).max() <= 0.05
    assert np.abs(starts.mean(axis=0)).max() < 0.005
    assert starts.std() == pytest.approx(0.05 / np.sqrt(3), rel=0.05)  # of a uniform distribution


def test_autoreset_shows_the_new_episode_and_keeps_where_the_old_one_ended() -> None:
    boards = CartPoleBoards(1)
    boards.restore({**boards.snapshot(), "x": np.array([2.39]), "x_dot": np.array([3.0])})
    outcome = boards.step([1])
    assert outcome.terminated[0]
    assert outcome.next_observation[0, 0] > 2.4
    assert np.abs(boards.observation).max() <= 0.05


def test_observation_that_was_acted_on_stays_until_the_next_step() -> None:
    boards = CartPoleBoards(8, seed=3)
    rng = np.random.default_rng(0)
    first = boards.step(np.zeros(8, np.int64))
    for _ in range(50):
        acted_on = boards.observation
        before = acted_on.copy()
        outcome = boards.step(rng.integers(2, size=8))
        assert (acted_on == before).all()
        assert boards.observation is not acted_on
        assert all(one is other for one, other in zip(first, outcome, strict=True))


def test_restored_boards_go_on_as_the_saved_ones() -> None:
    boards, other = CartPoleBoards(5, seed=1), CartPoleBoards(5, seed=2)
    actions = np.random.default_rng(0).integers(2, size=(120, 5))
    for row in actions[:60]:
        boards.step(row)
        other.step(row)
    assert (other.observation != boards.observation).any()
    assert (other.restore(boards.snapshot()) == boards.observation).all()
    ends = 0
    for row in actions[60:]:
        for one, two in zip(boards.step(row), other.step(row), strict=True):
            assert (one == two).all()
        ends += (boards.snapshot()["steps"] == 0).sum()
        assert (boards.observation == other.observation).all()
    assert ends > 5  # so the generators were restored too


def test_reset_starts_over() -> None:
    boards = CartPoleBoards(3, seed=9)
    first = boards.observation.copy()
    boards.step([1, 1, 1])
    assert (boards.observation != first).all()
    assert (boards.reset(9) == first).all()
    assert (boards.reset(10) != first).all()


def test_snapshot_that_does_not_fit_is_refused_and_nothing_changes() -> None:
    boards = CartPoleBoards(2)
    good, before = boards.snapshot(), boards.snapshot()
    message = r"word of the snapshot is uint64 of shape \(3,\); it must be uint64 of shape \(2,\)"
    with pytest.raises(EnvironmentSpaceError, match=message):
        boards.restore(CartPoleBoards(3).snapshot())
    with pytest.raises(EnvironmentSpaceError, match="theta of the snapshot is float32"):
        boards.restore({**good, "x": good["x"] + 1, "theta": np.zeros(2, np.float32)})
    with pytest.raises(EnvironmentSpaceError, match="the snapshot has no 'word'"):
        boards.restore({"x": good["x"] + 1})
    assert all((array == before[name]).all() for name, array in boards.snapshot().items())


@pytest.mark.parametrize("boards", [0, -1, 2.0, True])
def test_bad_number_of_boards_is_refused(boards: Any) -> None:
    with pytest.raises(EnvironmentSpaceError, match=f"boards is {boards}; .* 1 or more"):
        CartPoleBoards(boards)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 1], r"actions are int64 of shape \(2,\); they must be integers of shape \(3,\)"),
        ([0.0, 1.0, 1.0], r"actions are float64 of shape \(3,\)"),
        ([0, 1, 2], "action of board 2 is 2; it must be from 0 to 1"),
        ([0, -1, 0], "action of board 1 is -1; it must be from 0 to 1"),
    ],
)
def test_bad_actions_are_refused_and_nothing_moves(actions: Any, message: str) -> None:
    boards = CartPoleBoards(3)
    before = boards.snapshot()
    with pytest.raises(EnvironmentSpaceError, match=message):
        boards.step(actions)
    assert all((array == before[name]).all() for name, array in boards.snapshot().items())


@pytest.mark.parametrize(
    ("boards", "inputs", "actions"),
    [
        (CartPoleBoards(2), 4, 2),
        (SnakeBoards(2), 11, 3),
        (SnakeBoards(2, "flood"), 14, 3),
        (SnakeBoards(2, "state"), 0, 3),
    ],
    ids=["cartpole", "features", "flood", "state"],
)
def test_boards_tell_what_they_show_and_take(boards: Boards, inputs: int, actions: int) -> None:
    assert (boards.inputs, boards.actions) == (inputs, actions)
    shape = (2, inputs) if inputs else (2,)
    assert boards.observation.shape == boards.step([0, 0]).next_observation.shape == shape
    with pytest.raises(EnvironmentSpaceError, match=f"must be from 0 to {actions - 1}"):
        boards.step([0, actions])
