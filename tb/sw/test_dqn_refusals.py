"""DQN rejects settings and environments that it cannot learn, and names the legal ones."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiBinary
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from tb.sw.dqn_learner import CPU, SMALL, learner, run_of

from qstep.deep.config import DqnConfig
from qstep.deep.dqn import Dqn
from qstep.deep.dqn_plain import PlainDqn
from qstep.deep.network import Spaces
from qstep.deep.pqn import Pqn
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
        (Discrete(3, start=1), Discrete(2), "a space is Discrete(3, start=1); it must start at 0"),
        (BOX, Discrete(2, start=-1), "a space is Discrete(2, start=-1); it must start"),
        (Discrete(5000), Discrete(2), "is Discrete(5000), 5000 numbers; a network needs 1 to 4096"),
    ],
)  # fmt: skip
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


def small(**changes: Any) -> DqnConfig:
    return replace(SMALL, **changes)


POLE = gym.make("CartPole-v1")


def stateless(mode: AutoresetMode) -> SyncVectorEnv:
    """Return environments that cannot save their state."""
    return SyncVectorEnv([partial(gym.make, "CartPole-v1")] * 2, autoreset_mode=mode)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: small(batch_size=600), ConfigError,
         "batch_size is 600, larger than buffer_size, 512; make it smaller"),
        (lambda: small(learning_starts=15), ConfigError,
         "learning_starts is 15; it must be from batch_size, 16, to buffer_size, 512"),
        (lambda: small(learning_starts=513), ConfigError,
         "learning_starts is 513; it must be from batch_size"),
        (lambda: small(total_timesteps=0), ConfigError,
         "total_timesteps is 0; it must be an integer of 1 or more"),
        (lambda: small(gradient_steps=0), ConfigError,
         "gradient_steps is 0; it must be an integer from 1 to"),
        (lambda: small(gamma=1.5), ConfigError, "gamma is 1.5; it must be from 0 to 1"),
        (lambda: small(tau=-0.1), ConfigError, "tau is -0.1; it must be from 0 to 1"),
        (lambda: small(learning_rate=float("nan")), ConfigError,
         "learning_rate is nan; it must be finite and at least 0"),
        (lambda: small(reward_scale=float("inf")), ConfigError,
         "reward_scale is inf; it must be finite"),
        (lambda: small(hidden=()), ConfigError,
         r"hidden is \(\); it must list the units of one or more layers"),
        (lambda: small(hidden="64"), ConfigError,
         "hidden is '64'; it must list the units of one or more layers"),
        (lambda: small(gamma="x"), ConfigError, "gamma is 'x'; it must be a number from 0 to 1"),
        (lambda: small(epsilon=0.1), ConfigError, r"epsilon is 0\.1; it must be an Epsilon"),
        (lambda: small(hidden=(8, 0)), ConfigError,
         "a layer of hidden is 0; it must be an integer from 1 to"),
        (lambda: small(variant="triple"), ConfigError,
         "variant is 'triple'; it must be one of single, target, double"),
        (lambda: small(seed=-1), ConfigError,
         r"seed is -1; it must be an integer from 0 to 2\^64-1"),
        (lambda: PlainDqn(POLE, small(prioritised=True), CPU, num_envs=8), ConfigError,
         "prioritised is true; it must be false with plain code"),
        (lambda: PlainDqn(POLE, SMALL, CPU, num_envs=3), ConfigError,
         "num_envs is 3; it must be a multiple of gradient_steps"),
        (lambda: learner(num_envs=600), ConfigError,
         "num_envs is 600; it must be from 1 to buffer_size, 512"),
        (lambda: Dqn(stateless(AutoresetMode.SAME_STEP), SMALL, CPU).checkpoint(), ConfigError,
         "has no checkpoints; only dqn, pqn and sac on environments of make_vector have them"),
        (lambda: Dqn(stateless(AutoresetMode.NEXT_STEP), SMALL, CPU), EnvironmentSpaceError,
         r"autoreset_mode of the environments is AutoresetMode\.NEXT_STEP; it must be .*SAME_STEP"),
    ],
)  # fmt: skip
def test_bad_dqn_is_refused(call: Callable[[], object], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_another_error_of_pytorch_comes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError("no kernel")

    monkeypatch.setattr("qstep.deep.algorithms.Dqn", fails)
    with pytest.raises(RuntimeError, match="no kernel"):
        run_of("cartpole", "dqn", SMALL, evaluate_every=50)


def test_environments_that_keep_no_state_are_not_resumable() -> None:
    assert not Dqn(stateless(AutoresetMode.SAME_STEP), SMALL, CPU).resumable
