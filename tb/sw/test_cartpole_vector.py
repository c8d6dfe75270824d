"""`CartPoleVectorEnv` goes number for number as Gymnasium's CartPole-v1, and resets by itself."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.typing import NDArray

from qstep.envs.cartpole_vector import CartPoleVectorEnv
from qstep.envs.snake_vector import SnakeVectorEnv
from qstep.envs.splitmix import SplitMix64
from qstep.envs.vector import VectorEnv
from qstep.errors import EnvironmentSpaceError

pytestmark = pytest.mark.unit

NUMBERS = ("x", "x_dot", "theta", "theta_dot")


def numbers(envs: CartPoleVectorEnv, index: int) -> list[float]:
    checkpoint = envs.checkpoint()
    return [float(checkpoint[name][index]) for name in NUMBERS]


class Pole:
    """Gymnasium's environment, put into the state of an environment whenever an episode begins."""

    def __init__(self, envs: CartPoleVectorEnv, index: int) -> None:
        self.env: gym.Env[Any, Any] = gym.make("CartPole-v1")
        self.envs, self.index = envs, index
        self.begin()

    def begin(self) -> None:
        self.env.reset(seed=0)
        self.bare.state = np.array(numbers(self.envs, self.index))

    @property
    def bare(self) -> Any:
        return self.env.unwrapped

    def follow(self, action: int, outcome: Any) -> None:
        """Take the step that the environment has taken, and compare all that it gave."""
        seen, reward, terminated, truncated, _ = self.env.step(action)
        assert (seen == outcome.next_observation[self.index]).all()
        assert reward == outcome.reward[self.index]
        assert terminated == outcome.terminated[self.index]
        assert (truncated and not terminated) == outcome.truncated[self.index]
        if terminated or truncated:
            self.begin()
        assert self.bare.state.tolist() == numbers(self.envs, self.index)
        assert (np.float32(self.bare.state) == self.envs.observation[self.index]).all()


