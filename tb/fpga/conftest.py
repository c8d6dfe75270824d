"""Provides a chip's resources from the committed reports, for tests that run without the tools."""

from pathlib import Path

import pytest

from qstep_fpga import chip
from qstep_fpga.board import Board
from qstep_fpga.report import BuildReport

REPORTS = Path(__file__).parents[2] / "fpga/reports"


def kept(board: Board) -> dict[str, int]:
    """Return the chip's resources from the report of a board."""
    resources = BuildReport.read(REPORTS / f"{board.name}.json").resources
    return {name: there for name, (_, there) in resources.items()}


@pytest.fixture(autouse=True)
def _chips_of_the_reports(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("unit"):
        monkeypatch.setattr(chip, "available", kept)
