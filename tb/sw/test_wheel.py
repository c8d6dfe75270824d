"""The wheel holds all of the package; ``make wheel`` tries what it does without a checkout."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from tb.wheel import ROOT, build, left_out, strangers

pytestmark = pytest.mark.unit


def test_the_wheel_holds_all_of_the_package_and_what_is_left_out_is_named(tmp_path: Path) -> None:
    wheel = build(tmp_path / "made")
    assert left_out(wheel) == []
    lacking = tmp_path / "lacking.whl"
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(lacking, "w") as part:
        for name in whole.namelist():
            if name != "qstep_sim/harness.cpp":
                spoilt = b"// " if name == "qstep_rtl/verilog/qs_lane.sv" else b""
                part.writestr(name, spoilt + whole.read(name))
    assert left_out(lacking) == ["rtl/qs_lane.sv", "sim/qstep_sim/harness.cpp"]


def test_what_comes_from_the_checkout_is_found() -> None:
    environment = ROOT / "build/environment"
    inside = [str(environment / "lib/qstep/__init__.py"), "", "/usr/lib/python3.11"]
    packages = str(ROOT / ".venv/lib/python3.11/site-packages")
    assert strangers([*inside, packages], environment) == []
    ours = [str(ROOT / "sw/qstep/__init__.py"), str(ROOT)]
    assert strangers([*inside, *ours, packages], environment) == ours