def balanced(seen: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return actions that keep a pole up for long, and most often to the end of the episode."""
    return (seen @ [0.1, 0.3, 3.0, 1.0] > 0).astype(np.int64)


def test_any_actions_go_as_in_gymnasium() -> None:
    rng = np.random.default_rng(0)
    envs = CartPoleVectorEnv(4, seed=3)
    poles = [Pole(envs, i) for i in range(4)]
    ends = 0
    for _ in range(1000):
        actions = rng.integers(2, size=4)
        outcome = envs.step(actions)
        ends += int(outcome.terminated.sum())
        for i, pole in enumerate(poles):
            pole.follow(int(actions[i]), outcome)
    assert ends > 100


def test_long_episodes_go_as_in_gymnasium_and_are_truncated_after_500_steps() -> None:
    envs = CartPoleVectorEnv(3, seed=5)
    poles = [Pole(envs, i) for i in range(3)]
    for number in range(1, 1101):
        actions = balanced(envs.observation)
        outcome = envs.step(actions)
        for i, pole in enumerate(poles):
            pole.follow(int(actions[i]), outcome)
        assert outcome.truncated.tolist() == [number in (500, 1000)] * 3
        assert not outcome.terminated.any()
        assert outcome.score.tolist() == [(number - 1) % 500 + 1] * 3


def test_step_that_terminates_is_not_truncated_where_it_is_the_last_one() -> None:
    envs = CartPoleVectorEnv(1)
    falling = {**envs.checkpoint(), "theta": np.array([0.2]), "theta_dot": np.array([3.0])}
    envs.restore({**falling, "steps": np.array([499], np.int32)})
    outcome = envs.step([0])
    assert (outcome.terminated[0], outcome.truncated[0]) == (True, False)
    assert outcome.score[0] == 500


def test_comparison_notices_the_last_bit() -> None:
    envs = CartPoleVectorEnv(1)
    pole = Pole(envs, 0)
    pole.bare.state[0] = np.nextafter(pole.bare.state[0], 1)
    with pytest.raises(AssertionError):
        pole.follow(0, envs.step([0]))


def test_start_states_are_the_documented_draws() -> None:
    envs = CartPoleVectorEnv(2, seed=40)
    for index in range(2):
        chance = SplitMix64(40 + index)
        drawn = [0.05 * (chance.below(1 << 31) / (1 << 30) - 1) for _ in NUMBERS]
        assert numbers(envs, index) == drawn
    starts = np.array([numbers(CartPoleVectorEnv(1, seed=s), 0) for s in range(500)])
    assert np.abs(starts).max() <= 0.05
    assert np.abs(starts.mean(axis=0)).max() < 0.005
    assert starts.std() == pytest.approx(0.05 / np.sqrt(3), rel=0.05)  # of a uniform distribution


def test_autoreset_shows_the_new_episode_and_keeps_where_the_old_one_ended() -> None:
    envs = CartPoleVectorEnv(1)
    envs.restore({**envs.checkpoint(), "x": np.array([2.39]), "x_dot": np.array([3.0])})
    outcome = envs.step([1])
    assert outcome.terminated[0]
    assert outcome.next_observation[0, 0] > 2.4
    assert np.abs(envs.observation).max() <= 0.05


def test_observation_that_was_acted_on_stays_until_the_next_step() -> None:
    envs = CartPoleVectorEnv(8, seed=3)
    rng = np.random.default_rng(0)
    first = envs.step(np.zeros(8, np.int64))
    for _ in range(50):
        acted_on = envs.observation
        before = acted_on.copy()
        outcome = envs.step(rng.integers(2, size=8))
        assert (acted_on == before).all()
        assert envs.observation is not acted_on
        assert all(one is other for one, other in zip(first, outcome, strict=True))


def test_restored_environments_go_on_as_the_saved_ones() -> None:
    envs, other = CartPoleVectorEnv(5, seed=1), CartPoleVectorEnv(5, seed=2)
    actions = np.random.default_rng(0).integers(2, size=(120, 5))
    for row in actions[:60]:
        envs.step(row)
        other.step(row)
    assert (other.observation != envs.observation).any()
    assert (other.restore(envs.checkpoint()) == envs.observation).all()
    ends = 0
    for row in actions[60:]:
        for one, two in zip(envs.step(row), other.step(row), strict=True):
            assert (one == two).all()
        ends += (envs.checkpoint()["steps"] == 0).sum()
        assert (envs.observation == other.observation).all()
    assert ends > 5  # so the generators were restored too


def test_reset_starts_over() -> None:
    envs = CartPoleVectorEnv(3, seed=9)
    first = envs.observation.copy()
    envs.step([1, 1, 1])
    assert (envs.observation != first).all()
    assert (envs.reset(9) == first).all()
    assert (envs.reset(10) != first).all()


def test_checkpoint_that_does_not_fit_is_refused_and_nothing_changes() -> None:
    envs = CartPoleVectorEnv(2)
    good, before = envs.checkpoint(), envs.checkpoint()
    message = r"word of the checkpoint is uint64 of shape \(3,\); it must be uint64 of shape \(2,\)"
    with pytest.raises(EnvironmentSpaceError, match=message):
        envs.restore(CartPoleVectorEnv(3).checkpoint())
    with pytest.raises(EnvironmentSpaceError, match="theta of the checkpoint is float32"):
        envs.restore({**good, "x": good["x"] + 1, "theta": np.zeros(2, np.float32)})
    with pytest.raises(EnvironmentSpaceError, match="the checkpoint has no 'word'"):
        envs.restore({"x": good["x"] + 1})
    assert all((array == before[name]).all() for name, array in envs.checkpoint().items())


@pytest.mark.parametrize("envs", [0, -1, 2.0, True])
def test_bad_number_of_environments_is_refused(envs: Any) -> None:
    with pytest.raises(EnvironmentSpaceError, match=f"envs is {envs}; .* 1 or more"):
        CartPoleVectorEnv(envs)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 1], r"actions are int64 of shape \(2,\); they must be integers of shape \(3,\)"),
        ([0.0, 1.0, 1.0], r"actions are float64 of shape \(3,\)"),
        ([0, 1, 2], "action of environment 2 is 2; it must be from 0 to 1"),
        ([0, -1, 0], "action of environment 1 is -1; it must be from 0 to 1"),
    ],
)
def test_bad_actions_are_refused_and_nothing_moves(actions: Any, message: str) -> None:
    envs = CartPoleVectorEnv(3)
    before = envs.checkpoint()
    with pytest.raises(EnvironmentSpaceError, match=message):
        envs.step(actions)
    assert all((array == before[name]).all() for name, array in envs.checkpoint().items())


@pytest.mark.parametrize(
    ("envs", "inputs", "actions"),
    [
        (CartPoleVectorEnv(2), 4, 2),
        (SnakeVectorEnv(2), 11, 3),
        (SnakeVectorEnv(2, "flood"), 14, 3),
        (SnakeVectorEnv(2, "state"), 0, 3),
    ],
    ids=["cartpole", "features", "flood", "state"],
)
def test_environments_tell_what_they_show_and_take(
    envs: VectorEnv, inputs: int, actions: int
) -> None:
    assert (envs.inputs, envs.actions) == (inputs, actions)
    shape = (2, inputs) if inputs else (2,)
    assert envs.observation.shape == envs.step([0, 0]).next_observation.shape == shape
    with pytest.raises(EnvironmentSpaceError, match=f"must be from 0 to {actions - 1}"):
        envs.step([0, actions])
