"""A session applies everything once, in order, even over a bad line, for any geometry and line rate."""

import numpy as np
import pytest
from tb.reference_device import ReferenceDevice
from tb.sw.lossy_port import FAULTS, DirectPort, LossyPort, NoisyPort, ResettingPort
from tb.sw.session_bench import CONFIG, PATIENCE, assert_exact, expected_table, transitions

from qstep import Config, Hyperparameters, Link
from qstep.device.lane import LinkDevice
from qstep.device.link.frames import DELIMITER, decode_frame, encode_frame
from qstep.device.link.session import Session
from qstep.device.model import ModelDevice
from qstep.errors import SessionLostError
from qstep.golden.lane import Model
from qstep.spec.protocol import Request


@pytest.mark.parametrize("fault", [*FAULTS, "all"])
@pytest.mark.parametrize("seed", range(3))
def test_every_transition_is_applied_once_over_a_line_that(fault, seed):
    reference = ReferenceDevice(CONFIG)
    faults = tuple(FAULTS) if fault == "all" else (fault,)
    port = LossyPort(DirectPort(reference), seed, 0.05, faults)
    device = LinkDevice(port, CONFIG, PATIENCE)
    hyper = Hyperparameters(alpha=0.25, rounding="stochastic", seed=seed)
    device.configure(hyper)
    batch = transitions(3000, seed)
    for start in range(0, 3000, 1000):
        device.apply(batch[start : start + 1000])
    assert_exact(device, reference, batch, hyper)
    assert sum(port.hits.values()) > 0


@pytest.mark.release
@pytest.mark.parametrize("fault", FAULTS)
def test_ten_thousand_faults_lose_and_double_nothing(fault, monkeypatch, record_property):
    # With so many frames, five in a row are sometimes lost, and the driver would give up.
    monkeypatch.setattr("qstep.device.link.session.RETRIES", 12)
    reference = ReferenceDevice(CONFIG)
    port = LossyPort(DirectPort(reference), 1, 0.1, (fault,))
    device = LinkDevice(port, CONFIG, PATIENCE)
    model = ModelDevice(CONFIG)
    for each in (device, model):
        each.configure(Hyperparameters(alpha=0.25, rounding="stochastic"))
    seed = 0
    while port.hits[fault] < 10_000:
        batch = transitions(1000, seed)
        step = 1000 if fault == "swap" else 20  # two frames must be in flight
        for start in range(0, 1000, step):
            device.apply(batch[start : start + step])
        model.apply(batch)
        assert device.status() == model.status()
        seed += 1
    assert np.array_equal(device.read(), model.read())
    record_property("faults", port.hits[fault])


def is_prefix(batch, table, start, least):
    """Return whether at least the first `least` transitions of a batch turn `start` into `table`."""
    model = Model(CONFIG)
    model.configure(Hyperparameters(rounding="floor"))
    model.load(start)
    model.apply(batch[:least])
    for count in range(least, len(batch)):
        if np.array_equal(model.table, table):
            return True
        model.apply(batch[count : count + 1])
    return np.array_equal(model.table, table)


@pytest.mark.parametrize("resets", [100, pytest.param(10_000, marks=pytest.mark.release)])
def test_a_reset_is_told_and_leaves_what_was_confirmed_to_what_was_sent(resets, record_property):
    port = ResettingPort(ReferenceDevice(CONFIG), 1, 8)
    port.is_calm = True
    device = LinkDevice(port, CONFIG, PATIENCE)
    seed = told = 0
    while port.resets < resets:
        device.configure(Hyperparameters(rounding="floor"))
        before, count = device.read(), port.resets
        batch = transitions(300, seed, rewards=np.linspace(-8, 8, 300))
        port.is_calm = False
        confirmed: int | None = len(batch)
        try:
            device.apply(batch)
        except SessionLostError as error:
            confirmed = error.applied
            told += 1
        port.is_calm = True
        if port.resets > count and confirmed == len(batch):
            with pytest.raises(SessionLostError):  # the reset came after the last answer
                device.status()
        if port.resets > count:
            device.reconnect()
        assert is_prefix(batch, device.read(), before, confirmed)
        seed += 1
    assert told > resets // 4
    record_property("faults", port.resets)


@pytest.mark.parametrize(
    ("buffer_bytes", "seed", "period", "count"),
    [
        (512, 512, 1000, 20_000),
        (2048, 2048, 1000, 20_000),
        *((512, n, 300, 4000) for n in range(6)),
    ],
)
def test_flipped_bits_change_nothing_be_every_sixth_frame_spoilt(buffer_bytes, seed, period, count):
    config = Config(36, 3, "Q6.10", link=Link(baud=6_000_000, buffer_bytes=buffer_bytes))
    port = NoisyPort(DirectPort(ReferenceDevice(config)), seed, period)
    device = LinkDevice(port, config, PATIENCE)
    batch = transitions(count, config=config)
    device.apply(batch)
    assert np.array_equal(device.read(), expected_table(batch, Hyperparameters(), config))
    assert port.flips > 30


