"""Silence, and a device that asks for repetition: a few retries, then a typed error in time."""

import time
from collections import Counter

import pytest
from tb.reference_device import ReferenceDevice
from tb.sw.lossy_port import DirectPort, Silent
from tb.sw.session_bench import CONFIG, PATIENCE, transitions

from qstep.devices.link_device import LinkDevice
from qstep.errors import DeadlineError, SessionLostError
from qstep.link.exchange import RETRIES
from qstep.link.frames import DELIMITER, decode_frame
from qstep.protocol import Request, StatusCode


def test_silence_is_an_error_after_four_retries_and_in_time():
    port = Silent(ReferenceDevice(CONFIG), 100)
    device = LinkDevice(port, CONFIG, PATIENCE)
    device.apply(transitions(10))
    port.frames = 0
    port.written.clear()
    began = time.monotonic()
    with pytest.raises(
        DeadlineError, match=r"did not answer APPLY_CODED within .* s, sent 5 times"
    ):
        device.apply(transitions(10))
    limit = (2 ** (RETRIES + 1) - 1) * (PATIENCE + 2 * 512 * 10 / 6_000_000)
    assert time.monotonic() - began < 2 * limit + 0.5
    requests = [part for data in port.written for part in data.split(DELIMITER) if part]
    steps = [part for part in requests if decode_frame(part).type == Request.APPLY_CODED]
    assert len(steps) == 1 + RETRIES
    assert len(set(steps)) == 1


def test_no_device_at_all_is_an_error_in_time():
    port = Silent(ReferenceDevice(CONFIG), 0)
    with pytest.raises(DeadlineError, match=r"did not answer HELLO within .* s, sent 5 times"):
        LinkDevice(port, CONFIG, PATIENCE)
    assert port.closed


class AnswersGap(ReferenceDevice):
    """A device that counts requests, and answers GAP to the first although nothing is missing."""

    def __init__(self, config, gaps):
        super().__init__(config)
        self.gaps = gaps
        self.received = Counter()

    def _carry_out(self, frame):
        self.received[frame.type] += 1
        if frame.type != Request.HELLO and self.gaps:
            self.gaps -= 1
            return StatusCode.GAP, b""
        return super()._carry_out(frame)


@pytest.mark.parametrize("kind", [Request.CLEAR, Request.READ])
def test_a_device_that_always_answers_gap_is_given_up_as_a_silent_one(kind):
    reference = AnswersGap(CONFIG, gaps=0)
    device = LinkDevice(DirectPort(reference), CONFIG, PATIENCE)
    reference.gaps = 1 << 30
    began = time.monotonic()
    with pytest.raises(DeadlineError, match=rf"answer {kind.name} within .* s, sent 9 times"):
        device.clear() if kind == Request.CLEAR else device.read()
    seconds = PATIENCE + 2 * 512 * 10 / 6_000_000 + (36 * 3 / 1_000_000)
    assert time.monotonic() - began < (2 ** (RETRIES + 1) - 1) * seconds + 0.5
    assert reference.received[kind] == 1 + RETRIES + RETRIES == 9
    with pytest.raises(SessionLostError, match="no session is open"):
        device.clear()


def test_a_device_that_always_answers_gap_to_many_requests_is_given_up():
    reference = AnswersGap(CONFIG, gaps=0)
    device = LinkDevice(DirectPort(reference), CONFIG, PATIENCE)
    reference.gaps = 1 << 30
    with pytest.raises(DeadlineError, match=r"answer REWARDS within .* s, sent 9 times") as caught:
        device.apply(transitions(1000))
    assert caught.value.applied == 0
    assert reference.received[Request.REWARDS] == 9


@pytest.mark.parametrize("gaps", [1, RETRIES])
def test_gaps_within_the_limit_are_repeated_at_once_and_progress_begins_anew(gaps):
    reference = AnswersGap(CONFIG, gaps=0)
    device = LinkDevice(DirectPort(reference), CONFIG, patience=60.0)
    began = time.monotonic()
    for _ in range(3):
        reference.gaps = gaps
        device.clear()
        reference.gaps = gaps
        device.status()
    assert time.monotonic() - began < 10
    assert reference.received[Request.CLEAR] == reference.received[Request.STATUS] == 3 * (1 + gaps)


@pytest.mark.parametrize("lost", [RETRIES - 1, RETRIES])
def test_gaps_leave_the_retries_of_silence_as_they_are(lost):
    class Loses(DirectPort):
        """Loses what is written next."""

        losing = 0

        def there(self, data):
            if reference.gaps == 0 and self.losing:
                self.losing -= 1
                return b""
            return data

    reference = AnswersGap(CONFIG, gaps=0)
    port = Loses(reference)
    device = LinkDevice(port, CONFIG, PATIENCE)
    reference.gaps, port.losing = RETRIES, 1 + lost
    if lost < RETRIES:
        device.clear()
    else:
        with pytest.raises(DeadlineError, match=r"did not answer CLEAR within .* s, sent 9 times"):
            device.clear()
    assert reference.received[Request.CLEAR] == RETRIES + (lost < RETRIES)


def test_an_answer_that_loses_its_end_does_not_cost_the_next_one():
    class Cuts(DirectPort):
        """The next answer loses its delimiter and what is before it."""

        cuts = False

        def back(self, data):
            kept = data[:-3] if self.cuts else data
            self.cuts = False
            return kept

    port = Cuts(ReferenceDevice(CONFIG))
    device = LinkDevice(port, CONFIG, PATIENCE)
    port.cuts = True
    port.written.clear()
    device.clear()
    assert len(port.written) == 2
