"""The integer worlds move like Gymnasium's, never overflow, and behave the same when compiled."""

import hashlib
from itertools import product
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from qstep._io.compiled import compiled
from qstep.spec.integer_worlds import CART_POLE, INTEGER_WORLDS, MOUNTAIN_CAR, IntegerWorld, State

WORLDS = [pytest.param(world, id=env_id) for env_id, world in INTEGER_WORLDS.items()]
IN_ONE = {
    "MountainCar-v0": np.array([1 << 23, 1 << 23]),
    "CartPole-v1": np.array([1, 0.02, 1, 0.02]) * (1 << 26),
}
"""Number of raw units that correspond to 1.0 in each component of Gymnasium's state."""


def followed(world: IntegerWorld, steps: int, episodes: int) -> tuple[list[float], int]:
    """Return each state component's largest difference from Gymnasium, and how many ends differ."""
    rng, units = np.random.default_rng(0), IN_ONE[world.env_id]
    env: Any = gym.make(world.env_id).unwrapped
    largest, other_ends = np.zeros(len(units)), 0
    for _ in range(episodes):
        state = world.start(int(rng.integers(1 << 16)))
        env.reset(seed=0)
        env.state = np.array(state) / units
        for _ in range(steps):
            action = int(rng.integers(world.actions))
            _, reward, terminated, _, _ = env.step(action)
            assert reward == world.reward
            state, ended = world.move(world.columns, state, action)
            largest = np.maximum(largest, abs(np.array(state) / units - env.state))
            other_ends += ended != terminated
            if ended or terminated:
                break
    return largest.tolist(), other_ends


def test_mountain_car_goes_as_in_gymnasium() -> None:
    # A cell of the table is 1/512 wide, so the force is off by up to 7e-6 in each of 200 steps.
    largest, other_ends = followed(MOUNTAIN_CAR, 200, 100)
    assert (np.array(largest) <= [0.002, 0.00015]).all(), largest
    assert other_ends == 0


def test_cart_pole_goes_as_in_gymnasium() -> None:
    # A cell of the table is 1/2048 rad wide, and 12.5 steps multiply a difference of angles by e.
    largest, other_ends = followed(CART_POLE, 40, 300)
    assert (np.array(largest) <= [0.00013, 0.0005, 0.0023, 0.009]).all(), largest
    assert other_ends <= 1


@pytest.mark.parametrize("world", WORLDS)
def test_description_is_gymnasiums(world: IntegerWorld) -> None:
    env = gym.make(world.env_id)
    assert env.action_space == gym.spaces.Discrete(world.actions)
    assert env.spec is not None
    assert env.spec.max_episode_steps == world.max_episode_steps
    assert env.observation_space.shape == (len(world.units),) == (len(world.limits),)
    ratio = IN_ONE[world.env_id] / np.array(world.units)
    shifts = np.log2(ratio)
    assert (shifts == shifts.round()).all()
    state = tuple(int(high) for _, high in world.limits)
    assert world.observe(state) == tuple(x >> int(by) for x, by in zip(state, shifts, strict=True))


@pytest.mark.parametrize(
    ("world", "digest"),
    [
        (MOUNTAIN_CAR, "d7635c520945e11eb824c524e049be9d3df88e66b3534aeb3ed1a1e4e7d19861"),
        (CART_POLE, "e852d96d3e63f6bcaedd48091dd94f4758a694ae9f0ddae455adfb17fdb9b894"),
    ],
    ids=["MountainCar-v0", "CartPole-v1"],
)
def test_tables_are_the_same_on_every_machine(world: IntegerWorld, digest: str) -> None:
    assert hashlib.sha256(np.array(world.columns, "<i2").tobytes()).hexdigest() == digest


@pytest.mark.parametrize(("world", "spread"), [(MOUNTAIN_CAR, 0.1), (CART_POLE, 0.05)])
def test_every_draw_is_a_start_of_gymnasium(world: IntegerWorld, spread: float) -> None:
    starts = np.array([world.start(draw) for draw in range(1 << 16)]) / IN_ONE[world.env_id]
    middle = [-0.5, 0.0] if world is MOUNTAIN_CAR else [0.0] * 4
    assert (abs(starts - middle) <= spread).all()
    assert np.abs(starts.mean(axis=0) - middle).max() < 0.001
    moving = starts[:, 0] if world is MOUNTAIN_CAR else starts
    assert moving.std() == pytest.approx(spread / 3**0.5, rel=0.01)  # uniform distribution
    assert len(np.unique(starts, axis=0)) == 1 << 16


