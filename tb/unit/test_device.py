"""The simulated device gives the same answers as the reference device."""

import itertools
import random
import struct
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from cobs import cobs
from tb.generated import generated
from tb.slow import slow_except
from tb.unit.device_pair import Pair, agree_at_the_end, converse, exchange
from tb.unit.requests import RequestMaker, packed_record
from tb.verify.figures import Count

from qstep.device.link.frames import encode_frame
from qstep.device.link.records import encode_records
from qstep.mdp.transitions import Transitions
from qstep.spec.config import Config, Link
from qstep.spec.protocol import RecordLayout, Request, StatusCode, max_payload
from qstep_rtl import sources
from qstep_sim import verilator
from qstep_sim.port import SimPort

pytestmark = pytest.mark.rtl

CONFIGS = [
    Config(states=64, actions=4),
    Config(states=25, actions=3, format="Q10.10", loop_depth=3, link=Link(buffer_bytes=512)),
    Config(states=4, actions=3, format="Q4.4", loop_depth=3),
]
CORNERS = [
    Config(states=2, actions=2, format="Q8.0", loop_depth=2),
    Config(states=2, actions=64, format="Q16.16", loop_depth=3, link=Link(buffer_bytes=512)),
    Config(states=65536, actions=5, format="Q5.4"),
]
NONCE = b"abcd"


def config_id(config: Config) -> str:
    return f"s{config.states}-a{config.actions}-w{config.format.width}-d{config.loop_depth}"


