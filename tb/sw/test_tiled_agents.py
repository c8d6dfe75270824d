"""In a tiled world, the plain model makes the documented update, and the compiled one does the same."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from qstep.errors import QStepError
from qstep.golden.agents import ActingModel
from qstep.golden.agents_fast import FastActingModel
from qstep.golden.lane import Model
from qstep.golden.tiled_fast import FastTiledModel
from qstep.mdp.tiled import TiledWorld
from qstep.mdp.world import World
from qstep.spec.agents import Acting, Algorithm
from qstep.spec.config import Config
from qstep.spec.epsilon import KINDS, UNITS, Epsilon
from qstep.spec.fixed import Rounding
from qstep.spec.integer_worlds import CART_POLE, MOUNTAIN_CAR, IntegerWorld
from qstep.spec.settings import AgentSettings, Hyperparameters
from qstep.spec.tiles import Tiles

POOLED = [own for own in Algorithm if own is not Algorithm.DOUBLE_Q_LEARNING]
Pair = tuple[ActingModel, FastTiledModel]


def car_tiles(tiles: int = 3, tilings: int = 2, rows: int | None = None) -> Tiles:
    return Tiles([-1.2, -0.07], [0.6, 0.07], tiles, tilings, None, MOUNTAIN_CAR.units, rows)


def pole_tiles(tiles: Any = 3, rows: int | None = None) -> Tiles:
    bounds = [2.4, 3.0, 0.21, 3.5]
    groups = [(2, 3), (0,)]
    return Tiles([-x for x in bounds], bounds, tiles, 2, groups, CART_POLE.units, rows)


def pair_of(
    world: IntegerWorld, tiles: Tiles, own: Sequence[AgentSettings], limit: int = 0, **given: Any
) -> Pair:
    """Return both models, with this step limit."""
    acting = Acting(agents=len(own), **{k: given.pop(k) for k in ("algorithm", "shared_table")})
    config = Config(max(tiles.rows, 2), world.actions, acting=acting, planes=tiles.planes, **given)
    tiled = TiledWorld(replace(world, max_episode_steps=limit, tiles=tiles), config)
    return ActingModel(config, tiled, own), FastTiledModel(config, tiled, own)


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    rows = draw(st.sampled_from([None, 8]))
    world, tiles, algorithm, number_format = draw(
        st.sampled_from(  # each one needs a loop to be compiled
            [
                (MOUNTAIN_CAR, car_tiles(rows=rows), Algorithm.Q_LEARNING, "Q4.4"),
                (CART_POLE, pole_tiles([4, 1, 3, 5], rows), Algorithm.Q_LEARNING, "Q8.8"),
                (CART_POLE, pole_tiles(3, rows), Algorithm.Q_LEARNING, "Q16.16"),
                (CART_POLE, pole_tiles(5, rows), Algorithm.SARSA, "Q8.8"),
                (CART_POLE, pole_tiles(4, rows), Algorithm.EXPECTED_SARSA, "Q8.8"),
            ]
        )
    )
    bits = draw(st.sampled_from([15, 18, 24]))
    share = st.sampled_from([0.0, 0.03, 0.4, 1.0])
    own = []
    for _ in range(draw(st.sampled_from([1, 2, 3]))):
        low, high = sorted((draw(share), draw(share)))
        schedule = draw(st.sampled_from(KINDS[1:])), draw(st.integers(1, 300))
        falling = Epsilon(high, low, *schedule, draw(st.sampled_from(UNITS[:2])))
        epsilon = draw(st.sampled_from([Epsilon(high), falling]))
        alpha = draw(st.sampled_from([0.1, 0.5, 0.9])) * min(1.0, 2.0 ** (16 - bits))
        own.append(AgentSettings(alpha, 0.9, epsilon, draw(st.integers(0, 2**64 - 1))))
    return pair_of(
        world,
        tiles,
        own,
        draw(st.sampled_from([0, 1, 9])),
        algorithm=algorithm,
        shared_table=draw(st.booleans()),
        format=number_format,
        rounding=draw(st.sampled_from(Rounding)),
        coefficient_bits=bits,
    )


def assert_equal(plain: ActingModel, fast: FastTiledModel) -> None:
    """Check that both models match in everything that can be read."""
    assert (fast.table == plain.table).all()
    assert fast.states == plain.states
    assert fast.counters == plain.counters


@pytest.mark.slow
@settings(max_examples=25)
@given(pairs(), st.lists(st.integers(0, 70), max_size=4))
def test_compiled_tiled_model_is_the_plain_one(pair: Pair, pieces: list[int]) -> None:
    plain, fast = pair
    assert_equal(plain, fast)
    for steps in pieces:
        assert len(list(plain.run(steps))) == steps * len(plain.states)
        fast.run(steps)
        assert_equal(plain, fast)
    if sum(pieces):
        plain.restore(fast.table, fast.states, fast.counters)
    fast.run(3)
    fast.restore(plain.table, plain.states, plain.counters)  # undoes this
    for model in pair:
        model.configure([replace(own, alpha=own.alpha / 2) for own in model.settings])
    list(plain.run(5))
    fast.run(5)
    assert_equal(plain, fast)


def test_models_are_equal_where_episodes_end_and_weights_saturate() -> None:
    own = [AgentSettings(0.5, 0.9, Epsilon(0.5), seed) for seed in (1, 2)]
    pair = pair_of(
        MOUNTAIN_CAR, car_tiles(), own, 9, algorithm="q-learning", shared_table=True, format="Q4.4"
    )
    plain, fast = pair
    for k, place in enumerate([(4194303, 587203), (-10066330, -587203)]):
        plain.states[k].state, plain.states[k].begun = place, True
    table = np.full(plain.table.shape, plain.config.format.maximum, np.int32)
    table[0] = plain.config.format.minimum  # so values start near 0 and decrease
    for model in pair:
        model.restore(table, plain.states, plain.counters)
    steps = list(plain.run(300))
    fast.run(300)
    assert_equal(plain, fast)
    assert steps[0].terminated
    assert all(count.truncations for count in fast.counters)
    assert all(count.saturations for count in fast.counters)
    assert not (fast.table == table).all()


@pytest.mark.parametrize("algorithm", POOLED)
@pytest.mark.parametrize("world", [MOUNTAIN_CAR, CART_POLE], ids=lambda own: str(own.env_id))
def test_every_step_is_the_documented_update(world: IntegerWorld, algorithm: Algorithm) -> None:
    """Each plane's weight changes by d = round((alpha (r - Q) + kappa m) / 2^f), with saturation."""
    tiles = car_tiles() if world is MOUNTAIN_CAR else pole_tiles()
    own = [AgentSettings(0.1, 0.95, Epsilon(0.3), 5)]
    model, _ = pair_of(
        world, tiles, own, 30, algorithm=algorithm, shared_table=False, coefficient_bits=18
    )
    weights = np.zeros((tiles.planes, tiles.rows, world.actions), np.int64)
    planes = np.arange(tiles.planes)
    alpha, kappa = round(0.1 * 2**18), round(0.1 * 0.95 * 2**18)
    for step in model.run(400):
        rows, following = (
            list(tiles.of(world.observe(state))) for state in (step.state, step.next_state)
        )
        sums = weights[planes, following].sum(axis=0)
        old = weights[planes, rows].sum(axis=0)[step.action]
        target = sums.max()
        if algorithm is not Algorithm.Q_LEARNING:
            if step.terminated or step.truncated:
                weights[...] = model.table  # the next action is not in the trace
                continue
            target = sums[model.states[0].action]
            if algorithm is Algorithm.EXPECTED_SARSA:
                share = (int(0.3 * 2**16 + 0.5) * round(2**16 / world.actions)) >> 16
                below = world.actions * sums.max() - sums.sum()
                target = sums.max() - ((share * below + 2**15) >> 16)
        target = 0 if step.terminated else target
        change = (alpha * (step.reward - old) + kappa * target + 2**17) >> 18
        entries = planes, rows, step.action
        weights[entries] = np.clip(weights[entries] + change, -32768, 32767)
        assert (weights.reshape(model.table.shape) == model.table).all()


