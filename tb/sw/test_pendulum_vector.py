"""`PendulumVectorEnv` gives the same numbers as Gymnasium's Pendulum-v1, and resets automatically."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from tb.sw.vector_steps import stepped

from qstep.envs.pendulum_vector import PendulumVectorEnv
from qstep.envs.splitmix import SplitMix64
from qstep.errors import ConfigError, EnvironmentSpaceError


def begun(num_envs: int, seed: int = 0) -> PendulumVectorEnv:
    envs = PendulumVectorEnv(num_envs)
    envs.reset(seed=seed)
    return envs


def state(envs: PendulumVectorEnv, index: int) -> list[float]:
    checkpoint = envs.checkpoint()
    return [float(checkpoint[name][index]) for name in ("theta", "theta_dot")]


def test_any_torques_go_as_in_gymnasium_and_episodes_end_after_200_steps() -> None:
    envs, rng = begun(3, seed=1), np.random.default_rng(0)
    theirs: list[gym.Env[Any, Any]] = [gym.make("Pendulum-v1") for _ in range(3)]

    def begin(index: int) -> None:
        theirs[index].reset(seed=0)
        theirs[index].unwrapped.state = np.array(state(envs, index))  # type: ignore[attr-defined]

    for index in range(3):
        begin(index)
    for number in range(1, 451):
        torque = rng.uniform(-2.5, 2.5, (3, 1)).astype(np.float32)  # also out of bounds
        outcome = stepped(envs, torque)
        assert outcome.truncated.tolist() == [number in (200, 400)] * 3
        for index, env in enumerate(theirs):
            seen, reward, terminated, truncated, _ = env.step(torque[index])
            assert (seen == outcome.next_observation[index]).all()
            assert np.float32(reward) == outcome.reward[index]
            assert (terminated, truncated) == (False, outcome.truncated[index])
            if truncated:
                begin(index)
            assert env.unwrapped.state.tolist() == state(envs, index)  # type: ignore[attr-defined]
            shown = env.unwrapped._get_obs()  # type: ignore[attr-defined]
            assert (shown == envs.observation[index]).all()


def test_start_states_are_the_documented_draws() -> None:
    envs = begun(2, seed=40)
    for index in range(2):
        chance = SplitMix64(40 + index)
        drawn = [most * (chance.below(1 << 31) / (1 << 30) - 1) for most in (np.pi, 1.0)]
        assert state(envs, index) == drawn


def test_illegal_torques_are_refused_and_nothing_moves() -> None:
    envs = begun(2)
    before = [state(envs, 0), state(envs, 1)]
    for torque, message in (
        (
            [0.0, 1.0],
            r"actions are float64 of shape \(2,\); they must be numbers of shape \(2, 1\)",
        ),
        ([["a"], ["b"]], r"actions are <U1 of shape \(2, 1\); they must be numbers"),
        ([[0.0], [np.nan]], "action of environment 1 is nan; it must be finite"),
    ):
        with pytest.raises(EnvironmentSpaceError, match=message):
            envs.step(torque)
    assert [state(envs, 0), state(envs, 1)] == before
    with pytest.raises(ConfigError, match="num_envs is 0; it must be an integer of 1 or more"):
        PendulumVectorEnv(0)
