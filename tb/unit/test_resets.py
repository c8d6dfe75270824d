"""A reset during a request keeps finished work and drops all other work; the device continues."""

import random
import struct
from collections.abc import Callable, Iterator

import pytest
from tb.reference_device import ReferenceDevice
from tb.unit.requests import RequestMaker

from qstep.device.link.frames import DELIMITER, Frame, decode_frame, encode_frame
from qstep.spec.config import Config
from qstep.spec.protocol import ANSWER, ANSWERS, COMMON, Request, StatusCode, requests_of
from qstep_sim import port as sim_port
from qstep_sim.port import SimPort

pytestmark = pytest.mark.rtl

CONFIG = Config(states=4, actions=3, loop_depth=3)
ENTRIES = CONFIG.states * CONFIG.actions
TRANSITIONS = 24

Table = tuple[int, ...]


class Host:
    """Sends requests to a simulated device one at a time, and can run an exact number of clocks."""

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
        """Send a request that must succeed, and return the data of its answer."""
        answer = self.ask(self.frame(kind, payload))
        status, self.expected, _ = COMMON.unpack(answer.payload)
        assert (answer.type, status) == (kind + ANSWER, StatusCode.OK)
        return answer.payload[COMMON.size :]

    def ask(self, frame: bytes) -> Frame:
        """Send a request, and return its answer."""
        self.port.write(frame)
        received = b""
        while not received.strip(DELIMITER):
            assert not self.port.idle, "no answer"
            received = self.port.read(1.0)
        answer = decode_frame(received.strip(DELIMITER))
        assert answer is not None, "a damaged answer"
        return answer

    def run(self, clocks: int) -> bytes:
        """Simulate exactly `clocks` clocks, and return the bytes received."""
        self._monkeypatch.setattr(sim_port, "_CHUNK_CLOCKS", clocks)
        received = self.port.read(0)
        self._monkeypatch.undo()
        return received

    def table(self) -> Table:
        data = self.request(Request.READ, struct.pack("<HBH", 0, 0, ENTRIES))
        return struct.unpack(f"<{ENTRIES}h", data)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """Return a host that is connected to a newly reset device."""
    port = SimPort(CONFIG)
    yield Host(port, monkeypatch)
    port.close()


def cleared(before: Table) -> list[Table]:
    return [(0,) * k + before[k:] for k in range(ENTRIES + 1)]


def loaded(values: Table) -> Callable[[Table], list[Table]]:
    return lambda before: [values[:k] + before[k:] for k in range(ENTRIES + 1)]


def unchanged(before: Table) -> list[Table]:
    return [before]


def learnt(before: Table, apply: Request, records: list[bytes]) -> Table:
    """Return the reference device's table after it has applied the records."""
    reference = ReferenceDevice(CONFIG)
    reference.receive(encode_frame(Request.HELLO, 0, 0, b"\1\0\0\0"))
    for seq, (kind, payload) in enumerate([*prepared(before), (apply, b"".join(records))]):
        reference.receive(encode_frame(kind, seq, reference.epoch, payload))
    assert reference.refused == 0
    return tuple(reference.table.ravel().tolist())


def applied(kind: Request, records: list[bytes]) -> Callable[[Table], list[Table]]:
    """Return a function that lists the reference's table after 0, 1, 2, ... of the records."""
    return lambda before: [learnt(before, kind, records[:k]) for k in range(len(records) + 1)]


def prepared(table: Table) -> list[tuple[Request, bytes]]:
    """Return requests that set everything on which the result of an APPLY depends."""
    return [
        (Request.CONFIGURE, COEFFICIENTS),
        (Request.REWARDS, REWARDS),
        (Request.LOAD, struct.pack(f"<HB{ENTRIES}h", 0, 0, *table)),
    ]


COEFFICIENTS = struct.pack("<HHB", 20000, 15000, 0)
VALUES = tuple(random.Random(5).sample(range(1, 32767), ENTRIES))
REWARDS = struct.pack("<B100h", 0, *random.Random(8).choices(range(-999, 999), k=100))
MAKER = RequestMaker(CONFIG, random.Random(6))
RAW = [MAKER.record(coded=False, continuing=False) for _ in range(TRANSITIONS)]
CODED = [MAKER.record(coded=True, continuing=False) for _ in range(TRANSITIONS)]

WORK: dict[str, tuple[Request, bytes, Callable[[Table], list[Table]]]] = {
    "hello": (Request.HELLO, b"\1\2\3\4", unchanged),
    "configure": (Request.CONFIGURE, COEFFICIENTS, unchanged),
    "noise": (Request.NOISE, struct.pack("<II", 5, 6), unchanged),
    "rewards": (Request.REWARDS, REWARDS, unchanged),
    "clear": (Request.CLEAR, b"", cleared),
    "load": (Request.LOAD, struct.pack(f"<HB{ENTRIES}h", 0, 0, *VALUES), loaded(VALUES)),
    "apply raw": (Request.APPLY_RAW, b"".join(RAW), applied(Request.APPLY_RAW, RAW)),
    "apply coded": (Request.APPLY_CODED, b"".join(CODED), applied(Request.APPLY_CODED, CODED)),
    "read": (Request.READ, struct.pack("<HBH", 0, 0, ENTRIES), unchanged),
    "status": (Request.STATUS, b"", unchanged),
    "counters": (Request.COUNTERS, b"", unchanged),
    "baud": (Request.BAUD, struct.pack("<H", 8), unchanged),
}


def test_every_request_of_a_lane_is_cut_short() -> None:
    assert {kind for kind, *_ in WORK.values()} == set(requests_of(CONFIG))


@pytest.mark.parametrize("work", WORK)
def test_a_reset_in_the_middle_leaves_a_prefix_of_the_work(host: Host, work: str) -> None:
    kind, payload, outcomes = WORK[work]
    rng = random.Random(7)
    before = tuple(rng.randrange(-999, 999) for _ in range(ENTRIES))
    tables = outcomes(before)
    after = {table: learnt(table, Request.APPLY_CODED, CODED) for table in tables}
    seen = set()
    answers = []
    # One byte enters per clock, then one byte leaves the buffer per clock, and then the answer follows.
    for cut in range(2 * len(payload) + 200):
        host.hello()
        for preparing in prepared(before):
            host.request(*preparing)
        old = host.frame(Request.STATUS)
        host.port.write(host.frame(kind, payload))
        answers.append(host.run(cut))
        host.port.reset()

        # The device sends a delimiter, then STALE_EPOCH, because the session has ended.
        assert host.run(300) == DELIMITER
        assert host.ask(old).payload[0] == StatusCode.STALE_EPOCH
        host.hello()
        # READ needs only a session; counts and digest have restarted.
        table = host.table()
        assert table in tables, "neither what was, nor the beginning of what should be"
        seen.add(tables.index(table))
        status = host.ask(host.frame(Request.STATUS)).payload
        assert COMMON.unpack(status)[2] == 0
        assert ANSWERS[Request.STATUS].unpack(status[COMMON.size :]) == (0, 1, 0)
        host.expected += 1
        # No request is left half executed, so the next requests are exact.
        for preparing in prepared(table):
            host.request(*preparing)
        host.request(Request.APPLY_CODED, b"".join(CODED))
        assert host.table() == after[table]
    # The resets came before, during and after the execution.
    assert DELIMITER not in answers[0]
    assert answers[-1].endswith(DELIMITER)
    assert 0 in seen
    if len(tables) > 1:
        assert len(tables) - 1 in seen
        assert seen & set(range(1, len(tables) - 1))
