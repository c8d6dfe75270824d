"""Tests in simulated time: how a session opens, and how another one opens after a refusal."""

import logging
from collections.abc import Callable

import pytest
from tb.sw.session_bench import CONFIG
from tb.sw.timed_port import Hesitates, TimedPort, interrupt

from qstep.device.link.frames import DELIMITER, encode_frame
from qstep.device.link.session import RETRIES, Session
from qstep.errors import DeadlineError, DeviceError, RefusedError, SessionLostError
from qstep.spec.protocol import ANSWER, ANSWERS, COMMON, Request


def test_a_closed_session_has_short_payloads_and_sends_nothing(timed_port: TimedPort) -> None:
    session = Session(timed_port, CONFIG)
    assert (session.applied, session.limit, session.baud) == (0, 128, CONFIG.link.baud)
    with pytest.raises(SessionLostError, match="no session is open"):
        session.send(Request.CLEAR)
    assert timed_port.turns == ""


def test_hello_is_numbered_0_in_epoch_0_and_its_answer_opens_the_session(
    timed_port: TimedPort, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "qstep")
    monkeypatch.setattr("secrets.randbits", lambda bits: (1 << bits) - 2)
    timed_port.device.applied = 7
    session = Session(timed_port, CONFIG)
    answer = session.open()
    hello = DELIMITER + encode_frame(Request.HELLO, 0, 0, b"\xfe\xff\xff\xff")
    assert timed_port.written == [hello]
    assert len(answer) == ANSWERS[Request.HELLO].size
    assert answer.endswith(b"\xfe\xff\xff\xff")
    assert session.applied == 7
    assert caplog.messages == [
        f"session opened: epoch {timed_port.device.epoch:08x}, 7 transitions applied"
    ]


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        *((Request.HELLO + ANSWER, bytes(size)) for size in (0, 1, COMMON.size - 1, COMMON.size)),
        (Request.HELLO + ANSWER, bytes(COMMON.size) + b"\x03 and the nonce of another host"),
        (Request.READ + ANSWER, bytes(COMMON.size) + b"\x07 values for another host"),
        (Request.HELLO, bytes(COMMON.size) + b"\x07 no answer"),
    ],
    ids=["0", "1", "10", "11", "nonce", "type", "request"],
)
def test_other_answers_open_nothing(kind: int, payload: bytes, timed_port: TimedPort) -> None:
    timed_port.arrive(encode_frame(kind, 0, 0xBAD, payload))
    session = Session(timed_port, CONFIG)
    assert len(session.open()) == ANSWERS[Request.HELLO].size
    assert len(session.ask(Request.STATUS, 12)) == 12


def test_an_unanswered_hello_counts_no_old_gaps(session: Session, timed_port: TimedPort) -> None:
    timed_port.device.gaps[Request.CLEAR] = 100
    session.send(Request.CLEAR)
    with pytest.raises(
        DeadlineError, match=r"answer CLEAR within 3\.2 s; the request was sent 9 times"
    ):
        session.drain()
    timed_port.lose(1 + RETRIES)
    with pytest.raises(
        DeadlineError, match=r"answer HELLO within 3\.2 s; the request was sent 5 times"
    ):
        session.open()


def test_an_interrupt_while_a_session_opens_leaves_none_open(
    session: Session, timed_port: TimedPort, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(timed_port, "read", interrupt)
        with pytest.raises(KeyboardInterrupt):
            session.open()
    with pytest.raises(SessionLostError, match="no session is open"):
        session.send(Request.CLEAR)


def test_hello_is_sent_again(
    timed_port: TimedPort, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "qstep")
    calls: list[object] = []
    for name, value in (
        ("baud", 9_600),
        ("set_baud", calls.append),
        ("send_break", lambda: calls.append("break")),
    ):
        monkeypatch.setattr(timed_port, name, value, raising=False)
    timed_port.lose(1)
    Session(timed_port, CONFIG).open()
    assert calls == ["break", CONFIG.link.baud]
    hello, again = timed_port.written
    assert again == hello
    assert caplog.messages[1:-1] == [f"break: back to {CONFIG.link.baud} baud"]


@pytest.mark.parametrize("call", ["write", "read"])
def test_a_port_that_fails_closes_the_session(
    call: str,
    session: Session,
    timed_port: TimedPort,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_: object) -> bytes:
        raise DeviceError("it was unplugged")

    caplog.set_level(logging.INFO, "qstep")
    with monkeypatch.context() as patch:
        patch.setattr(timed_port, call, fail)
        with pytest.raises(DeviceError, match="it was unplugged"):
            session.ask(Request.STATUS, 12)
    assert caplog.messages == ["port failed: it was unplugged"]
    with pytest.raises(SessionLostError, match="no session is open"):
        session.send(Request.CLEAR)


def refuse(session: Session) -> None:
    session.send(Request.CLEAR, b"x")
    with pytest.raises(RefusedError, match="the device refused CLEAR: BAD_LENGTH"):
        session.drain()


@pytest.mark.parametrize("count", [5, 65532, 65533, 65534, 65535])
def test_a_refusal_opens_a_session_where_counts_wrap(count: int, timed_port: TimedPort) -> None:
    timed_port.device._count = count
    session = Session(timed_port, CONFIG)
    session.open()
    refuse(session)
    refuse(session)
    assert len(session.ask(Request.STATUS, 12)) == 12
    refuse(session)
    session.change_baud(48, 1_000_000, lambda baud: None)
    assert timed_port.device._count == (count + 4) % (1 << 16)


def cycle_power(device: Hesitates) -> None:
    device.__init__()  # type: ignore[misc]


def apply_elsewhere(device: Hesitates) -> None:
    device.applied += 1


def open_elsewhere(device: Hesitates) -> None:
    device._count += 1


@pytest.mark.parametrize("event", [Hesitates.reset, cycle_power, apply_elsewhere, open_elsewhere])
def test_what_happens_between_a_refusal_and_the_next_request_closes_the_session(
    event: Callable[[Hesitates], None], session: Session, timed_port: TimedPort
) -> None:
    refuse(session)
    event(timed_port.device)
    with pytest.raises(SessionLostError, match="after a request was refused, the device was reset"):
        session.send(Request.CLEAR)
    with pytest.raises(SessionLostError, match="no session is open"):
        session.send(Request.CLEAR)
