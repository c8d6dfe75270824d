"""At any pace, answers match the frames that the driver expects byte for byte."""

import random
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tb.unit.streams import PACES, collect, send, simulate

from qstep.device.link.frames import encode_frame
from qstep.spec.config import Config
from qstep.spec.protocol import ANSWER, ANSWERS, COMMON, PROTOCOL_VERSION, Request, StatusCode
from qstep_rtl.responder import Responder

pytestmark = pytest.mark.unit

CONFIG = Config(states=25, actions=3)
ROUNDS = 6

CASES = [
    (Request.HELLO, StatusCode.OK, 0),
    (Request.HELLO, StatusCode.BAD_LENGTH, 0),
    (Request.STATUS, StatusCode.OK, 0),
    (Request.STATUS, StatusCode.STALE_EPOCH, 0),
    (Request.READ, StatusCode.OK, 59),
    (Request.READ, StatusCode.OUT_OF_RANGE, 0),
    (Request.COUNTERS, StatusCode.OK, 56),
    (Request.COUNTERS, StatusCode.GAP, 0),
    (Request.APPLY_CODED, StatusCode.OK, 0),
    (0x7F, StatusCode.BAD_TYPE, 0),
]
"""Type, status, and number of data bytes of each answer."""


def hello(build: int, digest: int, nonce: int) -> bytes:
    return ANSWERS[Request.HELLO].pack(
        PROTOCOL_VERSION,
        int.from_bytes(bytes.fromhex(CONFIG.digest)[:8], "little"),
        *(CONFIG.states, CONFIG.actions, CONFIG.format.integer, CONFIG.format.fraction),
        *(CONFIG.link.buffer_bytes, build, digest, nonce),
    )


@pytest.mark.parametrize(("idle", "stall"), PACES)
def test_answers_are_the_frames_of_the_document(idle: float, stall: float) -> None:
    responder, rng = Responder(CONFIG), random.Random(8)
    line: list[int] = []
    frames = b"\0"
    given: list[tuple[Any, bytes]] = []  # streams, and their data

    async def stream(ctx: Any) -> None:
        paces = random.Random(6)
        while True:
            while given:
                await send(ctx, *given.pop(0), paces, idle)
            await ctx.tick()

    def answers(
        values: dict[str, int], cases: Sequence[tuple[int, int, int]]
    ) -> Iterator[dict[str, int]]:
        """Yield the answers requested from the responder, and record the expected frames."""
        nonlocal frames
        for kind, status, size in cases:
            data, seq = rng.randbytes(size), rng.getrandbits(16)
            given.append((responder.totals if kind == Request.COUNTERS else responder.values, data))
            if status == StatusCode.OK and kind == Request.HELLO:
                data = hello(values["build"], values["digest"], values["nonce"])
            if status == StatusCode.OK and kind == Request.STATUS:
                data = struct.pack("<III", *(values[x] for x in ("digest", "noise_x", "noise_w")))
            common = COMMON.pack(status, values["expected"], values["applied"])
            frames += encode_frame(kind ^ ANSWER, seq, values["epoch"], common + data)
            yield {"type": kind, "seq": seq, "status": status, "data_bytes": size}

    async def bench(ctx: Any) -> None:
        values: dict[str, int] = {}
        for number in range(ROUNDS):
            for of, names in (
                (responder.session, ("epoch", "expected", "nonce")),
                (responder, ("applied", "digest", "build", "noise_x", "noise_w")),
            ):
                for name in names:
                    mask = (1 << len(getattr(of, name))) - 1
                    if number % 2 == 0:  # each bit changes in the next round
                        values[name] = rng.randint(0, mask)
                    else:
                        values[name] ^= mask
                    ctx.set(getattr(of, name), values[name])
            sizes = (0x2A, 700 if stall else 0x3FD5)
            cases = CASES if number else [(Request.READ, StatusCode.OK, size) for size in sizes]
            await send(ctx, responder.answers, answers(values, cases), random.Random(5), idle)
            await ctx.tick().until(responder.idle)

    simulate(responder, bench, stream, collect(responder.line, random.Random(7), stall, line))
    assert bytes(line) == frames


@pytest.mark.slow
def test_an_answer_may_begin_while_the_last_byte_of_another_waits() -> None:
    responder, frames = Responder(CONFIG), b"\0"
    answers: list[dict[str, int]] = []
    line: list[int] = []
    for number in range(40):
        size = number % 2 * 56
        answers.append({"type": Request.COUNTERS, "status": StatusCode.OK, "data_bytes": size})
        common = COMMON.pack(StatusCode.OK, 0, 0)
        frames += encode_frame(Request.COUNTERS ^ ANSWER, 0, 0, common + bytes(size))

    async def bench(ctx: Any) -> None:
        ctx.set(responder.totals.valid, 1)
        await send(ctx, responder.answers, iter(answers), random.Random(1), 0.0)
        await ctx.tick().until(responder.idle)

    simulate(responder, bench, collect(responder.line, random.Random(2), 0.9, line))
    assert bytes(line) == frames
