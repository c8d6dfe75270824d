"""`CartPoleVectorEnv` gives the same numbers as Gymnasium's CartPole-v1, and resets automatically."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.typing import NDArray
from tb.sw.vector_steps import Outcome, poles, stepped

from qstep.envs.cartpole_vector import CartPoleVectorEnv
from qstep.envs.splitmix import SplitMix64

NUMBERS = ("x", "x_dot", "theta", "theta_dot")


def numbers(envs: CartPoleVectorEnv, index: int) -> list[float]:
    checkpoint = envs.checkpoint()
    return [float(checkpoint[name][index]) for name in NUMBERS]


class Pole:
    """Gymnasium's environment, set to the state of one of `envs` whenever an episode begins."""

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

    def follow(self, action: int, outcome: Outcome) -> None:
        """Repeat the environment's step, and compare all results."""
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
    """Return actions that balance a pole for a long time, usually to the end of the episode."""
    return (seen @ [0.1, 0.3, 3.0, 1.0] > 0).astype(np.int64)


def test_any_actions_go_as_in_gymnasium() -> None:
    rng = np.random.default_rng(0)
    envs = poles(4, seed=3)
    followers = [Pole(envs, i) for i in range(4)]
    ends = 0
    for _ in range(1000):
        actions = rng.integers(2, size=4)
        outcome = stepped(envs, actions)
        ends += int(outcome.terminated.sum())
        for i, pole in enumerate(followers):
            pole.follow(int(actions[i]), outcome)
    assert ends > 100


def test_long_episodes_go_as_in_gymnasium_and_are_truncated_after_500_steps() -> None:
    envs = poles(3, seed=5)
    followers = [Pole(envs, i) for i in range(3)]
    for number in range(1, 1101):
        actions = balanced(envs.observation)
        outcome = stepped(envs, actions)
        for i, pole in enumerate(followers):
            pole.follow(int(actions[i]), outcome)
        assert outcome.truncated.tolist() == [number in (500, 1000)] * 3
        assert not outcome.terminated.any()


def test_step_that_terminates_is_not_truncated_where_it_is_the_last_one() -> None:
    envs = poles(1)
    falling = {**envs.checkpoint(), "theta": np.array([0.2]), "theta_dot": np.array([3.0])}
    envs.restore({**falling, "steps": np.array([499], np.int32)})
    outcome = stepped(envs, [0])
    assert (outcome.terminated[0], outcome.truncated[0]) == (True, False)


def test_comparison_notices_the_last_bit() -> None:
    envs = poles(1)
    pole = Pole(envs, 0)
    pole.bare.state[0] = np.nextafter(pole.bare.state[0], 1)
    with pytest.raises(AssertionError):
        pole.follow(0, stepped(envs, [0]))


def test_start_states_are_the_documented_draws() -> None:
    envs = poles(2, seed=40)
    for index in range(2):
        chance = SplitMix64(40 + index)
        drawn = [0.05 * (chance.below(1 << 31) / (1 << 30) - 1) for _ in NUMBERS]
        assert numbers(envs, index) == drawn
    starts = np.array([numbers(poles(1, seed=s), 0) for s in range(500)])
    assert np.abs(starts).max() <= 0.05
    assert np.abs(starts.mean(axis=0)).max() < 0.005
    assert starts.std() == pytest.approx(0.05 / np.sqrt(3), rel=0.05)  # uniform distribution


def test_autoreset_shows_the_new_episode_and_keeps_where_the_old_one_ended() -> None:
    envs = poles(1)
    envs.restore({**envs.checkpoint(), "x": np.array([2.39]), "x_dot": np.array([3.0])})
    outcome = stepped(envs, [1])
    assert outcome.terminated[0]
    assert outcome.next_observation[0, 0] > 2.4
    assert np.abs(envs.observation).max() <= 0.05
