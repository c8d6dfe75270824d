"""Value iteration matches values worked by hand, plain sweeps, and Bellman's equation."""

import time
from typing import Any

import numpy as np
import pytest

from qstep.envs import GridWorld, make
from qstep.errors import ConfigError
from qstep.mdp.solve import solve
from qstep.mdp.world import World


def test_value_iteration_solves_a_corridor_and_a_tie_by_hand() -> None:
    solution = solve(World.from_env(GridWorld("S..G")), 0.5)
    assert solution.values.tolist() == pytest.approx([-1.25, -0.5, 1.0, 0.0])
    assert solution.optimal[:3].tolist() == [[False, False, False, True]] * 3
    assert solution.q[0].tolist() == pytest.approx([-1.625, -1.625, -1.625, -1.25])
    tied = solve(World.from_env(GridWorld("S.\n.G")), 0.9)
    assert tied.optimal[0].tolist() == [False, True, False, True]


def test_value_iteration_solves_slippery_frozen_lake() -> None:
    world = World.from_env(make("FrozenLake-v1", 0))
    solution = solve(world, 0.99)
    # V must satisfy Bellman's optimality equation, with probabilities in units of 2^-16.
    backup = np.zeros((16, 4))
    after = np.where(world.terminated, 0.0, solution.values[world.next_state])
    np.add.at(
        backup, (world.state, world.action), world.weight / 65536 * (world.reward + 0.99 * after)
    )
    np.testing.assert_allclose(backup.max(axis=1), solution.values, atol=1e-9)
    assert solution.values[0] == pytest.approx(0.5420, abs=1e-4)  # the published value of this map


@pytest.mark.parametrize(("text", "value"), [("S#G", -1e6), ("S.#.G", -1e6), ("S.G", 0.0)])
def test_value_iteration_ends_soon_where_an_episode_need_not(text: str, value: float) -> None:
    world = World.from_env(GridWorld(text))
    began = time.process_time()
    solution = solve(world, 0.999999)
    assert time.process_time() - began < 2
    assert solution.values[0] == pytest.approx(value, rel=1e-9, abs=1e-5)
    assert solution.optimal[0].tolist() == ([True] * 4 if value else [False, False, False, True])


def test_solution_is_that_of_sweeps_alone() -> None:
    for env_id in ("gridworld-16x16", "FrozenLake-v1"):
        world = World.from_env(make(env_id, 0))
        values = np.zeros(world.states)
        for _ in range(3000):
            worth = world.reward + 0.9 * ~world.terminated * values[world.next_state]
            q = np.bincount(
                world.state * world.actions + world.action, weights=world.probability * worth
            )
            values = q.reshape(world.states, -1).max(axis=1)
        np.testing.assert_allclose(solve(world, 0.9).values, values, atol=1e-9)


def test_a_large_world_is_solved_only_without_chance() -> None:
    states = 4097
    state, action = np.divmod(np.arange(2 * states), 2)
    following = np.where(action == 0, (state + 1) % states, state)
    rows: dict[str, Any] = {
        "state": state,
        "action": action,
        "next_state": following,
        "reward": state / states,
    }
    rows |= {"terminated": action == 1, "start_state": [0]}
    assert solve(World.from_arrays(**rows), 0.0).values[-1] == 4096 / 4097
    chance = {name: np.append(rows[name], rows[name][:1]) for name in list(rows)[:4]}
    half = {**rows, **chance, "terminated": np.append(rows["terminated"], True)}
    world = World.from_arrays(**half, probability=[0.5, *[1.0] * (2 * states - 1), 0.5])
    with pytest.raises(
        ConfigError, match=r"is stochastic and has 4097 states; .* up to 4096 states"
    ):
        solve(world, 0.9)


@pytest.mark.parametrize("gamma", [-0.1, 1.0, float("nan")])
def test_value_iteration_refuses_a_discount_that_does_not_contract(gamma: float) -> None:
    world = World.from_env(GridWorld("S.G"))
    with pytest.raises(ConfigError, match=f"gamma is {gamma}; .* at least 0 and below 1"):
        solve(world, gamma)


@pytest.mark.parametrize(
    ("env_id", "reward"),
    [("gridworld", 1.0), ("FrozenLake-v1", 1.0), ("CliffWalking-v1", -1.0), ("Taxi-v3", 20.0)],
)
def test_success_reward_is_that_of_the_goal(env_id: str, reward: float) -> None:
    world = World.from_env(make(env_id, 0))
    assert world.success_reward == reward


def test_visited_states_follow_the_allowed_actions() -> None:
    world = World.from_env(GridWorld("S..G\n...."))
    right_only = np.tile([False, False, False, True], (8, 1))
    assert np.flatnonzero(world.visited(right_only)).tolist() == [0, 1, 2]
    assert np.flatnonzero(world.visited(np.ones((8, 4), bool))).tolist() == [0, 1, 2, 4, 5, 6, 7]