def fits(value: int, bits: int) -> bool:
    return -(1 << bits - 1) <= value < 1 << bits - 1


def test_no_number_of_cart_pole_leaves_its_width() -> None:
    """Intermediate results are monotonic in all inputs but the cell, so extremes are at the corners."""
    (_, far), (_, fast), (_, steep), (_, turning) = CART_POLE.limits
    square = ((turning >> 9) ** 2) >> 16
    assert fits(turning >> 9, 17)
    assert fits(square, 17)
    turns, speed_ups = [0], [0]
    for cell in range((-steep >> 15) + 512, (steep >> 15) + 513):
        fall, swing, torque, back, out, push = (column[cell] for column in CART_POLE.columns)
        assert fits(swing * square, 32)
        assert fits(out * square, 32)
        for squared, sign in product((0, square), (-1, 1)):
            turns.append((fall << 2) - ((swing * squared) >> 12) - sign * (torque << 4))
            speed_ups.append(back + ((out * squared) >> 13) + sign * (push << 3))
    assert all(fits(turn, 21) for turn in turns)
    assert all(fits(speed_up, 20) for speed_up in speed_ups)
    # A velocity that did not end the episode stays within the limits after one more step.
    assert 2 * far + max(map(abs, speed_ups)) <= fast
    assert 2 * steep + max(map(abs, turns)) <= turning
    assert fits(far + fast, 30)
    assert fits(steep + turning, 27)
    assert fits(turning, 26)
    assert fits(fast, 30)
    assert all(fits(x, 16) for column in CART_POLE.columns for x in column)
    for state in product((-far - fast, far + fast), (-fast, fast), (-steep - turning, steep + turning),
                         (-turning, turning)):  # fmt: skip
        assert all(fits(x, 16) for x in CART_POLE.observe(state))


def test_no_number_of_mountain_car_leaves_its_width() -> None:
    (wall, right), (_, fast) = MOUNTAIN_CAR.limits
    assert all(fits(x, 16) for x in MOUNTAIN_CAR.columns[0])
    assert 0 <= (right - wall) >> 14 < len(MOUNTAIN_CAR.columns[0])
    assert fits(fast + 8389 + max(MOUNTAIN_CAR.columns[0]), 21)
    assert fits(wall - fast, 25)
    assert fits(right + fast, 25)
    for state in product((wall, right + fast), (-fast, fast)):
        assert all(fits(x, 16) for x in MOUNTAIN_CAR.observe(state))


def test_wall_stops_the_car_and_the_goal_ends_the_episode() -> None:
    (wall, right), (_, fast) = MOUNTAIN_CAR.limits
    state, ended = MOUNTAIN_CAR.move(MOUNTAIN_CAR.columns, (wall + 5, -fast), 0)
    assert (state, ended) == ((wall, 0), False)
    state, ended = MOUNTAIN_CAR.move(MOUNTAIN_CAR.columns, (right, fast), 2)
    assert state == (right + fast, fast)
    assert ended


@pytest.mark.parametrize("world", WORLDS)
def test_compiled_world_is_the_plain_one(world: IntegerWorld) -> None:
    columns = tuple(np.array(column, np.int32) for column in world.columns)
    move, observe, start = (compiled(part) for part in (world.move, world.observe, world.start))
    rng = np.random.default_rng(1)
    low, high = np.array(world.limits).T
    for state in rng.integers(low, high, size=(3000, len(low)), endpoint=True):
        given: State = tuple(state.tolist())
        for action in range(world.actions):
            following, ended = world.move(world.columns, given, action)
            assert move(columns, given, action) == (following, ended)
            assert observe(following) == world.observe(following)
    for draw in range(0, 1 << 16, 97):
        assert start(draw) == world.start(draw)
