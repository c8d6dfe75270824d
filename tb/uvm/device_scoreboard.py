"""The scoreboard of the device, which checks its answers against those of the reference device."""

from collections import deque

from tb.reference_device import ReferenceDevice
from tb.uvm.components import Scoreboard
from tb.uvm.device_coverage import counts
from tb.uvm.device_items import Answered, Given, Reset, Taken

from qstep.device.link.frames import decode_frame
from qstep.spec.protocol import COMMON

__all__ = ["DeviceScoreboard"]

_FRAME_END = b"\0"
_BUILD = bytes.fromhex("0123456789abcdef")  # as in qs_device_bench.sv
_LEAST_CLOCKS = 2
"""Minimum number of clocks between offers, even of records that waited for register reads."""


class DeviceScoreboard(Scoreboard):
    """Passes every frame that the device receives to the reference, and compares the two answers.

    Three counts in the answer to COUNTERS depend on the timing of the bench: clocks with an offer,
    clocks with a held offer, and forwarded results. These counts are only checked for plausibility, and
    the coverage requires holds and forwarding where they are possible. Everything else is compared byte
    for byte.
    """

    def build_phase(self) -> None:
        super().build_phase()
        self.reference = ReferenceDevice(self.config, _BUILD)
        self.compared = 0
        self._applied_before = 0
        self._expected = deque([self.reference.receive(b"")])
        self._errors_before = 0

    @property
    def transitions(self) -> int:
        """Number of transitions applied, including those before resets."""
        return self._applied_before + int(self.reference.applied)

    def conclude(self) -> None:
        assert self.compared, "no answer was compared"
        assert not self._expected, f"{len(self._expected)} answers are missing"
        assert self.cdb_get("BFM").divisor == self.reference.divisor

    def take(self, item: Taken | Given | Reset) -> None:
        if isinstance(item, Given):
            self._compare(item.data)
        elif isinstance(item, Taken):
            if answer := self.reference.receive(item.data):
                self._expected.append(answer)
        else:
            assert not self._expected, (
                "a reset while a request is on its way has no one right outcome"
            )
            self._applied_before += self.reference.applied
            self.reference.reset()
            self._errors_before = 0
            # A delimiter ends the truncated answer.
            self._expected.append(self.reference.receive(b""))

    def _compare(self, frame: bytes) -> None:
        assert self._expected, f"an answer that nobody asked for: {_text(frame)}"
        outstanding = len(self._expected)
        expected = self._expected.popleft()
        if expected == _FRAME_END:
            assert frame == expected, f"after a reset {_text(frame)} instead of a delimiter"
            return
        if frame != expected:
            assert _without_clocks(frame) == _without_clocks(expected), (
                f"answer {self.compared}: {_text(frame)} instead of {_text(expected)}"
            )
            self._check_counts(frame, expected)
        self.compared += 1
        errors = self.reference.frame_errors
        self.ap.write(Answered(frame, expected, outstanding, errors - self._errors_before))
        self._errors_before = errors

    def _check_counts(self, answer: bytes, expected: bytes) -> None:
        """Check held clocks and frame errors; frames may be dropped between a request and its answer."""
        found, least = counts(answer), counts(expected)
        if found and least:
            _, _, held, _, _, errors, _ = found
            if self.config.loop_depth <= _LEAST_CLOCKS:
                assert not held, f"held {held} clocks without need"
            *_, before, _ = least
            assert before <= errors <= self.reference.frame_errors, f"{errors} frame errors"


def _without_clocks(data: bytes) -> tuple[object, ...]:
    """Return the parts of an answer without the counts that depend on the lane's timing."""
    frame = decode_frame(data[:-1])
    if frame is None:
        return ("damaged", data)
    payload = frame.payload
    found = counts(data)
    if found is not None:
        offered, accepted, held, forwarded, saturated, _, refused = found
        assert held <= offered, f"held {held} of {offered} clocks"
        assert accepted <= offered, f"accepted {accepted} in {offered} clocks"
        assert forwarded <= accepted, f"forwarded {forwarded} of {accepted}"
        payload = payload[: COMMON.size] + repr((accepted, saturated, refused)).encode()
    return (*frame[:3], payload)


def _text(data: bytes) -> str:
    frame = decode_frame(data[:-1])
    return "a damaged frame " + data.hex() if frame is None else f"{frame} ({frame.payload.hex()})"
