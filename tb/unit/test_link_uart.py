"""The UART: sender and receiver, line to line."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import Component, In, Out
from tb.unit.streams import collect_pulses, send, simulate

from qstep_rtl.uart import UartReceiver, UartSender

pytestmark = pytest.mark.unit


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
