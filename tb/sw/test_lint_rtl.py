"""The RTL linter sees faults, and the RTL has none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tb import lint_rtl

pytestmark = pytest.mark.rtl


@pytest.mark.parametrize(
    "parameters", lint_rtl.CORNERS, ids=lambda p: "-".join(map(str, p.values()))
)
def test_rtl_has_no_warnings(parameters: dict[str, int]) -> None:
    assert lint_rtl.lint("qs_lane", parameters) == ""


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
