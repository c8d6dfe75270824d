"""The UART's sender and receiver transfer bytes over a line that connects them."""

import random
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import Component, In, Out
from tb.unit.streams import collect_pulses, send, simulate

from qstep.spec.protocol import LEAST_DIVISOR
from qstep_rtl.uart import UartReceiver, UartSender

pytestmark = pytest.mark.unit


class Loop(Component):
    """A sender and a receiver on one line, with a switch that pulls the line low."""

    def __init__(self) -> None:
        self.sender = UartSender()
        self.receiver = UartReceiver()
        super().__init__(
            {"divisor": In(16), "receiver_divisor": In(16), "cut": In(1), "rx": Out(1)}
        )

    async def begin(self, ctx: Any, divisor: int, receiver_divisor: int) -> None:
        """Set the rates, and wait for the start of the pause after a reset."""
        ctx.set(self.divisor, divisor)
        ctx.set(self.receiver_divisor, receiver_divisor)
        await ctx.tick().repeat(5)

    async def cut_for(self, ctx: Any, clocks: int, rest: int) -> None:
        """Pull the line low for `clocks` clocks, and then leave it idle for `rest` clocks."""
        ctx.set(self.cut, 1)
        await ctx.tick().repeat(clocks)
        ctx.set(self.cut, 0)
        await ctx.tick().repeat(rest)

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
        await loop.begin(ctx, divisor, receiver_divisor)
        await send(ctx, loop.sender.bytes, data, random.Random(11), idle)
        await ctx.tick().repeat(12 * divisor)

    simulate(loop, bench, collect_pulses(loop.receiver.valid, (loop.receiver.data,), received))
    return bytes(byte for (byte,) in received)


