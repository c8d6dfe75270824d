"""The RTL linter sees faults, and the RTL has none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tb import lint_rtl
from tb.planted import plant, plant_file

pytestmark = pytest.mark.rtl


@pytest.mark.parametrize(
    "parameters", lint_rtl.CORNERS, ids=lambda p: "-".join(map(str, p.values()))
)
def test_rtl_has_no_warnings(parameters: dict[str, int]) -> None:
    assert lint_rtl.lint("qs_lane", parameters) == ""


def test_the_interleaved_lane_has_no_warnings() -> None:
    corners = lint_rtl.ACTING_CORNERS
    assert {corner["Algorithm"] for corner in corners if "Algorithm" in corner} == set(range(4))
    assert {corner.get("Rounding", 0) for corner in corners} == set(range(3))
    assert [lint_rtl.lint_acting(corner) for corner in corners] == [""] * len(corners)


def test_fault_in_one_corner_of_the_interleaved_lane_is_reported(tmp_path: Path) -> None:
    clock = "SweepBits'(Slots - 2)"
    rtl = plant(tmp_path, "qs_agent_counters.sv", clock, "(SweepBits + Width / 32)'(Slots - 2)")
    complaints = [lint_rtl.lint_acting(corner, rtl) for corner in lint_rtl.ACTING_CORNERS[:2]]
    assert complaints[0] == ""
    assert "%Warning-WIDTH" in complaints[1]


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"Agents": 17}, "Agents is 17, legal is 1..16"),
        ({"States": 8192}, "States is 8192, legal is 2..65536, and 65536 for all agents"),
        ({"Algorithm": 4}, "Algorithm is 4, legal is 0..3"),
        ({"Rounding": 3}, "Rounding is 3, legal is 0..2"),
    ],
    ids=str,
)
def test_illegal_parameters_end_the_elaboration(parameter: dict[str, int], message: str) -> None:
    assert message in lint_rtl.lint_acting(parameter)


@pytest.mark.parametrize("clock_hz", lint_rtl.BOARD_CLOCKS)
def test_what_is_around_the_device_has_no_warnings(clock_hz: int) -> None:
    assert lint_rtl.lint_board(clock_hz) == ""


def test_a_device_with_two_clocks_has_no_warnings_and_a_fault_there_is_reported(
    tmp_path: Path,
) -> None:
    assert lint_rtl.lint_two_clocks() == ""
    line = "//LANES input logic lanes_clk_i"
    planted = plant_file(tmp_path, lint_rtl.BOARD, line, line.replace("logic", "logic [1:0]"))
    assert "%Warning-WIDTHTRUNC" in lint_rtl.lint_two_clocks(planted)


def test_what_is_around_the_lane_alone_has_no_warnings() -> None:
    assert lint_rtl.lint_lane_wrapper() == ""
    assert lint_rtl.lint_pins() == ""
    assert lint_rtl.lint_tile() == ""


def test_the_lane_on_axi_has_no_warnings_and_a_fault_there_is_reported(tmp_path: Path) -> None:
    corners = lint_rtl.AXI_CORNERS
    assert [lint_rtl.lint_axi_lane(corner) for corner in corners] == [""] * len(corners)
    rtl = plant(tmp_path, "qs_bus_stream.sv", "32'(greedy)", "31'(greedy)")
    assert "%Warning-WIDTH" in lint_rtl.lint_axi_lane(corners[0], rtl)


def test_agents_on_axi_have_no_warnings() -> None:
    corners = lint_rtl.AXI_AGENTS_CORNERS
    assert [lint_rtl.lint_axi_agents(*corner) for corner in corners] == [""] * len(corners)


def test_the_world_as_a_circuit_has_no_warnings() -> None:
    corners = lint_rtl.WORLD_CORNERS
    assert [lint_rtl.lint_world(corner) for corner in corners] == [""] * len(corners)


def test_every_file_is_as_verible_formats_it() -> None:
    files = lint_rtl.written_by_hand()
    names = {path.name for path in files}
    assert {"qs_lane.sv", "qs_assert.svh", "qs_board.sv", "lane_proof.sv"} <= names
    assert [lint_rtl.lint_style(path) for path in files] == [""] * len(files)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("  assign   y_o = 1'b0;\n", "not formatted"),
        ("  localparam int unsigned lower = 1;\n", "parameter-name-style"),
        ("  assign y_o = ;\n", "syntax error"),
    ],
)
def test_style_is_reported(body: str, message: str, tmp_path: Path) -> None:
    sample = tmp_path / "sample.sv"
    sample.write_text(f"module sample (\n    output logic y_o\n);\n{body}endmodule\n")
    assert message in lint_rtl.lint_style(sample)


def test_fault_around_the_device_is_reported(tmp_path: Path) -> None:
    board = plant(
        tmp_path, "qs_board.sv", "output logic tx_o", "output logic [1:0] tx_o", [lint_rtl.BOARD]
    )
    assert "%Warning-WIDTHTRUNC" in lint_rtl.lint_board(12_000_000, board / "qs_board.sv")


def test_narrow_assignment_is_reported(tmp_path: Path) -> None:
    shutil.copy(lint_rtl.RTL / "qs_pkg.sv", tmp_path)
    (tmp_path / "sample.sv").write_text(
        "module sample (input logic [7:0] a_i, output logic [3:0] y_o);\n"
        "  assign y_o = a_i;\nendmodule\n",
        encoding="utf-8",
    )
    assert "%Warning-WIDTHTRUNC" in lint_rtl.lint("sample", {}, rtl=tmp_path)


def test_missing_module_is_reported(tmp_path: Path) -> None:
    shutil.copy(lint_rtl.RTL / "qs_pkg.sv", tmp_path)
    assert "%Error" in lint_rtl.lint("absent", {}, rtl=tmp_path)
