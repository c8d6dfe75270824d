"""An unexpected device is rejected before anything is written to it."""

import struct
from dataclasses import replace

import numpy as np
import pytest
from tb.reference_device import ReferenceDevice
from tb.sw.lossy_port import DirectPort

from qstep import Config, Hyperparameters, Link, Transitions
from qstep.device.lane import LinkDevice
from qstep.device.link.frames import decode_frame
from qstep.device.model import ModelDevice
from qstep.errors import (
    ConfigError,
    ConfigMismatchError,
    DeviceError,
    LinkError,
    ProtocolVersionError,
    TableError,
)
from qstep.spec.protocol import Request

CONFIG = Config(25, 4, link=Link(baud=6_000_000))
PATIENCE = 0.002


class Claims(ReferenceDevice):
    """A device whose answer to HELLO has some bytes changed."""

    def __init__(self, config, at, value):
        super().__init__(config)
        self.at = at
        self.value = value

    def _hello(self, payload):
        status, data = super()._hello(payload)
        return status, data[: self.at] + self.value + data[self.at + len(self.value) :]


class Future(ReferenceDevice):
    """A device of a future version whose answer to HELLO has another layout."""

    def _hello(self, payload):
        return super()._hello(payload)[0], b"\x07 all else has changed"


class Longer(ReferenceDevice):
    """A device whose answer to HELLO is one byte too long."""

    def _hello(self, payload):
        status, data = super()._hello(payload)
        return status, data[:-4] + b"?" + data[-4:]


DEEPER = replace(CONFIG, loop_depth=2)


@pytest.mark.parametrize(
    ("device", "error", "message"),
    [
        (Claims(CONFIG, 0, b"\x02"), ProtocolVersionError,
         "the device speaks version 2 of the link protocol; this driver speaks version 3"),
        (Future(CONFIG), ProtocolVersionError, "the device speaks version 7"),
        (Longer(CONFIG), LinkError, "answered HELLO with 37 bytes, not 36"),
        (ReferenceDevice(Config(26, 4)), ConfigMismatchError,
         "the device's geometry is 26 x 4; this configuration has 25 x 4"),
        (ReferenceDevice(Config(25, 5)), ConfigMismatchError,
         "the device's geometry is 25 x 5; this configuration has 25 x 4"),
        (ReferenceDevice(Config(25, 4, "Q6.10")), ConfigMismatchError,
         r"the device's format is Q6\.10; this configuration has Q8\.8"),
        (ReferenceDevice(Config(25, 4, link=Link(buffer_bytes=2048))), ConfigMismatchError,
         "the device's buffer is 2048 bytes; this configuration has 4096 bytes"),
        (ReferenceDevice(DEEPER), ConfigMismatchError,
         f"the device's configuration digest is {DEEPER.digest[:16]}; this configuration has "
         f"{CONFIG.digest[:16]}"),
        (ReferenceDevice(CONFIG, bytes(range(8))), ConfigMismatchError,
         "the device's build is 0001020304050607, not 8899aabbccddeeff: program the device again"),
    ],
)  # fmt: skip
def test_another_device_is_refused_before_anything_is_written(device, error, message):
    port = DirectPort(device)
    with pytest.raises(error, match=message):
        LinkDevice(port, CONFIG, PATIENCE, build="8899aabbccddeeff" if "build" in message else None)
    sent = [decode_frame(part) for data in port.written for part in data.split(b"\0") if part]
    assert [frame and frame.type for frame in sent] == [Request.HELLO]
    assert port.closed


def test_build_is_readable_and_accepted_where_it_is_the_expected_one():
    reference = ReferenceDevice(CONFIG, bytes(range(8)))
    with LinkDevice(DirectPort(reference), CONFIG, PATIENCE, build="0001020304050607") as device:
        assert device.build == "0001020304050607"


def device():
    return LinkDevice(DirectPort(ReferenceDevice(CONFIG)), CONFIG, PATIENCE)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            np.zeros((4, 25), np.int32),
            r"table has shape \(4, 25\); this configuration needs \(25, 4\)",
        ),
        (np.zeros((25, 4)), "table has dtype float64; raw values are integers"),
        (np.full((25, 4), 40000), r"table\[0, 0\] is 40000; Q8\.8 holds -32768 to 32767"),
        ([[0, 1, 2, 3], [4]], "table is not an array: setting an array element"),
    ],
    ids=["shape", "dtype", "range", "ragged"],
)
def test_a_table_that_does_not_fit_is_not_loaded(table, message):
    with device() as connected:
        with pytest.raises(TableError, match=message):
            connected.load(table)
        assert not connected.read().any()


def test_a_rate_that_the_clock_cannot_make_is_refused():
    connected = device()
    connected._port.baud = 3_000_000
    connected._port.set_baud = lambda baud: None
    connected._port.send_break = lambda: None
    with pytest.raises(ConfigError, match=r"link\.baud is 20000000; it must be .* to 6000000"):
        connected.set_baud(20_000_000)


@pytest.mark.parametrize("operation", ["write", "read"])
def test_a_port_that_fails_closes_the_session(operation):
    connected = device()

    def fail(*arguments):
        raise LinkError("unplugged")

    setattr(connected._port, operation, fail)
    with pytest.raises(LinkError, match="unplugged") as caught:
        connected.apply(Transitions.from_arrays(CONFIG, [1], [2], [0.5], [3], [False]))
    assert caught.value.applied == 0
    with pytest.raises(DeviceError, match="no session is open"):
        connected.read()


def test_opening_leaves_table_noise_and_counts_as_they_are():
    reference = ReferenceDevice(CONFIG)
    first = LinkDevice(DirectPort(reference), CONFIG, PATIENCE)
    first.configure(Hyperparameters(rounding="stochastic", seed=7))
    first.apply(Transitions.from_arrays(CONFIG, [1, 2], [2, 3], [0.5, 9.0], [3, 4], [False, True]))
    table, status = first.read(), first.status()
    second = LinkDevice(DirectPort(reference), CONFIG, PATIENCE)
    assert np.array_equal(second.read(), table)
    assert second.status() == status
    assert status.applied == 2
    second.set_noise(status.noise)
    assert second.status().noise == status.noise


def test_counters_arrive_in_their_order():
    class Counts(ReferenceDevice):
        def _counters(self, payload):
            return struct.pack("<7Q", 1, 2, 3, 4, 5, 6, 2**63)

    connected = LinkDevice(DirectPort(Counts(CONFIG)), CONFIG, PATIENCE)
    counters = connected.counters()
    assert (counters.offered_clocks, counters.accepted, counters.held) == (1, 2, 3)
    assert (counters.forwarded, counters.saturated, counters.frame_errors) == (4, 5, 6)
    assert counters.refused == 2**63


def test_a_batch_that_is_interrupted_leaves_a_device_that_goes_on(monkeypatch):
    reference = ReferenceDevice(CONFIG)
    device = LinkDevice(DirectPort(reference), CONFIG, PATIENCE)
    model = ModelDevice(CONFIG)
    batch = Transitions.from_arrays(CONFIG, [0, 1], [1, 2], [0.5, -1.0], [1, 2], [False, True])

    def interrupt():
        raise KeyboardInterrupt

    for each in (device, model):
        each.configure(Hyperparameters())
    with monkeypatch.context() as patch:
        patch.setattr(device._session, "drain", interrupt)
        with pytest.raises(KeyboardInterrupt):
            device.apply(batch)
    device.apply(batch)
    for _ in range(2):
        model.apply(batch)
    assert np.array_equal(device.read(), model.read())
    assert device.status().digest == model.status().digest
