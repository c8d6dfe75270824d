"""A simulated device and the reference device, which get the same bytes and must answer identically."""

import random
import struct

from tb.reference_device import ReferenceDevice
from tb.unit.requests import RequestMaker

from qstep.device.link.frames import decode_frame, encode_frame
from qstep.spec.config import Config
from qstep.spec.protocol import COMMON, OVERHEAD, REFUSALS, Request, StatusCode, max_payload
from qstep_sim.port import SimPort

__all__ = ["Pair", "agree_at_the_end", "converse", "exchange"]


def exchange(port: SimPort, data: bytes, count: int) -> list[bytes]:
    """Send bytes and return the next `count` frames, or fewer if the device becomes idle."""
    port.write(data)
    received = b""
    while received.count(b"\0") < count and not port.idle:
        received += port.read(1.0)
    return received.split(b"\0")[:-1]


def _reading(frame: bytes) -> tuple[object, ...]:
    """Return an answer's parts; for COUNTERS, only counters that the reference device also has."""
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
    """A simulated device and the reference device, which get the same bytes."""

    def __init__(self, port: SimPort, config: Config, build: bytes = bytes(8)) -> None:
        self.port = port
        self.config = config
        self.reference = ReferenceDevice(config, build)
        self.expected = 0
        """Sequence number that the device expects, according to its last answer."""
        self.status = 0
        """Status of the device's last answer."""

    def compare(self, data: bytes) -> None:
        """Send bytes to both devices, and require the same answers."""
        expected = self.reference.receive(data).split(b"\0")[:-1]
        answers = exchange(self.port, data, len(expected))
        assert [_reading(frame) for frame in answers] == [_reading(frame) for frame in expected]
        for frame in filter(None, answers):
            answer = decode_frame(frame)
            assert answer is not None
            self.status, self.expected, _ = COMMON.unpack(answer.payload)

    def ask(self, kind: Request, payload: bytes = b"") -> None:
        """Send both devices a request with the next sequence number, and compare their answers."""
        self.compare(encode_frame(kind, self.expected, self.reference.epoch, payload))


def _batch(pair: Pair, maker: RequestMaker, rng: random.Random) -> bytes:
    """Return random requests within the available credit; a few are out of order or damaged."""
    data, credit, expected = b"", pair.config.link.buffer_bytes, pair.expected
    while True:
        kind, payload = maker.request()
        credit -= OVERHEAD + len(payload)
        if credit < 0:
            return data + b"\0"
        seq = expected
        if rng.random() < 0.1:
            seq += rng.choice([-1, -1, -2, 1, 9, 32767, 32768, 32769])
        else:
            expected += 1
        epoch = pair.reference.epoch ^ (1 << rng.randrange(32) if rng.random() < 0.03 else 0)
        frame = encode_frame(kind, seq % 65536, epoch, payload)
        data += maker.damaged(frame) if rng.random() < 0.1 else frame
        # Depending on timing, COUNTERS may or may not count a damaged frame that follows it.
        if rng.random() < 0.4 or kind == Request.COUNTERS:
            return data + b"\0"


def converse(pair: Pair, maker: RequestMaker, rng: random.Random, batches: int) -> None:
    """Compare the answers to random requests in a new session, and then the counters and tables."""
    nonce = b"abcd"
    pair.compare(encode_frame(Request.HELLO, 0, 0, nonce))
    pair.ask(Request.CLEAR)
    for _ in range(batches):
        pair.compare(_batch(pair, maker, rng))
        # A halted session stays halted for a while.
        if rng.random() < (0.6 if pair.status in REFUSALS else 0.1):
            pair.compare(encode_frame(Request.HELLO, 0, 0, rng.choice([nonce, rng.randbytes(4)])))
    agree_at_the_end(pair)
    assert exchange(pair.port, b"\0", 1) == [], "an answer too many"


def agree_at_the_end(pair: Pair) -> None:
    """Compare the counters and the whole tables of the two devices."""
    config = pair.config
    pair.compare(encode_frame(Request.HELLO, 0, 0, b"last"))
    pair.ask(Request.COUNTERS)
    most = (max_payload(config.link.buffer_bytes) - COMMON.size) // config.value_bytes
    values = config.states * config.actions
    for first in range(0, values, most):
        count = min(most, values - first)
        pair.ask(Request.READ, struct.pack("<HBH", *divmod(first, config.actions), count))
