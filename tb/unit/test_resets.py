"""A reset in the middle of the work: finished work stays, the rest is dropped, the device continues."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator

import pytest
from tb.reference_device import ReferenceDevice
from tb.unit.requests import RequestMaker

from qstep.config import Config
from qstep.link.frames import DELIMITER, Frame, decode_frame, encode_frame
from qstep.protocol import ANSWER, ANSWERS, COMMON, Request, StatusCode
from qstep_sim import port as sim_port
from qstep_sim.port import SimPort

pytestmark = pytest.mark.rtl

CONFIG = Config(states=4, actions=3, loop_depth=3)
ENTRIES = CONFIG.states * CONFIG.actions
TRANSITIONS = 24

Table = tuple[int, ...]


class Host:
    """Talks to a simulated device, one request at a time, and counts its clocks."""

    def __init__(self, port: SimPort, monkeypatch: pytest.MonkeyPatch) -> None:
        self.port = port
        self._monkeypatch = monkeypatch
        self._rng = random.Random(4)

    def hello(self) -> None:
        nonce = self._rng.randbytes(4)
        answer = self.ask(encode_frame(Request.HELLO, 0, 0, nonce))
        self.epoch, self.expected = answer.epoch, 0

    def frame(self, kind: Request, payload: bytes = b"") -> bytes:
        return encode_frame(kind, self.expected, self.epoch, payload)

    def request(self, kind: Request, payload: bytes = b"") -> bytes:
        """Return the data of the answer to a request that must be carried out."""
        answer = self.ask(self.frame(kind, payload))
        status, self.expected, _ = COMMON.unpack(answer.payload)
        assert (answer.type, status) == (kind + ANSWER, StatusCode.OK)
        return answer.payload[COMMON.size :]

    def ask(self, frame: bytes) -> Frame:
        """Return the answer to a request."""
        self.port.write(frame)
        received = b""
        while not received.strip(DELIMITER):
            assert not self.port.idle, "no answer"
            received = self.port.read(1.0)
        answer = decode_frame(received.strip(DELIMITER))
        assert answer is not None, "a damaged answer"
        return answer

    def run(self, clocks: int) -> bytes:
        """Simulate some clocks exactly; return what came."""
        self._monkeypatch.setattr(sim_port, "_CHUNK_CLOCKS", clocks)
        received = self.port.read(0)
        self._monkeypatch.undo()
        return received

    def table(self) -> Table:
        data = self.request(Request.READ, struct.pack("<HBH", 0, 0, ENTRIES))
        return struct.unpack(f"<{ENTRIES}h", data)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """Return a host at a device that has just been reset."""
    port = SimPort(CONFIG)
    yield Host(port, monkeypatch)
    port.close()


def cleared(before: Table) -> list[Table]:
    return [(0,) * k + before[k:] for k in range(ENTRIES + 1)]


def loaded(values: Table) -> Callable[[Table], list[Table]]:
    return lambda before: [values[:k] + before[k:] for k in range(ENTRIES + 1)]


def applied(records: list[bytes]) -> Callable[[Table], list[Table]]:
    """Return the reference's state after none, one, ... of the records."""

    def prefixes(before: Table) -> list[Table]:
        tables = []
        for k in range(len(records) + 1):
            reference = ReferenceDevice(CONFIG)
            nonce = b"\1\0\0\0"
            reference.receive(encode_frame(Request.HELLO, 0, 0, nonce))
            load = struct.pack(f"<HB{ENTRIES}h", 0, 0, *before)
            for seq, (kind, payload) in enumerate(
                [
                    (Request.CONFIGURE, COEFFICIENTS),
                    (Request.LOAD, load),
                    (Request.APPLY_RAW, b"".join(records[:k])),
                ]
            ):
                reference.receive(encode_frame(kind, seq, reference.epoch, payload))
            assert reference.refused == 0
            tables.append(tuple(reference.table.ravel().tolist()))
        return tables

    return prefixes


COEFFICIENTS = struct.pack("<HHB", 20000, 15000, 0)
VALUES = tuple(random.Random(5).sample(range(1, 32767), ENTRIES))
MAKER = RequestMaker(CONFIG, random.Random(6))
RECORDS = [MAKER.record(coded=False, continuing=False) for _ in range(TRANSITIONS)]

WORK = {
    "clear": (Request.CLEAR, b"", cleared),
    "load": (
        Request.LOAD,
        struct.pack(f"<HB{ENTRIES}h", 0, 0, *VALUES),
        loaded(VALUES),
    ),
    "apply": (Request.APPLY_RAW, b"".join(RECORDS), applied(RECORDS)),
    "read": (Request.READ, struct.pack("<HBH", 0, 0, ENTRIES), lambda before: [before]),
}


@pytest.mark.parametrize("work", WORK)
def test_a_reset_in_the_middle_leaves_a_prefix_of_the_work(host: Host, work: str) -> None:
    kind, payload, outcomes = WORK[work]
    rng = random.Random(7)
    before = tuple(rng.randrange(-999, 999) for _ in range(ENTRIES))
    tables = outcomes(before)
    seen = set()
    answers = []
    for cut in range(0, 200, 1 if kind == Request.CLEAR else 4):
        host.hello()
        host.request(Request.CONFIGURE, COEFFICIENTS)
        host.request(Request.LOAD, struct.pack(f"<HB{ENTRIES}h", 0, 0, *before))
        old = host.frame(Request.STATUS)
        host.port.write(host.frame(kind, payload))
        answers.append(host.run(len(payload) + cut))
        host.port.reset()

        # A delimiter first, then STALE_EPOCH: the session is over.
        assert host.run(300) == DELIMITER
        assert host.ask(old).payload[0] == StatusCode.STALE_EPOCH
        host.hello()
        # READ needs only a session; counts and digest start again.
        table = host.table()
        assert table in tables, "neither what was, nor the beginning of what should be"
        seen.add(tables.index(table))
        status = host.ask(host.frame(Request.STATUS)).payload
        assert COMMON.unpack(status)[2] == 0
        assert ANSWERS[Request.STATUS].unpack(status[COMMON.size :]) == (0, 1, 0)
        host.expected += 1
    # The cuts were before the work, in the middle of it, and after it.
    assert DELIMITER not in answers[0]
    assert answers[-1].endswith(DELIMITER)
    assert 0 in seen
    if len(tables) > 1:
        assert len(tables) - 1 in seen
        assert seen & set(range(1, len(tables) - 1))
