"""The interleaved lane against the compiled model of agents, which equals the plain one bit for bit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from tb.agents.lane import Lane
from tb.agents.worlds import late_world, random_world
from tb.bench import RTL
from tb.lint_rtl import lint_acting
from tb.planted import plant

from qstep import Config
from qstep.acting.agent import AgentCounters, AgentSettings, AgentState
from qstep.acting.config import Acting
from qstep.acting.epsilon import Epsilon
from qstep.acting.fast_model import FastActingModel
from qstep.acting.registers import world_writes
from qstep.errors import ConfigError

pytestmark = pytest.mark.rtl

EPSILONS = (
    Epsilon(0.5),
    Epsilon(1.0, 0.05, "linear", 500),
    Epsilon(0.9, 0.01, "exponential", 50, "episodes"),
    Epsilon(0.9, 0.1, "exponential", 300),
    Epsilon(0.7, 0.2, "linear", 40, "episodes"),
    Epsilon(0.0),
)


WITHOUT = {"schedules": False, "step_limit": False}


@dataclass(frozen=True)
class Case:
    """A configuration with a random world, and the number of steps to compare."""

    states: int
    actions: int
    number_format: str
    acting: Acting
    rounding: str = "nearest"
    limit: int = 0
    steps: int = 5000

    def __str__(self) -> str:
        name = f"{self.acting.algorithm.value}-p{self.acting.agents}"
        return f"{name}-s{self.states}-a{self.actions}-{self.rounding}"


SMALL = Case(9, 4, "Q5.5", Acting(16, "q-learning", outcomes=2, starts=2), limit=6)

CASES = [
    Case(25, 4, "Q8.8", Acting(16, "q-learning"), limit=11, steps=100_000),
    Case(16, 4, "Q4.4", Acting(3, "sarsa", outcomes=4, starts=4), "floor", limit=5),
    Case(7, 3, "Q8.8", Acting(1, "expected-sarsa", outcomes=1, starts=8), "stochastic", limit=9),
    Case(5, 2, "Q16.16", Acting(16, "expected-sarsa", outcomes=8, **WITHOUT), "nearest"),
    Case(33, 64, "Q4.8", Acting(2, "expected-sarsa", schedules=False), "floor", limit=30),
    Case(12, 4, "Q6.6", Acting(5, "double-q", outcomes=2, starts=2), "stochastic", limit=7),
    Case(500, 6, "Q12.4", Acting(4, "q-learning", starts=512, step_limit=False), "stochastic"),
]


def pair(case: Case, rtl: Path = RTL) -> tuple[Lane, FastActingModel]:
    """Return a lane and its model, which start with the same random tables."""
    config = Config(
        case.states, case.actions, case.number_format, rounding=case.rounding, acting=case.acting
    )
    world = random_world(config, case.limit, seed=5)
    alphas, gammas = (0.5, 0.25, 1.0, 0.1), (0.9, 1.0, 0.5)
    epsilons = EPSILONS if case.acting.schedules else [Epsilon(own.start) for own in EPSILONS]
    settings = [
        AgentSettings(alphas[n % 4], gammas[n % 3], epsilons[n % len(EPSILONS)], seed=99 + n)
        for n in range(case.acting.agents)
    ]
    lane, model = Lane(config, world, settings, rtl), FastActingModel(config, world, settings)
    number = config.format
    q_raw = np.random.default_rng(6).integers(number.minimum, number.maximum, lane.table.shape)
    lane.load(q_raw.astype(np.int32))
    model.load(q_raw.astype(np.int32))
    return lane, model


def compare(lane: Lane, model: FastActingModel) -> None:
    """Compare all bits of tables, states and counters."""
    assert np.array_equal(lane.table, model.table), "tables differ"
    assert lane.states == model.states, "states differ"
    assert lane.counters == model.counters, "counters differ"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_interleaved_lane_equals_the_model(case: Case) -> None:
    lane, model = pair(case)
    for steps in (1, 2, 40, case.steps):
        lane.run(steps)
        model.run(steps)
        compare(lane, model)
    lane.close()


def test_interleaved_lane_makes_a_step_a_clock() -> None:
    lane, model = pair(replace(CASES[0], limit=0))
    clocks = lane.run(1_000_000 // 16)
    model.run(1_000_000 // 16)
    compare(lane, model)
    assert model.counters[0].steps * 16 / clocks > 0.999
    lane.close()


def test_a_stopped_lane_goes_on_and_counters_are_read_while_it_runs() -> None:
    lane, model = pair(SMALL)
    lane.begin(1_000_000)
    seen = AgentCounters()
    for _ in range(20):
        lane.clock(997)
        counters = lane.counters[3]
        assert seen.steps < counters.steps
        assert counters.truncations <= counters.steps // SMALL.limit
        seen = counters
    assert lane.busy
    lane.stop()
    lane.wait(2000)
    steps = [counters.steps for counters in lane.counters]
    assert 500 < min(steps) <= max(steps) < min(steps) + 64
    model.run(max(steps))
    # Agents have made different numbers of steps. They are independent, so each catches up alone.
    while min(steps) < max(steps):
        behind = [n for n, made in enumerate(steps) if made < max(steps)]
        states, counters, table = lane.states, lane.counters, lane.table
        lane.run(max(steps) - min(steps[n] for n in behind))
        moved, counted, learnt = lane.states, lane.counters, lane.table
        slowest = min(behind, key=lambda n: steps[n])
        for n in range(lane.agents):
            if steps[n] != steps[slowest]:
                moved[n], counted[n], learnt[n] = states[n], counters[n], table[n]
        for n in range(lane.agents):
            lane.set_state(n, moved[n])
            lane.set_counters(n, counted[n])
        lane.load(learnt)
        steps = [counters.steps for counters in lane.counters]
    compare(lane, model)
    lane.close()


def test_a_late_world_costs_rotations_and_nothing_else(tmp_path: Path) -> None:
    lane, model = pair(SMALL, late_world(tmp_path, 5))
    for steps in (1, 700):
        clocks = lane.run(steps)
        model.run(steps)
        compare(lane, model)
    assert clocks > 2 * 16 * 700
    lane.begin(50)
    lane.clock(100)
    lane.stop()  # some are waiting for the world
    lane.wait(3000)
    lane.close()


def test_a_world_with_one_slot_must_not_choose() -> None:
    case = replace(SMALL, acting=Acting(1))
    config = Config(case.states, case.actions, case.number_format, acting=case.acting)
    world = random_world(config, 0, 1)
    world.split[3, 1, 0] = 30_000
    world.next_state[3, 1, 0] = 1, 2
    with pytest.raises(ConfigError, match="room for one of its outcomes chooses between two"):
        list(world_writes(config, world))


MUTANTS = {
    "word-shift": ("qs_draw.sv", "word_b << 17", "word_b << 16"),
    "one-round-less": ("qs_draw.sv", "s5_halves_q <= round(round(s4", "s5_halves_q <= round((s4"),
    "epsilon-not-due": ("qs_epsilon.sv", "s10_same_q == '1", "s10_same_q == '0"),
    "epsilon-below-end": ("qs_epsilon.sv", "<= s10_lead[EpsilonBits];", "<= 1'b0;"),
    "explores-never": (
        "qs_agent_explore.sv",
        "{1'b0, s5_explore_i} <",
        "{1'b1, s5_explore_i} <",
    ),
    "truncation-by-other-steps": ("qs_agent_episode.sv", "s6_steps[p", "s7_steps_q[p"),
    "truncation-not-bootstrapped": (
        "qs_agents.sv",
        "s9_deed.terminated || s9_deed.finish || (t",
        "s9_deed.terminated || s9_deed.truncated || (t",
    ),
    "own-write-not-forwarded": (
        "qs_agent_write.sv",
        "(last.step || last.finish)",
        "(last.step && last.finish)",
    ),
    "write-beside-the-second-slot": (
        "qs_agent_write.sv",
        "(last.step && !last.truncated) || last.finish",
        "last.step || last.finish",
    ),
    "same-state-taken-for-same-entry": (
        "qs_agent_place.sv",
        "select_state == select_x && select_action == action_i",
        "select_state == select_x",
    ),
    "truncated-step-not-finished": (
        "qs_agent_flags.sv",
        "s9_flags_q.pending <= s8_truncated_i",
        "s9_flags_q.pending <= 1'b0",
    ),
    "count-not-read": ("qs_agent_read.sv", "{s9_count_i, s7", "{16'b0, s7"),
    "access-to-another-agent": ("qs_agent_bus.sv", "bus_i.index[25:22]", "bus_i.index[24:21]"),
    "alias-on-the-wrong-side": ("qs_alias.sv", "rest < word", "rest >= word"),
    "saturation-wraps": (
        "qs_agent_update.sv",
        "saturating::value(s7_sum_q[AccBits-1-:Width+1])",
        "s7_sum_q[AccBits-2-:Width]",
    ),
    "a-step-too-many": ("qs_agent_budget.sv", "{1'b0, first_q};", "{1'b0, first_q} + 1'b1;"),
    "carry-lost": ("qs_agent_counters.sv", "sum[16] && !b_first_q", "sum[16] && b_first_q"),
    "constant-epsilon-of-another-agent": ("qs_epsilon_constant.sv", "agent_i[4]", "agent_i[5]"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_bench_finds_the_fault_planted_in_the_interleaved_lane(name: str, tmp_path: Path) -> None:
    fault, case = MUTANTS[name], SMALL
    if fault[0] == "qs_epsilon_constant.sv":
        case = replace(case, acting=replace(case.acting, schedules=False))
    lane, model = pair(case, plant(tmp_path, *fault))
    lane.run(600)
    model.run(600)
    with pytest.raises(AssertionError, match=r"differ"):
        compare(lane, model)


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"Agents": 17}, "Agents is 17, legal is 1..16"),
        ({"States": 8192}, "States is 8192, legal is 2..65536, and 65536 for all agents"),
        ({"Algorithm": 4}, "Algorithm is 4, legal is 0..3"),
        ({"Rounding": 3}, "Rounding is 3, legal is 0..2"),
    ],
    ids=str,
)
def test_illegal_parameters_end_the_elaboration(parameter: dict[str, int], message: str) -> None:
    assert message in lint_acting(parameter)


def test_a_state_read_back_is_the_state_that_was_set() -> None:
    lane, _ = pair(SMALL)
    state = AgentState(1 << 63 | 5, 1 << 24, 65534, True, 8, 3, True, 65534)
    lane.set_state(15, state)
    assert lane.states[15] == state
    counters = AgentCounters((1 << 48) - 1, 1, 1 << 40, 77, -3)
    lane.set_counters(15, counters)
    assert lane.counters[15] == counters
    lane.close()
