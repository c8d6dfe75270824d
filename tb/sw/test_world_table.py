"""A world in a configuration's memories: every draw, worlds that do not fit, and learning."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from qstep import Config, World
from qstep.errors import ConfigError, QStepError, WorldError
from qstep.golden.agents import ActingModel
from qstep.mdp.memory import WorldTable, alias
from qstep.mdp.solve import solve
from qstep.spec.agents import Acting, Algorithm
from qstep.spec.epsilon import Epsilon
from qstep.spec.settings import AgentSettings

DRAWS = np.arange(1 << 16)


def config_of(world: World, **change: Any) -> Config:
    return Config(world.states, world.actions, "Q16.8", acting=world.acting(), **change)


def counted(split: NDArray[Any]) -> NDArray[Any]:
    """Return how many of all draws select each slot and side, shape (K, 2)."""
    return _counted(tuple(split.tolist()))


@cache
def _counted(splits: tuple[int, ...]) -> NDArray[Any]:
    split = np.array(splits)
    slot, rest = np.divmod(DRAWS, (1 << 16) // len(split))
    return np.bincount(2 * slot + (rest >= split[slot]), minlength=2 * len(split)).reshape(-1, 2)


def outcomes(table: WorldTable, state: int, action: int) -> dict[tuple[int, int, bool], int]:
    """Return how many draws lead to each outcome of a state-action pair."""
    found: dict[tuple[int, int, bool], int] = {}
    counts = counted(table.split[state, action])
    for slot, side in np.argwhere(counts).tolist():
        place = state, action, slot, side
        key = (
            int(table.reward[place]),
            int(table.next_state[place]),
            bool(table.terminated[place]),
        )
        found[key] = found.get(key, 0) + int(counts[slot, side])
    return found


def check_every_draw(world: World, config: Config) -> WorldTable:
    table = world.table(config)
    wanted: dict[tuple[int, int], dict[tuple[int, int, bool], int]] = {}
    raw = np.floor(world.reward * 256 + 0.5).astype(int).tolist()
    rows = zip(
        world.state.tolist(), world.action.tolist(), world.weight.tolist(),
        raw, world.next_state.tolist(), world.terminated.tolist(), strict=True,
    )  # fmt: skip
    for state, action, weight, *outcome in rows:
        wanted.setdefault((state, action), {})[tuple(outcome)] = weight
    assert len(wanted) == world.states * world.actions
    for pair, weights in wanted.items():
        assert outcomes(table, *pair) == weights, pair
    starts = np.zeros(world.states, int)
    np.add.at(starts, table.start_state, counted(table.start_split))
    assert starts[world.start_state].tolist() == world.start_weight.tolist()
    return table


@pytest.mark.parametrize(
    ("env_id", "kwargs", "most", "starts", "limit"),
    [
        ("FrozenLake-v1", {}, 4, 1, 100),
        ("FrozenLake-v1", {"is_slippery": False}, 1, 1, 100),
        ("CliffWalking-v1", {}, 1, 1, 0),
        ("CliffWalking-v1", {"is_slippery": True}, 4, 1, 0),
        ("Taxi-v4", {}, 1, 512, 200),
    ],
)
def test_every_draw_in_a_gymnasium_world(
    env_id: str, kwargs: dict[str, Any], most: int, starts: int, limit: int
) -> None:
    env = gym.make(env_id, **kwargs)
    world = World.from_env(env)
    assert world.acting() == Acting(outcomes=most, starts=starts)
    assert check_every_draw(world, config_of(world)).max_episode_steps == limit
    # the environment's own table
    transitions = env.unwrapped.P  # type: ignore[attr-defined]
    for state, action in ((0, 0), (world.states - 2, world.actions - 1)):
        rows = (world.state == state) & (world.action == action)
        for row in np.flatnonzero(rows):
            share = sum(
                probability
                for probability, *outcome in transitions[state][action]
                if outcome == [world.next_state[row], world.reward[row], world.terminated[row]]
            )
            assert abs(share - world.weight[row] / 65536) < 2**-16


@pytest.mark.parametrize("part", ["split", "next_state", "reward", "terminated", "start_state"])
def test_a_wrong_slot_is_noticed(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World.from_env(gym.make("FrozenLake-v1"))
    table = check_every_draw(world, config_of(world))
    wrong = getattr(table, part).copy()
    if part == "split":
        wrong[6, 1, np.flatnonzero(wrong[6, 1] % (1 << 14))[0]] -= 1  # a slot with two outcomes
    elif part == "start_state":
        wrong[0, 0] += 1
    else:
        of_draw_0 = 6, 1, 0, int(table.split[6, 1, 0] == 0)
        wrong[of_draw_0] = not wrong[of_draw_0] if part == "terminated" else wrong[of_draw_0] + 1
    monkeypatch.setattr(World, "table", lambda *_: replace(table, **{part: wrong}))
    with pytest.raises(AssertionError):
        check_every_draw(world, config_of(world))


def test_what_is_counted_is_what_the_table_answers() -> None:
    world = World.from_env(gym.make("FrozenLake-v1"))
    table = world.table(config_of(world))
    found: dict[tuple[int, int, bool], int] = {}
    for draw in range(1 << 16):
        key = tuple(table.answer(6, 1, draw))
        found[key] = found.get(key, 0) + 1
    assert found == outcomes(table, 6, 1)
    assert sorted(found.values()) == [21845, 21845, 21846]


SETS = st.integers(0, 6).flatmap(
    lambda bits: st.lists(
        st.one_of(st.integers(0, 65536), st.integers(0, 1 << bits).map(lambda n: n << (16 - bits))),
        min_size=(1 << bits) - 1,
        max_size=(1 << bits) - 1,
    )
)
"""Points that divide 65536 draws into 2^bits weights, often at slot borders."""


@given(SETS)
def test_slots_of_any_set_hold_its_weights(cuts: list[int]) -> None:
    weight = np.diff([0, *sorted(cuts), 65536])
    split, first, second = (part[0] for part in alias(np.array([weight, weight[::-1]])))
    found = np.zeros(len(weight), int)
    np.add.at(found, np.stack([first, second], axis=1), counted(split))
    assert found.tolist() == weight.tolist()


def test_many_sets_are_each_their_own() -> None:
    rng = np.random.default_rng(0)
    cuts = np.sort(rng.integers(0, 65537, (500, 7)), axis=1)
    weight = np.diff(cuts, axis=1, prepend=0, append=65536)
    together = alias(weight)
    for number, own in enumerate(weight):
        for part, whole in zip(alias(own[None]), together, strict=True):
            assert (part[0] == whole[number]).all()


@pytest.mark.filterwarnings("ignore::qstep.errors.WorldWarning")  # about absorbing states
@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 9))
def test_every_draw_in_any_world(seed: int, most: int, starts: int) -> None:
    rng = np.random.default_rng(seed)
    pair = np.repeat(np.arange(8), rng.integers(1, most + 1, 8))
    share = rng.integers(1, 20, len(pair))
    world = World.from_arrays(
        state=pair // 2,
        action=pair % 2,
        next_state=rng.permutation(np.append(np.arange(4), rng.integers(0, 4, len(pair) - 4))),
        reward=rng.integers(-3, 4, len(pair)) / 2,
        terminated=rng.random(len(pair)) < 0.3,
        probability=share / np.bincount(pair, weights=share)[pair],
        start_state=np.append(np.arange(4), rng.integers(0, 4, starts)),
    )
    check_every_draw(world, config_of(world))


def test_a_configuration_may_have_more_room() -> None:
    world = World.from_env(gym.make("FrozenLake-v1"))
    roomy = Config(20, 4, "Q16.8", acting=Acting(outcomes=16, starts=8))
    table = check_every_draw(world, roomy)
    assert table.split.shape == (20, 4, 16)
    assert table.next_state[17].tolist() == [[[17, 17]] * 16] * 4
    assert table.terminated[16:].all()


def test_agents_have_the_least_room() -> None:
    world = World.from_env(gym.make("Taxi-v4"))
    assert world.acting(agents=8, algorithm="sarsa", shared_table=True) == Acting(
        8, Algorithm.SARSA, True, outcomes=1, starts=512
    )


FITS = Config(16, 4, acting=Acting(outcomes=4))
TAXI = Config(500, 6, "Q5.3", acting=Acting(starts=256))


def lake(**change: Any) -> object:
    world = World.from_env(gym.make("FrozenLake-v1"))
    assert world.table(FITS).split.shape == (16, 4, 4)
    return world.table(replace(FITS, **change))


def taxi(**change: Any) -> object:
    return World.from_env(gym.make("Taxi-v4")).table(replace(TAXI, **change))


def many(n: int) -> World:
    """Return a world in which action 1 of state 0 has n outcomes."""
    state, action = np.divmod(np.arange(2 * n), 2)
    return World.from_arrays(
        state=np.append(state, [0] * n),
        action=np.append(action, [1] * n),
        next_state=np.append(state, np.arange(n)),
        reward=np.zeros(3 * n),
        terminated=np.ones(3 * n, bool),
        probability=[1.0, 0.0, *[1.0] * (2 * n - 2), *[1 / n] * n],
        start_state=[0],
    )


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: lake(acting=None), ConfigError,
         "acting is None; a world needs a configuration that has it"),
        (lambda: lake(states=15), WorldError, "has 16 states; the configuration has room for 15"),
        (lambda: lake(actions=5), WorldError,
         "has 4 actions; the configuration has 5; the numbers must be equal"),
        (lambda: lake(acting=Acting(outcomes=2)), WorldError,
         "state 0, action 1 has 3 outcomes; the configuration's acting.outcomes is 2 and must be at "
         "least 4"),
        (taxi, WorldError, r"300 start states; .*starts is 256 and must be at least 512"),
        (lambda: taxi(format="Q4.4", acting=Acting(starts=512)), WorldError,
         r"reward of state 0, action 5 is -10; Q4\.4 holds -8 to 7\.9375"),
        (lambda: World.from_env(gym.make("FrozenLake-v1", max_episode_steps=65536)).table(FITS),
         WorldError, "max_episode_steps is 65536; a device counts up to 65535"),
        (lambda: many(65).acting(), WorldError,
         "state 0, action 1 has 65 outcomes; a device has room for at most 64"),
    ],
)  # fmt: skip
def test_a_world_that_does_not_fit_is_refused(
    call: Callable[[], object], error: type[QStepError], text: str
) -> None:
    with pytest.raises(error, match=text):
        call()


def test_rewards_fit_exactly_as_they_are_quantised() -> None:
    def world(reward: float) -> World:
        return World.from_arrays(
            state=[0, 0, 1, 1], action=[0, 1, 0, 1], next_state=[1, 1, 0, 0],
            reward=[reward] * 4, terminated=[False] * 4, start_state=[0],
        )  # fmt: skip

    config = Config(2, 2, "Q8.8", acting=Acting())
    for reward, raw in ((127.99, 32765), (127.9979, 32767), (-128.0019, -32768)):
        assert (world(reward).table(config).reward == raw).all()
    for reward in (127.998046875, -128.002):
        with pytest.raises(
            WorldError, match=r"reward of state 0, action 0 is (127\.998|-128\.002);"
        ):
            world(reward).table(config)


def test_the_plain_model_learns_frozen_lake() -> None:
    world = World.from_env(gym.make("FrozenLake-v1", is_slippery=False))
    config = Config(16, 4, acting=world.acting())
    model = ActingModel(config, world.table(config), [AgentSettings(epsilon=Epsilon(1.0), seed=1)])
    for _ in model.run(15_000):
        pass
    greedy = np.eye(4, dtype=bool)[model.table.argmax(axis=1)]
    visited = world.visited(greedy)
    assert visited.sum() == 6
    assert (greedy & solve(world, 0.9).optimal)[visited].any(axis=1).all()
