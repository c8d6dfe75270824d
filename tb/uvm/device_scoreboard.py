"""The scoreboard of the device: its output must equal the reference device's answers."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Hashable
from itertools import product

from pyuvm import ConfigDB, uvm_subscriber
from tb.reference_device import ReferenceDevice
from tb.uvm.covergroup import Covergroup
from tb.uvm.device_items import Clock

from qstep import Config
from qstep.link.frames import decode_frame
from qstep.protocol import ANSWER, COMMON, REFUSALS, RecordLayout, Request, StatusCode, requests_of

__all__ = ["DeviceScoreboard", "device_bins"]

_COUNTS = struct.Struct("<7Q")
_KNOWN = {kind.value: kind.name for kind in requests_of(Config(states=2, actions=2))}
_WITH_RANGE = ("CONFIGURE", "NOISE", "LOAD", "READ", "APPLY_CODED", "APPLY_RAW", "BAUD")
_REPEATABLE = ("READ", "STATUS", "COUNTERS")
_FRAME_END = b"\0"
_BUILD = bytes.fromhex("0123456789abcdef")  # as in qs_device_bench.sv


_LEAST_CLOCKS = 2
"""Least clocks between two offers, also of records that waited while registers were read."""


def _may_hold(config: Config) -> bool:
    """Return whether transitions can arrive faster than the lane's loop takes them."""
    return config.loop_depth > _LEAST_CLOCKS


def _holds_often(config: Config) -> bool:
    """Return whether they do so at one byte per clock, even if no record waited."""
    return config.loop_depth > RecordLayout.coded(config).size(full=False)


def device_bins(config: Config) -> dict[str, list[Hashable]]:
    """Return the bins: every request with every possible status, and the events of lines and lane."""
    sequenced = [name for name in _KNOWN.values() if name != "HELLO"]
    common = ("OK", "DUPLICATE", "GAP", "STALE_EPOCH", "BAD_LENGTH", "halted")
    unknown = ("BAD_TYPE", "DUPLICATE", "GAP", "STALE_EPOCH", "halted")
    answers: list[Hashable] = [
        *product(sequenced, common),
        *product(_WITH_RANGE, ["OUT_OF_RANGE"]),
        *product(["HELLO"], ["OK", "BAD_LENGTH"]),
        *product(["unknown"], unknown),
    ]
    # A duplicate of these is answered OK if it is the latest request, and DUPLICATE otherwise.
    answers += [(name, "OK again") for name in _REPEATABLE]
    return {
        "answer": answers,
        "line": ["idle clock inside a frame", "stalled answer", "five requests outstanding"],
        "dropped": ["frame"],
        "reset": ["between frames", "inside a frame"],
        "lane": ["forwarded", "held"] if _holds_often(config) else ["forwarded"],
    }


