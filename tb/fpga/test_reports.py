"""The tables match the reports; with ``pytest -m rebuild``, the reports match the current design."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from qstep._io.workers import Threads
from qstep.errors import BuildError
from qstep_fpga import report
from qstep_fpga.board import load
from qstep_fpga.chip import available
from qstep_fpga.families import FAMILIES
from qstep_fpga.flow import build
from qstep_fpga.netlist import identity
from qstep_fpga.render import main
from qstep_fpga.report import BuildReport

ROOT = Path(__file__).parents[2]
REPORTS = sorted((ROOT / "fpga/reports").glob("*.json"))
STALE = "stale: sources changed since "


def printed() -> list[str]:
    """Return the tables printed by the documented command."""
    said = CliRunner().invoke(main, [str(path) for path in REPORTS])
    assert said.exit_code == 0
    tables = said.output.removesuffix("\n").split("\n\n")
    assert [table.count("\n") for table in tables] == [len(REPORTS) + 1] * 2
    return tables


def on_the_page() -> str:
    page = (ROOT / "fpga/README.md").read_text(encoding="utf-8")
    assert "\n    python -m qstep_fpga.render fpga/reports/*.json\n" in page
    return "\n\n".join(re.findall(r"^\|.*\|$(?:\n\|.*\|$)*", page, re.MULTILINE))


def test_the_tables_are_what_the_documented_call_prints_of_reports_that_are_not_stale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(BuildReport, "stale", "")
    assert on_the_page().replace(STALE, "") == "\n\n".join(printed())


@pytest.mark.rebuild
def test_the_tables_say_which_reports_are_stale() -> None:
    assert on_the_page() == "\n\n".join(printed())


def test_a_report_of_other_sources_is_marked_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = BuildReport.read(ROOT / "fpga/reports/icebreaker.json")
    monkeypatch.setattr(
        report, "identity", lambda board, config, tools: str((board, config, tools))
    )
    current = str((load("icebreaker"), load("icebreaker").config, kept.tools))
    assert replace(kept, build=current).stale == ""
    for other in (kept, replace(kept, build=current, tools={})):
        assert other.stale == f"{STALE}{kept.commit}"
    assert replace(kept, commit="").stale == f"{STALE}it was built"
    assert replace(kept, board="none").stale.startswith("stale: board is 'none'; known boards: ")
    said = CliRunner().invoke(main, [str(ROOT / "fpga/reports/icebreaker.json")])
    assert f"| {kept.build} | {STALE}{kept.commit} | {kept.seed} |" in said.output


def test_what_is_no_report_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}", encoding="utf-8")
    printed = CliRunner().invoke(main, [str(tmp_path / "x.json")])
    assert printed.exit_code == 1
    assert re.match(r"Error: .*x\.json: is not a build report", printed.output)


@pytest.mark.rebuild
@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_a_report_is_of_the_configuration_sources_and_tools_as_they_are(path: Path) -> None:
    board, kept = load(path.stem), BuildReport.read(path)
    assert kept.digest == board.config.digest
    assert kept.build == identity(board, board.config), kept.stale


@pytest.mark.synth
@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_the_placer_says_what_a_chip_has_before_anything_is_placed(path: Path) -> None:
    board = load(path.stem)
    found = available(board)
    assert set(found) == set(FAMILIES[board.family].cells)
    resources = BuildReport.read(path).resources
    assert found == {name: there for name, (_, there) in resources.items()}


@pytest.mark.synth
def test_a_chip_that_the_placer_does_not_know_is_an_error() -> None:
    unknown = replace(load("icebreaker"), device="up9k")
    with pytest.raises(BuildError, match="nextpnr-ice40 failed"):
        available(unknown)


@pytest.mark.rebuild
def test_a_fresh_build_of_the_smallest_board_gives_the_committed_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QSTEP_CACHE", str(tmp_path / "cache"))
    board = load("icebreaker")
    committed = BuildReport.read(ROOT / "fpga/reports/icebreaker.json")
    fresh, bitstream = build(board, board.config, [1], Threads(1), tmp_path, lambda *a: None)
    # The tools are deterministic for a seed and a version, so nothing may differ.
    assert fresh.tools == committed.tools
    assert fresh.fmax_mhz["1"] == committed.fmax_mhz["1"]
    assert fresh.resources == committed.resources
    assert bitstream.read_bytes()[:4] == b"\xff\x00\x00\xff"  # icepack starts with an empty comment
