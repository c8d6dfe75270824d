"""`qstep bench` refuses what it cannot measure or write before it measures."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from qstep.bench import report, systems
from qstep.cli.bench import command
from qstep.errors import FileFormatError, TorchDeviceError


@pytest.mark.parametrize("option", ["--json", "--html"])
def test_the_command_refuses_a_folder_as_a_file_before_it_measures(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "run", lambda *given: pytest.fail("it measured"))
    folder = tmp_path / "folder.json"
    folder.mkdir()
    result = CliRunner().invoke(command, [option, str(folder)])
    assert isinstance(result.exception, FileFormatError)
    assert str(result.exception) == f"{folder}: cannot be written: it is a folder"


def test_the_command_refuses_an_unknown_kind_of_picture_before_it_measures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "run", lambda *given: pytest.fail("it measured"))
    result = CliRunner().invoke(command, ["--plot", str(tmp_path / "a.foo")])
    assert isinstance(result.exception, FileFormatError)
    assert "no picture ends with '.foo'; it may be .png, .svg" in str(result.exception)


def test_the_command_refuses_an_unknown_system() -> None:
    result = CliRunner().invoke(command, ["--system", "maze"])
    assert result.exit_code == 2
    assert "'maze' is not one of" in result.output


@pytest.mark.parametrize("system", systems.NAMES)
def test_the_command_refuses_an_absent_device_whatever_the_system(system: str) -> None:
    pytest.importorskip("torch")
    words = ["--quick", "--system", system, "--torch-device", "abacus"]
    result = CliRunner().invoke(command, words)
    assert isinstance(result.exception, TorchDeviceError)
    assert re.search(r"no device 'abacus' on this machine; it has .*cpu", str(result.exception))


def test_the_command_refuses_a_missing_report_before_it_measures() -> None:
    result = CliRunner().invoke(command, ["--report", "absent.json"])
    assert isinstance(result.exception, FileFormatError)
    assert "absent.json: is not a report of a build" in str(result.exception)
