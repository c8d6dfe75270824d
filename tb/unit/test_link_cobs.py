"""The COBS encoder and decoder give the same results as the library that the driver uses."""

import inspect
import random
from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest
from amaranth import Mux, Signal
from cobs import cobs
from tb.planted import plant_python
from tb.unit.streams import PACES, collect, collect_pulses, pulse_bytes, send, simulate

from qstep_rtl import cobs as blocks
from qstep_rtl.cobs import CobsDecoder, CobsEncoder

pytestmark = pytest.mark.unit

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
    *(b"z" * ((code ^ 1 << bit) - 1) + b"\0" for code in (1, 255) for bit in range(1, 8)),
    b"z" * 253 + b"\0",
]
"""Frames at the limits of COBS.

They have leading and trailing zeros, runs of 254 or 255 bytes without a zero, or codes that differ in
one bit from the lowest or the highest code.
"""


class Expected(list[Any]):
    """A list that accepts only the expected items, in order."""

    def __init__(self, items: Iterable[Any]) -> None:
        super().__init__()
        self._items = list(items)

    def append(self, item: Any) -> None:
        at = len(self)
        assert self._items[at : at + 1] == [item], f"item {at}"
        super().append(item)


def random_bodies(seed: int) -> list[bytes]:
    rng = random.Random(seed)
    alphabet = [0, 0, 1, 2, 255, *range(256)]
    return [bytes(rng.choices(alphabet, k=rng.randint(1, 300))) for _ in range(12)]


async def pulse(ctx: Any, reset: Any) -> None:
    """Reset the block for two clocks, so that all earlier outputs have reached the watchers."""
    ctx.set(reset, 1)
    await ctx.tick()
    await ctx.tick()
    ctx.set(reset, 0)


def test_cobs_decoder_begins_with_a_new_block_after_a_reset() -> None:
    decoder, reset = CobsDecoder(), Signal()
    seen: list[Any] = []

    async def bench(ctx: Any) -> None:
        cuts = (b"", b"\3", b"\3a", b"\1", b"\2a", b"\2a\1", b"\2a\0")
        for begun, lead in product(cuts, (b"", b"\0")):
            line = lead + cobs.encode(b"o\0k") + b"\0"
            rng = random.Random(4)
            await pulse_bytes(ctx, decoder.in_valid, decoder.in_data, begun, rng, 0.0)
            await pulse(ctx, reset)
            seen.clear()
            await pulse_bytes(ctx, decoder.in_valid, decoder.in_data, line, rng, 0.0)
            await ctx.tick()
            await ctx.tick()
            assert seen == [(0, 0, ord("o")), (0, 0, 0), (0, 0, ord("k")), (1, 0, 0)]

    ends = decoder.end, decoder.end & decoder.broken, Mux(decoder.end, 0, decoder.data)
    watcher = collect_pulses(decoder.valid | decoder.end, ends, seen)
    simulate(decoder, bench, watcher, reset=reset)


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


def empty_when_nothing_is_due(encoder: Any, wrong: list[str]) -> Any:
    """Return a watcher that checks `empty`: 1 if no block is open and the line has accepted all bytes.

    The watcher appends a message about each mismatch to `wrong`.
    """

    async def watch(ctx: Any) -> None:
        due, body = 1, bytearray()  # the delimiter after a reset
        open_bytes = 0  # in the open block
        closed = 0  # encoded bytes of the frame's other blocks
        frame, line = encoder.frame, encoder.line
        given, taken = frame.valid & frame.ready, line.valid & line.ready
        while True:
            _, _, gives, byte, takes, empty = await ctx.tick().sample(
                given, frame.payload, taken, encoder.empty
            )
            if empty != (due == 0 and open_bytes == 0):
                wrong.append(f"empty is {empty}, and {due} bytes are due")
            due -= takes
            if not gives:
                continue
            body.append(byte.data)
            open_bytes += byte.data != 0
            if byte.last:
                due += len(cobs.encode(bytes(body))) + 1 - closed
                open_bytes = closed = 0
                body.clear()
            elif byte.data == 0 or open_bytes == 254:
                due += open_bytes + 1
                closed += open_bytes + 1
                open_bytes = 0

    return watch


