"""After an error, reset, second host or new rate, the driver knows what was applied, and resumes."""

import pytest
from tb.reference_device import ReferenceDevice
from tb.sw.lossy_port import DirectPort, Silent
from tb.sw.session_bench import CONFIG, PATIENCE, assert_exact, transitions

from qstep import Hyperparameters
from qstep.device.lane import LinkDevice
from qstep.device.link.frames import DELIMITER
from qstep.device.link.session import Session
from qstep.errors import DeadlineError, LinkError, SessionLostError
from qstep.spec.protocol import Request


def test_after_an_error_the_confirmed_are_known_and_nothing_is_sent_until_reconnected():
    reference = ReferenceDevice(CONFIG)
    port = Silent(reference, 1000)
    device = LinkDevice(port, CONFIG, PATIENCE)
    batch = transitions(5000)
    port.frames = 7
    with pytest.raises(DeadlineError) as caught:
        device.apply(batch)
    assert caught.value.applied == reference.applied > 0
    port.frames = 10_000
    for use in (device.clear, device.read, lambda: device.apply(batch)):
        with pytest.raises(SessionLostError, match="no session is open"):
            use()
    device.reconnect()
    device.apply(batch[caught.value.applied :])
    assert_exact(device, reference, batch, Hyperparameters())


def test_no_device_at_all_is_an_error_that_closes_the_port():
    port = Silent(ReferenceDevice(CONFIG), 0)
    with pytest.raises(
        DeadlineError, match=r"did not answer HELLO within .* s; the request was sent 5 times"
    ):
        LinkDevice(port, CONFIG, PATIENCE)
    assert port.closed


def test_after_reconnecting_the_exact_count_is_known_and_the_rest_can_follow():
    class Deafens(DirectPort):
        """The host receives nothing from the device while `is_deaf` is true."""

        is_deaf = False

        def back(self, data):
            return b"" if self.is_deaf else data

    reference = ReferenceDevice(CONFIG)
    port = Deafens(reference)
    device = LinkDevice(port, CONFIG, PATIENCE)
    hyper = Hyperparameters(alpha=0.25, rounding="stochastic", seed=5)
    device.configure(hyper)
    batch = transitions(3000)
    device.apply(batch[:1000])
    before = device.status().applied
    port.is_deaf = True
    with pytest.raises(DeadlineError) as caught:
        device.apply(batch[1000:])
    port.is_deaf = False
    device.reconnect()
    status = device.status()
    exactly = status.applied - before
    assert caught.value.applied == 0 < exactly == reference.applied - before < 2000
    device.configure(hyper)
    device.set_noise(status.noise)
    device.apply(batch[before + exactly :])
    assert_exact(device, reference, batch, hyper)


class Resets(DirectPort):
    """Resets the device after `frames` frames."""

    def __init__(self, device, frames):
        super().__init__(device)
        self.frames = frames

    def there(self, data):
        self.frames -= data.count(DELIMITER)
        if self.frames < 0:
            self.frames = 1 << 30
            self.device.reset()
        return data


@pytest.mark.parametrize("frames", range(4, 12))
def test_reset_in_the_middle_is_a_lost_session(frames):
    reference = ReferenceDevice(CONFIG)
    device = LinkDevice(Resets(reference, frames), CONFIG, PATIENCE)
    with pytest.raises(SessionLostError, match="the device was reset, or another host") as caught:
        device.apply(transitions(2000))
    assert caught.value.applied in range(2000)
    device.reconnect()
    device.clear()
    device.apply(transitions(2000))
    assert_exact(device, reference, transitions(2000), Hyperparameters())


def test_another_host_takes_the_session_away():
    reference = ReferenceDevice(CONFIG)
    first = LinkDevice(DirectPort(reference), CONFIG, PATIENCE)
    LinkDevice(DirectPort(reference), CONFIG, PATIENCE)
    for use in (first.read, first.clear, lambda: first.apply(transitions(5))):
        with pytest.raises(SessionLostError, match="another host opened a session"):
            use()
        first.reconnect()
        LinkDevice(DirectPort(reference), CONFIG, PATIENCE)


def test_late_answers_of_an_earlier_session_are_not_taken():
    reference = ReferenceDevice(CONFIG)
    port = DirectPort(reference)
    session = Session(port, CONFIG, PATIENCE)
    session.open()
    session.send(Request.APPLY_RAW)
    late = port.read(0)
    session.open()
    session.send(Request.APPLY_RAW)
    port._arrived = late
    port.there = lambda data: b""  # type: ignore[method-assign]  # requests no longer reach the device
    with pytest.raises(DeadlineError, match="did not answer APPLY_RAW"):
        session.drain()


