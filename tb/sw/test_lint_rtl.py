"""The RTL linter of ``make lint`` detects faults."""

import shutil
import sys
from pathlib import Path

import pytest
from tb.planted import plant
from tools import lint_rtl

from qstep_fpga.board import load
from qstep_fpga.pin_wrapper import around_device
from qstep_rtl.sources import source

pytestmark = pytest.mark.rtl


def test_the_command_fails_with_the_first_complaint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["lint_rtl"])
    monkeypatch.setattr(lint_rtl, "lint", lambda *_: "%Warning-WIDTH")
    assert lint_rtl.main() == 1
    assert f"qs_lane with {lint_rtl.CORNERS[0]}:\n%Warning-WIDTH" in capsys.readouterr().err


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"Groups": 3, "Planes": 6}, "Groups * Planes is 3 * 6, legal is 1..16"),
        ({"Rows": 100}, "Rows is 100, legal is a power of two from 2 to 65536"),
        ({"Actions": 65}, "Actions is 65, legal is 2..64"),
        ({"Width": 7}, "Width is 7, legal is 8..32"),
        ({"CoeffFraction": 25}, "CoeffFraction is 25, legal is 15..24"),
        ({"SharedError": 1}, "Groups is 2, with SharedError legal is 1"),
        ({"Start": 32768}, "Start is 32768, legal is a value of 16 bits"),
        ({"Entries": 100}, "Entries is 100, legal is a power of two from 2 to 1024"),
        ({"KeyBits": 65}, "KeyBits is 65, legal is 1..64"),
    ],
    ids=str,
)
def test_illegal_parameters_of_the_learner_end_the_elaboration(
    parameter: dict[str, int], message: str
) -> None:
    assert message in lint_rtl.lint_learner({"Entries": 2, **parameter})


def test_fault_in_the_lane_on_axi_is_reported(tmp_path: Path) -> None:
    rtl = plant(tmp_path, "qs_bus_stream.sv", "32'(greedy)", "31'(greedy)")
    assert "%Warning-WIDTH" in lint_rtl.lint_axi_lane(lint_rtl.AXI_CORNERS[0], rtl)


@pytest.mark.slow
def test_fault_in_a_boards_top_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    board = load("icebreaker")
    made = around_device(board, board.config)
    assert "connect \\rx " in made
    wrong = made.replace("connect \\rx ", "connect \\ry ")
    monkeypatch.setattr("tools.lint_rtl.around_device", lambda *_: wrong)
    assert "%Error" in lint_rtl.lint_board(board)


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


def test_narrow_assignment_is_reported(tmp_path: Path) -> None:
    shutil.copy(source("qs_pkg.sv"), tmp_path)
    (tmp_path / "sample.sv").write_text(
        "module sample (input logic [7:0] a_i, output logic [3:0] y_o);\n"
        "  assign y_o = a_i;\nendmodule\n",
        encoding="utf-8",
    )
    assert "%Warning-WIDTHTRUNC" in lint_rtl.lint("sample", {}, rtl=tmp_path)


def test_missing_module_is_reported(tmp_path: Path) -> None:
    shutil.copy(source("qs_pkg.sv"), tmp_path)
    assert "%Error" in lint_rtl.lint("absent", {}, rtl=tmp_path)