class AppliesTwice(ReferenceDevice):
    """A device that executes a repeated transition request again."""

    def _carry_out(self, frame):
        if frame.type == Request.APPLY_CODED and (self._expected - frame.seq) % 65536 == 1:
            self._expected = frame.seq
        return super()._carry_out(frame)


def test_a_device_that_applies_twice_is_found_out():
    port = LossyPort(DirectPort(AppliesTwice(CONFIG)), 1, 0.2, ("duplicate",))
    device = LinkDevice(port, CONFIG, PATIENCE)
    with pytest.raises(SessionLostError, match=r"has applied \d+ transitions, not \d+"):
        device.apply(transitions(3000))


def test_credit_is_never_overdrawn():
    reference = ReferenceDevice(CONFIG)
    port = DirectPort(reference)
    session = Session(port, CONFIG, PATIENCE)
    session.open()
    waiting = []
    most = 0

    class Watch(DirectPort):
        def write(self, data):
            nonlocal most
            frames = map(decode_frame, filter(None, data.split(b"\0")))
            waiting.append(sum(13 + len(frame.payload) for frame in frames if frame))
            most = max(most, sum(waiting))
            super().write(data)

        def read(self, timeout):
            waiting.clear()
            return super().read(timeout)

    session._port = Watch(reference)
    for size in (201, 243, 1, 1, 243, 101, 243, 243, 9) * 3:
        session.send(Request.REWARDS, bytes(size))
    session.drain()
    assert 400 < most <= 512


def test_sequence_numbers_wrap():
    reference = ReferenceDevice(CONFIG)
    session = Session(LossyPort(DirectPort(reference), 3, 0.002), CONFIG, PATIENCE)
    session.open()
    session._window.next = reference._expected = 65000
    for _ in range(1500):
        session.send(Request.APPLY_RAW)
    session.drain()
    assert reference._expected == (65000 + 1500) % 65536
    assert len(session.ask(Request.STATUS, 12)) == 12


@pytest.mark.parametrize(
    "config",
    [
        Config(2, 2, "Q8.0", link=CONFIG.link),
        Config(300, 5, "Q12.12", link=CONFIG.link),
        Config(1000, 64, "Q16.16", link=CONFIG.link),
    ],
    ids=["smallest", "three-bytes", "widest"],
)
def test_load_step_read_for_other_geometries(config):
    device = LinkDevice(DirectPort(ReferenceDevice(config)), config, PATIENCE)
    rng = np.random.default_rng(1)
    low, high = config.format.minimum, config.format.maximum
    start = rng.integers(low, high, (config.states, config.actions), np.int32, endpoint=True)
    device.load(start)
    assert np.array_equal(device.read(), start)
    few, many = transitions(400, 1, config), transitions(400, 2, config, np.linspace(-8, 8, 400))
    for batch in (few, many, few):
        device.apply(batch)
        start = expected_table(batch, Hyperparameters(), config, start)
        assert np.array_equal(device.read(), start)
    device.clear()
    assert not device.read().any()


def test_more_than_256_rewards_travel_raw_and_known_codes_are_not_sent_again():
    port = DirectPort(ReferenceDevice(CONFIG))
    device = LinkDevice(port, CONFIG, PATIENCE)

    def sent(batch):
        port.written.clear()
        device.apply(batch)
        parts = (part for data in port.written for part in data.split(DELIMITER) if part)
        return {Request(frame.type).name for frame in map(decode_frame, parts) if frame}

    assert sent(transitions(50)) == {"REWARDS", "APPLY_CODED"}
    assert sent(transitions(50)) == {"APPLY_CODED"}
    assert sent(transitions(1500, rewards=np.linspace(-8, 8, 1000))) == {"APPLY_RAW"}
    assert sent(transitions(50)) == {"REWARDS", "APPLY_CODED"}


def test_garbage_before_and_between_frames_is_skipped():
    reference = ReferenceDevice(CONFIG)
    reference.receive(b"\x07unfinished")
    port = DirectPort(reference)
    port._arrived = b"\x33noise" + encode_frame(0x81, 0, 0, b"")
    device = LinkDevice(port, CONFIG, PATIENCE)
    device.apply(transitions(100))
    assert_exact(device, reference, transitions(100), Hyperparameters())