class DeviceScoreboard(uvm_subscriber):
    """Gives every byte that the device takes to the reference, and compares the answers.

    Three counts of COUNTERS depend on the timing of the bench: the clocks offered, the clocks held back,
    and the results forwarded. They are only checked to be possible, and to occur where they can.
    Everything else is compared byte for byte.
    """

    def build_phase(self) -> None:
        self.config = ConfigDB().get(self, "", "CONFIG")
        self.reference = ReferenceDevice(self.config, _BUILD)
        self.group = Covergroup(device_bins(self.config))
        self.passed: bool | None = None
        self.compared = 0
        self._applied_before = 0
        self._taken = bytearray()
        self._given = bytearray()
        self._expected: deque[tuple[int, bytes]] = deque()
        self._expected.append((1, self.reference.receive(b"")))
        self._in_reset = True
        self._latest: tuple[str, int, int] | None = None
        self._halted: int | None = None

    @property
    def outstanding(self) -> int:
        """Bytes of the requests that the device has taken and not answered."""
        return sum(size for size, _ in self._expected)

    @property
    def transitions(self) -> int:
        """Transitions applied, across resets."""
        return self._applied_before + int(self.reference.applied)

    def write(self, clock: Clock) -> None:
        if clock.reset:
            self._reset()
            return
        self._in_reset = False
        if clock.rx_valid and clock.rx_ready:
            self._taken.append(clock.rx_data)
            if not clock.rx_data:
                self._frame_taken()
        elif self._taken and not clock.rx_valid:
            self.group.hit("line", "idle clock inside a frame")
        if clock.tx_valid and clock.tx_ready:
            self._given.append(clock.tx_data)
            if not clock.tx_data:
                self._frame_given()
        elif clock.tx_valid:
            self.group.hit("line", "stalled answer")

    def check_phase(self) -> None:
        assert self.compared, "no answer was compared"
        assert not self._expected, f"{len(self._expected)} answers are missing"
        assert not self._given, f"bytes after the last answer: {bytes(self._given)!r}"
        self.passed = True

    def _reset(self) -> None:
        if self._in_reset:
            return
        self._in_reset = True
        assert not self._expected, "a reset while a request is on its way has no one right outcome"
        self.group.hit("reset", "inside a frame" if self._taken else "between frames")
        self._taken.clear()
        self._given.clear()
        self._latest = None
        self._applied_before += self.reference.applied
        self.reference.reset()
        # A delimiter ends the truncated answer; the driver waits for it as for an answer.
        self._expected.append((1, self.reference.receive(b"")))

    def _frame_taken(self) -> None:
        errors = self.reference.frame_errors
        size = len(self._taken)
        answer = self.reference.receive(bytes(self._taken))
        self._taken.clear()
        self.group.hit("dropped", "frame", self.reference.frame_errors - errors)
        if answer:
            self._expected.append((size, answer))
            if len(self._expected) == 5:
                self.group.hit("line", "five requests outstanding")

    def _frame_given(self) -> None:
        frame = bytes(self._given)
        self._given.clear()
        assert self._expected, f"an answer that nobody asked for: {_text(frame)}"
        _, expected = self._expected.popleft()
        if expected == _FRAME_END:
            assert frame == expected, f"after a reset {_text(frame)} instead of a delimiter"
            return
        if frame != expected:
            assert _without_clocks(frame) == _without_clocks(expected), (
                f"answer {self.compared}: {_text(frame)} instead of {_text(expected)}"
            )
            self._check_errors(frame, expected)
        self.compared += 1
        self._cover(expected)
        self._cover_lane(frame)

    def _check_errors(self, answer: bytes, expected: bytes) -> None:
        """Frames may be dropped between a request and its answer; each must be counted."""
        counts, least = _counts(answer), _counts(expected)
        if counts and least:
            *_, errors, _ = counts
            *_, before, _ = least
            assert before <= errors <= self.reference.frame_errors, f"{errors} frame errors"

    def _cover(self, answer: bytes) -> None:
        frame = decode_frame(answer[:-1])
        assert frame is not None
        name = _KNOWN.get((frame.type - ANSWER) % 256, "unknown")
        status = StatusCode(frame.payload[0]).name
        this = (name, frame.seq, frame.epoch)
        if status == "OK" and this == self._latest and name in _REPEATABLE:
            status = "OK again"
        if status == "OK" and name != "HELLO":
            self._latest = this
        if StatusCode(frame.payload[0]) in REFUSALS and name != "HELLO":
            if frame.epoch == self._halted:
                status = "halted"
            self._halted = frame.epoch
        self.group.hit("answer", (name, status))

    def _cover_lane(self, answer: bytes) -> None:
        counts = _counts(answer)
        if counts is None:
            return
        _, _, held, forwarded, *_ = counts
        assert _may_hold(self.config) or not held, f"held {held} clocks without need"
        if held and _holds_often(self.config):
            self.group.hit("lane", "held")
        if forwarded:
            self.group.hit("lane", "forwarded")


def _counts(data: bytes) -> tuple[int, ...] | None:
    """Return the counts in an answer to COUNTERS; None if it has none."""
    frame = decode_frame(data[:-1])
    if (
        frame is None
        or frame.type != Request.COUNTERS + ANSWER
        or frame.payload[0] != StatusCode.OK
    ):
        return None
    return _COUNTS.unpack_from(frame.payload, COMMON.size)


def _without_clocks(data: bytes) -> tuple[object, ...]:
    """Return an answer's parts, without those of COUNTERS that depend on the clocks of the lane."""
    frame = decode_frame(data[:-1])
    if frame is None:
        return ("damaged", data)
    payload = frame.payload
    counts = _counts(data)
    if counts is not None:
        offered, accepted, held, forwarded, saturated, _, refused = counts
        assert held <= offered, f"held {held} of {offered} clocks"
        assert accepted <= offered, f"accepted {accepted} in {offered} clocks"
        assert forwarded <= accepted, f"forwarded {forwarded} of {accepted}"
        payload = payload[: COMMON.size] + repr((accepted, saturated, refused)).encode()
    return (*frame[:3], payload)


def _text(data: bytes) -> str:
    frame = decode_frame(data[:-1])
    return "a damaged frame " + data.hex() if frame is None else f"{frame} ({frame.payload.hex()})"
