"""The interleaved lane against the plain model, in the pyuvm environment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tb.bench import TB, BenchError, Run, parameter_id, run
from tb.planted import plant
from tb.uvm.acting_runs import ACTING, OWNING, SHARING

pytestmark = pytest.mark.rtl

BENCH = TB / "uvm/qs_agents_bench.sv"
FEW = OWNING[2]
ORDER = "qs_agent_order.sv"


def _name(this: Run) -> str:
    return parameter_id(this.parameters)


OFTEN = [*OWNING, *SHARING[:2]]
RARELY = [pytest.param(run, marks=pytest.mark.slow) for run in ACTING if run not in OFTEN]


@pytest.mark.parametrize("suite", [*OFTEN, *RARELY], ids=_name)
def test_agents_are_exact_step_by_step_and_reach_every_coverage_bin(suite: Run) -> None:
    run(suite)


def test_every_algorithm_and_every_rounding_is_covered() -> None:
    for suites in (OWNING, SHARING):
        assert {suite.parameters["Algorithm"] for suite in suites} == set(range(4))
        assert {suite.parameters["Rounding"] for suite in suites} == set(range(3))


def test_agents_that_never_explore_leave_bins_empty() -> None:
    with pytest.raises(BenchError, match=r"bins were never hit: .*choice: explored") as caught:
        run(replace(FEW, options={"epsilon": "0"}))
    assert "differ" not in str(caught.value)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("qs_agent_flags.sv", "asks ? !s8_ready_i :", "asks ? 1'b0 :", "is answered|asks for"),
        (
            "qs_agent_place.sv",
            "assign s5_action_o = s5_place.action;",
            "assign s5_action_o = ~s5_place.action;",
            "asks for",
        ),
        ("qs_agents_bench.sv", "32'(answered.reward),", "32'(answered.reward ^ 1),", "is answered"),
    ],
    ids=["draws-again-for-a-late-world", "place-of-another-action", "monitor-sees-another-reward"],
)
def test_scoreboard_finds_the_fault_planted_around_the_agents(
    file: str, old: str, new: str, message: str, tmp_path: Path
) -> None:
    rtl = plant(tmp_path, file, old, new, [BENCH])
    with pytest.raises(BenchError, match=message):
        run(replace(FEW, rtl=rtl))


SOME, MANY = SHARING[1], SHARING[0]


@pytest.mark.parametrize(
    ("suite", "old", "new", "message"),
    [
        (SOME, "state[k] == s9_x_i", "1'b0", r"acts; next is \d, writes due for its row are \(1"),
        (MANY, "k <= EntryReach &&", "1'b1 &&", r"is held; .* its row are \(\).*its entry \(11,\)"),
        (SOME, "mine && waits && (", "waits && (", r"slots were held, not"),
        (SOME, "restarts_i || rst_i", "rst_i", r"after a stop within a turn .* next is 0"),
        (SOME, "stopping_q && mine && s10_deed_i.late", "stopping_q && mine", "is held; next is"),
        (
            SOME,
            "stopping_q && three_q) begin\n      turns_q <= 48'd2;",
            "stopping_q && turns_q > 48'd3) begin\n      turns_q <= 48'd3;",
            "more than two turns follow",
        ),
    ],
    ids=[
        *("row-not-compared", "held-for-nothing", "holds-of-others-counted"),
        *("goes-on-though-set-up-anew", "stops-within-a-turn", "stops-a-turn-late"),
    ],
)
def test_scoreboard_finds_the_fault_planted_in_the_order(
    suite: Run, old: str, new: str, message: str, tmp_path: Path
) -> None:
    rtl = plant(tmp_path, ORDER, old, new, [BENCH])
    with pytest.raises(BenchError, match=message):
        run(replace(suite, rtl=rtl))
