"""Each frame gets one answer, in order, with the first check that fails; nothing is left behind."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest
from tb.unit.streams import PACES, collect, send, simulate

from qstep.config import Config
from qstep.protocol import HEADER, Request, StatusCode
from qstep_rtl.commands import Commands

pytestmark = pytest.mark.unit

CONFIG = Config(states=25, actions=3)
EPOCH = 5 ^ 2  # of the first session: the reset counts as one
OK, GAP, STALE = StatusCode.OK, StatusCode.GAP, StatusCode.STALE_EPOCH


def frame(kind: int, seq: int, payload: bytes = b"", epoch: int = EPOCH) -> bytes:
    """Return the part of a frame that the receiver passes on."""
    return HEADER.pack(kind, seq, epoch, len(payload)) + payload


CONVERSATION = [
    (frame(Request.STATUS, 0), STALE),
    (frame(Request.HELLO, 0, b"abc", 0), StatusCode.BAD_LENGTH),
    (frame(Request.HELLO, 0, struct.pack("<I", 5), 0), OK),
    (frame(Request.CLEAR, 0, b"", EPOCH ^ 1), STALE),
    (frame(Request.CLEAR, 0), OK),
    (frame(Request.CLEAR, 0), StatusCode.DUPLICATE),
    (frame(Request.APPLY_RAW, 2, b"xyz"), GAP),
    (frame(Request.APPLY_RAW, 1, b"xyz"), OK),
    (frame(Request.APPLY_CODED, 2), OK),
    (frame(Request.LOAD, 3, struct.pack("<HBhh", 1, 1, 2, 3)), OK),
    (frame(Request.STATUS, 4), OK),
    (frame(Request.STATUS, 4), OK),
    (frame(Request.COUNTERS, 5), OK),
    (frame(Request.READ, 6, struct.pack("<HBH", 0, 0, 3)), OK),
    (frame(Request.NOISE, 7, struct.pack("<II", 1, 2)), OK),
    (frame(Request.CONFIGURE, 8, struct.pack("<HHB", 1, 2, 0)), StatusCode.OUT_OF_RANGE),
    (frame(Request.STATUS, 9), StatusCode.OUT_OF_RANGE),
    (frame(Request.HELLO, 0, struct.pack("<I", 6), 0), OK),
    (frame(0x20, 0, b"what is it?", 6 ^ 3), StatusCode.BAD_TYPE),
    (frame(Request.APPLY_RAW, 1, b"x" * 40, 6 ^ 3), StatusCode.BAD_TYPE),
]


class Neighbours:
    """The surroundings of the commands: they take every byte, and are busy for some clocks."""

    def __init__(self, commands: Commands) -> None:
        self.commands = commands
        self.taken = bytearray()
        """Payloads that reached the decoder of records and the tables."""

    async def access(self, ctx: Any) -> None:
        access = self.commands.access
        ctx.set(self.commands.records.bytes.ready, 1)
        while True:
            *_, check, move = await ctx.tick().sample(access.check, access.move)
            ctx.set(access.busy, 1 if check or move else 0)
            if move and ctx.get(access.payload_bytes):
                while ctx.get(access.payload_bytes):
                    await self.take(ctx, access.values)
            elif check or move:
                await ctx.tick().repeat(3)
            ctx.set(access.busy, 0)

    async def take(self, ctx: Any, stream: Any) -> None:
        _, _, valid, byte = await ctx.tick().sample(stream.valid, stream.payload)
        if valid:
            self.taken.append(byte)

    async def records(self, ctx: Any) -> None:
        while True:
            await self.take(ctx, self.commands.records.bytes)


@pytest.mark.parametrize(("idle", "stall"), PACES)
def test_each_frame_gets_one_answer_with_the_first_check_that_fails(
    idle: float, stall: float
) -> None:
    commands = Commands(CONFIG)
    around = Neighbours(commands)
    answers: list[Any] = []

    async def bench(ctx: Any) -> None:
        ctx.set(commands.quiet, 1)
        data = b"".join(sent for sent, _ in CONVERSATION)
        await send(ctx, commands.bytes, data, random.Random(8), idle)
        await ctx.tick().repeat(40)

    watch = collect(commands.answers, random.Random(9), stall, answers)
    simulate(commands, bench, watch, around.access, around.records)
    kinds = [HEADER.unpack(sent)[:2] for sent, _ in CONVERSATION]
    assert [(answer.type, answer.seq) for answer in answers] == kinds
    assert [answer.status for answer in answers] == [status for _, status in CONVERSATION]
    assert bytes(around.taken) == b"xyz" + struct.pack("<hh", 2, 3)


def test_all_but_apply_wait_until_all_is_quiet_and_a_rate_until_its_answer_has_left() -> None:
    commands = Commands(CONFIG)
    around = Neighbours(commands)
    answers: list[Any] = []
    divisors = []

    async def bench(ctx: Any) -> None:
        ctx.set(commands.quiet, 1)
        hello = frame(Request.HELLO, 0, struct.pack("<I", 5), 0)
        await send(ctx, commands.bytes, hello, random.Random(8), 0.0)
        await ctx.tick().repeat(20)
        ctx.set(commands.quiet, 0)
        await send(ctx, commands.bytes, frame(Request.APPLY_RAW, 0, b"xy"), random.Random(8), 0.0)
        await ctx.tick().repeat(20)
        assert len(answers) == 2
        baud = frame(Request.BAUD, 1, struct.pack("<H", 99))
        await send(ctx, commands.bytes, baud[: HEADER.size], random.Random(8), 0.0)
        await ctx.tick().repeat(20)
        assert not ctx.get(commands.bytes.ready)
        ctx.set(commands.quiet, 1)
        await send(ctx, commands.bytes, baud[HEADER.size :], random.Random(8), 0.0)
        ctx.set(commands.quiet, 0)
        await ctx.tick().repeat(20)
        assert len(answers) == 3
        divisors.append(ctx.get(commands.divisor))
        assert not ctx.get(commands.bytes.ready)
        ctx.set(commands.quiet, 1)
        await ctx.tick().until(commands.bytes.ready)
        divisors.append(ctx.get(commands.divisor))
        ctx.set(commands.line_break, 1)
        await ctx.tick()
        divisors.append(ctx.get(commands.divisor))

    watch = collect(commands.answers, random.Random(9), 0.0, answers)
    simulate(commands, bench, watch, around.access, around.records)
    assert [answer.status for answer in answers] == [OK] * 3
    assert divisors == [CONFIG.link.divisor, 99, CONFIG.link.divisor]