@pytest.fixture(params=CONFIGS, ids=config_id)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Return a device that has just been reset, and its reference."""
    with closing(SimPort(request.param)) as port:
        yield Pair(port, request.param)


@pytest.mark.parametrize("seed", slow_except([0], range(4)))
def test_device_answers_as_the_reference_whatever_is_sent(pair: Pair, seed: int) -> None:
    pair.ask(Request.STATUS)
    converse(pair, RequestMaker(pair.config, rng := random.Random(seed)), rng, 60)
    assert pair.reference.applied > 100
    assert pair.reference.frame_errors > 0
    assert pair.reference.refused > 5


@pytest.fixture
def short_buffer() -> Iterator[Pair]:
    """Return a newly reset device with the shortest buffer, and its reference."""
    with closing(SimPort(CONFIGS[1])) as port:
        yield Pair(port, CONFIGS[1])


@pytest.fixture
def line() -> Iterator[Pair]:
    """Return a device connected through its UART, in an open session, and its reference."""
    with closing(SimPort(CONFIGS[0], uart=True)) as port:
        pair = Pair(port, CONFIGS[0])
        pair.compare(encode_frame(Request.HELLO, 0, 0, NONCE))
        yield pair


@pytest.mark.release
@pytest.mark.parametrize("first", range(0, 256, 64))
def test_every_type_with_every_length_is_answered_as_the_reference_does(
    short_buffer: Pair, first: int, record_property: Count
) -> None:
    pair, rng = short_buffer, random.Random(first)
    lengths = range(max_payload(pair.config.link.buffer_bytes) + 1)
    for kind in range(first, first + 64):
        for length in lengths:
            pair.compare(encode_frame(Request.HELLO, 0, 0, struct.pack("<BHB", kind, length, 0)))
            frame = encode_frame(kind, 0, pair.reference.epoch, rng.randbytes(length))
            damaged = bytearray(cobs.decode(frame[:-1]))
            damaged[-1 - rng.randrange(4)] ^= 1 << rng.randrange(8)  # one bit of its CRC
            pair.compare(cobs.encode(bytes(damaged)) + b"\0")
            pair.compare(frame)
    assert pair.reference.frame_errors == 64 * len(lengths)
    agree_at_the_end(pair)
    record_property("frames", 2 * 64 * len(lengths))


@pytest.mark.release
def test_every_state_and_action_is_answered_as_the_reference_does(
    short_buffer: Pair, record_property: Count
) -> None:
    pair = short_buffer
    config = pair.config
    states, actions = range(1 << config.state_bits), range(1 << config.action_bits)
    layout = RecordLayout.raw(config)
    requests = [
        (
            Request.APPLY_RAW,
            packed_record(layout, state=s, action=a, next_state=n, terminated=end, reward=1),
        )
        for s, a, n, end in itertools.product(states, actions, states, (0, 1))
    ]
    value = bytes(config.value_bytes)
    for place in (*itertools.product(range(65536), (0,)), *itertools.product((0,), range(256))):
        requests.append((Request.READ, struct.pack("<HBH", *place, 1)))
        requests.append((Request.LOAD, struct.pack("<HB", *place) + value))
    pair.status = StatusCode.STALE_EPOCH  # no HELLO has been sent
    for kind, payload in requests:
        if pair.status:
            nonce = struct.pack("<I", pair.reference.refused)
            pair.compare(encode_frame(Request.HELLO, 0, 0, nonce))
        pair.ask(kind, payload)
    legal = (config.states * config.states * config.actions * 2, config.states + config.actions)
    assert pair.reference.applied == legal[0]
    assert pair.reference.refused == len(requests) - legal[0] - 2 * legal[1]
    agree_at_the_end(pair)
    record_property("frames", len(requests))


@pytest.mark.release
def test_ten_million_random_bytes_are_counted_errors_and_change_nothing(
    short_buffer: Pair, record_property: Count
) -> None:
    pair, rng = short_buffer, random.Random(1)
    pair.compare(encode_frame(Request.HELLO, 0, 0, NONCE))
    entries = pair.config.states * pair.config.actions
    for entry in range(entries):
        place = struct.pack("<HB", *divmod(entry, pair.config.actions))
        pair.ask(Request.LOAD, place + entry.to_bytes(pair.config.value_bytes, "little"))
    for _ in range(100):
        pair.compare(rng.randbytes(100_000))
    assert pair.reference.table.ravel().tolist() == list(range(entries))
    assert pair.reference.frame_errors > 10_000
    pair.compare(b"\0")
    agree_at_the_end(pair)
    record_property("bytes", 100 * 100_000)


def test_a_wrong_table_entry_is_noticed(pair: Pair) -> None:
    pair.compare(encode_frame(Request.HELLO, 0, 0, NONCE))
    pair.ask(Request.CLEAR)
    pair.reference._table[5] += 1
    with pytest.raises(AssertionError):
        pair.ask(Request.READ, struct.pack("<HBH", 0, 0, 8))


def test_reset_ends_the_session_and_keeps_the_table(pair: Pair) -> None:
    pair.compare(encode_frame(Request.HELLO, 0, 0, NONCE))
    pair.ask(Request.CLEAR)
    pair.ask(Request.LOAD, struct.pack("<HB", 1, 1) + b"\x12" * pair.config.value_bytes)
    stale = encode_frame(Request.STATUS, pair.expected, pair.reference.epoch, b"")
    pair.port.reset()
    pair.reference.reset()
    pair.compare(stale)
    pair.compare(encode_frame(Request.HELLO, 0, 0, NONCE))
    pair.ask(Request.READ, struct.pack("<HBH", 1, 0, 3))


def step_frames(config: Config, epoch: int, first_seq: int, frames: int) -> bytes:
    """Return coded APPLY frames for one long walk, each as full as possible."""
    rng = np.random.default_rng(5)
    layout = RecordLayout.coded(config)
    limit = max_payload(config.link.buffer_bytes)
    count = frames * limit // layout.size(full=False)
    next_state = rng.integers(0, config.states, count, dtype=np.int32)
    walk = Transitions.from_arrays(
        config,
        state=np.roll(next_state, 1),
        action=rng.integers(0, config.actions, count, dtype=np.int32),
        reward=np.zeros(count),
        next_state=next_state,
        terminated=np.zeros(count, np.bool_),
    )
    codes = rng.integers(0, 256, count, dtype=np.uint8)
    payloads = [bytes(view) for view, _ in encode_records(layout, walk, codes, limit)]
    return b"".join(
        encode_frame(Request.APPLY_CODED, first_seq + i, epoch, payload)
        for i, payload in enumerate(payloads[:frames])
    )


def test_a_stream_of_full_frames_takes_about_as_many_clocks_as_bytes() -> None:
    config, frames = CONFIGS[0], 60
    port = SimPort(config)
    pair = Pair(port, config)
    pair.compare(encode_frame(Request.HELLO, 0, 0, NONCE))
    pair.ask(Request.CLEAR)
    data = step_frames(config, pair.reference.epoch, pair.expected, frames)
    port.write(data)
    before, answers = port.clocks, b""
    while answers.count(b"\0") < frames:
        answers += port.read(1.0)
    clocks = port.clocks - before
    # A frame is applied only when it is complete, so the last one adds its length. Beyond its payload,
    # each frame takes 18 clocks; the line needs 15 of them, and one more for every 254 bytes without a
    # zero.
    last = max_payload(config.link.buffer_bytes) + 60
    assert clocks <= len(data) + 3 * frames + last
    assert answers == pair.reference.receive(data)
    port.close()


def test_uart_changes_its_rate_after_the_answer(line: Pair) -> None:
    line.ask(Request.BAUD, struct.pack("<H", 8))
    line.port.set_baud(line.config.link.clock_hz // 8)
    line.ask(Request.STATUS)
    line.port.set_baud(line.config.link.baud)
    assert exchange(line.port, encode_frame(Request.STATUS, line.expected, 0, b""), 1) == []


@pytest.mark.slow
def test_sequence_numbers_wrap_around() -> None:
    config, frames = CONFIGS[2], (1 << 16) + 100
    port = SimPort(config)
    pair = Pair(port, config)
    pair.compare(encode_frame(Request.HELLO, 0, 0, NONCE))
    for first in range(0, frames, 100):
        numbers = [seq % (1 << 16) for seq in range(first, min(first + 100, frames))]
        epoch = pair.reference.epoch
        pair.compare(b"".join(encode_frame(Request.STATUS, seq, epoch, b"") for seq in numbers))
    assert pair.expected == frames % (1 << 16)
    agree_at_the_end(pair)
    port.close()


@pytest.mark.parametrize("divisor", [0x5555, 0xAAAA])
def test_every_bit_of_a_divisor_is_accepted(pair: Pair, divisor: int) -> None:
    pair.compare(encode_frame(Request.HELLO, 0, 0, NONCE))
    for each in (divisor, ~divisor & 0xFFFF):
        pair.ask(Request.BAUD, struct.pack("<H", each))
        pair.ask(Request.STATUS)


def test_answers_wait_for_a_slow_line(line: Pair) -> None:
    line.ask(Request.CLEAR)
    seq, epoch = line.expected, line.reference.epoch
    step = packed_record(RecordLayout.raw(line.config), state=1, action=2, next_state=3, reward=1)
    frames = [encode_frame(Request.APPLY_RAW, seq + n, epoch, step) for n in range(120)]
    line.compare(b"".join(frames))
    assert line.reference.applied == len(frames)
    line.ask(Request.READ, struct.pack("<HBH", 0, 0, line.config.states * line.config.actions))


def test_a_break_puts_the_rate_back(line: Pair) -> None:
    line.ask(Request.BAUD, struct.pack("<H", 40))
    assert exchange(line.port, encode_frame(Request.STATUS, line.expected, 0, b""), 1) == []
    line.port.send_break()
    line.ask(Request.STATUS)


def test_a_reset_puts_the_rate_back(line: Pair) -> None:
    for divisor in (0x5555, 0xAAAA):
        line.compare(encode_frame(Request.HELLO, 0, 0, NONCE))
        line.ask(Request.BAUD, struct.pack("<H", divisor))
        assert exchange(line.port, b"", 1) == []  # by then the device has changed its rate
        line.port.reset()
        line.reference.reset()
    line.compare(encode_frame(Request.HELLO, 0, 0, NONCE))


def lint(folder: Path, top: str, *options: str) -> str:
    done = subprocess.run(
        [
            *(str(verilator.find()), "--lint-only", "-Wall", "--assert", "--top-module", top),
            *(f"-I{sources.RTL / 'common'}", *options),
            *(str(path) for path in [*sources.rtl_files(), folder / f"{top}.v"]),
        ],
        env=verilator.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr


# The top-level module contains the device under another name, so the device itself is read only once.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("top", "config"),
    [
        ("qstep_device", CONFIGS[0]),
        *(("qstep_top", config) for config in (*CONFIGS, *CORNERS)),
    ],
    ids=lambda value: value if isinstance(value, str) else config_id(value),
)
def test_lint_of_a_whole_design_needs_only_the_waiver_for_generated_code(
    top: str, config: Config, tmp_path: Path
) -> None:
    (tmp_path / f"{top}.v").write_text(generated(config)[top], encoding="utf-8")
    assert lint(tmp_path, top, str(sources.RTL / "qstep_generated.vlt")) == ""
    if top == "qstep_device":
        assert "%Warning" in lint(tmp_path, top)
