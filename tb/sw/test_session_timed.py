"""Tests in simulated time: when a session writes, how long it waits, and which answers it accepts."""

import logging
from collections.abc import Callable
from contextlib import nullcontext

import pytest
from tb.sw.session_bench import CONFIG
from tb.sw.timed_port import TimedPort, interrupt

from qstep.device.link.frames import DELIMITER, encode_frame
from qstep.device.link.session import RETRIES, Session
from qstep.errors import DeadlineError, LinkError, SessionLostError
from qstep.spec.protocol import ANSWER, ANSWERS, COMMON, Request, StatusCode, max_payload

STATUS_BYTES = ANSWERS[Request.STATUS].size
RATE = 1_000_000


def ask_status(session: Session) -> None:
    assert len(session.ask(Request.STATUS, STATUS_BYTES)) == STATUS_BYTES


def change_rate(session: Session) -> None:
    session.change_baud(48, RATE, lambda baud: None)


def clear(session: Session) -> None:
    session.send(Request.CLEAR)
    session.drain()


def send_many(session: Session) -> None:
    for _ in range(3):
        session.send(Request.REWARDS, b"\x00")
    session.drain()


# Sending


def test_a_request_is_sent_as_soon_as_credit_is(session: Session, timed_port: TimedPort) -> None:
    most = max_payload(CONFIG.link.buffer_bytes)
    for _ in range(3):
        session.send(Request.REWARDS, bytes(most))
    assert timed_port.turns == "wrwwrw"
    with pytest.raises(ValueError, match=f"payload has {most + 1} bytes; at most {most} fit"):
        session.send(Request.REWARDS, bytes(most + 1))
    session.drain()
    session.drain()
    assert timed_port.turns == "wrwwrwr"


@pytest.mark.parametrize("use", [ask_status, change_rate])
def test_a_request_for_data_or_a_rate_waits_until_nothing_is_in_flight(
    use: Callable[[Session], None], session: Session, timed_port: TimedPort
) -> None:
    session.send(Request.CLEAR)
    use(session)
    session.drain()  # the answer has been received
    assert timed_port.turns == "wrwrwr"


def test_every_request_is_logged(session: Session, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "qstep")
    session.send(Request.CLEAR)
    session.send(Request.REWARDS, b"\x00\x01\x02", transitions=5)
    assert caplog.messages == [
        "CLEAR: 0 bytes, 0 transitions, 1 in flight",
        "REWARDS: 3 bytes, 5 transitions, 2 in flight",
    ]


# Waiting


@pytest.mark.parametrize(
    ("options", "says"), [({}, r"3\.2 s"), ({"seconds": 1.0}, "34 s")], ids=["none", "one-second"]
)
def test_a_request_may_take_additional_time(
    options: dict[str, float], says: str, session: Session, timed_port: TimedPort
) -> None:
    timed_port.lose(1 + RETRIES)
    session.send(Request.CLEAR, **options)  # type: ignore[arg-type]
    with pytest.raises(
        DeadlineError, match=f"did not answer CLEAR within {says}; the request was sent 5 times"
    ):
        session.drain()
    _, *sent = timed_port.requests()
    assert (len(sent), len(set(sent))) == (1 + RETRIES, 1)


