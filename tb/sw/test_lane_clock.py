"""A complete device matches the model even if its lanes' clock is unrelated to the link's clock."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tb.equal_agents import go_on_after_a_reset, run_alike, stop_midway
from tb.generated import whole
from tb.random_world import random_world

from qstep.device.agents import LinkAgents
from qstep.golden.agents_fast import FastActingModel
from qstep.spec.agents import Acting
from qstep.spec.config import Config, Link
from qstep.spec.epsilon import Epsilon
from qstep.spec.settings import AgentSettings
from qstep_rtl import sources
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort

pytestmark = [pytest.mark.rtl, pytest.mark.slow]

DIVISOR = 8
SLOWER, RATIO = 4, 1.7
"""The link clock is the simulation clock divided by SLOWER; the lane clock is RATIO times as fast."""

CONFIG = Config(
    *(4, 2, "Q6.10"),
    acting=Acting(agents=2, clock_hz=50_000_000),
    link=Link(clock_hz=24_000_000, baud=24_000_000 // DIVISOR, buffer_bytes=512),
    lanes=2,
)
WORLD = random_world(CONFIG, 20, 3)
SETTINGS = [AgentSettings(0.5, 0.9, Epsilon(n / 8), n) for n in range(2)]

TOP = """
module clocks (input clk, input rst, input rx, output tx);
  reg [15:0] link = 0, lanes = 0;
  always @(posedge clk) begin
    link <= link + 16'd{link};
    lanes <= lanes + 16'd{lanes};
  end
  qstep_top u_top (
    .clk(link[15]), .lanes_clk(lanes[15]), .rst(rst), .rx(rx), .tx(tx), .build(64'd0)
  );
endmodule
"""


def test_an_access_waits_for_a_stop_that_found_no_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QSTEP_TRACE", str(tmp_path / "waves.fst"))  # also checks assertions
    config = replace(CONFIG, lanes=1)
    with LinkAgents(SimPort(config), config, WORLD, SETTINGS) as device:
        model = FastActingModel(config, WORLD, SETTINGS)
        run_alike(device, model, 10)
        device.stop()
        assert device.states == model.states
        device.stop()
        np.testing.assert_array_equal(device.table, model.table)


def test_a_device_of_two_unrelated_clocks_runs_is_read_stops_and_is_reset(tmp_path: Path) -> None:
    files = {"qstep_top.v": whole(CONFIG, "qstep_top")}
    paces = {"link": (1 << 16) // SLOWER, "lanes": round(RATIO * (1 << 16) / SLOWER)}
    files["clocks.v"] = TOP.format(**paces)
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    verilog = [*sources.rtl_files(CONFIG), *(tmp_path / name for name in files)]
    # With a trace, all logic is evaluated until it settles. This matters here, because the clocks are
    # derived from another clock.
    library = compile_library(verilog, "clocks", uart=True, trace=True, optimise=False)
    port = SimPort(CONFIG, uart=True, library=library)
    port.set_baud(CONFIG.link.baud // SLOWER)
    device = LinkAgents(port, CONFIG, WORLD, SETTINGS, patience=0.5)
    model = FastActingModel(CONFIG, WORLD, SETTINGS)
    run_alike(device, model, 300)
    stop_midway(device)
    go_on_after_a_reset(device, port, model)
    port.close()
