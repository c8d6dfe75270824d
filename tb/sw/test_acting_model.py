"""An agent's trace explains its table, as checked by an independent implementation of the contract."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from qstep.errors import ConfigError
from qstep.golden.agents import ActingModel, Step, expected
from qstep.mdp.memory import WorldTable
from qstep.spec.agents import Acting, Algorithm
from qstep.spec.config import Config
from qstep.spec.epsilon import Epsilon, threshold
from qstep.spec.fixed import QFormat, Rounding
from qstep.spec.random import advanced, draw, first_word
from qstep.spec.settings import AgentSettings, AgentState

STATES, ACTIONS = 7, 3


def ring(config: Config, limit: int = 9) -> WorldTable:
    """Return a ring of states with three actions; each state-action pair has two outcomes."""
    state = np.arange(STATES)[:, None]
    move = np.array([-1, 1, 3])
    following = np.stack([(state + move) % STATES, (state + 2 * move) % STATES], -1)
    reward = np.stack([state - 3 - move, 2 * move - state], -1) * 256 + 17
    terminated = np.stack([(state == 4) & (move == 3), state * move == 5], -1)
    return WorldTable(
        split=np.full((STATES, ACTIONS, 1), 40000, np.int32),
        next_state=following[:, :, None].astype(np.int32),
        reward=reward[:, :, None].astype(np.int32),
        terminated=terminated[:, :, None],
        start_split=np.array([32768, 100], np.int32),
        start_state=np.array([[0, 1], [2, 6]], np.int32),
        max_episode_steps=limit,
    )


def acting(algorithm: str = "q-learning", rounding: str = "nearest", **options: object) -> Config:
    return Config(
        STATES,
        ACTIONS,
        rounding=Rounding.parse(rounding),
        acting=Acting(algorithm=Algorithm.parse(algorithm), starts=2, **options),  # type: ignore[arg-type]
    )


def settings(count: int) -> list[AgentSettings]:
    return [
        AgentSettings(0.25 + k / 16, 0.9 - k / 10, Epsilon(0.9, 0.2, "linear", 50), seed=5)
        for k in range(count)
    ]


def replayed(
    config: Config, own: Sequence[AgentSettings], lived: Sequence[Step]
) -> NDArray[np.int64]:
    """Return the tables that follow from a trace, by independent arithmetic.

    Each action that did not explore must be greedy in the row as it was before the write of the step
    that chose it. Each agent's last step is not applied, because SARSA needs the following action.
    """
    acting = config.acting
    assert acting is not None
    count = 1 if acting.shared_table else acting.agents
    q = np.zeros((count, 2, STATES, ACTIONS), np.int64)  # only Double Q-learning uses the second
    double = acting.algorithm is Algorithm.DOUBLE_Q_LEARNING
    following: list[Step | None] = [None] * len(lived)
    last: dict[int, int] = {}
    for place, step in enumerate(lived):
        if step.agent in last:
            following[last[step.agent]] = step
        last[step.agent] = place
    for step, later in zip(lived, following, strict=True):
        if later is None:
            continue
        tables = q[0 if acting.shared_table else step.agent]
        policy = tables.sum(axis=0) if double else tables[0]
        ended = step.terminated or step.truncated
        assert ended or later.state == step.next_state
        if not later.explored:
            assert later.action == policy[later.state].argmax()
        row = tables[step.table, step.next_state]
        match acting.algorithm:
            case Algorithm.Q_LEARNING:
                target = row.max()
            case Algorithm.SARSA:
                assert not step.truncated
                target = row[later.action]
            case _:
                target = tables[1 - step.table, step.next_state, row.argmax()]
        c = own[step.agent].coefficients_for(config)
        entry = tables[step.table, step.state]
        acc = c.beta * entry[step.action] + c.alpha * step.reward
        acc += c.kappa * target * (not step.terminated)
        entry[step.action] = np.clip((acc + (1 << 14)) >> 15, -32768, 32767)
    return q


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("algorithm", ["q-learning", "sarsa", "double-q"])
def test_trace_explains_the_tables(algorithm: str, shared: bool) -> None:
    config = acting(algorithm, agents=3, shared_table=shared)
    own = settings(3)
    model = ActingModel(config, ring(config, limit=0 if algorithm == "sarsa" else 9), own)
    lived = list(model.run(400))
    before = model.table
    last = list(model.run(1))
    there = replayed(config, own, lived + last)
    assert [step.agent for step in lived[:6]] == [0, 1, 2, 0, 1, 2]
    assert len({(step.state, step.action) for step in lived}) == STATES * ACTIONS
    if algorithm != "double-q":
        there = there[:, 0]
    assert (there.reshape(before.shape) == before).all()


def test_trace_of_another_order_does_not_explain_the_tables() -> None:
    config = acting(agents=3, shared_table=True)
    model = ActingModel(config, ring(config), settings(3))
    lived = list(model.run(400))
    swapped = [step for k in range(0, len(lived), 3) for step in lived[k : k + 3][::-1]]
    with pytest.raises(AssertionError):
        assert (replayed(config, settings(3), swapped)[0, 0] == model.table).all()


def test_own_tables_are_those_of_single_agents() -> None:
    config, own = acting(agents=3), settings(3)
    together = ActingModel(config, ring(config), own)
    list(together.run(300))
    for agent, alone in enumerate(own):
        single = ActingModel(acting(), ring(config), [alone])
        single.states[:] = [AgentState.first(alone, agent)]
        list(single.run(300))
        assert (single.table == together.table[agent]).all()
        assert single.counters[0] == together.counters[agent]
        assert single.states[0] == together.states[agent]


def test_truncated_step_bootstraps_and_terminated_one_does_not() -> None:
    config = Config(2, 2, acting=Acting())
    world = WorldTable(
        split=np.full((2, 2, 1), 65536, np.int32),
        next_state=np.ones((2, 2, 1, 2), np.int32),
        reward=np.full((2, 2, 1, 2), 256, np.int32),
        terminated=np.array([[False, True], [False, False]]).repeat(2).reshape(2, 2, 1, 2),
        start_split=np.array([65536], np.int32),
        start_state=np.zeros((1, 2), np.int32),
        max_episode_steps=1,
    )
    model = ActingModel(config, world, [AgentSettings(0.5, 0.5, Epsilon(1.0), seed=1)])
    model.load(np.array([[0, 0], [0, 1024]], np.int32))
    seen = {}
    for step in model.run(20):
        seen[step.action] = step, model.table[0, step.action]
        model.load(np.array([[0, 0], [0, 1024]], np.int32))
    left, right = seen[0], seen[1]
    assert (left[0].truncated, left[0].terminated, left[1]) == (True, False, 128 + 256)
    assert (right[0].truncated, right[0].terminated, right[1]) == (False, True, 128)
    own, counters = model.states[0], model.counters[0]
    assert (own.state, own.episode_steps, counters.steps, counters.episodes) == (0, 0, 20, 20)
    assert counters.return_sum == 20 * 256


def test_action_after_an_end_is_chosen_before_the_write() -> None:
    """The last step lowers the best action's value, but the choice at the next start ignores that."""
    config = Config(2, 2, acting=Acting())
    world = WorldTable(
        split=np.full((2, 2, 1), 65536, np.int32),
        next_state=np.zeros((2, 2, 1, 2), np.int32),
        reward=np.full((2, 2, 1, 2), -512, np.int32),
        terminated=np.ones((2, 2, 1, 2), np.bool_),
        start_split=np.array([65536], np.int32),
        start_state=np.zeros((1, 2), np.int32),
        max_episode_steps=0,
    )
    model = ActingModel(config, world, [AgentSettings(1.0, 0.5, Epsilon(0.0))])
    actions = [step.action for step in model.run(4)]
    assert actions == [0, 0, 1, 1]  # if the choice saw the write: 0, 1, 0, 0


