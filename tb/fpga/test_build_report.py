"""Build reports contain the right figures and texts, and other files are rejected."""

import io
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from tb.fpga.placements import BOARD, placement

from qstep.errors import FileFormatError
from qstep.spec.agents import Acting
from qstep_fpga import report as report_module
from qstep_fpga.render import markdown, origins, render
from qstep_fpga.report import BuildReport, LinkClock
from qstep_rtl.sources import RTL


@pytest.fixture(scope="module")
def two_seeds() -> BuildReport:
    """Return a report of two placements; it is shared, because creating one generates the hardware."""
    return BuildReport.of(BOARD, BOARD.config, [placement(1, 25.0), placement(2, 31.0)])


def shown(report: BuildReport) -> str:
    out = io.StringIO()
    Console(file=out, width=200).print(render(report))
    return " ".join(out.getvalue().split())


@pytest.mark.parametrize(
    "text", ["{}", "[]", "no json", "[" * 100_000, pytest.param("9" * 5000, id="5000-digits")]
)
def test_a_file_that_is_no_report_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(FileFormatError, match=r"x\.json: is not a build report"):
        BuildReport.read(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("config", 3, ""),
        ("config", {"states": 1}, ""),
        ("fmax_mhz", {}, "fmax_mhz has no clock for seed 2"),
        ("fmax_mhz", {"1": "fast"}, "'>' not supported"),
        ("seed", 3, "fmax_mhz has no clock for seed 3"),
        ("clock_mhz", float("nan"), "a clock is nan"),
        ("resources", {"LUT4": [1]}, "not enough values"),
        ("resources", {"LUT4": [3, 2]}, "3 of 2 LUT4 are used"),
        ("tools", {"yosys": 1}, "a version in tools is not text"),
        ("part", 7, "part is not text"),
        ("agents", 16, "lanes, agents, updates_per_second do not match the other fields"),
        ("updates_per_second", {"min": 1}, "do not match the other fields"),
    ],
)
def test_a_report_with_a_wrong_value_is_refused(
    two_seeds: BuildReport, tmp_path: Path, field: str, value: object, message: str
) -> None:
    file = tmp_path / "icebreaker.json"
    two_seeds.write(file)
    tree = json.loads(file.read_text())
    file.write_text(json.dumps({**tree, field: value}))
    with pytest.raises(
        FileFormatError, match=f"icebreaker.json: is not a build report: .*{message}"
    ):
        BuildReport.read(file)


def test_link_rates_follow_from_baud_and_record_lengths() -> None:
    config = replace(BOARD.config, states=1024)
    report = BuildReport.of(BOARD, config, [placement(1, 30.0)])
    assert report.link_rates == (0.3 / 4, 0.3 / 3)


@pytest.mark.parametrize(("agents", "updates_per_clock"), [(0, 1.0), (4, 0.25), (16, 1.0)])
def test_updates_a_second_follow_from_clocks_and_agents(
    agents: int, updates_per_clock: float, two_seeds: BuildReport, tmp_path: Path
) -> None:
    config = replace(BOARD.config, acting=Acting(agents) if agents else None)
    report = replace(two_seeds, config=config.to_dict())
    report.write(tmp_path / "x.json")
    tree = json.loads((tmp_path / "x.json").read_text())
    assert (tree["lanes"], tree["agents"]) == (1, agents)
    million = {name: rate / 1e6 for name, rate in tree["updates_per_second"].items()}
    clocks = {"min": 25.0, "median": 28.0, "max": 31.0}
    assert million == {name: clock * updates_per_clock for name, clock in clocks.items()}
    assert BuildReport.read(tmp_path / "x.json") == report


def test_a_device_with_agents_needs_no_link_to_learn(two_seeds: BuildReport) -> None:
    one, report = (
        replace(two_seeds, config=replace(BOARD.config, acting=Acting(agents)).to_dict())
        for agents in (1, 4)
    )
    assert "| 64 x 4, Q8.8, 1 agent |" in markdown([one])
    *_, row = markdown([report]).splitlines()
    assert "| 64 x 4, Q8.8, 4 agents |" in row
    assert row.endswith("| 2 | 6 / not needed |")
    assert "6 million updates/s" in shown(report)
    assert "transitions/s" not in shown(report)


def test_tables_have_a_row_a_report(two_seeds: BuildReport) -> None:
    report = two_seeds
    *_, row = markdown([report]).splitlines()
    assert row == (
        "| icebreaker (iCE40UP5K-SG48) | 64 x 4, Q8.8, loop depth 3 | 1 / 2 | in the cells | 1 / 2 "
        "| 1 / 2 | 24 | 25.0 / 28.0 / 31.0 | 2 | 24 / 0.100 |"
    )
    *_, row = origins([report]).splitlines()
    made_with = ", ".join(f"{name} {version}" for name, version in report.tools.items())
    assert row == (
        f"| icebreaker | {BOARD.config.digest[:16]} | {report.build} | {report.commit} | 2 | "
        f"80.0 ns from a to b through 0 cells, 75% of it in wires | {made_with} |"
    )


def test_a_report_names_the_commit_of_a_checkout_alone(
    two_seeds: BuildReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = RTL.parent
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=checkout, capture_output=True, text=True, check=True
    )
    commit = two_seeds.commit.removesuffix("+")
    assert len(commit) >= 7
    assert head.stdout.startswith(commit)
    assert f"{two_seeds.build}, sources of commit {two_seeds.commit}" in shown(two_seeds)
    for folder in (tmp_path, tmp_path / "broken"):  # no checkout, or one that git cannot read
        monkeypatch.setattr(report_module, "RTL", folder / "rtl")
        assert report_module._commit() == ""
        (tmp_path / "broken/.git").mkdir(parents=True, exist_ok=True)


def test_what_is_shown_of_a_lane_and_of_a_link_with_a_clock_of_its_own(
    two_seeds: BuildReport,
) -> None:
    of_lane = shown(two_seeds)
    full, continuing = two_seeds.link_rates
    assert f"link {full:.4f} million transitions/s at" in of_lane
    assert f"baud, {continuing:.4f} if each starts where the previous one ended" in of_lane
    assert "link's clock" not in of_lane
    link = LinkClock(90.0, {"1": 90.5, "2": 93.25})
    assert "link's clock 90 MHz; highest 90.5 to 93.2 MHz" in shown(replace(two_seeds, link=link))
