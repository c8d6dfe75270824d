"""The session: exactly once and in order over a bad line, or a typed error in time."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pytest
from tb.reference_device import ReferenceDevice
from tb.sw.lossy_port import FAULTS, DirectPort, LossyPort, NoisyPort

from qstep import Config, Hyperparameters, Link, Transitions
from qstep.devices.link_device import LinkDevice
from qstep.errors import DeadlineError, LinkError, RefusedError, SessionLostError
from qstep.link.frames import DELIMITER, decode_frame, encode_frame
from qstep.link.records import extend_digest
from qstep.link.session import RETRIES, Session
from qstep.model import Model
from qstep.protocol import Request, StatusCode, max_payload

pytestmark = pytest.mark.unit

# A fast line and little patience, so that retries cost milliseconds.
CONFIG = Config(36, 3, "Q6.10", link=Link(baud=12_000_000, buffer_bytes=512))
PATIENCE = 0.002


def transitions(count, seed=0, config=CONFIG, rewards=(-1.0, 0.25, 3.0)):
    """Return a walk that jumps now and then."""
    rng = np.random.default_rng(seed)
    next_state = rng.integers(0, config.states, count)
    return Transitions.from_arrays(
        config,
        state=np.where(rng.random(count) < 0.8, np.roll(next_state, 1), 1),
        action=rng.integers(0, config.actions, count),
        reward=rng.choice(rewards, count),
        next_state=next_state,
        terminated=rng.random(count) < 0.1,
    )


def expected_table(batch, hyper, config=CONFIG, start=None):
    model = Model(config)
    model.configure(hyper)
    if start is not None:
        model.load(start)
    model.apply(batch)
    return model.table


def assert_exact(device, reference, batch, hyper):
    """Table, digest and count are those of the model after the same transitions."""
    table = expected_table(batch, hyper)
    assert np.array_equal(device.read(), table)
    assert np.array_equal(reference.table, table)
    status = device.status()
    assert (status.applied, status.digest) == (len(batch), extend_digest(CONFIG, batch))


@pytest.mark.parametrize("fault", [*FAULTS, "all"])
@pytest.mark.parametrize("seed", range(3))
def test_every_transition_is_applied_once_over_a_line_that(fault, seed):
    reference = ReferenceDevice(CONFIG)
    faults = tuple(FAULTS) if fault == "all" else (fault,)
    port = LossyPort(reference, seed, 0.05, faults)
    device = LinkDevice(port, CONFIG, PATIENCE)
    hyper = Hyperparameters(alpha=0.25, rounding="stochastic", seed=seed)
    device.configure(hyper)
    batch = transitions(3000, seed)
    for start in range(0, 3000, 1000):
        device.step(batch[start : start + 1000])
    assert_exact(device, reference, batch, hyper)
    assert sum(port.hits.values()) > 0


@pytest.mark.parametrize("buffer_bytes", [512, 2048])
def test_one_flipped_bit_in_a_thousand_bytes_changes_nothing(buffer_bytes):
    config = Config(36, 3, "Q6.10", link=Link(baud=12_000_000, buffer_bytes=buffer_bytes))
    reference = ReferenceDevice(config)
    port = NoisyPort(reference, seed=buffer_bytes, period=1000)
    device = LinkDevice(port, config, PATIENCE)
    batch = transitions(20_000, config=config)
    device.step(batch)
    assert np.array_equal(device.read(), expected_table(batch, Hyperparameters(), config))
    assert port.flips > 50


class AppliesTwice(ReferenceDevice):
    """A device that carries out a repeated STEP again."""

    def _carry_out(self, frame):
        if frame.type == Request.STEP_CODED and (self._expected - frame.seq) % 65536 == 1:
            self._expected = frame.seq
        return super()._carry_out(frame)


def test_a_device_that_applies_twice_is_found_out():
    port = LossyPort(AppliesTwice(CONFIG), 1, 0.2, ("duplicate",))
    device = LinkDevice(port, CONFIG, PATIENCE)
    with pytest.raises(SessionLostError, match=r"has applied \d+ transitions, not \d+"):
        device.step(transitions(3000))


class Silent(DirectPort):
    """A line that is cut after some frames; what the host writes then is lost."""

    def __init__(self, device, frames):
        super().__init__(device)
        self.frames = frames

    def there(self, data):
        kept = data.split(DELIMITER)[:-1][: self.frames]
        self.frames -= len(kept)
        return b"".join(frame + DELIMITER for frame in kept)


def test_silence_is_an_error_after_four_retries_and_in_time():
    port = Silent(ReferenceDevice(CONFIG), 100)
    device = LinkDevice(port, CONFIG, PATIENCE)
    device.step(transitions(10))
    port.frames = 0
    port.written.clear()
    began = time.monotonic()
    with pytest.raises(DeadlineError, match=r"did not answer STEP_CODED within .* s, sent 5 times"):
        device.step(transitions(10))
    limit = (2 ** (RETRIES + 1) - 1) * (PATIENCE + 2 * 512 * 10 / 12_000_000)
    assert time.monotonic() - began < 2 * limit + 0.5
    requests = [part for data in port.written for part in data.split(DELIMITER) if part]
    steps = [part for part in requests if decode_frame(part).type == Request.STEP_CODED]
    assert len(steps) == 1 + RETRIES
    assert len(set(steps)) == 1


class AnswersGap(ReferenceDevice):
    """A device that answers the first requests GAP although nothing is missing, and counts all."""

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
    seconds = PATIENCE + 2 * 512 * 10 / 12_000_000 + (36 * 3 / 1_000_000)
    assert time.monotonic() - began < (2 ** (RETRIES + 1) - 1) * seconds + 0.5
    assert reference.received[kind] == 1 + RETRIES + RETRIES == 9
    with pytest.raises(SessionLostError, match="no session is open"):
        device.clear()


def test_a_device_that_always_answers_gap_to_many_requests_is_given_up():
    reference = AnswersGap(CONFIG, gaps=0)
    device = LinkDevice(DirectPort(reference), CONFIG, PATIENCE)
    reference.gaps = 1 << 30
    with pytest.raises(DeadlineError, match=r"answer REWARDS within .* s, sent 9 times") as caught:
        device.step(transitions(1000))
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


@pytest.mark.parametrize("seed", range(6))
def test_a_line_that_spoils_every_sixth_frame_changes_nothing(seed):
    reference = ReferenceDevice(CONFIG)
    device = LinkDevice(NoisyPort(reference, seed, period=300), CONFIG, PATIENCE)
    batch = transitions(4000)
    device.step(batch)
    assert np.array_equal(device.read(), expected_table(batch, Hyperparameters()))


def test_no_device_at_all_is_an_error_in_time():
    port = Silent(ReferenceDevice(CONFIG), 0)
    with pytest.raises(DeadlineError, match=r"did not answer HELLO within .* s, sent 5 times"):
        LinkDevice(port, CONFIG, PATIENCE)
    assert port.closed


def test_error_tells_how_many_transitions_were_confirmed():
    reference = ReferenceDevice(CONFIG)
    port = Silent(reference, 1000)
    device = LinkDevice(port, CONFIG, PATIENCE)
    device.step(transitions(100))
    port.frames = 7
    with pytest.raises(DeadlineError) as caught:
        device.step(transitions(5000))
    assert caught.value.applied == reference.applied - 100 > 0


def test_after_an_error_nothing_is_sent_until_reconnected():
    reference = ReferenceDevice(CONFIG)
    port = Silent(reference, 1000)
    device = LinkDevice(port, CONFIG, PATIENCE)
    batch = transitions(500)
    port.frames = 7
    with pytest.raises(DeadlineError) as caught:
        device.step(batch)
    port.frames = 10_000
    with pytest.raises(SessionLostError, match="no session is open"):
        device.step(batch)
    device.reconnect()
    device.step(batch[caught.value.applied :])
    assert_exact(device, reference, batch, Hyperparameters())


def test_after_reconnecting_the_exact_count_is_known_and_the_rest_can_follow():
    class Deafens(DirectPort):
        """The host hears nothing of the device while `is_deaf`."""

        is_deaf = False

        def back(self, data):
            return b"" if self.is_deaf else data

    reference = ReferenceDevice(CONFIG)
    port = Deafens(reference)
    device = LinkDevice(port, CONFIG, PATIENCE)
    hyper = Hyperparameters(alpha=0.25, rounding="stochastic", seed=5)
    device.configure(hyper)
    batch = transitions(3000)
    device.step(batch[:1000])
    before = device.status().applied
    port.is_deaf = True
    with pytest.raises(DeadlineError) as caught:
        device.step(batch[1000:])
    port.is_deaf = False
    device.reconnect()
    status = device.status()
    exactly = status.applied - before
    assert caught.value.applied == 0 < exactly == reference.applied - before < 2000
    device.configure(hyper)
    device.set_noise(status.noise)
    device.step(batch[before + exactly :])
    assert_exact(device, reference, batch, hyper)


class Resets(DirectPort):
    """Resets the device after some frames."""

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
        device.step(transitions(2000))
    assert 0 <= caught.value.applied < 2000
    device.reconnect()
    device.clear()
    device.step(transitions(2000))
    assert_exact(device, reference, transitions(2000), Hyperparameters())


def test_another_host_takes_the_session_away():
    reference = ReferenceDevice(CONFIG)
    first = LinkDevice(DirectPort(reference), CONFIG, PATIENCE)
    LinkDevice(DirectPort(reference), CONFIG, PATIENCE)
    for use in (first.read, first.clear, lambda: first.step(transitions(5))):
        with pytest.raises(SessionLostError, match="another host opened a session"):
            use()
        first.reconnect()
        LinkDevice(DirectPort(reference), CONFIG, PATIENCE)


def test_refused_request_is_an_error_and_the_session_goes_on():
    reference = ReferenceDevice(CONFIG)
    session = Session(DirectPort(reference), CONFIG, PATIENCE)
    session.open()
    session.send(Request.NOISE, bytes(8))
    session.send(Request.CLEAR, b"x")
    with pytest.raises(RefusedError, match="the device refused NOISE: OUT_OF_RANGE"):
        session.drain()
    with pytest.raises(RefusedError, match="the device refused READ: OUT_OF_RANGE"):
        session.ask(Request.READ, 2, b"\xff\xff\x00\x01\x00")
    session.send(Request.CLEAR)
    session.drain()
    assert reference.refused == 3


def test_refused_step_tells_how_much_of_it_was_applied():
    reference = ReferenceDevice(CONFIG)
    device = LinkDevice(DirectPort(reference), CONFIG, PATIENCE)
    batch = transitions(8)
    batch.action[5] = 3
    with pytest.raises(RefusedError, match="refused STEP_CODED: OUT_OF_RANGE") as caught:
        device.step(batch)
    assert caught.value.applied == 5
    assert device.status().applied == 5


def test_late_answers_of_an_earlier_session_are_not_taken():
    reference = ReferenceDevice(CONFIG)
    port = DirectPort(reference)
    session = Session(port, CONFIG, PATIENCE)
    session.open()
    session.send(Request.STEP_RAW)
    late = port.read(0)
    session.open()
    session.send(Request.STEP_RAW)
    port._arrived = late
    with pytest.raises(DeadlineError, match="did not answer STEP_RAW"):
        _cut(port, session)


def _cut(port, session):
    """Drain a session whose requests no longer reach the device."""
    port.there = lambda data: b""
    session.drain()


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
            waiting.append(sum(11 + len(decode_frame(p).payload) for p in data.split(b"\0") if p))
            most = max(most, sum(waiting))
            super().write(data)

        def read(self, timeout):
            waiting.clear()
            return super().read(timeout)

    session._port = Watch(reference)
    for size in (200, 245, 0, 1, 245, 100, 245, 245, 9) * 3:
        session.send(Request.REWARDS, bytes(1 + (size & ~1)) if size < 244 else bytes(245))
    session.drain()
    assert 400 < most <= 512


def test_payload_over_the_limit_is_a_programming_error():
    session = Session(DirectPort(ReferenceDevice(CONFIG)), CONFIG, PATIENCE)
    session.open()
    limit = max_payload(512)
    with pytest.raises(ValueError, match=f"payload has {limit + 1} bytes; at most {limit} fit"):
        session.send(Request.LOAD, bytes(limit + 1))


def test_sequence_numbers_wrap():
    reference = ReferenceDevice(CONFIG)
    session = Session(LossyPort(reference, 3, 0.002), CONFIG, PATIENCE)
    session.open()
    session._window.next = reference._expected = 65000
    for _ in range(1500):
        session.send(Request.STEP_RAW)
    session.drain()
    assert reference._expected == (65000 + 1500) % 65536
    assert len(session.ask(Request.STATUS, 12)) == 12


class Garbles(DirectPort):
    """Passes bytes only while both ends have the same rate."""

    baud = 12_000_000
    loses = 0

    def set_baud(self, baud):
        self.baud = baud

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
    device.step(transitions(100))
    assert_exact(device, reference, transitions(100), Hyperparameters())


def test_port_without_a_rate_cannot_change_it():
    device = LinkDevice(DirectPort(ReferenceDevice(CONFIG)), CONFIG, PATIENCE)
    with pytest.raises(LinkError, match="baud is 9600, but this port has no line rate"):
        device.set_baud(9600)


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
        device.step(batch)
        start = expected_table(batch, Hyperparameters(), config, start)
        assert np.array_equal(device.read(), start)
    device.clear()
    assert not device.read().any()


def test_more_than_256_rewards_travel_raw_and_known_codes_are_not_sent_again():
    port = DirectPort(ReferenceDevice(CONFIG))
    device = LinkDevice(port, CONFIG, PATIENCE)

    def sent(batch):
        port.written.clear()
        device.step(batch)
        parts = (part for data in port.written for part in data.split(DELIMITER) if part)
        return {Request(decode_frame(part).type).name for part in parts}

    assert sent(transitions(50)) == {"REWARDS", "STEP_CODED"}
    assert sent(transitions(50)) == {"STEP_CODED"}
    assert sent(transitions(1500, rewards=np.linspace(-8, 8, 1000))) == {"STEP_RAW"}
    assert sent(transitions(50)) == {"REWARDS", "STEP_CODED"}


def test_an_answer_of_the_wrong_size_is_not_data():
    class Shortens(ReferenceDevice):
        def _status(self, payload):
            return super()._status(payload)[:-1]

    device = LinkDevice(DirectPort(Shortens(CONFIG)), CONFIG, PATIENCE)
    with pytest.raises(LinkError, match="answered STATUS with 11 bytes, not 12"):
        device.status()


def test_garbage_before_and_between_frames_is_skipped():
    reference = ReferenceDevice(CONFIG)
    reference.receive(b"\x07unfinished")
    port = DirectPort(reference)
    port._arrived = b"\x33noise" + encode_frame(0x81, 0, 0, b"")
    device = LinkDevice(port, CONFIG, PATIENCE)
    device.step(transitions(100))
    assert_exact(device, reference, transitions(100), Hyperparameters())
