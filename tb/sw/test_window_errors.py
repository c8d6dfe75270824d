"""The window alone: gaps, refusals and lost sessions."""

import logging
from collections.abc import Sequence

import pytest
from tb.sw.window_bench import NOTHING, answer, filled, opened, state

from qstep.device.link.frames import DELIMITER
from qstep.device.link.window import Window
from qstep.errors import RefusedError, SessionLostError
from qstep.spec.protocol import REFUSALS, Request, StatusCode

# Gaps


def gaps(window: Window, expected: int, numbers: Sequence[int]) -> list[bool]:
    """Return, for each of these requests, whether a GAP in answer to it makes the window repeat."""
    repeats = []
    for seq in numbers:
        whole = DELIMITER + b"".join(request.frame for request in window.pending)
        done, repeat = window.acknowledge(answer(expected, 0, StatusCode.GAP, seq))
        assert not done
        assert repeat in (b"", whole)
        repeats.append(bool(repeat))
    return repeats


@pytest.mark.parametrize("first", [0, 7, 65535, 65533])
def test_each_pass_of_gaps_is_obeyed_once(first: int) -> None:
    window = filled(0, 0, 0, 0, 0, expected=first)
    for offsets, obeyed in [
        ([2, 3, 4], [True, False, False]),  # the GAP for the request after the lost one is lost too
        ([1, 3, 4], [True, False, False]),
        ([1], [True]),
        ([1, 2], [True, False]),
    ]:
        assert gaps(window, first, [(first + offset) % 65536 for offset in offsets]) == obeyed


def test_after_progress_or_another_try_the_next_gap_is_obeyed() -> None:
    window = filled(0, 0, 0, 0)
    assert gaps(window, 0, [1, 2]) == [True, False]
    window.repeated()
    assert gaps(window, 0, [3]) == [True]
    window.acknowledge(answer(1))
    assert gaps(window, 1, [3, 3]) == [True, True]


def test_a_gap_with_nothing_in_flight_asks_for_nothing() -> None:
    window = filled(0)
    window.acknowledge(answer(1))
    assert window.acknowledge(answer(1, status=StatusCode.GAP, seq=2)) == NOTHING


# Refusals


@pytest.mark.parametrize("status", REFUSALS)
@pytest.mark.parametrize("applied", [17, 19, 21])
def test_a_refusal_halts_with_all_before_and_some_of_the_refused_request_applied(
    status: StatusCode, applied: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "qstep")
    window = filled(3, 4, 4, 1, applied=10)
    with pytest.raises(RefusedError, match=f"^the device refused APPLY_RAW: {status.name}$"):
        window.acknowledge(answer(3, applied, status))
    assert state(window) == (None, 4, applied, 128, True, 0)
    assert caplog.messages == [f"APPLY_RAW refused: {status.name}; {applied} transitions applied"]


def test_the_refused_request_is_the_last_that_the_device_took() -> None:
    window = opened()
    for kind in (Request.CLEAR, Request.NOISE, Request.LOAD):
        window.add(kind, b"", 0, 0.0)
    with pytest.raises(RefusedError, match="refused NOISE: OUT_OF_RANGE"):
        window.acknowledge(answer(2, status=StatusCode.OUT_OF_RANGE))


@pytest.mark.parametrize("applied", [16, 22])
def test_a_refusal_with_another_count_of_transitions_is_a_lost_session(applied: int) -> None:
    window = filled(3, 4, 4, 1, applied=10)
    says = f"^session lost: the device has applied {applied} transitions, not 17 to 21; read the"
    with pytest.raises(SessionLostError, match=says):
        window.acknowledge(answer(3, applied, StatusCode.BAD_LENGTH))
    assert state(window) == (None, 4, applied, 128, False, 0)


def test_a_refusal_that_refuses_nothing_in_flight_changes_nothing() -> None:
    window = filled(0)
    assert window.acknowledge(answer(0, status=StatusCode.BUSY)) == NOTHING


# Losses


@pytest.mark.parametrize(("applied", "kept"), [(9, 10), (10, 10), (11, 11), (18, 18), (19, 10)])
def test_a_lost_session_keeps_the_count_that_it_can_have_led_to(
    applied: int, kept: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "qstep")
    window = filled(3, 5, applied=10)
    why = "session lost: the device was reset, or another host opened a session"
    with pytest.raises(
        SessionLostError, match=f"^{why}; read the table again before you continue$"
    ):
        window.acknowledge(answer(0, applied, StatusCode.STALE_EPOCH))
    assert state(window) == (None, 2, kept, 128, False, 0)
    assert caplog.messages == [why]


@pytest.mark.parametrize("applied", [12, 14])
def test_another_count_of_transitions_than_was_sent_is_a_lost_session(applied: int) -> None:
    window = filled(3, 5, applied=10)
    says = f"the device has applied {applied} transitions, not 13; read the table again"
    with pytest.raises(SessionLostError, match=says):
        window.acknowledge(answer(1, applied))
    assert state(window) == (None, 2, applied, 128, False, 0)
