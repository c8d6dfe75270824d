"""The blocks of the link, each against the library or host code that defines it."""

from __future__ import annotations

import random
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import Component, In, Out
from cobs import cobs
from tb.unit.streams import collect, collect_pulses, pulse_bytes, send, simulate

from qstep.config import Config
from qstep.link.frames import encode_frame
from qstep.link.records import RecordLayout, encode_records
from qstep.protocol import StatusCode, max_payload
from qstep.transitions import Transitions
from qstep_rtl.cobs import CobsDecoder, CobsEncoder
from qstep_rtl.counters import Counters, wide_counter
from qstep_rtl.crc32 import Crc32, RecordDigest
from qstep_rtl.receiver import Receiver
from qstep_rtl.records import Records
from qstep_rtl.session import Session
from qstep_rtl.uart import UartReceiver, UartSender

pytestmark = pytest.mark.unit

PACES = [pytest.param(0.0, 0.0, id="full-speed"), pytest.param(0.3, 0.6, id="idle-and-stall")]

BODIES = [
    b"\0",
    b"\1",
    b"\0\0\0",
    b"a\0",
    b"\0a",
    bytes(range(1, 255)),
    bytes(range(1, 256)),
    bytes(range(256)) * 2,
    b"x" * 508,
    b"x" * 254 + b"\0",
    b"\0" + b"y" * 255 + b"\0\0",
]
"""Frames at the edges of COBS: zeros first and last, blocks of 254 bytes and one more."""


def random_bodies(seed: int) -> list[bytes]:
    rng = random.Random(seed)
    alphabet = [0, 0, 1, 2, 255, *range(256)]
    return [bytes(rng.choices(alphabet, k=rng.randint(1, 300))) for _ in range(12)]


# CRC-32


def test_crc_equals_zlib_and_shifts_out() -> None:
    crc = Crc32()
    data = random.Random(1).randbytes(200)

    async def bench(ctx: Any) -> None:
        for part in (data[:70], data[70:]):
            ctx.set(crc.start, 1)
            await ctx.tick()
            ctx.set(crc.start, 0)
            ctx.set(crc.enable, 1)
            for byte in part:
                ctx.set(crc.data, byte)
                await ctx.tick()
            ctx.set(crc.enable, 0)
            ctx.set(crc.shift, 1)
            out = []
            for _ in range(4):
                out.append(ctx.get(crc.crc))
                await ctx.tick()
            ctx.set(crc.shift, 0)
            assert bytes(out) == struct.pack("<I", zlib.crc32(part))

    simulate(crc, bench)


