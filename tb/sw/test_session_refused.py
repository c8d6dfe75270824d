"""A refusal: nothing after it is applied, whatever the line loses, and the user can continue."""

import numpy as np
import pytest
from tb.reference_device import ReferenceDevice
from tb.sw.lossy_port import DirectPort, LossyPort
from tb.sw.session_bench import CONFIG, PATIENCE, assert_exact, expected_table, spoiled, transitions

from qstep import Hyperparameters
from qstep.devices.link_device import LinkDevice
from qstep.errors import DeadlineError, RefusedError, SessionLostError
from qstep.link.session import Session
from qstep.protocol import Request, StatusCode

ILLEGAL = bytes(8)  # NOISE with x = 0


class LosesAnswers(DirectPort):
    """The host misses the device's next `deaf` answers."""

    deaf = 0

    def back(self, data):
        if data and self.deaf:
            self.deaf -= 1
            return b""
        return data


def opened(port):
    session = Session(port, CONFIG, PATIENCE)
    session.open()
    return session


@pytest.mark.parametrize("lost", [0, 1, 3])
def test_a_refusal_whose_answer_is_lost_is_a_refusal(lost):
    port = LosesAnswers(ReferenceDevice(CONFIG))
    session = opened(port)
    port.deaf = lost
    session.send(Request.NOISE, ILLEGAL)
    with pytest.raises(RefusedError, match=r"^the device refused NOISE: OUT_OF_RANGE$"):
        session.drain()


def test_a_refusal_is_that_of_the_refused_request_whichever_answer_tells_it():
    reference = ReferenceDevice(CONFIG)
    port = LosesAnswers(reference)
    session = opened(port)
    port.deaf = 3
    session.send(Request.CLEAR)
    session.send(Request.NOISE, ILLEGAL)
    session.send(Request.CONFIGURE, bytes(5))
    session.send(Request.CLEAR)  # only the answer to this one is heard
    with pytest.raises(RefusedError, match="refused NOISE: OUT_OF_RANGE"):
        session.drain()


@pytest.mark.parametrize(
    "status", [StatusCode.BAD_TYPE, StatusCode.BAD_LENGTH, StatusCode.OUT_OF_RANGE]
)
def test_every_refusal_is_an_error_with_its_status(status):
    class Refuses(ReferenceDevice):
        def _carry_out(self, frame):
            if frame.type == Request.CLEAR:
                self._expected += 1
                return status, b""
            return super()._carry_out(frame)

    session = opened(DirectPort(Refuses(CONFIG)))
    session.send(Request.CLEAR)
    with pytest.raises(RefusedError, match=f"the device refused CLEAR: {status.name}"):
        session.drain()


def test_nothing_after_a_refusal_is_carried_out():
    reference = ReferenceDevice(CONFIG)
    session = opened(DirectPort(reference))
    session.send(Request.LOAD, bytes([0, 0, 0, 7, 0]))
    session.send(Request.NOISE, ILLEGAL)
    session.send(Request.CLEAR)
    with pytest.raises(RefusedError, match="NOISE"):
        session.drain()
    assert reference.table[0, 0] == 7


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


def test_several_refusals_in_a_row():
    reference = ReferenceDevice(CONFIG)
    session = opened(DirectPort(reference))
    for _ in range(2):
        session.send(Request.CLEAR, b"x")
        with pytest.raises(RefusedError, match="the device refused CLEAR: BAD_LENGTH"):
            session.drain()
        with pytest.raises(RefusedError, match="the device refused READ: OUT_OF_RANGE"):
            session.ask(Request.READ, 2, b"\xff\xff\x00\x01\x00")
        with pytest.raises(RefusedError, match="the device refused BAUD: OUT_OF_RANGE"):
            session.change_baud(1, 9600, lambda baud: pytest.fail("changed"))
    session.send(Request.CLEAR)
    session.drain()
    assert reference.refused == 6


def reset_device(reference):
    reference.reset()


def power_cycle(reference):
    reference.__init__(CONFIG)


def open_another(reference):
    LinkDevice(DirectPort(reference), CONFIG, PATIENCE)


@pytest.mark.parametrize("event", [reset_device, power_cycle, open_another])
def test_what_comes_between_refusal_and_next_request_is_a_lost_session(event):
    reference = ReferenceDevice(CONFIG)
    device = LinkDevice(DirectPort(reference), CONFIG, PATIENCE)
    with pytest.raises(RefusedError):
        device.apply(spoiled(10, 0))
    event(reference)
    with pytest.raises(SessionLostError, match="since a request was refused, the device was reset"):
        device.apply(transitions(10))
    with pytest.raises(SessionLostError, match="no session is open"):
        device.read()
    device.reconnect()
    device.apply(transitions(10))
    assert_exact(device, reference, transitions(10), Hyperparameters())


def test_a_device_that_is_gone_after_a_refusal_does_not_hide_it():
    port = DirectPort(ReferenceDevice(CONFIG))
    session = opened(port)
    session.send(Request.NOISE, ILLEGAL)
    port.there = lambda data: b""
    with pytest.raises(RefusedError):
        session.drain()
    with pytest.raises(DeadlineError, match="did not answer HELLO"):
        session.send(Request.CLEAR)
    with pytest.raises(SessionLostError, match="no session is open"):
        session.send(Request.CLEAR)


def test_a_late_answer_to_hello_says_nothing_of_what_was_refused():
    reference = ReferenceDevice(CONFIG)
    port = LosesAnswers(reference)
    session = opened(port)
    hello = port.written[0]
    port.deaf = 1
    session.send(Request.NOISE, ILLEGAL)
    port._arrived = reference.receive(hello)
    with pytest.raises(RefusedError):
        session.drain()


class AppliesAfterwards(ReferenceDevice):
    """A device of the first version: it carries out what comes after a refusal."""

    def _carry_out(self, frame):
        self._refusal = None
        return super()._carry_out(frame)


def test_a_device_that_goes_on_after_a_refusal_is_not_exact():
    # The tests above can fail: here more is applied than the driver reports.
    reference = AppliesAfterwards(CONFIG)
    device = LinkDevice(DirectPort(reference), CONFIG, PATIENCE)
    with pytest.raises(RefusedError) as caught:
        device.apply(spoiled(3000, 5))
    assert caught.value.applied == 5 < reference.applied
