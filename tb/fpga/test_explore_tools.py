"""A sweep works with the real tools, on the smallest lanes."""

import json
from pathlib import Path

import pytest

from qstep._io.workers import Threads
from qstep_fpga.board import Board, load
from qstep_fpga.explore.grid import Point, grid
from qstep_fpga.explore.sweep import explore
from qstep_fpga.lane_wrapper import wrapper_cells
from qstep_fpga.netlist import synthesise_lane
from qstep_fpga.pin_wrapper import WRAPPER

ICE, ECP = load("icebreaker"), load("ulx3s-12f")


@pytest.mark.synth
@pytest.mark.slow
@pytest.mark.parametrize("board", [ICE, ECP, load("tang-nano-9k")], ids=lambda board: board.family)
def test_registers_around_the_lane_are_found_in_its_netlist(
    board: Board, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("QSTEP_CACHE", str(tmp_path))
    (point,) = grid([board], states=[16], actions=[2], widths=[8], loop_depths=[2])
    assert isinstance(point, Point)
    netlist = synthesise_lane(point.board, point.config)
    module = json.loads(netlist.read_text("utf-8"))["modules"][WRAPPER]
    found = wrapper_cells(module)
    inputs, outputs = (
        len(module["netnames"][f"u_wrapper.{name}"]["bits"]) for name in ("in_q", "out_q")
    )
    # The first bit of the shift register is cleared by a LUT or by the flip-flop's reset.
    assert sum(found[kind] for kind in found if "LUT" in kind) in (outputs - 1, outputs)
    assert sum(found[kind] for kind in found if "FF" in kind) == 2 * (inputs + outputs)


@pytest.mark.synth
@pytest.mark.slow
def test_lane_is_placed_alone_and_what_is_too_large_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("QSTEP_CACHE", str(tmp_path))
    said: list[str] = []
    points = grid([ICE], states=[16, 4096], actions=[2], widths=[8], loop_depths=[2])
    (found,) = explore(points, "lane", [1], 1, Threads(1), said.append, lambda *_: None).results
    assert "4096 x 2, 8 bit, loop depth 2: does not fit: block RAM" in said[0]
    assert found.resources["DSP"][0] == 5
    assert 300 < found.resources["logic cells"][0] < 3000
    assert found.spread[1] > 15