@pytest.mark.parametrize("flip", [None, 0, 37, 8 * 23 + 7], ids=str)
def test_crc_matches_only_intact_data(flip: int | None) -> None:
    crc = Crc32()
    body = random.Random(2).randbytes(20)
    data = bytearray(body + struct.pack("<I", zlib.crc32(body)))
    if flip is not None:
        data[flip // 8] ^= 1 << flip % 8

    async def bench(ctx: Any) -> None:
        await pulse_bytes(ctx, crc.enable, crc.data, bytes(data), random.Random(3), 0.3)
        assert ctx.get(crc.matches) == (flip is None)

    simulate(crc, bench)


@pytest.mark.parametrize(
    ("record_bytes", "steps"), [(2, 2), (4, 3), (5, 3), (5, 1), (9, 4)], ids=str
)
@pytest.mark.parametrize("idle", [0.0, 0.5], ids=["back-to-back", "idle"])
def test_record_digest_equals_zlib_in_the_promised_clocks(
    record_bytes: int, steps: int, idle: float
) -> None:
    digest = RecordDigest(record_bytes, steps)
    rng = random.Random(4)
    records = [rng.randbytes(record_bytes) for _ in range(20)]
    clocks = 0

    async def count(ctx: Any) -> None:
        nonlocal clocks
        while True:
            await ctx.tick()
            clocks += 1

    async def bench(ctx: Any) -> None:
        assert ctx.get(digest.crc) == 0
        payloads = [int.from_bytes(record, "little") for record in records]
        await send(ctx, digest.records, payloads, rng, idle)
        await ctx.tick().until(~digest.busy)
        assert ctx.get(digest.crc) == zlib.crc32(b"".join(records))
        if idle == 0.0:
            assert clocks <= steps * len(records) + 2

    simulate(digest, bench, count)


# COBS


@pytest.mark.parametrize("idle", [0.0, 0.4], ids=["full-speed", "idle"])
def test_cobs_decoder_undoes_the_library(idle: float) -> None:
    decoder = CobsDecoder()
    bodies = BODIES + random_bodies(5)
    line = b"\0\0" + b"\0".join(cobs.encode(body) for body in bodies) + b"\0\0\0"
    seen: list[Any] = []
    watcher = collect_pulses(
        decoder.valid | decoder.end, (decoder.end, decoder.broken, decoder.data), seen
    )

    async def bench(ctx: Any) -> None:
        await pulse_bytes(ctx, decoder.in_valid, decoder.in_data, line, random.Random(6), idle)
        await ctx.tick().repeat(3)

    simulate(decoder, bench, watcher)
    frames, body = [], bytearray()
    for end, broken, byte in seen:
        if end:
            assert not broken
            frames.append(bytes(body))
            body.clear()
        else:
            body.append(byte)
    assert frames == bodies


@pytest.mark.parametrize("cut", [1, 3, 7])
def test_cobs_decoder_reports_a_frame_that_ends_inside_a_block(cut: int) -> None:
    decoder = CobsDecoder()
    ends: list[Any] = []
    line = cobs.encode(b"abcdefgh")[:-cut] + b"\0" + cobs.encode(b"ok") + b"\0"

    async def bench(ctx: Any) -> None:
        await pulse_bytes(ctx, decoder.in_valid, decoder.in_data, line, random.Random(7), 0.0)
        await ctx.tick().repeat(3)

    simulate(decoder, bench, collect_pulses(decoder.end, (decoder.broken,), ends))
    assert ends == [(1,), (0,)]


@pytest.mark.parametrize(("idle", "stall"), PACES)
def test_cobs_encoder_equals_the_library(idle: float, stall: float) -> None:
    encoder = CobsEncoder()
    bodies = BODIES + random_bodies(8)
    line: list[int] = []

    async def bench(ctx: Any) -> None:
        for body in bodies:
            payloads = [{"data": byte, "last": 0} for byte in body]
            payloads[-1]["last"] = 1
            await send(ctx, encoder.frame, payloads, random.Random(9), idle)
        await ctx.tick().until(encoder.empty)

    simulate(encoder, bench, collect(encoder.line, random.Random(10), stall, line))
    assert bytes(line) == b"".join(cobs.encode(body) + b"\0" for body in bodies)


# UART


class Loop(Component):
    """A sender whose line a receiver reads, with a switch to pull the line low."""

    def __init__(self) -> None:
        self.sender = UartSender()
        self.receiver = UartReceiver()
        super().__init__(
            {"divisor": In(16), "receiver_divisor": In(16), "cut": In(1), "rx": Out(1)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.sender = self.sender
        m.submodules.receiver = self.receiver
        m.d.comb += [
            self.rx.eq(self.sender.tx & ~self.cut),
            self.receiver.rx.eq(self.rx),
            self.sender.divisor.eq(self.divisor),
            self.receiver.divisor.eq(self.receiver_divisor),
        ]
        return m


def over_the_line(data: bytes, divisor: int, receiver_divisor: int, idle: float) -> bytes:
    loop = Loop()
    received: list[Any] = []

    async def bench(ctx: Any) -> None:
        ctx.set(loop.divisor, divisor)
        ctx.set(loop.receiver_divisor, receiver_divisor)
        await ctx.tick().repeat(4)
        await send(ctx, loop.sender.bytes, data, random.Random(11), idle)
        await ctx.tick().repeat(12 * divisor)

    simulate(loop, bench, collect_pulses(loop.receiver.valid, (loop.receiver.data,), received))
    return bytes(byte for (byte,) in received)


@pytest.mark.parametrize("divisor", [4, 5, 7, 16])
@pytest.mark.parametrize("idle", [0.0, 0.9], ids=["back-to-back", "idle"])
def test_uart_carries_every_byte(divisor: int, idle: float) -> None:
    data = bytes(range(0, 256, 15)) + b"\xff\0\xff\xff\0\0"
    assert over_the_line(data, divisor, divisor, idle) == data


@pytest.mark.parametrize("receiver_divisor", [96, 104])
def test_uart_tolerates_four_percent_of_rate_error(receiver_divisor: int) -> None:
    data = b"\x00\xff\x55\xaa\x0f"
    assert over_the_line(data, 100, receiver_divisor, 0.0) == data


def test_uart_does_not_carry_bytes_at_the_wrong_rate() -> None:
    data = b"\x00\xff\x55\xaa\x0f"
    assert over_the_line(data, 100, 80, 0.0) != data


def test_uart_drops_a_byte_without_stop_bit_and_ignores_a_glitch() -> None:
    loop = Loop()
    received: list[Any] = []
    divisor = 16

    async def bench(ctx: Any) -> None:
        ctx.set(loop.divisor, divisor)
        ctx.set(loop.receiver_divisor, divisor)
        await ctx.tick().repeat(5)
        for clocks in (12 * divisor, 3):
            ctx.set(loop.cut, 1)
            await ctx.tick().repeat(clocks)
            ctx.set(loop.cut, 0)
            await ctx.tick().repeat(2 * divisor)
        assert received == []
        await send(ctx, loop.sender.bytes, b"Q", random.Random(12), 0.0)
        await ctx.tick().repeat(12 * divisor)

    simulate(loop, bench, collect_pulses(loop.receiver.valid, (loop.receiver.data,), received))
    assert received == [(ord("Q"),)]


def test_uart_byte_under_way_keeps_its_rate() -> None:
    loop = Loop()
    received: list[Any] = []

    async def bench(ctx: Any) -> None:
        ctx.set(loop.divisor, 20)
        ctx.set(loop.receiver_divisor, 20)
        await ctx.tick().repeat(5)
        await send(ctx, loop.sender.bytes, b"\x5a", random.Random(13), 0.0)
        ctx.set(loop.divisor, 5)
        await send(ctx, loop.sender.bytes, b"\xa5", random.Random(13), 0.0)
        # The second start bit is on the line: the first byte has been sampled.
        ctx.set(loop.receiver_divisor, 5)
        await ctx.tick().repeat(60)

    simulate(loop, bench, collect_pulses(loop.receiver.valid, (loop.receiver.data,), received))
    assert received == [(0x5A,), (0xA5,)]


# Receiver

BUFFER_BYTES = 512


def received_through(
    pieces: list[bytes], idle: float = 0.0, stall: float = 0.0, blocked: bool = False
) -> tuple[bytes, int]:
    """Return what comes out of a receiver, and how many frames it dropped.

    With `blocked` nothing is taken until all has been sent.
    """
    receiver = Receiver(BUFFER_BYTES)
    out: list[int] = []
    dropped: list[Any] = []
    rng = random.Random(14)
    open_ = not blocked
    take = collect(receiver.bytes, rng, stall, out)

    async def watch(ctx: Any) -> None:
        while not open_:
            await ctx.tick()
        await take(ctx)

    async def bench(ctx: Any) -> None:
        nonlocal open_
        for piece in pieces:
            await pulse_bytes(ctx, receiver.in_valid, receiver.in_data, piece, rng, idle)
        open_ = True
        await ctx.tick().repeat(round((4 * BUFFER_BYTES + 50) / (1 - stall)))

    simulate(receiver, bench, watch, collect_pulses(receiver.dropped, (), dropped))
    return bytes(out), len(dropped)


def content(kind: int, payload: bytes) -> bytes:
    """Return what the command decoder sees of a frame."""
    return struct.pack("<BHHH", kind, 3, 5, len(payload)) + payload


def frame(kind: int, payload: bytes) -> bytes:
    return encode_frame(kind, 3, 5, payload)


@pytest.mark.parametrize(("idle", "stall"), [(0.0, 0.0), (0.7, 0.4)], ids=["full-speed", "paced"])
def test_receiver_delivers_good_frames_in_order(idle: float, stall: float) -> None:
    rng = random.Random(15)
    payloads = [rng.randbytes(size) for size in (0, 1, 20, 245, 0, 100, 245, 3, 200, 244)]
    assert max_payload(BUFFER_BYTES) == 245
    pieces = [frame(kind, payload) for kind, payload in enumerate(payloads)]
    out, dropped = received_through(pieces, idle, stall)
    assert out == b"".join(content(kind, payload) for kind, payload in enumerate(payloads))
    assert dropped == 0


def test_receiver_drops_every_single_byte_fault_and_recovers() -> None:
    rng = random.Random(16)
    good = frame(9, b"\0abc\0\0de\1")
    pieces, expected = [], b""
    for at in range(len(good) - 1):
        damaged = bytearray(good)
        damaged[at] ^= rng.randrange(1, 256)
        pieces += [bytes(damaged), b"\0" * (damaged[at] != 0), frame(at, b"next")]
        expected += content(at, b"next")
    out, dropped = received_through(pieces)
    assert out == expected
    assert dropped >= len(good) - 1


@pytest.mark.parametrize("change", [-2, -1, 1, 256], ids=str)
def test_receiver_drops_a_wrong_length_under_a_good_crc(change: int) -> None:
    payload = b"abcdef"
    body = struct.pack("<BHHH", 1, 3, 5, len(payload) + change) + payload
    bad = cobs.encode(body + struct.pack("<I", zlib.crc32(body))) + b"\0"
    out, dropped = received_through([bad, frame(2, b"good")])
    assert (out, dropped) == (content(2, b"good"), 1)


@pytest.mark.parametrize("body", [b"", b"a", b"abcdefg", struct.pack("<BHHH", 1, 3, 5, 0)], ids=len)
def test_receiver_drops_a_frame_that_is_too_short_for_its_crc(body: bytes) -> None:
    out, dropped = received_through([cobs.encode(body) + b"\0", frame(2, b"good")])
    assert (out, dropped) == (content(2, b"good"), 1)


@pytest.mark.parametrize("size", [246, 247, 700])
def test_receiver_drops_a_frame_longer_than_half_the_buffer(size: int) -> None:
    payload = random.Random(17).randbytes(size)
    out, dropped = received_through([frame(1, payload), frame(2, b"good")])
    assert (out, dropped) == (content(2, b"good"), 1)


def test_receiver_keeps_what_credit_allows_and_drops_what_overflows() -> None:
    payloads = [bytes([kind]) * 245 for kind in range(4)]
    pieces = [frame(kind, payload) for kind, payload in enumerate(payloads)]
    out, dropped = received_through(pieces, blocked=True)
    assert (out, dropped) == (content(0, payloads[0]) + content(1, payloads[1]), 2)


# Records

CONFIGS = [
    Config(states=64, actions=4),
    Config(states=25, actions=3, format="Q4.4"),
    Config(states=2, actions=2, format="Q1.7"),
    Config(states=40000, actions=33, format="Q16.16"),
]


def config_id(config: Config) -> str:
    return f"s{config.states}-a{config.actions}-w{config.format.width}"


def run_records(
    config: Config,
    payload: bytes,
    coded: bool,
    rewards: list[int],
    idle: float = 0.0,
    stall: float = 0.0,
) -> tuple[list[tuple[int, ...]], bool, bool, int]:
    """Return transitions, illegal, partial, and the clocks that the payload took."""
    records = Records(config)
    out: list[Any] = []
    rng = random.Random(18)
    end: dict[str, Any] = {}
    clocks = 0

    async def count(ctx: Any) -> None:
        nonlocal clocks
        while True:
            await ctx.tick()
            clocks += 1

    async def bench(ctx: Any) -> None:
        ctx.set(records.reward_write, 1)
        for code, value in enumerate(rewards):
            ctx.set(records.reward_code, code)
            ctx.set(records.reward_value, value)
            await ctx.tick()
        ctx.set(records.reward_write, 0)
        ctx.set(records.coded, coded)
        ctx.set(records.start, 1)
        await ctx.tick()
        ctx.set(records.start, 0)
        before = clocks
        await send(ctx, records.bytes, payload, rng, idle)
        end["clocks"] = clocks - before
        if ctx.get(records.busy):
            await ctx.tick().until(~records.busy)
        end["illegal"], end["partial"] = ctx.get(records.illegal), ctx.get(records.partial)

    simulate(records, bench, count, collect(records.transitions, rng, stall, out))
    fields = [
        (int(t.state), int(t.action), int(t.reward), int(t.next_state), int(t.terminated))
        for t in out
    ]
    return fields, bool(end["illegal"]), bool(end["partial"]), end["clocks"]


def walk(config: Config, count: int, seed: int) -> Transitions:
    """Return transitions of which two thirds continue the one before."""
    rng = np.random.default_rng(seed)
    next_state = rng.integers(0, config.states, count, dtype=np.int32)
    state = np.where(
        rng.random(count) < 2 / 3, np.roll(next_state, 1), rng.integers(0, config.states, count)
    ).astype(np.int32)
    low, high = config.format.minimum, config.format.maximum
    return Transitions(
        state=state,
        action=rng.integers(0, config.actions, count, dtype=np.int32),
        reward_raw=rng.integers(low, high, count, dtype=np.int32, endpoint=True),
        next_state=next_state,
        terminated=rng.random(count) < 0.2,
    )


@pytest.mark.parametrize("config", CONFIGS, ids=config_id)
@pytest.mark.parametrize("coded", [False, True], ids=["raw", "coded"])
@pytest.mark.parametrize(("idle", "stall"), PACES)
def test_records_give_the_transitions_that_the_host_encoded(
    config: Config, coded: bool, idle: float, stall: float
) -> None:
    count = 60
    transitions = walk(config, count, 19)
    mask = (1 << config.format.width) - 1
    rewards = [random.Random(20).getrandbits(32) & mask for _ in range(256)]
    codes = np.arange(count, dtype=np.uint8) * 7
    layout = RecordLayout.coded(config) if coded else RecordLayout.raw(config)
    given = codes if coded else transitions.reward_raw
    ((payload, _),) = encode_records(layout, transitions, given, 4096)
    out, illegal, partial, clocks = run_records(
        config, bytes(payload), coded, rewards if coded else [], idle, stall
    )
    expected_rewards = (
        [rewards[code] for code in codes]
        if coded
        else (transitions.reward_raw.astype(np.int64) & mask).tolist()
    )
    assert out == list(
        zip(
            transitions.state.tolist(),
            transitions.action.tolist(),
            expected_rewards,
            transitions.next_state.tolist(),
            transitions.terminated.tolist(),
            strict=True,
        )
    )
    assert not illegal
    assert not partial
    if idle == stall == 0.0:
        assert clocks == len(payload)


def raw_record(config: Config, action: int, next_state: int, state: int | None) -> bytes:
    """Return a raw record with reward 1, continuing where `state` is None."""
    bits, width = int(state is None), 1
    fields = [(action, config.action_bits), (next_state, config.state_bits), (0, 1)]
    fields.append((1, config.format.width))
    if state is not None:
        fields.append((state, config.state_bits))
    for value, size in fields:
        bits |= value << width
        width += size
    return bits.to_bytes((width + 7) // 8, "little")


@pytest.mark.parametrize(
    ("action", "next_state", "state"),
    [(3, 0, 0), (0, 25, 0), (0, 31, None), (0, 0, 25)],
    ids=["action", "next-state", "next-state-continuing", "state"],
)
def test_records_stop_at_the_first_value_out_of_range(
    action: int, next_state: int, state: int | None
) -> None:
    config = CONFIGS[1]
    good = raw_record(config, 1, 2, 3)
    payload = good + good + raw_record(config, action, next_state, state) + good * 3
    out, illegal, _, _ = run_records(config, payload, False, [])
    assert out == [(3, 1, 1, 2, 0)] * 2
    assert illegal


def test_records_refuse_a_continuing_record_at_the_start() -> None:
    config = CONFIGS[0]
    payload = raw_record(config, 1, 2, None) + raw_record(config, 1, 2, 3)
    out, illegal, _, _ = run_records(config, payload, False, [])
    assert out == []
    assert illegal


def test_records_report_a_cut_off_record() -> None:
    config = CONFIGS[0]
    payload = raw_record(config, 1, 2, 3) * 2
    out, illegal, partial, _ = run_records(config, payload[:-1], False, [])
    assert out == [(3, 1, 1, 2, 0)]
    assert not illegal
    assert partial


# Counters


def test_counters_send_exact_totals_across_carries() -> None:
    counters = Counters(7)
    rng = random.Random(21)
    rates = (1.0, 0.5, 0.01, 0.0, 0.9, 1.0, 0.3)
    expected = [0] * len(rates)
    out: list[int] = []

    async def bench(ctx: Any) -> None:
        for clocks in (1500, 1):
            for _ in range(clocks):
                events = [rng.random() < rate for rate in rates]
                ctx.set(counters.events, sum(event << i for i, event in enumerate(events)))
                for i, event in enumerate(events):
                    expected[i] += event
                await ctx.tick()
            ctx.set(counters.events, 0)
            ctx.set(counters.start, 1)
            await ctx.tick()
            ctx.set(counters.start, 0)
            await ctx.tick().repeat(400)
            assert struct.unpack("<7Q", bytes(out)) == tuple(expected)
            out.clear()

    simulate(counters, bench, collect(counters.totals, rng, 0.3, out))


class Wide(Component):
    """A wide counter with ports."""

    def __init__(self) -> None:
        super().__init__({"event": In(1), "count": Out(64)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.count.eq(wide_counter(m, self.event, "count"))
        return m


def test_wide_counter_carries_into_the_next_chunk() -> None:
    wide = Wide()

    async def bench(ctx: Any) -> None:
        ctx.set(wide.event, 1)
        await ctx.tick().repeat(65537)
        ctx.set(wide.event, 0)
        await ctx.tick().repeat(3)
        assert ctx.get(wide.count) == 65537

    simulate(wide, bench)


# Session


def verdicts(seqs: list[int], repeatable: bool) -> list[tuple[StatusCode, int]]:
    """Open a session, judge and finish requests; return verdicts and what was expected then."""
    session = Session()
    out = []

    async def bench(ctx: Any) -> None:
        await ctx.tick()
        ctx.set(session.greet_nonce, 77)
        ctx.set(session.greet, 1)
        await ctx.tick()
        ctx.set(session.greet, 0)
        await ctx.tick()
        ctx.set(session.repeatable, repeatable)
        for seq in seqs:
            ctx.set(session.claimed_epoch, ctx.get(session.epoch))
            ctx.set(session.seq, seq)
            ctx.set(session.judge, 1)
            await ctx.tick()
            ctx.set(session.judge, 0)
            await ctx.tick()
            verdict = ctx.get(session.verdict)
            ctx.set(session.finish, 1)
            await ctx.tick()
            ctx.set(session.finish, 0)
            out.append((StatusCode(int(verdict)), ctx.get(session.expected)))

    simulate(session, bench)
    return out


def test_session_carries_out_each_number_once() -> None:
    ok, duplicate, gap = StatusCode.OK, StatusCode.DUPLICATE, StatusCode.GAP
    assert verdicts([0, 1, 1, 0, 3, 2, 2 + 32768, 4 + 65536 - 32768], False) == [
        (ok, 1),
        (ok, 2),
        (duplicate, 2),
        (duplicate, 2),
        (gap, 2),
        (ok, 3),
        (gap, 3),
        (duplicate, 3),
    ]


def test_session_repeats_only_the_latest_reading_request() -> None:
    ok, duplicate = StatusCode.OK, StatusCode.DUPLICATE
    assert verdicts([0, 1, 1, 0], True) == [(ok, 1), (ok, 2), (ok, 2), (duplicate, 2)]


def test_session_refuses_another_epoch_and_no_session() -> None:
    session = Session()

    async def judged(ctx: Any, epoch: int) -> int:
        ctx.set(session.claimed_epoch, epoch)
        ctx.set(session.judge, 1)
        await ctx.tick()
        ctx.set(session.judge, 0)
        await ctx.tick()
        return int(ctx.get(session.verdict))

    async def greet(ctx: Any, nonce: int) -> int:
        ctx.set(session.greet_nonce, nonce)
        ctx.set(session.greet, 1)
        await ctx.tick()
        ctx.set(session.greet, 0)
        await ctx.tick()
        return int(ctx.get(session.epoch))

    async def bench(ctx: Any) -> None:
        await ctx.tick()
        assert await judged(ctx, ctx.get(session.epoch)) == StatusCode.STALE_EPOCH
        first = await greet(ctx, 0)
        assert await judged(ctx, first) == StatusCode.OK
        assert await greet(ctx, 0) == first
        second = await greet(ctx, 1)
        assert second != first
        assert await judged(ctx, first) == StatusCode.STALE_EPOCH

    simulate(session, bench)
