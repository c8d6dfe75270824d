"""A read that reuses the latest sequence number is executed, whatever request used it (docs/link.md)."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tb.reference_agents import ReferenceAgents, ReferenceLive
from tb.reference_device import ReferenceDevice
from tb.sw import test_agents_sim, test_live_worlds
from tb.sw.lossy_port import DirectPort
from tb.unit import test_device

from qstep.device.agents import LinkAgents
from qstep.device.lane import LinkDevice
from qstep.device.link.frames import decode_frame, encode_frame
from qstep.device.live import LinkLive
from qstep.spec.config import Config
from qstep.spec.memory_map import Region
from qstep.spec.protocol import ARGUMENTS, COMMON, Request, StatusCode
from qstep_sim.port import SimPort

LANE, AGENTS, LIVE = test_device.CONFIGS[2], test_agents_sim.CONFIG, test_live_worlds.CONFIG
PATIENCE = 0.05

Port = DirectPort | SimPort


def words(kind: Request, region: Region, index: int, count: int = 1) -> bytes:
    return ARGUMENTS[kind].pack(region, index, 1, 1, count)


class Host:
    """A host that sends requests with any sequence number, after a driver has opened the device."""

    def __init__(self, port: Port, config: Config) -> None:
        if config is LANE:
            LinkDevice(port, config, PATIENCE)
        elif config is LIVE:
            LinkLive(port, config, test_live_worlds.SETTINGS, PATIENCE).begin(3, 1)
        else:
            world, settings = test_agents_sim.WORLD, test_agents_sim.SETTINGS
            LinkAgents(port, config, world, settings, PATIENCE)
        self._port, self._epoch = port, 0
        self.expected = 0
        self.open(b"some")

    def open(self, nonce: bytes) -> None:
        self.ask(Request.HELLO, nonce, 0)

    def ask(self, kind: Request, payload: bytes = b"", back: int = 0) -> tuple[StatusCode, bytes]:
        """Send a request with the expected sequence number minus `back`; return its status and data."""
        seq = (self.expected - back) % 65536
        self._port.write(encode_frame(kind, seq, self._epoch, payload))
        received = b""
        while not received.strip(b"\0") or not received.endswith(b"\0"):
            received += self._port.read(1.0)
        answer = decode_frame(received.strip(b"\0"))
        assert answer is not None
        self._epoch = answer.epoch
        status, self.expected, _ = COMMON.unpack(answer.payload[: COMMON.size])
        return StatusCode(status), answer.payload[COMMON.size :]

    def again(self, kind: Request, payload: bytes = b"") -> tuple[StatusCode, bytes]:
        """Send a request with the latest sequence number, and check that it remains the latest."""
        before = self.expected
        found = self.ask(kind, payload, 1)
        assert self.expected == before
        return found


References: dict[Config, Callable[[Config], Any]] = {
    LANE: ReferenceDevice,
    AGENTS: ReferenceAgents,
    LIVE: ReferenceLive,
}


@pytest.fixture(
    params=[pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("unit", "rtl")]
)
def opened(request: pytest.FixtureRequest) -> Iterator[Callable[[Config], Host]]:
    ports: list[SimPort] = []

    def host(config: Config) -> Host:
        if request.param == "unit":
            return Host(DirectPort(References[config](config)), config)
        ports.append(SimPort(config))
        return Host(ports[-1], config)

    yield host
    for port in ports:
        port.close()


OK, DUPLICATE = (StatusCode.OK, b""), (StatusCode.DUPLICATE, b"")


def test_a_lane_reads_under_the_number_of_a_load(opened: Callable[[Config], Host]) -> None:
    host = opened(LANE)
    read = ARGUMENTS[Request.READ].pack(2, 1, 2)
    assert host.ask(Request.LOAD, ARGUMENTS[Request.LOAD].pack(2, 1) + bytes([5, 250])) == OK
    assert host.again(Request.READ, read) == (StatusCode.OK, bytes([5, 250]))
    for kind in (Request.STATUS, Request.COUNTERS):
        status, data = host.again(kind)
        assert (status, len(data) > 8) == (StatusCode.OK, True)
    for kind in (Request.CLEAR, Request.LOAD, Request.APPLY_RAW):
        assert host.again(kind) == DUPLICATE
    assert host.ask(Request.READ, read, 2) == DUPLICATE
    assert host.ask(Request.READ, read) == (StatusCode.OK, bytes([5, 250]))
    # A repeated read is checked like any other request, and its refusal halts the session.
    assert (
        host.again(Request.READ, ARGUMENTS[Request.READ].pack(4, 0, 1))[0]
        == StatusCode.OUT_OF_RANGE
    )
    assert host.ask(Request.STATUS)[0] == StatusCode.OUT_OF_RANGE


@pytest.mark.parametrize("config", [AGENTS, LIVE], ids=["agents", "live"])
def test_agents_are_read_under_the_number_of_a_store(
    opened: Callable[[Config], Host], config: Config
) -> None:
    host = opened(config)
    value = (7).to_bytes(4, "little")
    assert host.ask(Request.STORE, words(Request.STORE, Region.TABLE, 64) + value) == OK
    fetch = words(Request.FETCH, Region.TABLE, 64)
    assert host.again(Request.FETCH, fetch) == (StatusCode.OK, value)
    assert host.again(Request.PROGRESS) == (StatusCode.OK, b"\0")
    for kind in (Request.STATUS, Request.COUNTERS):
        assert host.again(kind)[0] == StatusCode.OK
    for kind in (Request.STORE, Request.STOP, Request.BAUD):
        assert host.again(kind) == DUPLICATE
    assert host.ask(Request.FETCH, fetch) == (StatusCode.OK, value)
    assert (
        host.again(Request.FETCH, words(Request.FETCH, Region.TABLE, 64, 0))[0]
        == StatusCode.OUT_OF_RANGE
    )
    assert host.ask(Request.STATUS)[0] == StatusCode.OUT_OF_RANGE


def test_a_job_does_not_begin_under_the_latest_number(opened: Callable[[Config], Host]) -> None:
    host = opened(AGENTS)
    assert host.ask(Request.STOP) == OK
    assert host.again(Request.RUN, ARGUMENTS[Request.RUN].pack(1000)) == DUPLICATE
    while host.again(Request.PROGRESS) != (StatusCode.OK, b"\0"):
        pass
    steps = words(Request.FETCH, Region.COUNTERS, 0)
    assert host.again(Request.FETCH, steps) == (StatusCode.OK, bytes(4))


def test_a_live_world_gives_the_latest_action_again_and_does_nothing(
    opened: Callable[[Config], Host],
) -> None:
    host = opened(LIVE)
    begin, act = (ARGUMENTS[kind] for kind in (Request.BEGIN, Request.ACT))
    status, action = host.ask(Request.BEGIN, begin.pack(0, 5))
    assert (status, len(action)) == (StatusCode.OK, 1)
    context = words(Request.FETCH, Region.CONTEXT, 0, 5)
    _, before = host.ask(Request.FETCH, context)
    assert host.again(Request.BEGIN, begin.pack(1, 9)) == (StatusCode.OK, action)
    assert host.again(Request.ACT, act.pack(0, 30000, 9, 5)) == (StatusCode.OK, action)
    assert host.ask(Request.FETCH, context) == (StatusCode.OK, before)
    assert host.again(Request.ACT)[0] == StatusCode.BAD_LENGTH
    assert host.ask(Request.STATUS)[0] == StatusCode.BAD_LENGTH