@pytest.mark.parametrize("rounding", ["floor", "nearest", "stochastic"])
def test_rounding_is_the_configurations(rounding: str) -> None:
    config = acting(rounding=rounding)
    model = ActingModel(config, ring(config), settings(1))
    step = next(model.run(1))
    c = settings(1)[0].coefficients_for(config)
    drawn = draw(advanced(advanced(first_word(5, 0))))
    bias = {"floor": 0, "nearest": 1 << 14, "stochastic": drawn.rounding >> 16}[rounding]
    assert model.table[step.state, step.action] == (c.alpha * step.reward + bias) >> 15


def test_saturations_are_counted_and_clip() -> None:
    config = Config(STATES, ACTIONS, QFormat(4, 4), acting=Acting(starts=2))
    model = ActingModel(config, ring(acting(), 0), settings(1))
    list(model.run(50))
    assert model.counters[0].saturations > 0
    assert model.table.max() == 127


@given(st.lists(st.integers(-32768, 32767), min_size=2, max_size=9), st.integers(0, 1 << 24))
def test_expectation_is_that_of_the_policy(row: list[int], epsilon: int) -> None:
    explore = Fraction(threshold(epsilon), 1 << 16)
    mean = Fraction(sum(row), len(row))
    exact = (1 - explore) * max(row) + explore * mean
    # The share has two rounding errors, 2^-16 and a relative A / 2^17 for A actions; the result has one
    # of up to one half.
    most = len(row) * (max(row) - min(row)) * Fraction(3, 1 << 16) + Fraction(1, 2)
    assert abs(expected(row, epsilon) - exact) <= most


def test_settings_for_another_number_of_agents_are_refused() -> None:
    config = acting(agents=3)
    with pytest.raises(ConfigError, match="settings are for 2 agents; the configuration has 3"):
        ActingModel(config, ring(config), settings(2))
    said = "acting is None; agents need a configuration that has it"
    with pytest.raises(ConfigError, match=said):
        ActingModel(Config(7, 3), ring(config), settings(1))
