"""A simulated device and the reference device, which get the same bytes and must answer the same."""

from __future__ import annotations

import struct

from tb.reference_device import ReferenceDevice

from qstep.config import Config
from qstep.link.frames import decode_frame, encode_frame
from qstep.protocol import COMMON, Request, StatusCode
from qstep_sim.port import SimPort

__all__ = ["Pair", "agree_at_the_end", "exchange"]


def exchange(port: SimPort, data: bytes, count: int) -> list[bytes]:
    """Send bytes and return the next `count` frames, or fewer if the device becomes idle."""
    port.write(data)
    received = b""
    while received.count(b"\0") < count and not port.idle:
        received += port.read(1.0)
    return received.split(b"\0")[:-1]


def _reading(frame: bytes) -> tuple[object, ...]:
    """Return an answer's parts; of COUNTERS only what the reference device counts too."""
    if not frame:
        return ()  # the delimiter after a reset
    answer = decode_frame(frame)
    assert answer is not None, "the device sent a damaged frame"
    payload = answer.payload
    if answer.type == Request.COUNTERS + 0x80 and payload[0] == StatusCode.OK:
        offered, accepted, _, _, saturated, errors, refused = struct.unpack_from(
            "<7Q", payload, COMMON.size
        )
        assert offered >= accepted
        kept = struct.pack("<4Q", accepted, saturated, errors, refused)
        payload = payload[: COMMON.size] + kept
    return answer.type, answer.seq, answer.epoch, payload


class Pair:
    """A simulated device and the reference, which get the same bytes."""

    def __init__(self, port: SimPort, config: Config) -> None:
        self.port = port
        self.config = config
        self.reference = ReferenceDevice(config)
        self.expected = 0
        """Sequence number that the device expects, according to its last answer."""
        self.status = 0
        """The status of that answer."""

    def compare(self, data: bytes) -> None:
        """Send bytes to both, and require the same answers."""
        expected = self.reference.receive(data).split(b"\0")[:-1]
        answers = exchange(self.port, data, len(expected))
        assert [_reading(frame) for frame in answers] == [_reading(frame) for frame in expected]
        for frame in filter(None, answers):
            self.status, self.expected, _ = COMMON.unpack(decode_frame(frame).payload)

    def ask(self, kind: Request, payload: bytes = b"") -> None:
        """Compare the answers to a request in sequence."""
        self.compare(encode_frame(kind, self.expected, self.reference.epoch, payload))


def agree_at_the_end(pair: Pair) -> None:
    """Compare the counters and the whole table."""
    pair.compare(encode_frame(Request.HELLO, 0, 0, b"last"))
    pair.ask(Request.COUNTERS)
    for state in range(pair.config.states):
        pair.ask(Request.READ, struct.pack("<HBH", state, 0, pair.config.actions))
