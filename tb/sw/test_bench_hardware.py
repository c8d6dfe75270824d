"""The benchmark derives figures for boards and lines from the driver's bytes and the lane's clocks."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tb.sw.line import Carried, SimulatedLine, carry
from tb.sw.made_up_board import made_up_build

import qstep_fpga
from qstep.device.lane import LinkDevice
from qstep.device.link.frames import encode_frame
from qstep.device.link.session import Session
from qstep.mdp.transitions import Transitions
from qstep.spec.agents import Acting
from qstep.spec.config import Config, Link
from qstep.spec.protocol import Request
from qstep_bench.boards import BoardRate, board_rate, hardware, load_reports
from qstep_bench.limits import BAUDS, Line, equal_baud, line, record_bytes
from qstep_bench.measure import Absent, Spread
from qstep_bench.workloads import WORKLOADS
from qstep_sim.port import SimPort

CONFIG = Config(25, 4, link=Link(clock_hz=48_000_000, baud=3_000_000))
BUSY = 0.95
"""The minimum share of time for which the driver must keep a line busy."""

STREAM = WORKLOADS["stream"]()


def random_transitions(config: Config, count: int) -> Transitions:
    rng = np.random.default_rng(1)
    return Transitions.from_arrays(
        config,
        rng.integers(config.states, size=count),
        rng.integers(config.actions, size=count),
        rng.integers(-3, 4, size=count).astype(np.float64),
        rng.integers(config.states, size=count),
        rng.random(count) < 0.1,
    )


# The line and its formula


def test_a_byte_takes_ten_bit_times_and_frames_wait_for_each_other() -> None:
    config = Config(25, 4, link=Link(clock_hz=1_000_000, baud=100_000))
    line = SimulatedLine(config)
    request = encode_frame(Request.CLEAR, 0, 1, b"")
    line.write(request + encode_frame(Request.CLEAR, 1, 1, b""))
    # A byte takes 0.1 ms on the line, and one clock of 1 us in the device.
    arrived, worked = len(request) * 1e-4, len(request) * 1e-6
    assert line.read(arrived / 2) == b""
    assert line.now == arrived / 2
    first = line.read(1.0)
    assert line.now == pytest.approx(arrived + worked + len(first) * 1e-4)
    # Answers are longer than requests, so the second waits for the first on the return line.
    second = line.read(1.0)
    assert line.now == pytest.approx(arrived + worked + (len(first) + len(second)) * 1e-4)
    assert (line.to_device, line.to_host) == (2 * len(request), len(first) + len(second))


def by_formula(config: Config, transitions: Transitions, answer_delay: float = 0.0) -> Line:
    return line(config, record_bytes(config, transitions), 1.0, answer_delay)


FORMULA = 0.006
"""Relative difference allowed between formula and simulated line. The formula assumes the most bytes
that COBS can add (one in 254, 0.4 %). It ignores the one frame in fifty that is shorter (0.1 %), and
the wait for the last answer (0.1 % for 24 or more frames)."""


@pytest.mark.parametrize("baud", BAUDS)
@pytest.mark.parametrize("name", list(WORKLOADS))
def test_a_busy_line_carries_what_the_formula_says(name: str, baud: int) -> None:
    workload = WORKLOADS[name]()
    config = replace(workload.config, link=replace(workload.config.link, baud=baud))
    transitions = Transitions.from_arrays(config, *workload.record(20_000))
    found = carry(config, transitions, SimulatedLine(config), warm=True)
    said = by_formula(config, transitions)
    assert said.busy == 1.0
    assert found.busy == pytest.approx(said.busy, rel=FORMULA)
    assert found.transitions / found.seconds == pytest.approx(said.rate, rel=FORMULA)
    assert found.to_device / found.transitions == pytest.approx(said.to_device, rel=FORMULA)
    # Each frame has an answer, and some frames are short.
    assert found.to_host / found.transitions == pytest.approx(said.to_host, rel=0.05)


@pytest.mark.parametrize(("delay", "is_busy"), [(6.5e-3, True), (16e-3, False)])
def test_credits_keep_the_line_busy_until_answers_are_late(delay: float, is_busy: bool) -> None:
    # Two frames of 2,048 bytes at 3 Mbaud take 6.8 ms each (see docs/benchmarks.md).
    transitions = random_transitions(CONFIG, 20_000)
    said = by_formula(CONFIG, transitions, delay)
    found = carry(CONFIG, transitions, SimulatedLine(CONFIG, answer_delay=delay), warm=True)
    assert (said.busy == 1.0) is is_busy
    # Waiting for the last answer now takes as long as several frames.
    assert found.busy == pytest.approx(said.busy, rel=0.08)
    assert found.transitions / found.seconds == pytest.approx(said.rate, rel=0.08)


@pytest.mark.parametrize("slow", [{"baud": 3_200_000}, {"lane_clocks": 1000.0}, {"record": 5.0}])
def test_another_line_lane_or_record_is_not_the_formula_s(slow: dict[str, float]) -> None:
    transitions = random_transitions(CONFIG, 20_000)
    found = carry(CONFIG, transitions, SimulatedLine(CONFIG), warm=True)
    given: dict[str, float] = {"record": record_bytes(CONFIG, transitions), "lane_clocks": 1.0}
    given |= slow
    baud = int(given.pop("baud", 3_000_000))
    config = replace(CONFIG, link=replace(CONFIG.link, baud=baud))
    said = line(config, given["record"], given["lane_clocks"])
    assert found.transitions / found.seconds != pytest.approx(said.rate, rel=FORMULA)


def test_one_request_at_a_time_would_not_keep_a_line_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(CONFIG, link=replace(CONFIG.link, buffer_bytes=512))
    transitions = random_transitions(config, 20_000)
    assert carry(config, transitions, SimulatedLine(config), warm=False).busy >= BUSY
    send = Session.send

    def send_and_wait(session: Session, *request: Any, **more: Any) -> None:
        send(session, *request, **more)
        session.drain()

    monkeypatch.setattr(Session, "send", send_and_wait)
    assert carry(config, transitions, SimulatedLine(config), warm=False).busy < BUSY


def test_a_slow_computer_does_not_keep_a_line_busy() -> None:
    transitions = random_transitions(CONFIG, 20_000)
    slow = SimulatedLine(CONFIG, host_delay=10e-3)
    assert carry(CONFIG, transitions, slow, warm=False).busy < BUSY


# The same transfers on the simulated hardware, over simulated serial lines


class Watched:
    """A port that counts the bytes that pass through it."""

    def __init__(self, port: SimPort) -> None:
        self._port = port
        self.to_device = self.to_host = 0

    def write(self, data: bytes) -> None:
        self.to_device += len(data)
        self._port.write(data)

    def read(self, timeout: float) -> bytes:
        data = self._port.read(timeout)
        self.to_host += len(data)
        return data

    def close(self) -> None:
        self._port.close()


def carry_simulated(
    device: LinkDevice, port: SimPort, watched: Watched, transitions: Transitions, at_once: int
) -> Carried:
    """Do what `carry` does, but on simulated hardware, with `at_once` transitions per `apply` call."""
    to_device, to_host, began = watched.to_device, watched.to_host, port.clocks
    for first in range(0, len(transitions), at_once):
        device.apply(transitions[first : first + at_once])
    clocks = port.clocks - began
    to_device, to_host = watched.to_device - to_device, watched.to_host - to_host
    # The far end of the line sends each byte for ten times the divisor in clocks.
    busy = to_device * 10 * CONFIG.link.divisor / clocks
    seconds = clocks / CONFIG.link.clock_hz
    return Carried(len(transitions), seconds, to_device, to_host, busy)


@pytest.mark.slow
@pytest.mark.rtl
def test_the_driver_keeps_the_line_of_the_simulated_hardware_busy() -> None:
    port = SimPort(CONFIG, uart=True)
    watched = Watched(port)
    transitions = random_transitions(CONFIG, 20_000)
    with closing(LinkDevice(watched, CONFIG)) as device:
        cold = carry_simulated(device, port, watched, transitions, len(transitions))
        warm = carry_simulated(device, port, watched, transitions, len(transitions))
        # Small portions leave the line idle while each one's last answer is pending.
        portions = carry_simulated(device, port, watched, transitions[:2000], 20)
    assert CONFIG.link.baud == 3_000_000
    assert portions.busy < BUSY <= cold.busy < 1
    # The software model of the line carries exactly the same bytes in the same time.
    for found, is_warm in ((cold, False), (warm, True)):
        there = carry(CONFIG, transitions, SimulatedLine(CONFIG), is_warm)
        assert (found.to_device, found.to_host) == (there.to_device, there.to_host)
        assert found.seconds == pytest.approx(there.seconds, rel=1e-4)
        assert found.busy == pytest.approx(there.busy, rel=1e-4)
    said = by_formula(CONFIG, transitions)
    assert warm.transitions / warm.seconds == pytest.approx(said.rate, rel=FORMULA)


# Estimates for hardware


def test_a_board_is_named_by_the_formula_of_its_own_line() -> None:
    found = hardware("stream", [made_up_build(Config(1024, 4, link=Link(24_000_000, 1_000_000)))])
    assert [entry.baud for entry in found.lines] == list(BAUDS)
    # Ten bits per byte; four bytes per transition, and at most 23 of framing for some 500 transitions.
    for entry in found.lines:
        assert 4 < entry.to_device < 4 * (1 + 24 / 2000)
        assert entry.rate == pytest.approx(entry.baud / 10 / entry.to_device)
        assert equal_baud(entry.rate, entry.to_device) == pytest.approx(entry.baud)
    (board,) = found.boards
    assert board.line.baud == 1_000_000
    assert board.line == replace(found.lines[1], busy=board.line.busy)


# Boards


def test_a_board_is_its_median_clock_times_the_updates_of_its_own_lane() -> None:
    config = Config(1024, 4, loop_depth=3, link=Link(24_000_000, 1_000_000))
    build = made_up_build(config)
    found = board_rate(STREAM, build)
    assert isinstance(found, BoardRate)
    assert (found.name, found.seeds, found.pll_mhz) == ("made-up", 3, 24.0)
    assert found.clock_mhz == Spread(30.0, 20.0, 70.0)
    # The value in docs/lane.md for independent transitions with 1024 x 4 entries and loop depth 3.
    assert found.updates_per_clock == pytest.approx(0.997, abs=1e-3)
    assert found.core_rate == 30e6 * found.updates_per_clock
    assert found.line.baud == 1_000_000
    assert found.stale == build.stale != ""


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (Config(512, 4), "its table is 512 x 4, but 1024 x 4 is needed"),
        (Config(1024, 3), "its table is 1024 x 3, but 1024 x 4 is needed"),
        (Config(1024, 4, acting=Acting()), "its agents act by themselves, without a stream"),
    ],
)
def test_an_unfit_board_is_absent_with_the_reason(config: Config, reason: str) -> None:
    found = board_rate(STREAM, made_up_build(config))
    assert isinstance(found, Absent)
    assert found.reason == reason


def test_reports_are_those_of_the_repository_unless_some_are_named(tmp_path: Path) -> None:
    kept = sorted((Path(__file__).parents[2] / "fpga/reports").glob("*.json"))
    assert kept
    assert [report.board for report in load_reports([])] == [path.stem for path in kept]
    named = made_up_build(Config(64, 4))
    named.write(tmp_path / "named.json")
    assert load_reports([tmp_path / "named.json"]) == [named]


def test_a_package_carries_the_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = made_up_build(Config(64, 4))
    (tmp_path / "reports").mkdir()
    report.write(tmp_path / "reports" / "board.json")
    monkeypatch.setattr(qstep_fpga, "__file__", str(tmp_path / "__init__.py"))
    assert load_reports([]) == [report]