@pytest.mark.slow
def test_one_plane_gives_the_bits_of_a_table() -> None:
    tiles = car_tiles(tiles=8, tilings=1)
    own = AgentSettings(0.5, 0.9, Epsilon(0.4), 3)
    model, fast = pair_of(
        MOUNTAIN_CAR, tiles, [own], 200, algorithm="q-learning", shared_table=False
    )
    table = Model(Config(tiles.rows, 3))
    table.configure(Hyperparameters(0.5, 0.9))
    assert model.table.shape == (81, 3)
    for step in model.run(3000):
        (row,), (following,) = (
            tiles.of(MOUNTAIN_CAR.observe(state)) for state in (step.state, step.next_state)
        )
        table.update(row, step.action, step.reward, following, step.terminated)
    assert (table.table == model.table).all()
    fast.run(3000)
    assert_equal(model, fast)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["state", "word", "table"])
def test_comparison_of_tiled_agents_sees_a_planted_fault(fault: str) -> None:
    own = [AgentSettings(seed=4)]
    plain, fast = pair_of(CART_POLE, pole_tiles(), own, algorithm="q-learning", shared_table=False)
    fast.run(10)
    list(plain.run(10))
    states, table = fast.states, fast.table.copy()
    if fault == "table":
        table[3, 15, 1] += 1
    elif fault == "word":
        states[0].word ^= 2
    else:
        states[0].state = (states[0].state[0] ^ 1, *states[0].state[1:])
    fast.restore(table, states, fast.counters)
    with pytest.raises(AssertionError):
        assert_equal(plain, fast)


