"""The runner of the benches, the coverage class and `make sim` work as documented."""

import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tb import run_sim
from tb.bench import TB, BenchError, Run, parameter_id, run
from tb.planted import plant, plant_file
from tb.uvm.covergroup import Covergroup
from tb.uvm.lane_pins import CLOCK, clocks_from_text, offer_words
from tb.uvm.ucis import as_ucis, from_ucis
from tb.verify.report import read_rows

from qstep import Config, Transitions

NOISE = Run("qs_noise", "tb.unit.rtl_noise")


@pytest.mark.unit
def test_parameter_sets_read_short() -> None:
    parameters = {"States": 64, "Actions": 4, "Width": 16, "LoopDepth": 1}
    assert parameter_id(parameters) == "s64-a4-w16-d1"


@pytest.mark.unit
def test_command_replays_everything_that_differs_from_the_default() -> None:
    this = Run("top", "m", {"A": 2}, test="T", options={"n": "5"}, seed=7, rtl=Path("x"))
    assert this.command == (
        "python -m tb.bench top m --seed 7 --parameters A=2 --options n=5 --test T --rtl x"
    )


@pytest.mark.unit
def test_unknown_top_is_refused() -> None:
    with pytest.raises(BenchError, match=r"nothing\.sv is neither"):
        run(Run("nothing", "m"))


@pytest.mark.unit
def test_covergroup_counts_and_names_its_holes() -> None:
    group = Covergroup({"a": ["x", "y"], "b": [(1, "z")]})
    group.hit("a", "y", 2)
    group.hit("b", (1, "z"), 0)
    assert group.holes() == ["a: x", "b: 1 z"]
    assert group.summary() == {"a": (1, 2), "b": (0, 1)}
    with pytest.raises(KeyError):
        group.hit("a", "not listed")


@pytest.mark.unit
def test_bins_come_back_from_the_form_that_other_tools_read() -> None:
    lane = Covergroup({"a": ["x", "y"], "b": [(1, "z")]})
    lane.hit("a", "y", 2)
    bus = Covergroup({})
    bus.add({"c": [0]})
    suites = {"LaneSuite <1>": lane.report()["hits"], "qs_axi_lane": bus.report()["hits"]}
    assert from_ucis(as_ucis(suites, 7)) == {
        "LaneSuite <1>": {"a": {"x": 0, "y": 2}, "b": {"1 z": 0}},
        "qs_axi_lane": {"c": {"0": 0}},
    }


@pytest.mark.unit
def test_words_of_the_lane_bench_are_taken_apart_where_they_are_put_together() -> None:
    offers = offer_words(
        Transitions.from_arrays(Config(65536, 64, "Q32.0"), [65535], [63], [-2.0], [1], [True])
    )
    assert offers == [1 << 71 | 1 << 70 | 63 << 64 | 0xFFFFFFFE << 32 | 1 << 16 | 65535]
    word = (5 << 160) | (0xFFFFFFFF << 128) | (7 << 96) | (2 << 80) | (1 << 64) | (3 << 56) | 9
    (clock,) = clocks_from_text(f"{word:0192b}")
    seen = dict(zip(CLOCK.names or (), clock.item(), strict=True))
    assert (seen["edge"], seen["action"], seen["state"], seen["next_state"]) == (9, 3, 1, 2)
    assert (seen["reward"], seen["value"], seen["maximum"]) == (7, -1, 5)


def names_of_nothing(names: set[str]) -> set[str]:
    """Return the names that are neither a test nor a file of the repository."""
    texts = [path.read_text(encoding="utf-8") for path in TB.rglob("*.py")]
    defined = set(re.findall(r"^(?:async )?(?:def|class) (\w+)", "\n".join(texts), re.MULTILINE))
    return {name for name in names - defined if not (TB.parent / name).exists()}


@pytest.mark.unit
def test_plan_and_rows_name_what_exists() -> None:
    plan = (TB / "TESTPLAN.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\|.*\|([^|]*)\|$", plan, re.MULTILINE)
    page = (TB.parent / "docs/verification.md").read_text(encoding="utf-8")
    details = (TB.parent / "docs/verification-details.md").read_text(encoding="utf-8")
    checked = details.split("## How each row is checked\n")[1].split("\n## ")[0]
    rows = re.findall(r"`([^`]+)`", page.split("## The sixteen rows\n")[1] + checked)
    named = set(re.findall(r"`([^`]+)`", " ".join(cells)))
    named |= {row for row in rows if " " not in row and not row.startswith("build/")}
    named |= {word for row in rows for word in row.split() if word.startswith("tb/")}
    assert len(read_rows(page)) == 16
    assert len(named) > 500
    assert names_of_nothing(named | {"test_coffee", "tb/coffee.py"}) == {
        "test_coffee",
        "tb/coffee.py",
    }


