"""The interleaved lane against the plain model, in the pyuvm environment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tb.bench import TB, BenchError, Run, parameter_id, run
from tb.planted import plant
from tb.uvm.acting_runs import ACTING

pytestmark = pytest.mark.rtl

BENCH = TB / "uvm/qs_agents_bench.sv"
FEW = ACTING[-2]


def _name(this: Run) -> str:
    return parameter_id(this.parameters)


@pytest.mark.parametrize("suite", ACTING, ids=_name)
def test_agents_are_exact_step_by_step_and_reach_every_coverage_bin(suite: Run) -> None:
    run(suite)


def test_every_algorithm_and_every_rounding_is_covered() -> None:
    assert {suite.parameters["Algorithm"] for suite in ACTING} == set(range(4))
    assert {suite.parameters["Rounding"] for suite in ACTING} == set(range(3))


def test_agents_that_never_explore_leave_bins_empty() -> None:
    with pytest.raises(BenchError, match=r"bins were never hit: .*choice: explored") as caught:
        run(replace(FEW, options={"epsilon": "0"}))
    assert "differ" not in str(caught.value)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("qs_agent_flags.sv", "asks ? !s8_ready_i :", "asks ? 1'b0 :", "is answered"),
        (
            "qs_agent_place.sv",
            "assign s5_action_o = s5_place.action;",
            "assign s5_action_o = ~s5_place.action;",
            "asks for",
        ),
        ("qs_agents_bench.sv", "32'(reward),", "32'(reward ^ 1),", "is answered"),
    ],
    ids=["draws-again-for-a-late-world", "place-of-another-action", "monitor-sees-another-reward"],
)
def test_scoreboard_finds_the_fault_planted_around_the_agents(
    file: str, old: str, new: str, message: str, tmp_path: Path
) -> None:
    rtl = plant(tmp_path, file, old, new, [BENCH])
    with pytest.raises(BenchError, match=message):
        run(replace(FEW, rtl=rtl))
