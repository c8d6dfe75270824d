"""The lane on AXI equals the model, and its bench finds faults."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tb.bench import BenchError, parameter_id, run
from tb.bus.axi_runs import AXI_LANES, MORE_AXI_LANES, axi_run
from tb.planted import plant_all

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
    # after a packet that was cut off the next one begins in the middle of a transition
    "transitions_out_of_range_and_cut_off_are_dropped_counted_and_answered": (
        "qs_bus_collect.sv",
        "tlast_i ? '0 : beat_q + 1'b1",
        "beat_q + 1'b1",
    ),
    # behind the last entry the index stays in the last row
    "a_table_is_written_and_cleared_and_the_index_goes_on": (
        "qs_bus_host.sv",
        "States - 1 ? '0 : state_i + 1'b1",
        "States - 1 ? state_i : state_i + 1'b1",
    ),
}
"""Which test is to find which fault: file, text, faulty text. They do not touch what other tests see."""

ASSERTED = {
    "a beat that waits is replaced": (
        ("qs_bus_spread.sv", "(tready_i && final_beat)", "final_beat"),
        "BeatIsStable_A",
    ),
    "the host does not wait for the lane": (
        ("qs_bus_stream.sv", "(!pause_i || offered_q)", "1'b1"),
        "HostWaits_A|SettingsAreStable_A|NoiseLoadWaits_A",
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


@pytest.mark.parametrize("parameters", AXI_LANES, ids=parameter_id)
def test_lane_on_axi_matches_the_model(parameters: dict[str, int]) -> None:
    run(axi_run(parameters))


@pytest.mark.release
@pytest.mark.parametrize("parameters", [*AXI_LANES, *MORE_AXI_LANES], ids=parameter_id)
@pytest.mark.parametrize("seed", range(2, 6))
def test_lane_on_axi_matches_the_model_for_long(parameters: dict[str, int], seed: int) -> None:
    run(axi_run(parameters, seed=seed, packets=400))


def test_each_planted_fault_fails_the_test_that_is_to_find_it_and_no_other(tmp_path: Path) -> None:
    rtl = plant_all(tmp_path, FAULTS.values())
    with pytest.raises(BenchError, match="tests failed") as caught:
        run(axi_run(AXI_LANES[0], rtl))
    failed = set(re.findall(r"axi_lane_tests\.(\w+)\s+FAIL", str(caught.value)))
    assert failed == FAULTS.keys()


@pytest.mark.release
@pytest.mark.parametrize("fault", ASSERTED)
def test_bench_of_the_lane_on_axi_finds_the_planted_fault(fault: str, tmp_path: Path) -> None:
    change, message = ASSERTED[fault]
    with pytest.raises(BenchError, match=message):
        run(axi_run(AXI_LANES[0], plant_all(tmp_path, [change])))