@pytest.mark.slow
def test_a_bit_lasts_as_many_clocks_as_every_bit_of_the_divisor_says() -> None:
    loop, reset = Loop(), Signal()

    async def bench(ctx: Any) -> None:
        for divisor in (0x5555, 0xAAAA, 0x155):
            ctx.set(loop.sender.bytes.valid, 0)
            ctx.set(reset, 1)
            await ctx.tick()
            ctx.set(reset, 0)
            ctx.set(loop.divisor, LEAST_DIVISOR)  # shortens the pause after a reset
            await ctx.tick().until(loop.sender.bytes.ready)
            ctx.set(loop.divisor, divisor)
            ctx.set(loop.receiver_divisor, divisor)
            ctx.set(loop.sender.bytes.payload, 0xFF)
            ctx.set(loop.sender.bytes.valid, 1)
            await ctx.tick().until(~loop.rx)
            await ctx.tick().repeat(divisor - 2)
            assert not ctx.get(loop.rx), "the start bit is over"
            await ctx.tick()
            assert ctx.get(loop.rx), "the first bit is late"
            await ctx.tick().repeat(divisor // 2 - 8)
            assert ctx.get(loop.receiver.data) == 0
            await ctx.tick().repeat(16)
            assert ctx.get(loop.receiver.data) == 0x80, "it was not read in its middle"

    simulate(loop, bench, reset=reset)


@pytest.mark.parametrize("divisor", [LEAST_DIVISOR, LEAST_DIVISOR + 1, 16])
@pytest.mark.parametrize("idle", [0.0, 0.9], ids=["back-to-back", "idle"])
def test_uart_carries_every_byte(divisor: int, idle: float) -> None:
    data = bytes(range(0, 256, 15)) + b"\xff\0\xff\xff\0\0"
    assert over_the_line(data, divisor, divisor, idle) == data


HARD_BYTES = b"\x55\xaa\x00\xff\x0f\x80\x01"


def line_of_another_clock(bit_clocks: float, phase: float, rng: random.Random) -> list[int]:
    """Return the line level in each clock, for a sender whose bits take `bit_clocks` clocks.

    With a probability of one half, an edge reaches the synchroniser one clock late, as an edge too close
    to the receiver's clock edge may.
    """
    bits = "".join(f"0{f'{byte:08b}'[::-1]}1" for byte in HARD_BYTES)
    seen = [1] * 12
    level = 1
    for clock in range(round(len(bits) * bit_clocks)):
        now = int(bits[min(int((clock + phase) / bit_clocks), len(bits) - 1)])
        seen.append(level if now != level and rng.random() < 0.5 else now)
        level = now
    return seen + [1] * round(2 * bit_clocks)


@pytest.mark.parametrize("divisor", [LEAST_DIVISOR, LEAST_DIVISOR + 1])
@pytest.mark.parametrize("rate", [1.026, 0.974], ids=["fast", "slow"])
def test_uart_takes_a_sender_of_another_rate_at_every_phase(divisor: int, rate: float) -> None:
    receiver = UartReceiver()
    received: list[Any] = []
    phases = [phase / 16 for phase in range(16)]

    async def bench(ctx: Any) -> None:
        ctx.set(receiver.divisor, divisor)
        for phase in phases:
            for level in line_of_another_clock(divisor / rate, phase, random.Random(14)):
                ctx.set(receiver.rx, level)
                await ctx.tick()

    simulate(receiver, bench, collect_pulses(receiver.valid, (receiver.data,), received))
    assert bytes(byte for (byte,) in received) == HARD_BYTES * len(phases)


@pytest.mark.parametrize(("receiver_divisor", "carries"), [(96, True), (104, True), (80, False)])
def test_uart_tolerates_four_percent_of_rate_error(receiver_divisor: int, carries: bool) -> None:
    data = b"\x00\xff\x55\xaa\x0f"
    assert (over_the_line(data, 100, receiver_divisor, 0.0) == data) == carries


def test_uart_drops_a_byte_without_stop_bit_and_ignores_a_glitch() -> None:
    loop = Loop()
    received: list[Any] = []
    divisor = 16

    async def bench(ctx: Any) -> None:
        await loop.begin(ctx, divisor, divisor)
        for clocks in (12 * divisor, 3):
            await loop.cut_for(ctx, clocks, 2 * divisor)
        assert received == []
        await send(ctx, loop.sender.bytes, b"Q", random.Random(12), 0.0)
        await ctx.tick().repeat(12 * divisor)

    simulate(loop, bench, collect_pulses(loop.receiver.valid, (loop.receiver.data,), received))
    assert received == [(ord("Q"),)]


def test_uart_byte_under_way_keeps_its_rate() -> None:
    loop = Loop()
    received: list[Any] = []

    async def bench(ctx: Any) -> None:
        await loop.begin(ctx, 20, 20)
        await send(ctx, loop.sender.bytes, b"\x5a", random.Random(13), 0.0)
        ctx.set(loop.divisor, 8)
        await send(ctx, loop.sender.bytes, b"\xa5", random.Random(13), 0.0)
        # The second start bit is on the line, so the first byte has been sampled.
        ctx.set(loop.receiver_divisor, 8)
        await ctx.tick().repeat(90)

    simulate(loop, bench, collect_pulses(loop.receiver.valid, (loop.receiver.data,), received))
    assert received == [(0x5A,), (0xA5,)]


@pytest.mark.parametrize(
    ("bits", "breaks"), [(9, 0), (20, 0), (21.5, 1), (200, 1)], ids=lambda value: str(value)
)
def test_uart_reports_a_line_that_is_low_for_longer_than_two_bytes(
    bits: float, breaks: int
) -> None:
    loop = Loop()
    seen: list[Any] = []
    received: list[Any] = []
    divisor = 16

    async def bench(ctx: Any) -> None:
        await loop.begin(ctx, divisor, divisor)
        # Zero bytes also pull the line low, but never for so long at a time.
        await send(ctx, loop.sender.bytes, bytes(4), random.Random(15), 0.0)
        await ctx.tick().repeat(12 * divisor)
        await loop.cut_for(ctx, round(bits * divisor), 2 * divisor)
        await send(ctx, loop.sender.bytes, b"R", random.Random(15), 0.0)
        await ctx.tick().repeat(12 * divisor)

    simulate(
        loop,
        bench,
        collect_pulses(loop.receiver.valid, (loop.receiver.data,), received),
        collect_pulses(loop.receiver.line_break, (), seen),
    )
    assert min(len(seen), 1) == breaks
    assert bytes(byte for (byte,) in received).strip(b"\0\xff") == b"R"


def test_uart_leaves_the_line_idle_for_a_byte_after_reset() -> None:
    sender = UartSender()
    divisor = 16

    async def bench(ctx: Any) -> None:
        ctx.set(sender.divisor, divisor)
        ctx.set(sender.bytes.payload, 0)
        ctx.set(sender.bytes.valid, 1)
        clocks = 0
        while ctx.get(sender.tx):
            clocks += 1
            await ctx.tick()
        assert 10 * divisor <= clocks <= 11 * divisor

    simulate(sender, bench)
