"""Environments by name."""

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Discrete

from qstep.envs import STEP_CAP, GridWorld, make, table_size
from qstep.errors import ConfigError, EnvironmentSpaceError

pytestmark = pytest.mark.unit


class Shifted(gym.Env[Any, Any]):
    """States 10, 11, 12 and actions 5, 6: action 6 goes up by one, and 12 ends."""

    P: dict[int, Any] = {10: {}}  # noqa: RUF012 - as Gymnasium's toy text has it
    initial_state_distrib = np.ones(1)

    def __init__(self) -> None:
        self.observation_space = Discrete(3, start=10)
        self.action_space = Discrete(2, start=5)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.state = 10
        return self.state, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        assert action in (5, 6)
        self.state += action - 5
        return self.state, 0.0, self.state == 12, False, {}


@pytest.fixture
def shifted() -> Iterator[gym.Env[Any, Any]]:
    gym.register("qstep-test/Shifted-v0", entry_point=Shifted)
    yield make("qstep-test/Shifted-v0", 0)
    del gym.registry["qstep-test/Shifted-v0"]


@pytest.mark.parametrize(
    ("env_id", "states", "actions"),
    [
        ("gridworld", 25, 4),
        ("gridworld-8x8", 64, 4),
        ("gridworld-16x16", 256, 4),
        ("FrozenLake-v1", 16, 4),
        ("CliffWalking-v1", 48, 4),
        ("Taxi-v3", 500, 6),
    ],
)
def test_environment_is_made_by_name(env_id: str, states: int, actions: int) -> None:
    assert table_size(make(env_id, 0)) == (states, actions)


def test_spaces_are_shifted_to_start_at_0(shifted: gym.Env[Any, Any]) -> None:
    assert table_size(shifted) == (3, 2)
    assert shifted.reset()[0] == 0
    assert shifted.step(0)[0] == 0
    assert shifted.step(1)[0] == 1
    assert shifted.step(1)[:3] == (2, 0.0, True)
    assert shifted.observation_space == Discrete(3)
    assert shifted.action_space == Discrete(2)


def test_environment_without_a_limit_is_truncated_at_the_cap(shifted: gym.Env[Any, Any]) -> None:
    shifted.reset()
    ends = [shifted.step(0)[2:4] for _ in range(STEP_CAP)]
    assert ends == [(False, False)] * (STEP_CAP - 1) + [(False, True)]


def test_limit_of_an_environment_is_kept() -> None:
    env = make("Taxi-v3", 0)
    env.reset(seed=0)
    ends = [env.step(0)[3] for _ in range(200)]
    assert ends == [False] * 199 + [True]


@pytest.mark.parametrize(
    ("env_id", "message"),
    [
        ("CartPole-v1", r"CartPole-v1: the observation space is Box\("),
        ("Blackjack-v1", r"Blackjack-v1: the observation space is Tuple\("),
        ("Pendulum-v1", r"Pendulum-v1: the observation space is Box\("),
        ("Nothing-v0", "Nothing-v0: no such environment: .* one of gridworld, "),
        ("no id!", "no id!: no such environment"),
        ("no_such_module:Thing-v0", "no such environment: No module named 'no_such_module'"),
    ],
)
def test_unfit_environment_is_refused_by_name(env_id: str, message: str) -> None:
    with pytest.raises(EnvironmentSpaceError, match=message):
        make(env_id, 0)


def test_an_environment_is_named_and_not_given() -> None:
    with pytest.raises(
        EnvironmentSpaceError, match=r"environment is <.*; it must be the name of one"
    ):
        make(GridWorld("S.G"), 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [-1, None, 0.5], ids=repr)
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(ConfigError, match=f"seed is {seed}; it must be an integer of 0 or more"):
        make("gridworld", seed)