def encoded(encoder: Any, bodies: list[bytes], idle: float, stall: float, line: list[Any]) -> bytes:
    """Return the bytes that an encoder sends after a reset; `line` collects them as they are sent."""

    async def bench(ctx: Any) -> None:
        for body in bodies:
            payloads = [{"data": byte, "last": 0} for byte in body]
            payloads[-1]["last"] = 1
            await send(ctx, encoder.frame, payloads, random.Random(9), idle)
        await ctx.tick().until(encoder.empty)

    wrong: list[str] = []
    taken = collect(encoder.line, random.Random(10), stall, line)
    simulate(encoder, bench, taken, empty_when_nothing_is_due(encoder, wrong))
    assert not wrong, wrong[0]
    return bytes(line)


def test_cobs_encoder_drops_all_and_begins_with_a_delimiter_after_a_reset() -> None:
    encoder, reset = CobsEncoder(), Signal()
    line: list[int] = []

    async def bench(ctx: Any) -> None:
        begun_frames = (b"", b"a", b"abc\0de", b"\0", b"x" * 300)
        for begun, last in product(begun_frames, (0, 1)):
            payloads = [{"data": byte, "last": 0} for byte in begun]
            await send(ctx, encoder.frame, payloads, random.Random(9), 0.0)
            ctx.set(encoder.frame.payload, {"data": 1, "last": last})  # a byte during the reset
            ctx.set(encoder.frame.valid, 1)
            await pulse(ctx, reset)
            ctx.set(encoder.frame.valid, 0)
            line.clear()
            for is_ready in (0, 0, 1):  # one clock for the free row, one for the delimiter
                assert ctx.get(encoder.frame.ready) == is_ready
                await ctx.tick()
            payloads = [{"data": byte, "last": byte == ord("k")} for byte in b"o\0k"]
            await send(ctx, encoder.frame, payloads, random.Random(9), 0.0)
            for _ in range(12):
                await ctx.tick()
            assert ctx.get(encoder.empty)
            assert bytes(line) == b"\0" + cobs.encode(b"o\0k") + b"\0"

    simulate(encoder, bench, collect(encoder.line, random.Random(2), 0.0, line), reset=reset)


@pytest.mark.parametrize(
    ("idle", "stall"), [*PACES, pytest.param(0.7, 0.0, id="idle", marks=pytest.mark.slow)]
)
def test_cobs_encoder_equals_the_library_after_a_delimiter(idle: float, stall: float) -> None:
    bodies = BODIES + random_bodies(8)
    frames = b"".join(cobs.encode(body) + b"\0" for body in bodies)
    sent = b"\0" + frames
    assert encoded(CobsEncoder(), bodies, idle, stall, Expected(sent)) == sent


def test_cobs_encoder_is_empty_at_every_row_of_its_ring() -> None:
    encoder = CobsEncoder()
    wrong: list[str] = []

    async def bench(ctx: Any) -> None:
        # A frame takes three rows, so its last row is a different one each time.
        for frame in range(512):
            payload = {"data": frame & 1, "last": 1}
            await send(ctx, encoder.frame, [payload], random.Random(9), 0.0)
            for _ in range(12):
                await ctx.tick()

    taken = collect(encoder.line, random.Random(10), 0.0, [])
    simulate(encoder, bench, taken, empty_when_nothing_is_due(encoder, wrong))
    assert not wrong, wrong[0]


def test_cobs_encoder_sends_a_block_that_is_full_at_a_byte_a_clock() -> None:
    encoder = CobsEncoder()
    clocks: list[int] = []

    async def watch(ctx: Any) -> None:
        ctx.set(encoder.line.ready, 1)
        clock = 0
        while True:
            _, _, valid = await ctx.tick().sample(encoder.line.valid)
            clocks.extend([clock] * bool(valid))
            clock += 1

    async def bench(ctx: Any) -> None:
        payloads = [{"data": 1, "last": byte == 253} for byte in range(254)]
        await send(ctx, encoder.frame, payloads, random.Random(9), 0.0)
        await ctx.tick().until(encoder.empty)

    simulate(encoder, bench, watch)
    start, block = clocks[0], clocks[1:256]  # the delimiter after the reset; a code and 254 bytes
    assert start < block[0]
    assert block == list(range(block[0], block[0] + 255))