@pytest.mark.unit
@pytest.mark.slow
def test_a_test_that_never_ends_fails_and_ends_what_it_started(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    assert 0 < float(pytestconfig.getini("timeout")) < 3600
    late = tmp_path / "late"
    program = f"import pathlib, time; time.sleep(4); pathlib.Path({str(late)!r}).touch()"
    (tmp_path / "test_endless.py").write_text(
        "import subprocess, sys\n"
        f"def test_endless(): subprocess.run([sys.executable, '-c', {program!r}])\n",
        encoding="utf-8",
    )
    settings = ["-c", str(TB.parent / "pyproject.toml"), "-o", "timeout=1"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *settings]
    answer = subprocess.run([*command, tmp_path], capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert "Timeout (>1.0s)" in answer.stdout
    time.sleep(4)
    assert not late.exists()


@pytest.mark.slow
@pytest.mark.rtl
def test_failing_bench_prints_the_command_that_replays_it(tmp_path: Path) -> None:
    rtl = plant(tmp_path, "qs_noise.sv", "<< 13", "<< 12")
    with pytest.raises(BenchError, match="2 of 3 tests failed") as caught:
        run(replace(NOISE, rtl=rtl))
    command = f"python -m tb.bench qs_noise tb.unit.rtl_noise --seed 1 --rtl {rtl}"
    assert f"replay: {command}" in str(caught.value)


@pytest.mark.slow
@pytest.mark.rtl
def test_assertion_in_the_rtl_fails_the_run(tmp_path: Path) -> None:
    rtl = plant(tmp_path, "qs_noise.sv", "x_q != 0", "x_q != 1")
    with pytest.raises(BenchError, match="NeverZero_A"):
        run(replace(NOISE, rtl=rtl))


@pytest.mark.rtl
def test_lint_warning_fails_the_build(tmp_path: Path) -> None:
    rtl = plant(tmp_path, "qs_noise.sv", "assign x_o = x_q;", "assign x_o = x_q[15:0];")
    with pytest.raises(BenchError, match="WIDTHEXPAND"):
        run(replace(NOISE, rtl=rtl))


@pytest.mark.slow
@pytest.mark.rtl
def test_a_build_is_made_anew_only_if_something_that_verilator_reads_in_it_changed(
    tmp_path: Path,
) -> None:
    def built() -> Path:
        return run(replace(NOISE, rtl=rtl, test="reset_gives_the_documented_state")).folder.parent

    rtl = plant(tmp_path, "qs_noise.sv", "<< 13", "<< 13")
    first = built()
    plant_file(rtl, rtl / "qs_noise.sv", "module qs_noise", "// A comment\nmodule qs_noise")
    plant_file(rtl, rtl / "qs_update.sv", "module qs_update", "module no_longer")
    assert built() == first
    plant_file(rtl, rtl / "qs_assert.svh", "`define QS_ASSERT_SVH", "`define QS_ASSERT_SVH 1")
    assert built() != first
    plant_file(rtl, rtl / "qs_noise.sv", "x_q != 0", "x_q != 1")
    assert built() != first


@pytest.mark.rtl
@pytest.mark.slow
def test_a_failure_tells_that_its_lines_are_those_of_a_build_with_other_comments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A cached build from an earlier run may have other comments.
    monkeypatch.setattr("tb.bench.BUILD", tmp_path / "build")
    rtl = plant(tmp_path, "qs_noise.sv", "x_q != 0", "x_q != 2")
    moved = "comments have moved lines since .* was built"
    for comment, told in (("", False), ("// A comment\n", True)):
        plant_file(rtl, rtl / "qs_noise.sv", "module qs_noise", f"{comment}module qs_noise")
        with pytest.raises(BenchError, match="NeverZero_A") as caught:
            run(replace(NOISE, rtl=rtl))
        assert bool(re.search(moved, str(caught.value))) == told


@pytest.mark.slow
@pytest.mark.unit
def test_a_test_within_a_simulation_is_found_by_its_name(pytestconfig: pytest.Config) -> None:
    chosen = ["tb/unit/test_rtl_modules.py", "-k", "corners_of_operands and qs_update-w8"]
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *chosen],
        cwd=pytestconfig.rootpath,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stdout.splitlines()[0] == (
        "tb/unit/test_rtl_modules.py::test_module_matches_its_model"
        "[qs_update-w8-d1-corners_of_operands_coefficients_and_roundings_match]"
    )


@pytest.mark.slow
@pytest.mark.rtl
def test_run_without_a_test_is_a_failure() -> None:
    with pytest.raises(BenchError, match=r"failed|no test ran"):
        run(replace(NOISE, test="no_such_test"))


@pytest.mark.rtl
@pytest.mark.slow
def test_waves_are_recorded_on_request() -> None:
    report = run(replace(NOISE, test="reset_gives_the_documented_state", waves=True))
    assert (report.folder / "dump.vcd").stat().st_size > 0


@pytest.mark.slow
@pytest.mark.rtl
def test_make_sim_fails_when_a_run_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = replace(NOISE, test="no_such_test")
    for name in (
        "EXACT",
        "SUITES",
        "ACTING",
        "THROUGHPUT",
        "CONFIGS",
        "FARMS",
        "AXI_LANES",
        "AXI_BEATS",
    ):
        monkeypatch.setattr(run_sim, name, [])
    monkeypatch.setattr(run_sim, "UNITS", [NOISE, bad])
    result = CliRunner().invoke(run_sim.main, ["--jobs", "1"])
    assert result.exit_code == 1
    assert "1 passed, 1 failed" in result.output
    monkeypatch.setattr(run_sim, "UNITS", [NOISE])
    assert CliRunner().invoke(run_sim.main, ["--jobs", "1"]).exit_code == 0
    assert CliRunner().invoke(run_sim.main, ["--test", "nothing"]).exit_code == 2
