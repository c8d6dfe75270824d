"""Found mutants are counted per module, and a module whose tests find too few fails the run."""

import json
from pathlib import Path

import pytest
from tb.mutate import python

pytestmark = pytest.mark.unit


def test_a_module_whose_tests_find_too_little_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    verdicts = ["killed"] * 8 + ["timeout", "survived", "not checked"]
    lines = [
        f"    qstep.spec.fixed.x_wrap__mutmut_{n}: {what}\n" for n, what in enumerate(verdicts, 1)
    ]
    said = {"run": "", "results": "".join(lines)}
    monkeypatch.setattr(python, "FOLDER", tmp_path / "folder")
    monkeypatch.setattr(python, "_mutmut", lambda what, *_: said[what])
    figures = tmp_path / "figures"
    assert python.main(["--json", str(figures)]) == 0
    assert json.loads(figures.read_text()) == {"modules": 1, "enough": 1, "faults": 10, "found": 9}
    said["results"] += "    qstep.device.link.frames.x_frame__mutmut_1: no tests\n"
    assert python.main(["--json", str(figures)]) == 1
    assert json.loads(figures.read_text()) == {"modules": 2, "enough": 1, "faults": 11, "found": 9}
    printed = capsys.readouterr().out
    assert "qstep.spec.fixed: 9 of 10 found, 90.0%\n" in printed
    assert "    qstep.spec.fixed.x_wrap__mutmut_10: survived\n" in printed
    assert "    qstep.device.link.frames.x_frame__mutmut_1: no tests\n" in printed


def test_the_folder_has_the_package_to_mutate_and_its_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(python, "FOLDER", tmp_path / "folder")
    python._link()
    python._link()
    assert (tmp_path / "folder/qstep/spec/fixed.py").samefile(
        python.ROOT / "sw/qstep/spec/fixed.py"
    )
    assert (tmp_path / "folder/mutants/tb/sw/test_fixed.py").exists()
    assert not (tmp_path / "folder/mutants/build").exists()
