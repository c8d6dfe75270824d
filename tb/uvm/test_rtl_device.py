"""The whole device against the reference device, clock by clock, in the pyuvm environment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tb.bench import BenchError, run
from tb.planted import Fault, faults, plant_all
from tb.uvm.device_runs import CONFIGS, config_id, device_run

from qstep import Config

pytestmark = pytest.mark.rtl


@pytest.mark.bench("tb.uvm.device_tests", "qs_lane")
@pytest.mark.parametrize(
    "config",
    [CONFIGS[0], pytest.param(CONFIGS[1], marks=pytest.mark.slow), CONFIGS[2]],
    ids=config_id,
)
def test_device_answers_as_the_reference_on_a_stalling_line(config: Config, only: str) -> None:
    this = device_run(config)
    run(replace(this, test=only or this.test))


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        *((CONFIGS[0], fault) for fault in faults("DeviceSuite-0")),
        *((CONFIGS[2], fault) for fault in faults("DeviceSuite-2")),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_bench_finds_the_fault_planted_in_the_device(
    config: Config, fault: Fault, tmp_path: Path
) -> None:
    suite = device_run(config)
    sources = [tmp_path / source.name for source in suite.sources]
    rtl = plant_all(tmp_path, [fault], suite.sources)
    with pytest.raises(BenchError, match="failed") as caught:
        run(replace(suite, rtl=rtl, sources=tuple(sources)))
    assert str(fault.seen) in str(caught.value)
