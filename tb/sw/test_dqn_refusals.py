"""DQN refuses what it cannot learn, and says what would be legal."""

import re
from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiBinary
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from tb.sw.dqn_learner import CPU, SMALL, learner

from qstep.deep.dqn import Dqn
from qstep.deep.dqn_plain import PlainDqn
from qstep.deep.pqn import Pqn
from qstep.deep.run import Run
from qstep.deep.spaces import Spaces
from qstep.errors import ConfigError, EnvironmentSpaceError

BOX = Box(-1, 1, (4,), np.float32)
SEEN = "; a network needs a Box of floats or a Discrete"
ACTS = "; a network needs a Discrete one"


@pytest.mark.parametrize("form", [Dqn, Pqn, PlainDqn])
@pytest.mark.parametrize(
    ("seen", "acts", "message"),
    [
        (Box(0, 255, (3,), np.uint8), Discrete(2), "is Box(0, 255, (3,), uint8)" + SEEN),
        (MultiBinary(3), Discrete(2), "the observation space is MultiBinary(3)" + SEEN),
        (BOX, Box(-2, 2, (1,)), "the action space is Box(-2.0, 2.0, (1,), float32)" + ACTS),
        (
            Discrete(3, start=1),
            Discrete(2),
            "a space is Discrete(3, start=1); a network needs one that",
        ),
        (
            BOX,
            Discrete(2, start=-1),
            "a space is Discrete(2, start=-1); a network needs one that start",
        ),
        (Discrete(5000), Discrete(2), "is Discrete(5000), 5000 numbers; a network needs 1 to 4096"),
    ],
)
def test_environment_whose_spaces_do_not_fit_is_refused_before_it_is_reset(
    form: Any, seen: Any, acts: Any, message: str
) -> None:
    class Untouched(gym.Env[Any, Any]):
        observation_space, action_space = seen, acts

        def reset(self, **options: Any) -> Any:
            raise AssertionError("it was reset")

    envs = SyncVectorEnv([Untouched], autoreset_mode=AutoresetMode.SAME_STEP)
    given = (Untouched(), SMALL, CPU, 8) if form is PlainDqn else (envs, SMALL, CPU)
    with pytest.raises(EnvironmentSpaceError, match=re.escape(message)):
        form(*given)


def test_environments_that_reset_in_the_next_step_are_refused() -> None:
    envs = SyncVectorEnv([lambda: gym.make("CartPole-v1")])
    with pytest.raises(
        EnvironmentSpaceError,
        match=r"autoreset_mode of the environments is AutoresetMode\.NEXT_STEP; it must be .*SAME_STEP",
    ):
        Dqn(envs, SMALL, CPU)


@pytest.mark.parametrize(
    ("space", "given", "numbers"),
    [
        (Discrete(3), [0, 2], [[1, 0, 0], [0, 0, 1]]),
        (Box(0, 9, (2, 2), np.float64), [[[1, 2], [3, 4]]], [[1, 2, 3, 4]]),
        (Box(0, 9, (), np.float32), [6, 7], [[6], [7]]),
    ],
)
def test_network_reads_a_discrete_as_one_number_a_value_and_a_box_row_by_row(
    space: Any, given: Any, numbers: Any
) -> None:
    spaces = Spaces(space, Discrete(2))
    read = spaces.numbers(np.array(given, space.dtype))
    assert read.dtype == np.float32
    assert read.tolist() == numbers
    assert spaces.inputs == len(numbers[0])


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


def test_environments_that_keep_no_state_have_no_checkpoint() -> None:
    one = partial(gym.make, "CartPole-v1")
    envs = SyncVectorEnv([one, one], autoreset_mode=AutoresetMode.SAME_STEP)
    made = Dqn(envs, SMALL, CPU)
    assert not made.resumable
    with pytest.raises(ConfigError, match="has no checkpoints: a Gymnasium environment cannot"):
        made.checkpoint()


def test_another_error_of_pytorch_comes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError("no kernel")

    monkeypatch.setattr("qstep.deep.run.Dqn", fails)
    with pytest.raises(RuntimeError, match="no kernel"):
        Run("cartpole", "fast", SMALL, CPU, evaluate_every=50)
