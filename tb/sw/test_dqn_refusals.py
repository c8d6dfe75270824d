"""DQN refuses what it cannot learn, and says what would be legal."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from tb.sw.dqn_learner import CPU, SMALL, learner

from qstep.deep.dqn import Dqn
from qstep.deep.dqn_plain import PlainDqn
from qstep.envs.snake_vector import SnakeVectorEnv
from qstep.errors import ConfigError, EnvironmentSpaceError

pytestmark = pytest.mark.unit


def test_environments_that_show_an_index_are_refused() -> None:
    with pytest.raises(
        EnvironmentSpaceError, match="the environments show one index; a network needs"
    ):
        Dqn(SnakeVectorEnv(4, "state"), SMALL, CPU)


BOX = Box(-1, 1, (4,), np.float32)
SEEN = "; DQN needs a Box of float32 and one dimension"
ACTS = "; DQN needs a Discrete that starts at 0"


@pytest.mark.parametrize(
    ("seen", "acts", "message"),
    [
        (Discrete(16), Discrete(2), "the observation space is Discrete(16)" + SEEN),
        (Box(0, 1, (3, 3), np.float32), Discrete(2), "(3, 3), float32)" + SEEN),
        (Box(0, 1, (3,), np.float64), Discrete(2), "is Box(0.0, 1.0, (3,), float64)" + SEEN),
        (Box(0, 255, (3,), np.uint8), Discrete(2), "is Box(0, 255, (3,), uint8)" + SEEN),
        (
            BOX,
            Box(-2, 2, (1,), np.float32),
            "the action space is Box(-2.0, 2.0, (1,), float32)" + ACTS,
        ),
        (BOX, Discrete(2, start=1), "the action space is Discrete(2, start=1)" + ACTS),
    ],
)
def test_environment_whose_spaces_do_not_fit_is_refused_before_it_is_reset(
    seen: Any, acts: Any, message: str
) -> None:
    class Untouched(gym.Env[Any, Any]):
        observation_space, action_space = seen, acts

        def reset(self, **options: Any) -> Any:
            raise AssertionError("it was reset")

    with pytest.raises(EnvironmentSpaceError, match=re.escape(message)):
        PlainDqn(Untouched(), SMALL, CPU, num_envs=8)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_size": 600}, "batch_size is 600, larger than buffer_size, 512; make it smaller"),
        (
            {"learning_starts": 15},
            "learning_starts is 15; it must be from batch_size, 16, to buffer_size, 512",
        ),
        ({"learning_starts": 513}, "learning_starts is 513; it must be from batch_size"),
        ({"total_timesteps": 0}, "total_timesteps is 0; it must be 1 or more"),
        ({"gradient_steps": 0}, "gradient_steps is 0; it must be 1 or more"),
        ({"gamma": 1.5}, "gamma is 1.5; it must be from 0 to 1"),
        ({"tau": -0.1}, "tau is -0.1; it must be from 0 to 1"),
        ({"learning_rate": float("nan")}, "learning_rate is nan; it must be finite, 0 or more"),
        ({"reward_scale": float("inf")}, "reward_scale is inf; it must be finite"),
        ({"hidden": ()}, r"hidden is \(\); it must be one layer or more"),
        ({"hidden": (8, 0)}, r"hidden is \(8, 0\); it must be one layer or more"),
        ({"variant": "triple"}, "variant is 'triple'; it must be one of single, target, double"),
        ({"seed": -1}, r"seed is -1; it must be an integer from 0 to 2\^64-1"),
    ],
)
def test_illegal_configuration_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        replace(SMALL, **changes)


def test_plain_form_says_what_it_lacks() -> None:
    env = gym.make("CartPole-v1")
    with pytest.raises(ConfigError, match="prioritised replay is for the fast form"):
        PlainDqn(env, replace(SMALL, prioritised=True), CPU, num_envs=8)
    with pytest.raises(ConfigError, match="num_envs is 3; it must be a multiple of gradient_steps"):
        PlainDqn(env, SMALL, CPU, num_envs=3)


def test_more_environments_than_the_replay_has_rows_are_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"there are 600 environments; a step of theirs must fit .* 512"
    ):
        learner(num_envs=600)
