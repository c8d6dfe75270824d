"""What the benchmark says of boards and lines follows from the driver's bytes and the lane's clocks."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qstep_fpga
from qstep.bench.backend import Absent
from qstep.bench.boards import Board, board, load_reports
from qstep.bench.limits import BAUDS, bytes_per_transition, equal_baud, line_rate, link_limits
from qstep.bench.line import Carried, Line, SimulatedClock, carry
from qstep.bench.measure import Spread
from qstep.bench.workloads import WORKLOADS
from qstep.config import Config, Link
from qstep.devices.link_device import LinkDevice
from qstep.errors import FileFormatError
from qstep.link.frames import COMMON, DELIMITER, decode_frame, encode_frame
from qstep.link.session import Session
from qstep.protocol import Request, StatusCode
from qstep.transitions import Transitions
from qstep_fpga.report import Report
from qstep_sim.port import SimPort

unit = pytest.mark.unit

CONFIG = Config(25, 4, link=Link(clock_hz=48_000_000, baud=3_000_000))
BUSY = 0.95
"""The least share of the time in which the driver must keep a line busy."""

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


# The line


@unit
def test_a_byte_takes_ten_bit_times_and_frames_wait_for_each_other() -> None:
    config = Config(25, 4, link=Link(clock_hz=1_000_000, baud=100_000))
    clock = SimulatedClock()
    line = Line(config, clock)
    request = encode_frame(Request.CLEAR, 0, 1, b"")
    line.write(request + encode_frame(Request.CLEAR, 1, 1, b""))
    # A byte takes 0.1 ms on the line, and a clock of 1 us to be worked on.
    arrived, worked = len(request) * 1e-4, len(request) * 1e-6
    assert line.read(arrived / 2) == b""
    assert clock.monotonic() == arrived / 2
    first = line.read(1.0)
    assert clock.monotonic() == pytest.approx(arrived + worked + len(first) * 1e-4)
    # Answers are longer: the second waits for the first on the line back.
    second = line.read(1.0)
    assert clock.monotonic() == pytest.approx(arrived + worked + 2 * len(first) * 1e-4)
    assert (line.to_device, line.to_host) == (2 * len(request), len(first) + len(second))


@unit
def test_the_end_of_the_line_counts_a_repeated_request_once() -> None:
    line = Line(CONFIG, SimulatedClock())
    request = encode_frame(Request.STEP_CODED, 0, 1, bytes(3 * 7))
    line.write(DELIMITER + request + request)
    answers = [decode_frame(line.read(1.0)[:-1]) for _ in range(2)]
    found = [COMMON.unpack(answer.payload) for answer in answers if answer]
    assert found == [(StatusCode.OK, 1, 7), (StatusCode.DUPLICATE, 1, 7)]


class SlowComputer(SimulatedClock):
    """Time goes by whenever it is asked for: a host that is slow between any two steps."""

    def monotonic(self) -> float:
        self.sleep(2e-3)
        return super().monotonic()


@unit
@pytest.mark.parametrize("baud", BAUDS)
@pytest.mark.parametrize("name", list(WORKLOADS))
def test_a_fast_enough_computer_keeps_every_line_busy(name: str, baud: int) -> None:
    workload = WORKLOADS[name]()
    config = replace(workload.config, link=replace(workload.config.link, baud=baud))
    transitions = Transitions.from_arrays(config, *workload.record(20_000))
    assert BUSY <= carry(config, transitions, SimulatedClock(), warm=False).busy < 1


@unit
def test_one_request_at_a_time_would_not_keep_a_line_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(CONFIG, link=replace(CONFIG.link, buffer_bytes=512))
    transitions = random_transitions(config, 20_000)
    assert carry(config, transitions, SimulatedClock(), warm=False).busy >= BUSY
    send = Session.send

    def send_and_wait(session: Session, *request: Any, **more: Any) -> None:
        send(session, *request, **more)
        session.drain()

    monkeypatch.setattr(Session, "send", send_and_wait)
    assert carry(config, transitions, SimulatedClock(), warm=False).busy < BUSY


@unit
def test_a_slow_computer_does_not_keep_a_line_busy() -> None:
    transitions = random_transitions(CONFIG, 20_000)
    assert carry(CONFIG, transitions, SlowComputer(), warm=False).busy < BUSY


# The same on the simulated hardware, over simulated serial lines


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
    """Do on the simulated hardware what `carry` does, some transitions in each call of `apply`."""
    to_device, to_host, began = watched.to_device, watched.to_host, port.clocks
    for first in range(0, len(transitions), at_once):
        device.apply(transitions[first : first + at_once])
    clocks = port.clocks - began
    to_device, to_host = watched.to_device - to_device, watched.to_host - to_host
    # The far end of the line sends byte after byte, each for ten times the divisor in clocks.
    busy = to_device * 10 * CONFIG.link.divisor / clocks
    seconds = clocks / CONFIG.link.clock_hz
    return Carried(len(transitions), seconds, to_device, to_host, busy)


@pytest.mark.rtl
def test_the_driver_keeps_the_line_of_the_simulated_hardware_busy() -> None:
    port = SimPort(CONFIG, uart=True)
    watched = Watched(port)
    transitions = random_transitions(CONFIG, 20_000)
    with closing(LinkDevice(watched, CONFIG)) as device:
        cold = carry_simulated(device, port, watched, transitions, len(transitions))
        warm = carry_simulated(device, port, watched, transitions, len(transitions))
        # What is asked for in small portions is not: the line waits for each last answer.
        portions = carry_simulated(device, port, watched, transitions[:2000], 20)
    assert CONFIG.link.baud == 3_000_000
    assert portions.busy < BUSY <= cold.busy < 1
    # The line of the benchmark carries the very same bytes, in the same time.
    for found, is_warm in ((cold, False), (warm, True)):
        line = carry(CONFIG, transitions, SimulatedClock(), is_warm)
        assert (found.to_device, found.to_host) == (line.to_device, line.to_host)
        assert found.seconds == pytest.approx(line.seconds, rel=1e-4)
        assert found.busy == pytest.approx(line.busy, rel=1e-4)


# What the link allows


@unit
def test_bytes_of_a_transition_are_those_of_records_and_frames() -> None:
    to_device, to_host = bytes_per_transition(STREAM.config, STREAM)
    # Few of these continue each other: four bytes, and at most 14 of frame around some 500.
    assert 4 < to_device < 4 * (1 + 14 / 2000)
    assert 0.04 < to_host < 0.06
    to_device, _ = bytes_per_transition(WORKLOADS["gridworld"]().config, WORKLOADS["gridworld"]())
    assert 3 < to_device < 3 * (1 + 14 / 2000)


@unit
def test_a_line_and_the_baud_of_a_rate_undo_each_other() -> None:
    # 3 Mbaud are 0.3 million bytes/s, and 0.075 million transitions of four bytes.
    assert line_rate(3_000_000, 4.0) == pytest.approx(0.075)
    assert equal_baud(0.075, 4.0) == pytest.approx(3_000_000)
    assert equal_baud(line_rate(115_200, 3.02), 3.02) == pytest.approx(115_200)


@unit
def test_limits_hold_every_line_and_the_crossover_to_every_backend() -> None:
    done: list[str] = []
    found = link_limits(STREAM, {"slow": 0.01, "fast": 100.0}, 0.001, done.append)
    assert [line.baud for line in found.lines] == list(BAUDS)
    assert [line.rate for line in found.lines] == [line_rate(b, found.to_device) for b in BAUDS]
    assert all(0 < line.busy.minimum <= line.busy.maximum < 1 for line in found.lines)
    assert done == [f"line of {baud:,} baud" for baud in BAUDS]
    slow, fast = (found.crossover[name] for name in ("slow", "fast"))
    assert fast == pytest.approx(10_000 * slow)
    assert line_rate(slow, found.to_device) == pytest.approx(0.01)


# Boards


def build(config: Config) -> Report:
    return replace(
        load_reports([])[0],
        board="made-up",
        config=config.to_dict(),
        digest=config.digest,
        clock_mhz=24.0,
        fmax_mhz={"1": 30.0, "2": 20.0, "3": 70.0},
    )


@unit
def test_a_board_is_its_median_clock_times_the_updates_of_its_own_lane() -> None:
    config = Config(1024, 4, loop_depth=3, link=Link(24_000_000, 1_000_000))
    found = board(STREAM, build(config))
    assert isinstance(found, Board)
    assert (found.name, found.seeds, found.pll_mhz) == ("made-up", 3, 24.0)
    assert found.clock_mhz == Spread(30.0, 20.0, 70.0)
    # As docs/lane.md has it for independent transitions of 1024 x 4 at depth 3.
    assert found.updates_per_clock == pytest.approx(0.997, abs=1e-3)
    assert found.core_rate == 30.0 * found.updates_per_clock
    assert found.line_rate == line_rate(1_000_000, found.to_device)
    assert found.to_device == bytes_per_transition(config, STREAM)[0]


@unit
@pytest.mark.parametrize(("states", "actions"), [(512, 4), (1024, 3)])
def test_a_board_with_too_small_a_table_is_absent_with_the_reason(
    states: int, actions: int
) -> None:
    found = board(STREAM, build(Config(states, actions)))
    assert isinstance(found, Absent)
    assert found.reason == f"its table is {states} x {actions}, 1024 x 4 is needed"


@unit
def test_reports_are_those_of_the_repository_unless_some_are_named(tmp_path: Path) -> None:
    kept = sorted((Path(__file__).parents[2] / "fpga/reports").glob("*.json"))
    assert kept
    assert [report.board for report in load_reports([])] == [path.stem for path in kept]
    named = build(Config(64, 4))
    named.write(tmp_path / "named.json")
    assert load_reports([tmp_path / "named.json"]) == [named]


@unit
def test_without_a_repository_there_are_no_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "site-packages" / "qstep_fpga" / "__init__.py"
    monkeypatch.setattr(qstep_fpga, "__file__", str(installed))
    assert load_reports([]) == []


@unit
def test_a_missing_report_is_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"absent\.json: is not a report of a build"):
        load_reports([tmp_path / "absent.json"])
