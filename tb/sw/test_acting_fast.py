"""The compiled agent model matches the plain one bit for bit in everything that can be read."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tb.random_world import random_world
from tb.slow import slow_except

from qstep.errors import ConfigError, TableError
from qstep.golden.agents import ActingModel
from qstep.golden.agents_fast import FastActingModel
from qstep.spec.agents import Acting, Algorithm
from qstep.spec.config import Config
from qstep.spec.epsilon import KINDS, UNITS, Epsilon
from qstep.spec.fixed import QFormat, Rounding, greatest_coefficient
from qstep.spec.settings import AgentSettings

ACTIONS = 3
COMMON_ACTIONS = 4
"""Number of actions in the quick tests: other tests need the same compiled loops."""

SEEDS = st.integers(0, 2**64 - 1)
AGENTS = st.sampled_from([1, 2, 13, 16, 17])
"""Numbers of agents that run singly, fill a block of 16 lanes, fill it partly, or need both."""
Pair = tuple[ActingModel, FastActingModel]


def epsilons() -> st.SearchStrategy[Epsilon]:
    share = st.sampled_from([0.0, 0.03, 0.4, 1.0])
    falling = st.builds(
        lambda low, high, *others: Epsilon(max(low, high), min(low, high), *others),
        share,
        share,
        st.sampled_from(KINDS[1:]),
        st.integers(1, 300),
        st.sampled_from(UNITS[:2]),
    )
    return st.builds(Epsilon, share) | falling


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    acting = Acting(
        agents=draw(AGENTS),
        algorithm=draw(st.sampled_from(Algorithm)),
        shared_table=draw(st.booleans()),
        outcomes=draw(st.sampled_from([1, 2, 8])),
        starts=draw(st.sampled_from([1, 4])),
    )
    config = Config(
        draw(st.integers(2, 9)),
        ACTIONS,
        QFormat.parse(draw(st.sampled_from(["Q4.4", "Q8.8", "Q16.16"]))),
        rounding=draw(st.sampled_from(Rounding)),
        acting=acting,
        coefficient_bits=draw(st.sampled_from([15, 16, 22, 24])),
    )
    most = greatest_coefficient(config.coefficient_bits) / (1 << config.coefficient_bits)
    alpha = st.sampled_from([0.1 * most, 0.5 * most, most])
    own = [
        AgentSettings(draw(alpha), 0.95, draw(epsilons()), draw(SEEDS))
        for _ in range(acting.agents)
    ]
    world = random_world(config, draw(st.sampled_from([0, 1, 7])), draw(SEEDS))
    return ActingModel(config, world, own), FastActingModel(config, world, own)


def assert_equal(plain: ActingModel, fast: FastActingModel) -> None:
    """Check that both models match in everything that can be read."""
    assert fast.table.shape == plain.table.shape
    assert (fast.table == plain.table).all()
    assert fast.states == plain.states
    assert fast.counters == plain.counters


@pytest.mark.slow
@settings(max_examples=30)
@given(pairs(), st.integers(0, 60), st.integers(1, 60))
def test_compiled_model_is_the_plain_one(pair: Pair, first: int, second: int) -> None:
    plain, fast = pair
    for steps in (first, second):
        lived = list(plain.run(steps))
        traced = fast.run(steps, trace=True)
        assert traced is not None
        assert list(zip(*(column.tolist() for column in traced), strict=True)) == lived
        assert_equal(plain, fast)


@pytest.mark.slow
@settings(max_examples=30)
@given(pairs(), st.lists(st.integers(0, 40), max_size=5))
def test_pieces_of_a_run_are_the_run(pair: Pair, pieces: list[int]) -> None:
    plain, fast = pair
    for steps in pieces:
        fast.run(steps)
    list(plain.run(sum(pieces)))
    assert_equal(plain, fast)


@pytest.mark.slow
@settings(max_examples=30)
@given(pairs())
def test_either_model_goes_on_from_what_the_other_was(pair: Pair) -> None:
    plain, fast = pair
    fast.run(40)
    plain.restore(fast.table, fast.states, fast.counters)
    assert_equal(plain, fast)
    list(plain.run(40))
    fast.run(7)  # restoring undoes this
    fast.restore(plain.table, plain.states, plain.counters)
    assert_equal(plain, fast)
    list(plain.run(5))
    fast.run(5)
    assert_equal(plain, fast)


@pytest.mark.slow
@settings(max_examples=50)
@given(pairs(), st.lists(st.tuples(epsilons(), st.booleans()), min_size=1, max_size=3))
def test_compiled_model_is_reconfigured(pair: Pair, changes: list[tuple[Epsilon, bool]]) -> None:
    plain, fast = pair
    for epsilon, keep in changes:
        list(plain.run(13))
        fast.run(13)
        own = [
            replace(old, alpha=0.3 * old.alpha, gamma=0.5, epsilon=old.epsilon if keep else epsilon)
            for old in plain.settings
        ]
        states = plain.states
        for model in pair:
            model.configure(own)
        assert_equal(plain, fast)
        for old, new, one in zip(states, plain.states, own, strict=True):
            begins: dict[str, Any] = {"epsilon": one.epsilon.code.start, "epsilon_count": 0}
            assert new == old or new == replace(old, **begins)
            assert new == old or not keep
    list(plain.run(20))
    fast.run(20)
    assert_equal(plain, fast)


def test_settings_that_a_run_cannot_go_on_with_are_refused() -> None:
    for model in grid(Algorithm.SARSA, shared=False):
        kept = model.settings
        with pytest.raises(ConfigError, match="settings are for 1 agents; the configuration has 2"):
            model.configure(kept[:1])
        said = "seed of agent 1 is 5; it must stay 0, the seed with which"
        with pytest.raises(ConfigError, match=said):
            model.configure([kept[0], replace(kept[1], seed=5)])
        assert model.settings == kept


def grid(algorithm: Algorithm, shared: bool, rounding: Rounding = Rounding.NEAREST) -> Pair:
    """Return both models of two agents in a larger random world without chance."""
    acting = Acting(agents=2, algorithm=algorithm, shared_table=shared)
    config = Config(40, COMMON_ACTIONS, rounding=rounding, acting=acting)
    own = [AgentSettings(epsilon=Epsilon(1, 0.05, "exponential", 9000)), AgentSettings(0.2)]
    world = random_world(config, 50, 7)
    return ActingModel(config, world, own), FastActingModel(config, world, own)


@pytest.mark.parametrize("algorithm", slow_except([Algorithm.Q_LEARNING], Algorithm))
def test_models_are_equal_after_25000_steps(algorithm: Algorithm) -> None:
    plain, fast = grid(algorithm, shared=algorithm is Algorithm.SARSA, rounding=Rounding.STOCHASTIC)
    for _ in plain.run(12_500):
        pass
    with ThreadPoolExecutor() as thread:
        thread.submit(fast.run, 12_500).result()
    assert_equal(plain, fast)
    assert all(count.saturations and count.truncations for count in fast.counters)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bits", "number_format", "rounding"),
    [
        (16, "Q4.4", Rounding.NEAREST),
        (22, "Q8.8", Rounding.FLOOR),
        (24, "Q16.16", Rounding.STOCHASTIC),
    ],
)
def test_models_are_equal_after_100000_steps_with_more_bits(
    bits: int, number_format: str, rounding: Rounding
) -> None:
    config = Config(
        40,
        COMMON_ACTIONS,
        number_format,
        rounding,
        acting=Acting(agents=16, outcomes=2),
        coefficient_bits=bits,
    )
    own = [AgentSettings((1 + n) * 2.0 ** (11 - bits), 0.95, seed=n) for n in range(16)]
    world = random_world(config, 50, 7)
    plain, fast = ActingModel(config, world, own), FastActingModel(config, world, own)
    for _ in plain.run(6_500):
        pass
    fast.run(6_500)
    assert_equal(plain, fast)
    assert np.unique(fast.table).size > 100


@pytest.mark.slow
def test_every_number_of_agents_equals_the_plain_model() -> None:
    for agents in range(1, 71):
        acting = Acting(agents=agents, outcomes=2, starts=2)
        config = Config(5, COMMON_ACTIONS, QFormat(4, 4), acting=acting)
        world = random_world(config, 3, agents)
        own = [
            AgentSettings(0.9 - 0.01 * k, 0.9, Epsilon(0.9, 0.1 * (k % 3 > 0), KINDS[k % 3], 5), k)
            for k in range(agents)
        ]
        plain, fast = ActingModel(config, world, own), FastActingModel(config, world, own)
        list(plain.run(12))
        fast.run(5)
        fast.run(7)
        assert_equal(plain, fast)


def test_counters_and_returns_of_a_long_run_do_not_wrap() -> None:
    """A return of -2^33 does not fit into 32 bits."""
    config = Config(2, COMMON_ACTIONS, QFormat(16, 0), acting=Acting(agents=17))
    world = random_world(config, 0, 3)
    world.reward[...] = config.format.minimum
    fast = FastActingModel(config, world, [AgentSettings()] * 17)
    fast.run(1 << 18)
    steps, returns = (1 << 18), (1 << 18) * config.format.minimum
    assert {(count.steps, count.return_sum) for count in fast.counters} == {(steps, returns)}


@pytest.mark.parametrize(
    "fault", ["word", "epsilon", "episode_steps", "explored", "return_sum", "table"]
)
def test_comparison_sees_a_planted_fault(fault: str) -> None:
    plain, fast = grid(Algorithm.SARSA, shared=False)
    list(plain.run(10))
    fast.run(10)
    states, counters, table = fast.states, fast.counters, fast.table.copy()
    if fault == "table":
        table[1, 39, 2] += 1
    elif fault == "return_sum":
        counters[1].return_sum += 1
    else:
        old = getattr(states[1], fault)
        setattr(states[1], fault, not old if fault == "explored" else old ^ 1)
    fast.restore(table, states, counters)
    with pytest.raises(AssertionError):
        assert_equal(plain, fast)


def test_what_is_not_of_these_agents_is_refused() -> None:
    _, fast = grid(Algorithm.SARSA, shared=False)
    said = r"table has shape \(40, 4\); this configuration needs \(2, 40, 4\)"
    with pytest.raises(TableError, match=said):
        fast.load(fast.table[0])
    with pytest.raises(TableError, match=r"\[0, 0, 0\] is 40000; Q8.8 holds -32768 to 32767"):
        fast.load(np.full((2, 40, 4), 40000, np.int32))
    for steps in (-1, 1 << 48):  # out of every device's range
        wrong = rf"steps is {steps}; it must be an integer from 0 to 2\^48-1"
        with pytest.raises(ConfigError, match=wrong):
            fast.run(steps)
    with pytest.raises(ConfigError, match="settings are for 3 agents; the configuration has 2"):
        FastActingModel(fast.config, fast.world, [AgentSettings()] * 3)