@pytest.mark.parametrize(
    ("use", "name"), [(ask_status, "STATUS"), (change_rate, "BAUD")], ids=["STATUS", "BAUD"]
)
def test_an_interrupted_request_is_awaited_no_longer_than_any_other(
    use: Callable[[Session], None],
    name: str,
    session: Session,
    timed_port: TimedPort,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timed_port.lose(1 + RETRIES)
    with monkeypatch.context() as patch:
        patch.setattr(timed_port, "read", interrupt)
        with pytest.raises(KeyboardInterrupt):
            use(session)
    with pytest.raises(
        DeadlineError, match=rf"did not answer {name} within 3\.2 s; the request was sent 5 times"
    ):
        session.drain()


def test_a_retry_repeats_all_that_is_in_flight(session: Session, timed_port: TimedPort) -> None:
    timed_port.lose(3)
    for payload in (b"\x00", b"\x01", b"\x02"):
        session.send(Request.REWARDS, payload)
    frames = timed_port.written[-3:]
    session.drain()
    assert timed_port.written[4:] == [DELIMITER + b"".join(frames)]


@pytest.mark.parametrize("at_once", [True, False])
def test_gaps_count_anew_with_every_request_that_is_carried_out(
    at_once: bool, session: Session, timed_port: TimedPort, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "qstep")
    timed_port.device.gaps.update(
        {Request.CLEAR: RETRIES, Request.REWARDS: RETRIES, Request.STATUS: RETRIES}
    )
    began = timed_port.now
    session.send(Request.CLEAR)
    if not at_once:
        session.drain()
    session.send(Request.REWARDS, b"\x00")
    ask_status(session)
    assert timed_port.now == began
    session.report()
    assert f" 0 retries, {3 * RETRIES} gaps; " in caplog.messages[-1]


@pytest.mark.parametrize(
    ("use", "name"), [(clear, "CLEAR"), (ask_status, "STATUS"), (send_many, "REWARDS")]
)
def test_a_device_that_always_answers_gap_is_given_up_as_a_silent_one(
    use: Callable[[Session], None], name: str, session: Session, timed_port: TimedPort
) -> None:
    timed_port.device.gaps[Request[name]] = 100
    with pytest.raises(
        DeadlineError, match=rf"answer {name} within 3\.2 s; the request was sent 9 times"
    ):
        use(session)
    _, first, *others = timed_port.requests()
    assert 1 + others.count(first) == 1 + RETRIES + RETRIES
    with pytest.raises(SessionLostError, match="no session is open"):
        session.send(Request.CLEAR)


@pytest.mark.parametrize("lost", [RETRIES - 1, RETRIES])
def test_gaps_leave_the_retries_of_silence_as_they_are(
    lost: int, session: Session, timed_port: TimedPort
) -> None:
    timed_port.device.gaps[Request.CLEAR] = RETRIES
    timed_port.instead = [lambda gap: gap] * RETRIES
    timed_port.lose(1 + lost)
    noticed = pytest.raises(DeadlineError, match=r"answer CLEAR within .* sent 9 times")
    with nullcontext() if lost < RETRIES else noticed:
        clear(session)
    assert len(timed_port.requests()) == 1 + RETRIES + 1 + RETRIES


def test_an_answer_that_loses_its_end_does_not_cost_the_next_one(
    session: Session, timed_port: TimedPort
) -> None:
    timed_port.instead = [lambda answer: answer[:-3]]
    clear(session)
    assert len(timed_port.written) == 3


def test_a_pause_takes_its_time_of_the_line(session: Session, timed_port: TimedPort) -> None:
    session.pause(0.25)
    assert timed_port.now == 100.25


# Answers with data


@pytest.mark.parametrize(
    ("kind", "seq", "status"),
    [
        (Request.CLEAR, 1, StatusCode.OK),
        (Request.STATUS, 0, StatusCode.OK),
        (Request.STATUS, 1, StatusCode.DUPLICATE),
    ],
    ids=["type", "number", "status"],
)
def test_only_the_answer_to_this_request_has_its_data(
    kind: Request, seq: int, status: StatusCode, session: Session, timed_port: TimedPort
) -> None:
    session.send(Request.CLEAR)
    session.drain()
    other = COMMON.pack(status, 2, 0) + b"no data here"
    timed_port.instead = [
        lambda _: encode_frame(kind + ANSWER, seq, timed_port.device.epoch, other)
    ]
    data = session.ask(Request.STATUS, STATUS_BYTES)
    assert data == ANSWERS[Request.STATUS].pack(0, 1, 0)
    # Although known to be executed, the request is repeated because its data was missing.
    *_, status_request, again = timed_port.written
    assert again == DELIMITER + status_request


def test_data_of_another_size_is_an_error(session: Session) -> None:
    with pytest.raises(LinkError, match="the device answered STATUS with 12 bytes, not 11"):
        session.ask(Request.STATUS, STATUS_BYTES - 1)


# Rate and report


@pytest.mark.parametrize("lost", range(RETRIES + 1))
def test_while_the_rate_is_unknown_retries_alternate_and_the_new_rate_is_last(
    lost: int, session: Session, timed_port: TimedPort, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "qstep.device.link.session")
    old = session.baud
    rates: list[int] = []
    timed_port.lose(lost)
    session.change_baud(48, RATE, rates.append)
    assert rates == [*[RATE, old, RATE, old][:lost], RATE]
    _, *first_and_again = timed_port.requests()
    assert len(first_and_again) == 1 + lost
    assert len(set(first_and_again)) == 1
    assert caplog.messages[lost:] == [f"line rate: {old} to {RATE} baud"]


@pytest.mark.parametrize(("seconds", "shown"), [(0.5, "0.5"), (8.0, "8"), (0.0, "1e-09")])
def test_the_report_says_what_went_over_the_port_and_at_which_rate(
    seconds: float, shown: str, timed_port: TimedPort, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "qstep")
    timed_port.device.applied = 7
    session = Session(timed_port, CONFIG)
    session.open()
    sent, received = len(timed_port.written[0]), 13 + COMMON.size + ANSWERS[Request.HELLO].size + 3
    timed_port.now += seconds
    session.report()
    rates = [f"{count / float(shown):.3g}" for count in (sent, received)]
    assert caplog.messages[-1] == (
        f"closed after {shown} s: {sent} bytes sent ({rates[0]}/s), {received} received "
        f"({rates[1]}/s), 0 retries, 0 gaps; 7 transitions applied since the device's reset"
    )
