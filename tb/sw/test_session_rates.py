"""The line rate: changed at run time, left by an earlier host, forgotten by a device that was reset."""

import pytest
from tb.reference_device import ReferenceDevice
from tb.sw.lossy_port import DirectPort
from tb.sw.session_bench import CONFIG, PATIENCE, assert_exact, transitions

from qstep import Hyperparameters
from qstep.devices.link_device import LinkDevice
from qstep.errors import DeadlineError, LinkError


class Garbles(DirectPort):
    """A serial line: it passes bytes only while both ends have the same rate."""

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


@pytest.mark.parametrize("loses", [0, 1, 2])
def test_line_rate_changes_although_the_answer_is_lost(loses):
    reference = ReferenceDevice(CONFIG)
    port = Garbles(reference)
    device = LinkDevice(port, CONFIG, PATIENCE)
    port.loses = loses
    device.set_baud(1_000_000)
    assert (port.baud, reference.divisor) == (1_000_000, 48)
    device.apply(transitions(100))
    assert_exact(device, reference, transitions(100), Hyperparameters())


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
    device.apply(transitions(100))
    assert_exact(device, reference, transitions(100), Hyperparameters())


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
    device.apply(transitions(100))
    assert_exact(device, reference, transitions(100), Hyperparameters())


def test_a_port_opened_at_another_rate_than_the_configured_one():
    reference = ReferenceDevice(CONFIG)
    port = Garbles(reference)
    port.baud = 100_000
    device = LinkDevice(port, CONFIG, PATIENCE)
    assert port.baud == device._session.baud == CONFIG.link.baud


def test_a_device_that_answers_gets_no_break():
    port = Garbles(ReferenceDevice(CONFIG))
    port.send_break = lambda: pytest.fail("sent a break")
    LinkDevice(port, CONFIG, PATIENCE).set_baud(1_000_000)