CONFIG = Config(16, 2, acting=Acting(), planes=4)
SMALL_POLE = replace(CART_POLE, tiles=pole_tiles())
ONE_PLANE = replace(MOUNTAIN_CAR, tiles=car_tiles(tilings=1))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Config(16, 2, planes=17, acting=Acting()),
         "planes is 17; it must be an integer from 1 to 16"),
        (lambda: Config(16, 2, planes=2), "planes is 2; it must be 1 without agents"),
        (lambda: Config(16, 2, planes=2, acting=Acting(algorithm="double-q")),
         "planes is 2; it must be 1 where acting.algorithm is 'double-q'"),
        (lambda: replace(CART_POLE, tiles=Tiles([0.0] * 4, [1.0] * 4)),
         r"units of tiles are \(65536.0, .*; those of CartPole-v1 are \(4096.0, 81.92, "),
        (lambda: TiledWorld(replace(MOUNTAIN_CAR, tiles=car_tiles()), CONFIG),
         "actions is 2; the world and its tiles need 3"),
        (lambda: TiledWorld(SMALL_POLE, replace_config(planes=3)),
         "planes is 3; the world and its tiles need 4"),
        (lambda: TiledWorld(ONE_PLANE, Config(16, 3, acting=Acting(algorithm="double-q"))),
         "acting.algorithm is 'double-q'; a world seen through tiles needs another"),
        (lambda: TiledWorld(SMALL_POLE, replace_config(states=10)),
         "states is 10; the tiles need 16 rows in each plane, 6 more"),
        (lambda: TiledWorld(SMALL_POLE, replace_config(format="Q1.7")),
         "reward is 1.0; Q1.7 holds -1.0 to 0.9921875"),
        (lambda: TiledWorld("CartPole-v1", CONFIG),  # type: ignore[arg-type]
         "world is 'CartPole-v1'; it must be an IntegerWorld"),
        (lambda: ActingModel(replace_config(planes=1), tiled(), [AgentSettings()]),
         "world is a TiledWorld for another configuration: its planes is 4, not 1"),
        (lambda: FastActingModel(CONFIG, tiled(), [AgentSettings()]),  # type: ignore[arg-type]
         r"world is TiledWorld(?s:.*); it must be a WorldTable, which World.table"),
        (lambda: ActingModel(CONFIG, table(), [AgentSettings()]),
         "planes is 4; it must be 1 where the world is not tiled"),
        (lambda: FastTiledModel(CONFIG, table(), [AgentSettings()]),
         r"world is WorldTable(?s:.*); it must be a TiledWorld"),
        (lambda: FastTiledModel(CONFIG, tiled(start=lambda draw: (draw, 0, 0, 0)), [AgentSettings()]),
         "world is CartPole-v1, whose functions are not compiled; those of MountainCar-v0 and CartP"),
        (lambda: FastTiledModel(CONFIG, tiled(), [AgentSettings()]).run(1, trace=True),
         "trace is True; it must be False in a world seen through tiles"),
        (lambda: restored(5), "state of agent 0 is 5; it must be a tuple of 4 integers"),
        (lambda: restored((0, 0, 0)), r"state of agent 0 is \(0, 0, 0\); it must be a tuple of 4"),
        (lambda: restored((0, 0, 1 << 25, 0)),
         r"state\[2\] of agent 0 is 33554432; it must be an integer from -14055247 to 14055247"),
    ],
)  # fmt: skip
def test_what_has_no_planes_or_does_not_fit_is_refused(call: Any, said: str) -> None:
    with pytest.raises(QStepError, match=said):
        call()