def test_a_request_from_before_a_power_cycle_is_not_carried_out_in_another_hosts_session():
    early = ReferenceDevice(CONFIG)
    host = Session(DirectPort(early), CONFIG, PATIENCE)
    host.open()
    late = ReferenceDevice(CONFIG)  # the same device after a power cycle
    other = LinkDevice(DirectPort(late), CONFIG, PATIENCE)
    port = DirectPort(late)
    host._port = port
    # The host's first request has the number that the device expects first in the other session.
    host._window.next = late._expected
    host.send(Request.CLEAR)
    with pytest.raises(SessionLostError, match="another host opened a session"):
        host.drain()
    other.apply(transitions(10))
    assert_exact(other, late, transitions(10), Hyperparameters())


def test_no_two_sessions_of_a_device_have_the_same_epoch(monkeypatch):
    monkeypatch.setattr("secrets.randbits", lambda bits: 0x12345678)
    reference = ReferenceDevice(CONFIG)
    session = Session(DirectPort(reference), CONFIG, PATIENCE)
    epochs = []
    for _ in range(3):
        session.open()
        epochs.append(reference.epoch)
        reference.reset()
    assert len(set(epochs)) == 3
    assert {epoch ^ 0x12345678 for epoch in epochs} == {2, 4, 6}


def test_a_reset_in_the_middle_of_an_answer_does_not_cost_the_next_one():
    class Cuts(DirectPort):
        """If `cuts` is set, the device is reset while it sends its next answer."""

        cuts = False

        def back(self, data):
            if self.cuts and data:
                self.cuts = False
                reference.reset()
                return data[: len(data) // 2]
            return data

    reference = ReferenceDevice(CONFIG)
    port = Cuts(reference)
    session = Session(port, CONFIG, PATIENCE)
    session.open()
    port.cuts = True
    session.send(Request.STATUS)
    port.written.clear()
    session.open()
    assert len(port.written) == 1


# The line rate: changed at run time, left over from an earlier host, or lost in a device reset


class Garbles(DirectPort):
    """A serial line that passes bytes intact only while both ends have the same rate."""

    loses = 0

    def __init__(self, device):
        super().__init__(device)
        self.baud = device.config.link.baud

    def set_baud(self, baud):
        self.baud = baud

    def send_break(self):
        self.device.receive_break()

    def there(self, data):
        device = self.device.config.link.clock_hz / self.device.divisor
        if abs(device / self.baud - 1) < 0.03:
            return data
        return b"\x55" * len(data)

    def back(self, data):
        if data and self.loses:
            self.loses -= 1
            return b""
        return data


def assert_learns(device, reference):
    device.apply(transitions(100))
    assert_exact(device, reference, transitions(100), Hyperparameters())


@pytest.mark.parametrize("loses", [0, 1, 2])
def test_line_rate_changes_although_the_answer_is_lost(loses):
    reference = ReferenceDevice(CONFIG)
    port = Garbles(reference)
    device = LinkDevice(port, CONFIG, PATIENCE)
    port.loses = loses
    device.set_baud(1_000_000)
    assert (port.baud, reference.divisor) == (1_000_000, 48)
    assert_learns(device, reference)


def test_port_without_a_rate_cannot_change_it():
    device = LinkDevice(DirectPort(ReferenceDevice(CONFIG)), CONFIG, PATIENCE)
    with pytest.raises(LinkError, match="baud is 9600, but this port has no line rate"):
        device.set_baud(9600)


def test_a_rate_that_an_earlier_host_left_is_found():
    reference = ReferenceDevice(CONFIG)
    LinkDevice(Garbles(reference), CONFIG, PATIENCE).set_baud(1_000_000)
    assert reference.divisor == 48
    device = LinkDevice(Garbles(reference), CONFIG, PATIENCE)
    assert reference.divisor == CONFIG.link.divisor
    assert_learns(device, reference)


def test_reconnecting_to_a_device_that_was_reset_at_another_rate():
    reference = ReferenceDevice(CONFIG)
    port = Garbles(reference)
    device = LinkDevice(port, CONFIG, PATIENCE)
    device.set_baud(1_000_000)
    reference.reset()
    with pytest.raises(DeadlineError, match="did not answer REWARDS"):
        device.apply(transitions(100))
    device.reconnect()
    assert port.baud == CONFIG.link.baud
    assert_learns(device, reference)


def test_a_port_opened_at_another_rate_than_the_configured_one():
    reference = ReferenceDevice(CONFIG)
    port = Garbles(reference)
    port.baud = 100_000
    device = LinkDevice(port, CONFIG, PATIENCE)
    assert port.baud == device._session.baud == CONFIG.link.baud


def test_a_device_that_answers_gets_no_break():
    port = Garbles(ReferenceDevice(CONFIG))
    port.send_break = lambda: pytest.fail("sent a break")  # type: ignore[method-assign]
    LinkDevice(port, CONFIG, PATIENCE).set_baud(1_000_000)
