"""After a refusal, nothing more is applied, whatever the line loses, and the user can continue."""

import numpy as np
import pytest
from tb.reference_device import ReferenceDevice
from tb.sw.lossy_port import DirectPort, LossyPort
from tb.sw.session_bench import CONFIG, PATIENCE, assert_exact, expected_table, spoiled, transitions

from qstep import Hyperparameters
from qstep.device.lane import LinkDevice
from qstep.errors import DeadlineError, RefusedError, SessionLostError
from qstep.spec.protocol import Request

ILLEGAL = bytes(8)  # NOISE with x = 0


@pytest.mark.parametrize("lost", [0, 1, 3])
def test_a_refusal_whose_answer_is_lost_is_a_refusal(lost, session, timed_port):
    timed_port.lose(lost)
    session.send(Request.NOISE, ILLEGAL)
    with pytest.raises(RefusedError, match=r"^the device refused NOISE: OUT_OF_RANGE$"):
        session.drain()


def test_a_refusal_is_that_of_the_refused_request_whichever_answer_tells_it(session, timed_port):
    timed_port.lose(3)
    session.send(Request.CLEAR)
    session.send(Request.NOISE, ILLEGAL)
    session.send(Request.CONFIGURE, bytes(5))
    session.send(Request.CLEAR)  # only the answer to this one arrives
    with pytest.raises(RefusedError, match="refused NOISE: OUT_OF_RANGE"):
        session.drain()


@pytest.mark.parametrize("at", [0, 5, 100, 2999])
def test_what_is_applied_is_the_batch_up_to_the_illegal_transition(at):
    reference = ReferenceDevice(CONFIG)
    device = LinkDevice(DirectPort(reference), CONFIG, PATIENCE)
    with pytest.raises(RefusedError, match="refused APPLY_CODED: OUT_OF_RANGE") as caught:
        device.apply(spoiled(3000, at))
    assert caught.value.applied == at
    assert_exact(device, reference, transitions(3000)[:at], Hyperparameters())


@pytest.mark.parametrize("seed", range(6))
def test_over_a_bad_line_too(seed):
    reference = ReferenceDevice(CONFIG)
    device = LinkDevice(LossyPort(DirectPort(reference), seed, 0.05), CONFIG, PATIENCE)
    batch = transitions(3000)
    for start in (0, 150):
        with pytest.raises(RefusedError) as caught:
            device.apply(spoiled(3000, 250)[start:])
        assert caught.value.applied == 250 - start
        device.clear()
        device.apply(batch[:150])
        assert np.array_equal(device.read(), expected_table(batch[:150], Hyperparameters()))


def test_the_next_request_opens_a_session_in_which_settings_have_stayed():
    reference = ReferenceDevice(CONFIG)
    device = LinkDevice(DirectPort(reference), CONFIG, PATIENCE)
    hyper = Hyperparameters(alpha=0.25, rounding="stochastic", seed=5)
    device.configure(hyper)
    batch, epoch = transitions(3000), reference.epoch
    with pytest.raises(RefusedError) as caught:
        device.apply(spoiled(3000, 700))
    device.apply(batch[caught.value.applied :])
    assert reference.epoch != epoch
    assert_exact(device, reference, batch, hyper)


def test_several_refusals_in_a_row(session, timed_port):
    for _ in range(2):
        for kind, payload, status in (
            (Request.CLEAR, b"x", "BAD_LENGTH"),
            (Request.RUN, bytes(6), "BAD_TYPE"),
        ):
            session.send(kind, payload)
            with pytest.raises(RefusedError, match=f"the device refused {kind.name}: {status}"):
                session.drain()
        with pytest.raises(RefusedError, match="the device refused READ: OUT_OF_RANGE"):
            session.ask(Request.READ, 2, b"\xff\xff\x00\x01\x00")
        with pytest.raises(RefusedError, match="the device refused BAUD: OUT_OF_RANGE"):
            session.change_baud(1, 9600, lambda baud: pytest.fail("changed"))
    session.send(Request.CLEAR)
    session.drain()
    assert timed_port.device.refused == 8


def test_a_device_that_is_gone_after_a_refusal_does_not_hide_it(session, timed_port):
    session.send(Request.NOISE, ILLEGAL)
    timed_port.there = lambda data: b""
    with pytest.raises(RefusedError):
        session.drain()
    with pytest.raises(DeadlineError, match="did not answer HELLO"):
        session.send(Request.CLEAR)
    with pytest.raises(SessionLostError, match="no session is open"):
        session.send(Request.CLEAR)


def test_a_late_answer_to_hello_says_nothing_of_what_was_refused(session, timed_port):
    hello = timed_port.written[0]
    timed_port.lose(1)
    session.send(Request.NOISE, ILLEGAL)
    timed_port.arrive(timed_port.device.receive(hello))
    with pytest.raises(RefusedError):
        session.drain()


class AppliesAfterwards(ReferenceDevice):
    """A device of the first version, which executes requests after a refusal."""

    def _carry_out(self, frame):
        self._refusal = None
        return super()._carry_out(frame)


def test_a_device_that_goes_on_after_a_refusal_is_not_exact():
    # The tests above can fail: here, the device applies more than the driver reports.
    reference = AppliesAfterwards(CONFIG)
    device = LinkDevice(DirectPort(reference), CONFIG, PATIENCE)
    with pytest.raises(RefusedError) as caught:
        device.apply(spoiled(3000, 5))
    assert caught.value.applied == 5 < reference.applied
