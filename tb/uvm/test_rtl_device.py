"""The whole device against the reference device, clock by clock, in the pyuvm environment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tb.bench import BenchError, run
from tb.planted import plant
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
    ("config", "file", "old", "new", "message"),
    [
        (CONFIGS[0], "qstep_device.v", "ahead > 16'h8000", "ahead > 16'h8001", "instead of"),
        (
            CONFIGS[0],
            "qstep_device.v",
            ".line__ready(tx_ready)",
            ".line__ready(1'h1)",
            "an offered byte changed",
        ),
        (
            CONFIGS[0],
            "qs_update.sv",
            "saturated_o <= saturating::overflows(rounded)",
            "saturated_o <= 1'b0",
            "instead of",
        ),
        (CONFIGS[0], "qs_noise.sv", "w_q <= w_q + WEYL", "w_q <= w_q", "instead of"),
        (CONFIGS[0], "qstep_device.v", "verdict = halted;", "verdict = 3'h0;", "instead of"),
        (CONFIGS[0], "qstep_device.v", " & forwarded;", " & 1'h0;", "lane: forwarded"),
        (CONFIGS[2], "qstep_device.v", "(was_held)", "(1'h0)", "lane: held"),
        (CONFIGS[2], "qs_lane.sv", "tr_ready_o = !hold_o;", "tr_ready_o = 1'b1;", "instead of"),
    ],
    ids=[
        "duplicate-taken-for-a-gap",
        "stall-ignored",
        "saturation-not-counted",
        "weyl-stands-still",
        "goes-on-after-a-refusal",
        "forwarded-not-counted",
        "held-not-counted",
        "ready-while-it-holds",
    ],
)
def test_bench_finds_the_fault_planted_in_the_device(
    config: Config, file: str, old: str, new: str, message: str, tmp_path: Path
) -> None:
    suite = device_run(config)
    sources = [tmp_path / source.name for source in suite.sources]
    rtl = plant(tmp_path, file, old, new, extra=suite.sources)
    with pytest.raises(BenchError, match="failed") as caught:
        run(replace(suite, rtl=rtl, sources=tuple(sources)))
    assert message in str(caught.value)
