"""Driver and hardware work over a simulated serial line, despite losses, a wrong rate and resets."""

import numpy as np
import pytest
from tb.sw.lossy_port import FAULTS, LossyPort
from tb.sw.session_bench import CONFIG, expected_table, spoiled, transitions

from qstep import Hyperparameters
from qstep.device.lane import LinkDevice
from qstep.device.link.records import extend_digest
from qstep.errors import DeadlineError, RefusedError, SessionLostError
from qstep.spec.protocol import Request
from qstep_sim.port import SimPort

pytestmark = pytest.mark.rtl

# The driver's timeout is in wall-clock time, and a simulation runs slower than a device.
PATIENCE = 0.02

HYPER = Hyperparameters(alpha=0.25, rounding="stochastic", seed=3)


def assert_applied(device, batch):
    assert np.array_equal(device.read(), expected_table(batch, HYPER))
    status = device.status()
    assert (status.applied, status.digest) == (len(batch), extend_digest(CONFIG, batch))


@pytest.mark.parametrize("fault", [*FAULTS, "all"])
def test_hardware_applies_every_transition_once_over_a_line_that(fault):
    faults = tuple(FAULTS) if fault == "all" else (fault,)
    port = LossyPort(SimPort(CONFIG, uart=True), 1, 0.05, faults)
    with LinkDevice(port, CONFIG, PATIENCE) as device:
        device.configure(HYPER)
        device.clear()
        batch = transitions(1500)
        device.apply(batch)
        assert_applied(device, batch)
    assert sum(port.hits.values()) >= 5


@pytest.mark.parametrize("rate", [0.0, 0.05])
def test_hardware_applies_nothing_after_what_it_refuses(rate):
    with LinkDevice(LossyPort(SimPort(CONFIG, uart=True), 2, rate), CONFIG, PATIENCE) as device:
        device.configure(HYPER)
        device.clear()
        with pytest.raises(RefusedError, match="refused APPLY_CODED: OUT_OF_RANGE") as caught:
            device.apply(spoiled(600, 100))
        assert caught.value.applied == 100
        device.apply(transitions(600)[100:])
        assert_applied(device, transitions(600))


def test_hardware_reset_at_another_rate_is_found_and_so_is_a_rate_that_was_left():
    port = SimPort(CONFIG, uart=True)
    device = LinkDevice(port, CONFIG, PATIENCE)
    device.set_baud(1_000_000)
    assert device.status().applied == 0
    port.reset()
    with pytest.raises(DeadlineError, match="did not answer STATUS"):
        device.status()
    device.reconnect()
    assert port.baud == CONFIG.link.baud
    device.set_baud(1_000_000)
    port.set_baud(CONFIG.link.baud)  # the rate of another host
    with LinkDevice(port, CONFIG, PATIENCE) as other:
        other.configure(HYPER)
        other.clear()
        other.apply(transitions(50))
        assert_applied(other, transitions(50))


def test_hardware_reset_while_it_answers_does_not_lose_the_next_answer():
    port = SimPort(CONFIG, uart=True)
    with LinkDevice(port, CONFIG, PATIENCE) as device:
        session, sent = device._session, []
        size = CONFIG.states * CONFIG.actions
        session._write(session._window.add(Request.READ, bytes([0, 0, 0, size, 0]), 0, 0.0))
        begun = port._simulate(bytes(port._pending))
        assert begun
        assert b"\0" not in begun
        port.reset()
        write = port.write
        port.write = lambda data: sent.append(data) or write(data)  # type: ignore[method-assign]
        with pytest.raises(SessionLostError):
            device.status()
        sent.clear()
        device.reconnect()
        assert len(sent) == 3  # HELLO, CONFIGURE, NOISE: each once
