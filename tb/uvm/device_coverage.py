"""Functional coverage of the device; its stimuli must hit every bin."""

import struct
from collections.abc import Hashable
from itertools import product

from tb.uvm.components import Coverage
from tb.uvm.covergroup import Covergroup
from tb.uvm.device_items import Answered, Given, Reset, Taken

from qstep import Config
from qstep.device.link.frames import decode_frame
from qstep.spec.protocol import (
    ANSWER,
    COMMON,
    REFUSALS,
    RecordLayout,
    Request,
    StatusCode,
    requests_of,
)

__all__ = ["DeviceCoverage", "counts", "device_bins"]

_COUNTS = struct.Struct("<7Q")
_KNOWN = {kind.value: kind.name for kind in requests_of(Config(states=2, actions=2))}
_WITH_RANGE = ("CONFIGURE", "NOISE", "LOAD", "READ", "APPLY_CODED", "APPLY_RAW", "BAUD")
_REPEATABLE = ("READ", "STATUS", "COUNTERS")


def _holds_often(config: Config) -> bool:
    """Return whether records arrive faster than the update loop accepts them, even without a backlog."""
    return config.loop_depth > RecordLayout.coded(config).size(full=False)


def device_bins(config: Config) -> dict[str, list[Hashable]]:
    """Return the bins: every request with every possible status, and events on the line and lane."""
    sequenced = [name for name in _KNOWN.values() if name != "HELLO"]
    common = ("OK", "DUPLICATE", "GAP", "STALE_EPOCH", "BAD_LENGTH", "halted")
    unknown = ("BAD_TYPE", "DUPLICATE", "GAP", "STALE_EPOCH", "halted")
    answers: list[Hashable] = [
        *product(sequenced, common),
        *product(_WITH_RANGE, ["OUT_OF_RANGE"]),
        *product(["HELLO"], ["OK", "BAD_LENGTH"]),
        *product(["unknown"], unknown),
    ]
    # A duplicate of one of these is answered OK if it is the latest request, else DUPLICATE.
    answers += [(name, "OK again") for name in _REPEATABLE]
    return {
        "answer": answers,
        "line": ["idle clock inside a frame", "stalled answer", "five requests outstanding"],
        "dropped": ["frame"],
        "reset": ["between frames", "inside a frame"],
        "lane": ["forwarded", "held"] if _holds_often(config) else ["forwarded"],
    }


class DeviceCoverage(Coverage):
    """Samples frames, resets, and answers confirmed by the scoreboard."""

    def build_phase(self) -> None:
        self.config = self.cdb_get("CONFIG")
        self.group = Covergroup(device_bins(self.config))
        self._latest: tuple[str, int, int] | None = None
        self._halted: int | None = None

    def write(self, found: Taken | Given | Reset | Answered) -> None:
        hit = self.group.hit
        match found:
            case Taken(idle=True):
                hit("line", "idle clock inside a frame")
            case Given(stalled=True):
                hit("line", "stalled answer")
            case Reset():
                hit("reset", "inside a frame" if found.inside else "between frames")
                self._latest = None
            case Answered():
                hit("line", "five requests outstanding", found.outstanding >= 5)
                hit("dropped", "frame", found.dropped)
                self._cover(found.right)
                self._cover_lane(found.seen)

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
        found = counts(answer)
        if found is None:
            return
        _, _, held, forwarded, *_ = found
        if held and _holds_often(self.config):
            self.group.hit("lane", "held")
        if forwarded:
            self.group.hit("lane", "forwarded")


def counts(data: bytes) -> tuple[int, ...] | None:
    """Return the counts in an answer to COUNTERS, or None if the answer has none."""
    frame = decode_frame(data[:-1])
    if (
        frame is None
        or frame.type != Request.COUNTERS + ANSWER
        or frame.payload[0] != StatusCode.OK
    ):
        return None
    return _COUNTS.unpack_from(frame.payload, COMMON.size)
