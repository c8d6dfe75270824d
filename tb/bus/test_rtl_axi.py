"""The lane and agents on AXI match the model, and their benches find faults."""

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
    axi_agents_run,
    axi_planes,
    axi_run,
)
from tb.planted import Fault, faults, plant_all

from qstep import Config
from qstep_rtl.bus.registers import LANE

pytestmark = pytest.mark.rtl


@pytest.mark.slow
@pytest.mark.bench("tb.bus.axi_lane_tests", "qs_axi_lane")
def test_lane_on_axi_matches_the_model(only: str) -> None:
    run(replace(axi_run(AXI_LANES[1]), test=only))


@pytest.mark.slow
@pytest.mark.bench("tb.bus.axi_agents_tests", "qs_axi_agents qs_acting")
def test_agents_on_axi_match_the_model(only: str) -> None:
    run(replace(axi_agents_run("axi_agents_tests"), test=only))


@pytest.mark.slow
@pytest.mark.bench("tb.bus.axi_planes_tests", "qs_axi_agents qs_acting")
def test_agents_on_axi_with_two_planes_match_the_model(only: str) -> None:
    run(replace(axi_agents_run("axi_planes_tests"), test=only))


@pytest.mark.slow
@pytest.mark.bench("tb.bus.axi_sensors_tests", "qs_axi_agents qs_acting")
def test_agents_on_axi_that_see_tiles_match_the_model(only: str) -> None:
    run(replace(axi_agents_run("axi_sensors_tests"), test=only))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("planes", "stream_bytes"), [(10, 8), pytest.param(16, 16, marks=pytest.mark.release)]
)
def test_agents_on_axi_with_many_planes_match_the_model(planes: int, stream_bytes: int) -> None:
    run(axi_agents_run("axi_planes_tests", config=axi_planes(planes), stream_bytes=stream_bytes))


@pytest.mark.slow
@pytest.mark.bench("tb.bus.axi_edges_tests", "qs_axi_agents qs_acting")
def test_agents_on_axi_are_exact_when_answers_come_as_a_job_begins_or_ends(only: str) -> None:
    run(replace(axi_agents_run("axi_edges_tests"), test=only))


@pytest.mark.slow
@pytest.mark.bench("tb.bus.axi_acting_tests", "qs_axi_agents qs_acting")
def test_agents_on_axi_with_their_world_inside_match_the_model(only: str) -> None:
    run(replace(axi_agents_run("axi_acting_tests"), test=only))


@pytest.mark.slow
@pytest.mark.bench("tb.bus.axi_reset_tests", "qs_axi_agents qs_acting")
@pytest.mark.parametrize("config", AXI_SHARED, ids=lambda config: config.acting.algorithm)
def test_agents_on_axi_with_a_shared_table_are_reset_by_one_clock(
    config: Config, only: str
) -> None:
    run(replace(axi_agents_run("axi_reset_tests", config=config), test=only))


@pytest.mark.slow
def test_an_agent_that_is_held_in_a_reset_and_keeps_its_flags_is_noticed(tmp_path: Path) -> None:
    (fault,) = faults("axi_reset_tests")
    with pytest.raises(BenchError, match=str(fault.seen)):
        run(axi_agents_run("axi_reset_tests", plant_all(tmp_path, [fault])))


@pytest.mark.release
@pytest.mark.bench("tb.bus.axi_crowd_tests", "qs_axi_agents qs_acting")
def test_sixteen_agents_on_axi_match_the_model(only: str) -> None:
    run(replace(axi_agents_run("axi_crowd_tests"), test=only))


@pytest.mark.release
@pytest.mark.parametrize("stream_bytes", [4, 16])
def test_agents_on_axi_match_the_model_with_beats_of_any_size(stream_bytes: int) -> None:
    run(axi_agents_run("axi_agents_tests", stream_bytes=stream_bytes, seed=stream_bytes))


@pytest.mark.release
@pytest.mark.parametrize("parameters", [*AXI_LANES, *MORE_AXI_LANES], ids=parameter_id)
@pytest.mark.parametrize("seed", [2, 3])
def test_lane_on_axi_matches_the_model_for_long(parameters: dict[str, int], seed: int) -> None:
    run(axi_run(parameters, seed=seed, packets=60))


@pytest.mark.parametrize(
    "tests",
    [
        pytest.param("axi_lane_tests", marks=pytest.mark.slow),
        *(
            pytest.param(tests, marks=pytest.mark.release)
            for tests in (
                "axi_agents_tests",
                "axi_edges_tests",
                "axi_planes_tests",
                "axi_sensors_tests",
            )
        ),
    ],
)
def test_each_planted_fault_fails_the_test_that_is_to_find_it_and_no_other(
    tests: str, tmp_path: Path
) -> None:
    """With all faults of these tests planted at once, each fails exactly the test intended for it."""
    planted = faults(tests)
    rtl = plant_all(tmp_path, planted)
    of_lane = tests == "axi_lane_tests"
    with pytest.raises(BenchError, match="tests failed") as caught:
        run(axi_run(AXI_LANES[0], rtl) if of_lane else axi_agents_run(tests, rtl))
    failed = set(re.findall(rf"{tests}\.(\w+)\s+FAIL", str(caught.value)))
    assert failed - {"every_bin_is_hit"} == {fault.seen for fault in planted}


@pytest.mark.release
@pytest.mark.parametrize("fault", faults("axi_run"), ids=lambda fault: fault.name)
def test_bench_of_the_lane_on_axi_finds_the_planted_fault(fault: Fault, tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=str(fault.seen)):
        run(axi_run(AXI_LANES[0], plant_all(tmp_path, [fault])))


@pytest.mark.slow
def test_a_bin_that_no_stimulus_hits_fails() -> None:
    with pytest.raises(BenchError, match="1 of 1 tests failed") as caught:
        run(replace(axi_run(AXI_LANES[1]), test="every_bin_is_hit"))
    bins = sum(map(len, bus_bins(LANE, 1).values()))
    assert f"{bins} bins were never hit: ['handshake: aw valid waited'," in str(caught.value)
