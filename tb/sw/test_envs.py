"""Environments by name, and their exact optimum."""

import time
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Discrete

from qstep.envs import STEP_CAP, GridWorld, make, table_size
from qstep.errors import ConfigError, EnvironmentSpaceError
from qstep.learn.value_iteration import TransitionModel, solve, transition_model

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


def test_value_iteration_solves_a_corridor_by_hand() -> None:
    model = transition_model(GridWorld("S..G"))
    assert model is not None
    solution = solve(model, 0.5)
    assert solution.values.tolist() == pytest.approx([-1.25, -0.5, 1.0, 0.0])
    assert solution.optimal[:3].tolist() == [[False, False, False, True]] * 3
    assert solution.q[0].tolist() == pytest.approx([-1.625, -1.625, -1.625, -1.25])


def test_every_tied_action_is_optimal() -> None:
    model = transition_model(GridWorld("S.\n.G"))
    assert model is not None
    assert solve(model, 0.9).optimal[0].tolist() == [False, True, False, True]


def test_value_iteration_solves_slippery_frozen_lake() -> None:
    model = transition_model(make("FrozenLake-v1", 0))
    assert model is not None
    solution = solve(model, 0.99)
    # By hand: with all mass of the outcomes, V must satisfy Bellman's optimality equation.
    values = np.append(solution.values, 0.0)
    following = np.where(model.terminated, 16, model.next_state)
    backup = (model.probability * (model.reward + 0.99 * values[following])).sum(axis=2)
    np.testing.assert_allclose(backup.max(axis=1), solution.values, atol=1e-9)
    assert solution.values[0] == pytest.approx(0.5420, abs=1e-4)  # the published value of this map


@pytest.mark.parametrize(("text", "value"), [("S#G", -1e6), ("S.#.G", -1e6), ("S.G", 0.0)])
def test_value_iteration_ends_soon_where_an_episode_need_not(text: str, value: float) -> None:
    model = transition_model(GridWorld(text))
    assert model is not None
    began = time.process_time()
    solution = solve(model, 0.999999)
    assert time.process_time() - began < 2
    assert solution.values[0] == pytest.approx(value, rel=1e-9, abs=1e-5)
    assert solution.optimal[0].tolist() == ([True] * 4 if value else [False, False, False, True])


def test_solution_is_that_of_sweeps_alone() -> None:
    for env_id in ("gridworld-16x16", "FrozenLake-v1"):
        model = transition_model(make(env_id, 0))
        assert model is not None
        values = np.zeros(len(model.start))
        for _ in range(3000):
            worth = model.reward + 0.9 * ~model.terminated * values[model.next_state]
            values = (model.probability * worth).sum(axis=2).max(axis=1)
        np.testing.assert_allclose(solve(model, 0.9).values, values, atol=1e-9)


def test_chance_in_too_many_states_is_refused() -> None:
    shape = (4097, 2, 2)
    model = TransitionModel(
        np.full(shape, 0.5),
        np.zeros(shape, np.int32),
        np.zeros(shape),
        np.zeros(shape, np.bool_),
        np.eye(4097)[0],
    )
    with pytest.raises(ConfigError, match="chance in 4097 states; it can be solved for up to 4096"):
        solve(model, 0.9)


@pytest.mark.parametrize("gamma", [-0.1, 1.0, float("nan")])
def test_value_iteration_refuses_a_discount_that_does_not_contract(gamma: float) -> None:
    model = transition_model(GridWorld("S.G"))
    assert model is not None
    with pytest.raises(ConfigError, match=f"gamma is {gamma}; .* from 0 to below 1"):
        solve(model, gamma)


@pytest.mark.parametrize(
    ("env_id", "reward"),
    [("gridworld", 1.0), ("FrozenLake-v1", 1.0), ("CliffWalking-v1", -1.0), ("Taxi-v3", 20.0)],
)
def test_success_reward_is_that_of_the_goal(env_id: str, reward: float) -> None:
    model = transition_model(make(env_id, 0))
    assert model is not None
    assert model.success_reward == reward


def test_visited_states_follow_the_allowed_actions() -> None:
    model = transition_model(GridWorld("S..G\n...."))
    assert model is not None
    right_only = np.tile([False, False, False, True], (8, 1))
    assert np.flatnonzero(model.visited(right_only)).tolist() == [0, 1, 2]
    assert np.flatnonzero(model.visited(np.ones((8, 4), bool))).tolist() == [0, 1, 2, 4, 5, 6, 7]


def test_no_model_where_there_is_no_table_or_states_are_shifted(shifted: gym.Env[Any, Any]) -> None:
    assert transition_model(shifted) is None
    assert transition_model(gym.make("CartPole-v1", disable_env_checker=True)) is None


def test_an_environment_is_named_and_not_given() -> None:
    with pytest.raises(
        EnvironmentSpaceError, match=r"environment is <.*; it must be the name of one"
    ):
        make(GridWorld("S.G"), 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [-1, None, 0.5], ids=repr)
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(ConfigError, match=f"seed is {seed}; it must be an integer of 0 or more"):
        make("gridworld", seed)
