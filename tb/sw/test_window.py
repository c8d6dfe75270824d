"""The window alone: sequence numbers, credit, payload limits, and progress reported by answers."""

import logging
from collections.abc import Callable

import pytest
from tb.sw.window_bench import BUFFER, EPOCH, NOTHING, State, answer, filled, opened, state

from qstep.device.link.frames import DELIMITER, Frame, decode_frame
from qstep.device.link.window import Window
from qstep.errors import RefusedError, SessionLostError
from qstep.spec.protocol import COMMON, OVERHEAD, Request, StatusCode, max_payload


def test_a_window_begins_without_a_session_and_with_short_payloads() -> None:
    window = Window(BUFFER)
    assert state(window) == (None, 0, 0, 128, False, 0)
    with pytest.raises(SessionLostError, match="no session is open: an earlier error closed it"):
        window.add(Request.CLEAR, b"", 0, 0.0)
    assert state(window) == (None, 0, 0, 128, False, 0)


def test_requests_are_numbered_from_what_the_device_expects_and_the_numbers_wrap() -> None:
    window = opened(expected=65534, applied=70)
    frames = [window.add(Request.CLEAR, bytes([at]), 0, 0.0) for at in range(3)]
    assert [decode_frame(frame[:-1]) for frame in frames] == [
        Frame(Request.CLEAR, seq, EPOCH, bytes([at])) for at, seq in enumerate((65534, 65535, 0))
    ]
    assert state(window) == (EPOCH, 1, 70, 128, False, 3)


# Credit


def test_a_request_has_room_down_to_the_last_byte_of_credit() -> None:
    window = opened()
    window.add(Request.LOAD, bytes(1000), 0, 0.0)
    left = BUFFER - (OVERHEAD + 1000) - OVERHEAD
    assert window.has_room(left)
    assert not window.has_room(left + 1)
    window.add(Request.LOAD, bytes(left), 0, 0.0)
    assert not window.has_room(0)


def use_up(window: Window) -> None:
    for _ in range(2):
        window.add(Request.LOAD, bytes(max_payload(BUFFER)), 0, 0.0)
    assert not window.has_room(0)


def test_an_answer_gives_back_the_credit_of_what_it_says_is_carried_out() -> None:
    window = opened()
    use_up(window)
    window.acknowledge(answer(1))
    assert window.has_room(max_payload(BUFFER))
    assert not window.has_room(max_payload(BUFFER) + 1)


def refuse(window: Window) -> None:
    with pytest.raises(RefusedError):
        window.acknowledge(answer(1, status=StatusCode.BUSY))


def lose(window: Window) -> None:
    with pytest.raises(SessionLostError):
        window.acknowledge(answer(0, status=StatusCode.STALE_EPOCH))


def reopen(window: Window) -> None:
    window.open(EPOCH + 1, 7, 5)


@pytest.mark.parametrize(
    ("end", "after"),
    [
        (Window.close, State(None, 2, 0, 128, is_halted=False, pending=0)),
        (reopen, State(EPOCH + 1, 7, 5, 128, is_halted=False, pending=0)),
        (refuse, State(None, 2, 0, 128, is_halted=True, pending=0)),
        (lose, State(None, 2, 0, 128, is_halted=False, pending=0)),
    ],
    ids=["close", "open", "refusal", "loss"],
)
def test_the_end_of_a_session_drops_its_requests_and_gives_back_their_credit(
    end: Callable[[Window], None], after: State
) -> None:
    window = opened()
    use_up(window)
    end(window)
    assert state(window) == after
    assert window.has_room(BUFFER - OVERHEAD)
    assert not window.has_room(BUFFER - OVERHEAD + 1)


def test_a_session_after_a_halted_one_is_not_halted() -> None:
    window = filled(0)
    refuse(window)
    window.open(EPOCH, 0, 0)
    assert not window.is_halted


# Limits