def replace_config(**given: Any) -> Config:
    return Config(**{"states": 16, "actions": 2, "acting": Acting(), "planes": 4, **given})


def tiled(**given: Any) -> TiledWorld:
    return TiledWorld(replace(SMALL_POLE, **given), CONFIG)


def table() -> Any:
    return World.named("gridworld").table(Config(25, 4, acting=Acting()))


def restored(place: Any) -> None:
    model = ActingModel(CONFIG, tiled(), [AgentSettings()])
    model.states[0].state = place
    model.restore(model.table, model.states, model.counters)


def test_a_configuration_of_one_plane_is_what_it_was() -> None:
    assert "planes" not in Config(25, 4).to_dict()
    assert Config.from_dict(CONFIG.to_dict()) == CONFIG
    assert CONFIG.table_shape == (4, 16, 2)


def played(world: IntegerWorld, weights: NDArray[np.int32], episodes: int) -> float:
    """Return the greedy policy's mean return in Gymnasium's own environment."""
    envs = gym.make_vec(world.env_id, episodes, vectorization_mode="sync")
    seen, _ = envs.reset(seed=0)
    total, going = np.zeros(episodes), np.ones(episodes, np.bool_)
    planes = np.arange(world.tiles.planes)
    while going.any():
        rows = world.tiles.many(world.tiles.raw(seen))
        actions = weights[planes, rows].sum(axis=1).argmax(axis=1)
        seen, reward, terminated, truncated, _ = envs.step(actions)
        total += reward * going
        going &= ~(terminated | truncated)
    return float(total.mean())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "steps", "own", "at_least"),
    [
        (CART_POLE, 200_000, AgentSettings(0.1 / 8, 0.99, Epsilon(0.1, 0, "linear", 120_000)), 475),
        (MOUNTAIN_CAR, 60_000, AgentSettings(0.8 / 16, 1.0, Epsilon(0.0)), -120),
    ],
    ids=["CartPole-v1", "MountainCar-v0"],
)
def test_policy_learned_in_integers_plays_in_gymnasium(
    world: IntegerWorld, steps: int, own: AgentSettings, at_least: float
) -> None:
    tiles = world.tiles
    config = Config(
        tiles.rows, world.actions, acting=Acting(10), coefficient_bits=18, planes=tiles.planes
    )
    agents = [replace(own, seed=seed) for seed in range(10)]
    model = FastTiledModel(config, TiledWorld(world, config), agents)
    model.run(steps)
    returns = [played(world, weights, 20) for weights in model.table]
    assert min(returns) >= at_least, returns
