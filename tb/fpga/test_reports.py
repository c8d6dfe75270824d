"""The committed figures are what the tools say of the design as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from qstep_fpga.board import load
from qstep_fpga.flow import build
from qstep_fpga.render import markdown
from qstep_fpga.report import Report

ROOT = Path(__file__).parents[2]
REPORTS = sorted((ROOT / "fpga/reports").glob("*.json"))


@pytest.mark.unit
def test_the_table_is_printed_from_the_reports() -> None:
    assert REPORTS
    table = markdown([Report.read(path) for path in REPORTS])
    assert f"\n\n{table}\n" in (ROOT / "fpga/README.md").read_text(encoding="utf-8")


@pytest.mark.unit
@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_a_report_is_of_the_boards_own_configuration(path: Path) -> None:
    assert Report.read(path).digest == load(path.stem).config.digest


@pytest.mark.synth
def test_a_fresh_build_of_the_smallest_board_gives_the_committed_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QSTEP_CACHE", str(tmp_path / "cache"))
    board = load("icebreaker")
    committed = Report.read(ROOT / "fpga/reports/icebreaker.json")
    fresh, bitstream = build(board, board.config, [1], 1, tmp_path, lambda *a: None)
    # The tools are deterministic for a seed and a version, so nothing may differ.
    assert fresh.tools == committed.tools
    assert fresh.fmax_mhz["1"] == committed.fmax_mhz["1"]
    assert fresh.resources == committed.resources
    assert bitstream.read_bytes()[:4] == b"\xff\x00\x00\xff"  # how icepack begins: comment, empty