def carry_out(window: Window, *sizes: int) -> None:
    """Complete requests of these sizes, including overhead, one after the other."""
    for size in sizes:
        window.add(Request.LOAD, bytes(size - OVERHEAD), 0, 0.0)
        assert window.acknowledge(answer(window.next)) == (True, b"")


def test_payloads_double_every_8192_clean_bytes_up_to_the_largest() -> None:
    window = opened()
    for before, after in [(128, 256), (256, 512), (512, 1011), (1011, 1011)]:
        carry_out(window, *[128] * 63, 127)
        assert window.limit == before  # after 8,191 bytes
        carry_out(window, 100)
        assert window.limit == after
    assert max_payload(BUFFER) == 1011


def test_payloads_double_at_exactly_8192_clean_bytes() -> None:
    window = opened()
    for after in (256, 512):
        carry_out(window, *[128] * 64)
        assert window.limit == after


def test_each_loss_halves_payloads_to_32_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "qstep")
    window = opened()
    limits = []
    for _ in range(4):
        window.repeated()
        limits.append(window.limit)
    assert limits == [64, 32, 32, 32]
    assert caplog.messages == [f"payloads are now at most {limit} bytes" for limit in (64, 32)]


def test_clean_bytes_count_from_the_last_loss() -> None:
    window = opened()
    carry_out(window, *[128] * 63)
    window.repeated()
    carry_out(window, *[128] * 63, 127)
    assert window.limit == 64
    window.repeated()
    carry_out(window, *[128] * 64)
    assert window.limit == 64


def test_another_try_begins_with_a_delimiter_and_is_all_that_is_in_flight_or_one_frame() -> None:
    window = opened()
    frames = [window.add(Request.CLEAR, bytes([at]), 0, 0.0) for at in range(3)]
    assert window.repeated() == DELIMITER + b"".join(frames)
    assert window.repeated(frames[1]) == DELIMITER + frames[1]


# Answers


@pytest.mark.parametrize("size", [0, COMMON.size - 1])
def test_an_answer_too_short_for_the_common_part_says_nothing(size: int) -> None:
    window = filled(0)
    whole = answer(1)
    assert window.acknowledge(whole._replace(payload=whole.payload[:size])) == NOTHING
    assert len(window.pending) == 1
    assert window.acknowledge(whole) == (True, b"")


@pytest.mark.parametrize(
    "late",
    [
        answer(1, kind=Request.HELLO),
        answer(1, status=StatusCode.STALE_EPOCH, kind=Request.HELLO),
        answer(1, epoch=EPOCH + 1),
        answer(0)._replace(type=Request.CLEAR),
        answer(65535),
    ],
    ids=["hello", "stale-hello", "other-epoch", "no-answer", "number-before"],
)
def test_what_says_nothing_about_the_requests_in_flight_changes_nothing(late: Frame) -> None:
    window = filled(0, 0)
    before = state(window)
    assert window.acknowledge(late) == NOTHING
    assert state(window) == before


def test_one_answer_may_say_that_several_requests_are_carried_out() -> None:
    window = filled(3, 4, 5, expected=65535, applied=100)
    assert window.acknowledge(answer(1, 107, StatusCode.DUPLICATE)) == (True, b"")
    assert state(window) == (EPOCH, 2, 107, 128, False, 1)
    assert window.acknowledge(answer(1, 107)) == NOTHING
    assert window.acknowledge(answer(2, 112)) == (True, b"")
    assert state(window) == (EPOCH, 2, 112, 128, False, 0)


@pytest.mark.parametrize("expected", [3, 21845, 32767])
def test_a_device_that_expects_a_number_not_yet_given_is_a_lost_session(expected: int) -> None:
    window = filled(0, 0)
    with pytest.raises(SessionLostError, match=f"the device expects request {expected}, not 2;"):
        window.acknowledge(answer(expected))
    assert state(window).epoch is None


@pytest.mark.parametrize("expected", [32768, 65535])
def test_a_number_half_the_sequence_ahead_is_one_behind(expected: int) -> None:
    window = filled(0, 0)
    assert window.acknowledge(answer(expected)) == NOTHING
    assert len(window.pending) == 2