def test_cobs_encoder_offers_a_frame_at_once_and_without_gaps() -> None:
    encoder, rng = CobsEncoder(), random.Random(3)

    async def bench(ctx: Any) -> None:
        ctx.set(encoder.line.ready, 1)
        await ctx.tick().until(encoder.empty)
        for count in range(1, 40):
            ctx.set(encoder.line.ready, 0)
            payloads = [{"data": 1, "last": byte == count - 1} for byte in range(count)]
            await send(ctx, encoder.frame, payloads, random.Random(9), 0.0)
            # One clock writes the code and moves the limit past it; RingReader's latency follows.
            for is_offered in (0, 0, 0, 1):
                assert ctx.get(encoder.line.valid) == is_offered, f"frame of {count}"
                await ctx.tick()
            for byte in cobs.encode(b"\1" * count) + b"\0":
                for is_ready in rng.choice([(1,), (0, 1), (0, 0, 1)]):
                    ctx.set(encoder.line.ready, is_ready)
                    assert ctx.get(encoder.line.valid)
                    assert ctx.get(encoder.line.payload) == byte
                    await ctx.tick()
            assert not ctx.get(encoder.line.valid)

    simulate(encoder, bench)


def test_cobs_encoder_takes_bytes_without_a_pause_until_its_ring_is_full() -> None:
    encoder, rng = CobsEncoder(), random.Random(11)
    line: list[int] = []
    given = 0

    async def give(ctx: Any, clocks: int) -> list[int]:
        """Offer bytes for `clocks` clocks; return for each clock whether its byte was accepted."""
        nonlocal given
        ready = [(await ctx.tick().sample(encoder.frame.ready))[2] for _ in range(clocks)]
        given += sum(ready)
        return ready

    async def take(ctx: Any, count: int) -> None:
        ctx.set(encoder.line.ready, 1)
        for _ in range(count):
            line.append((await ctx.tick().sample(encoder.line.payload))[2])
        ctx.set(encoder.line.ready, 0)

    async def bench(ctx: Any) -> None:
        await ctx.tick().repeat(6)
        ctx.set(encoder.frame.payload, {"data": 1, "last": 0})
        ctx.set(encoder.frame.valid, 1)
        pause = [1] * 254 + [0]
        assert await give(ctx, 600) == [*pause, *pause, 1, *[0] * 89]
        for taken in [*[1] * 12, *range(1, 9), *[1 << n for n in range(4, 9)], 255, 3, 100]:
            ctx.set(encoder.frame.valid, 0)
            await take(ctx, taken)
            await ctx.tick().repeat(rng.randrange(3, 6))
            ctx.set(encoder.frame.valid, 1)
            ready = await give(ctx, taken + 8)
            end = max((n for n, is_ready in enumerate(ready, 1) if is_ready), default=0)
            assert ready[:end].count(0) <= 3, "a pause, though there is room"
            # Extra bytes: the delimiter, the first code, and one code for each full block.
            assert 2 + given + given // 254 - len(line) in (512, 513)
        assert bytes(line) == (b"\0" + cobs.encode(b"\1" * given))[: len(line)]

    simulate(encoder, bench)


def test_encoder_without_a_delimiter_after_reset_is_noticed() -> None:
    text = inspect.getsource(blocks)
    begin = text.index("delimiting = Signal(init=1)")
    registers = text[begin : text.index("distance = Signal", begin)]
    planted = plant_python(blocks, registers, registers.replace("init=1", "init=0"))
    assert encoded(CobsEncoder(), [b"a"], 0.0, 0.0, []) == b"\0\2a\0"
    with pytest.raises(AssertionError, match="empty is 1, and 1 bytes are due"):
        encoded(planted.CobsEncoder(), [b"a"], 0.0, 0.0, [])
