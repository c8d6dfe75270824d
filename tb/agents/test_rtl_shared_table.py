"""Agents that share a table, in hardware, against the compiled model: exact in turns."""

from __future__ import annotations

from pathlib import Path

import pytest
from tb.agents.lane import Lane
from tb.agents.test_rtl_agents import WITHOUT, Case, compare, pair
from tb.agents.worlds import late_world
from tb.planted import plant

from qstep.acting.config import Acting
from qstep.acting.fast_model import FastActingModel

pytestmark = pytest.mark.rtl

# Enough states that several slots in a row act, and few enough that each distance between them matters.
SMALL = Case(40, 2, "Q5.5", Acting(16, "q-learning", True, outcomes=2, starts=16), limit=20)

CASES = [
    Case(25, 4, "Q8.8", Acting(16, "q-learning", True), limit=11),
    Case(16, 4, "Q4.4", Acting(3, "sarsa", True, outcomes=4, starts=4), "floor", limit=5),
    Case(2, 2, "Q16.16", Acting(2, "expected-sarsa", True, outcomes=8, starts=2), limit=1),
    Case(12, 4, "Q6.6", Acting(5, "double-q", True, starts=2), "stochastic", limit=7),
    Case(50, 20, "Q4.8", Acting(16, "expected-sarsa", True, starts=64, **WITHOUT), "floor"),
    Case(7, 3, "Q8.8", Acting(1, "sarsa", True, starts=8, schedules=False), limit=9),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_agents_of_a_shared_table_equal_the_model(case: Case) -> None:
    lane, model = pair(case)
    for steps in (1, 2, 40, 1000):
        _compare_after(steps, lane, model)
    lane.close()


def test_clocks_of_a_shared_table_are_those_of_its_turns_and_holds() -> None:
    lane, model = pair(CASES[0])
    lane.run(1)  # the first start states take slots of their own
    before, steps = lane.holds, 1000
    clocks = lane.run(steps)
    model.run(1 + steps)
    truncations = sum(counters.truncations for counters in model.counters)
    held = lane.holds - before
    assert held > 1000
    assert 0 <= clocks - 16 * (steps + held + truncations) < 600
    lane.close()


def _compare_after(steps: int, lane: Lane, model: FastActingModel) -> None:
    lane.run(steps)
    model.run(steps)
    compare(lane, model)


def _level(lane: Lane, model: FastActingModel) -> None:
    """Compare after a stop: all agents have made the same number of steps."""
    (steps,) = {counters.steps for counters in lane.counters}
    model.run(steps - model.counters[0].steps)
    compare(lane, model)


def test_stop_of_a_shared_table_ends_after_whole_turns_and_the_next_run_goes_on() -> None:
    lane, model = pair(SMALL)
    for clocks in (7, 301, 1234):
        lane.begin(1 << 40)
        lane.clock(clocks)
        assert lane.busy
        lane.stop()
        lane.wait(20_000)
        _level(lane, model)
    lane.run(1)  # almost nothing to stop
    model.run(1)
    lane.begin(1)
    lane.stop()
    lane.wait(20_000)
    _level(lane, model)
    lane.close()


def test_a_late_world_holds_the_turn_of_a_shared_table(tmp_path: Path) -> None:
    lane, model = pair(SMALL, late_world(tmp_path, 12))
    _compare_after(200, lane, model)
    for clocks in (3000, 3517):  # ends where the world is late, most often within a turn
        lane.begin(1 << 40)
        lane.clock(clocks)
        lane.stop()
        lane.wait(20_000)
        lane.run(3)  # the rest of that turn first
        _level(lane, model)
    lane.close()


MUTANTS = {
    "oldest-write-not-compared": (
        "qs_agent_order.sv",
        "|(hits_q & writes_q)",
        "|(hits_q[Write:11] & writes_q[Write:11])",
    ),
    "youngest-write-not-compared": (
        "qs_agent_order.sv",
        "{writes_q[Write:11], over}",
        "{writes_q[Write:11], 1'b0}",
    ),
    "own-entry-not-compared": ("qs_agent_order.sv", "k <= EntryReach", "k < 10"),
    "own-entry-compared-too-short": ("qs_agent_order.sv", "RowStage + 2;", "RowStage + 1;"),
    "own-entry-carried": ("qs_agent_write.sv", "if (SharedTable) begin", "if (0) begin"),
    "rewards-of-held-slots-count": (
        "qs_agent_write.sv",
        "SharedTable && !entry_deed_o.step",
        "1'b0 && !entry_deed_o.step",
    ),
    "row-not-compared": ("qs_agent_order.sv", "state[k] == s9_x_i", "1'b0"),
    "younger-slots-not-held": (
        "qs_agent_order.sv",
        "live_i[10] && agent_i[10] == next_q",
        "live_i[10]",
    ),
    "goes-on-before-the-second-slot": (
        "qs_agent_order.sv",
        "s10_deed_i.step && !s10_deed_i.truncated",
        "s10_deed_i.step",
    ),
    "resumes-at-the-wrong-agent": (
        "qs_agent_order.sv",
        "next_q + 1'b1",
        "next_q + AgentBits'(left_o ? 3 : 1)",
    ),
    "draw-of-a-held-slot-lost": (
        "qs_agent_flags.sv",
        "s11_flags_q.drawn   <= 1'b1",
        "s11_flags_q.drawn   <= 1'b0",
    ),
    "episode-counts-held-slots": ("qs_agent_episode.sv", "(steps && s10_acts_i)", "(steps)"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_bench_finds_the_fault_planted_in_the_order(name: str, tmp_path: Path) -> None:
    lane, model = pair(SMALL, plant(tmp_path, *MUTANTS[name]))
    with pytest.raises(AssertionError, match=r"differ|still busy"):
        _compare_after(300, lane, model)
