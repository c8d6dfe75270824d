"""Lane and agents on AXI equal the model, and their benches find faults."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tb.bench import BenchError, parameter_id, run
from tb.bus.axi_coverage import bus_bins
from tb.bus.axi_runs import (
    AXI_LANES,
    AXI_SHARED,
    MORE_AXI_LANES,
    axi_acting_run,
    axi_agents_run,
    axi_crowd_run,
    axi_edges_run,
    axi_reset_run,
    axi_run,
)
from tb.planted import plant_all

from qstep import Config
from qstep_rtl.bus.registers import LANE

pytestmark = pytest.mark.rtl

FAULTS = {
    # half-written registers pass
    "an_access_outside_the_map_or_of_half_a_word_gets_slverr_and_changes_nothing": (
        "qs_bus_guard.sv",
        "wstrb_i == '1",
        "wstrb_i != '0",
    ),
    # settings out of range are refused in silence
    "settings_out_of_range_leave_the_old_ones_in_force": (
        "qs_bus_host.sv",
        "state_q == StConfigure && !legal",
        "1'b0",
    ),
    # a value that does not fit is reported, and written all the same
    "an_entry_that_does_not_exist_and_a_value_that_does_not_fit_are_errors": (
        "qs_bus_host.sv",
        "write_q && exists && fits)",
        "write_q && exists)",
    ),
    # after a truncated packet, the next one begins in the middle of a transition
    "transitions_out_of_range_and_cut_off_are_dropped_counted_and_answered": (
        "qs_bus_collect.sv",
        "tlast_i ? '0 : beat_q + 1'b1",
        "beat_q + 1'b1",
    ),
    # past the last entry, the index stays in the last row
    "a_table_is_written_and_cleared_and_the_index_goes_on": (
        "qs_bus_host.sv",
        "States - 1 ? '0 : state_i + 1'b1",
        "States - 1 ? state_i : state_i + 1'b1",
    ),
}
"""The test that must find each fault: file, text, faulty text. Only that test can see the fault."""

ASSERTED = {
    "a beat that waits is replaced": (
        ("qs_bus_spread.sv", "(tready_i && final_beat)", "final_beat"),
        "BeatIsStable_A",
    ),
    "the host does not wait for the lane": (
        ("qs_bus_stream.sv", "(!pause_i || offered_q)", "1'b1"),
        "the packet was over before the accesses were",
    ),
    "results have no room": (
        ("qs_bus_stream.sv", "have_q && legal_q && room", "have_q && legal_q"),
        "PutHasRoom_A|ResultHasRoom_A",
    ),
    "maximum and value change places": (
        ("qs_bus_stream.sv", "32'(maximum), 32'(value)", "32'(value), 32'(maximum)"),
        "the model's",
    ),
}


@pytest.mark.bench("tb.bus.axi_lane_tests", "qs_axi_lane")
def test_lane_on_axi_matches_the_model(only: str) -> None:
    run(replace(axi_run(AXI_LANES[1]), test=only))


@pytest.mark.bench("tb.bus.axi_agents_tests", "qs_axi_agents qs_acting")
def test_agents_on_axi_match_the_model(only: str) -> None:
    run(replace(axi_agents_run(), test=only))


@pytest.mark.bench("tb.bus.axi_edges_tests", "qs_axi_agents qs_acting")
def test_agents_on_axi_are_exact_when_answers_come_as_a_job_begins_or_ends(only: str) -> None:
    run(replace(axi_edges_run(), test=only))


@pytest.mark.slow
@pytest.mark.bench("tb.bus.axi_acting_tests", "qs_axi_agents qs_acting")
def test_agents_on_axi_with_their_world_inside_match_the_model(only: str) -> None:
    run(replace(axi_acting_run(), test=only))


@pytest.mark.slow
@pytest.mark.bench("tb.bus.axi_reset_tests", "qs_axi_agents qs_acting")
@pytest.mark.parametrize("config", AXI_SHARED, ids=lambda config: config.acting.algorithm)
def test_agents_on_axi_with_a_shared_table_are_reset_by_one_clock(
    config: Config, only: str
) -> None:
    run(replace(axi_reset_run(config), test=only))


@pytest.mark.slow
def test_a_reset_that_is_too_short_for_agents_is_noticed(tmp_path: Path) -> None:
    rtl = plant_all(tmp_path, [("qs_axi_agents.sv", "reset_q <= '1;", "reset_q <= '0;")])
    with pytest.raises(BenchError, match="1 of 1 tests failed") as caught:
        run(axi_reset_run(AXI_SHARED[0], rtl))
    assert "agents go on after a reset in clock" in str(caught.value)


@pytest.mark.release
@pytest.mark.bench("tb.bus.axi_crowd_tests", "qs_axi_agents qs_acting")
def test_sixteen_agents_on_axi_match_the_model(only: str) -> None:
    run(replace(axi_crowd_run(), test=only))


@pytest.mark.release
@pytest.mark.parametrize("stream_bytes", [4, 16])
def test_agents_on_axi_match_the_model_with_beats_of_any_size(stream_bytes: int) -> None:
    run(axi_agents_run(stream_bytes=stream_bytes, seed=stream_bytes))


@pytest.mark.release
@pytest.mark.parametrize("parameters", [*AXI_LANES, *MORE_AXI_LANES], ids=parameter_id)
@pytest.mark.parametrize("seed", [2, 3])
def test_lane_on_axi_matches_the_model_for_long(parameters: dict[str, int], seed: int) -> None:
    run(axi_run(parameters, seed=seed, packets=60))


def test_each_planted_fault_fails_the_test_that_is_to_find_it_and_no_other(tmp_path: Path) -> None:
    rtl = plant_all(tmp_path, FAULTS.values())
    with pytest.raises(BenchError, match="tests failed") as caught:
        run(axi_run(AXI_LANES[0], rtl))
    failed = set(re.findall(r"axi_lane_tests\.(\w+)\s+FAIL", str(caught.value)))
    assert failed - {"every_bin_is_hit"} == FAULTS.keys()


@pytest.mark.release
@pytest.mark.parametrize("fault", ASSERTED)
def test_bench_of_the_lane_on_axi_finds_the_planted_fault(fault: str, tmp_path: Path) -> None:
    change, message = ASSERTED[fault]
    with pytest.raises(BenchError, match=message):
        run(axi_run(AXI_LANES[0], plant_all(tmp_path, [change])))


def test_a_bin_that_no_stimulus_hits_fails() -> None:
    with pytest.raises(BenchError, match="1 of 1 tests failed") as caught:
        run(replace(axi_run(AXI_LANES[1]), test="every_bin_is_hit"))
    bins = sum(map(len, bus_bins(LANE, 1).values()))
    assert f"{bins} bins were never hit: ['handshake: aw at once'," in str(caught.value)


AGENTS_FAULTS = {
    # answers to agents that wait for none are not counted
    "answers_out_of_range_too_many_or_cut_off_are_dropped_and_counted": (
        "qs_bus_live.sv",
        "have_q && !cut_q && !answered",
        "have_q && !cut_q && !legal_q",
    ),
    # a job without steps is refused in silence
    "what_cannot_be_done_during_a_job_is_refused_and_reported": (
        "qs_bus_words.sv",
        "assign bad_run_o = run_i && !run_o;",
        "assign bad_run_o = run_i && busy_i;",
    ),
    # actions that an earlier job left in the queue come out in the next one
    "a_job_whose_world_is_silent_ends_and_the_next_one_says_its_actions_anew": (
        "qs_bus_live.sv",
        "rst_i || forget_i),",
        "rst_i),",
    ),
}


@pytest.mark.release
def test_each_fault_planted_around_agents_fails_the_test_that_is_to_find_it(tmp_path: Path) -> None:
    rtl = plant_all(tmp_path, AGENTS_FAULTS.values())
    with pytest.raises(BenchError, match="tests failed") as caught:
        run(axi_agents_run(rtl))
    failed = set(re.findall(r"axi_agents_tests\.(\w+)\s+FAIL", str(caught.value)))
    assert failed - {"every_bin_is_hit"} == AGENTS_FAULTS.keys()


EDGE_FAULTS = {
    # an answer is lost in the clock of a stop
    "an_answer_around_a_stop_is_a_step_or_is_asked_for_again": (
        "qs_axi_agents.sv",
        "      .answer_valid,\n",
        "      .answer_valid(answer_valid && !from_regs.control.stop.value),\n",
    ),
    # an answer is taken before its action has come out
    "an_answer_is_refused_until_its_action_is_out": (
        "qs_bus_live.sv",
        "have_q && legal_q && out_q[answer_agent_o]",
        "have_q && legal_q",
    ),
}


@pytest.mark.release
def test_each_fault_planted_at_an_edge_of_a_job_fails_the_test_that_is_to_find_it(
    tmp_path: Path,
) -> None:
    rtl = plant_all(tmp_path, EDGE_FAULTS.values())
    with pytest.raises(BenchError, match="tests failed") as caught:
        run(axi_edges_run(rtl))
    assert (
        set(re.findall(r"axi_edges_tests\.(\w+)\s+FAIL", str(caught.value))) == EDGE_FAULTS.keys()
    )
