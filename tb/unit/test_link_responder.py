"""Answers are the frames that the driver expects, byte for byte, whatever the pace."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest
from tb.unit.streams import PACES, collect, send, simulate

from qstep.config import Config
from qstep.link.frames import encode_frame
from qstep.protocol import ANSWER, ANSWERS, COMMON, PROTOCOL_VERSION, Request, StatusCode
from qstep_rtl.responder import Responder

pytestmark = pytest.mark.unit

CONFIG = Config(states=25, actions=3)
EPOCH, EXPECTED, APPLIED, DIGEST, NONCE = 0x00C0FFEE, 0x1234, 1 << 40, 0xDEADBEEF, 77
X, W, BUILD = 3, 0xFFFFFFFF, 0x0123456789ABCDEF

HELLO = ANSWERS[Request.HELLO].pack(
    PROTOCOL_VERSION,
    int.from_bytes(bytes.fromhex(CONFIG.digest)[:8], "little"),
    *(CONFIG.states, CONFIG.actions, CONFIG.format.integer, CONFIG.format.fraction),
    *(CONFIG.link.buffer_bytes, BUILD, DIGEST, NONCE),
)
FIXED = {Request.HELLO: HELLO, Request.STATUS: struct.pack("<III", DIGEST, X, W)}

CASES = [
    (Request.HELLO, StatusCode.OK, b""),
    (Request.HELLO, StatusCode.BAD_LENGTH, b""),
    (Request.STATUS, StatusCode.OK, b""),
    (Request.STATUS, StatusCode.STALE_EPOCH, b""),
    (Request.READ, StatusCode.OK, bytes(range(1, 60))),
    (Request.READ, StatusCode.OUT_OF_RANGE, b""),
    (Request.COUNTERS, StatusCode.OK, bytes(56)),
    (Request.COUNTERS, StatusCode.GAP, b""),
    (Request.APPLY_CODED, StatusCode.OK, b""),
    (0x7F, StatusCode.BAD_TYPE, b""),
]


@pytest.mark.parametrize(("idle", "stall"), PACES)
def test_answers_are_the_frames_of_the_document(idle: float, stall: float) -> None:
    responder = Responder(CONFIG)
    line: list[int] = []

    async def stream(ctx: Any) -> None:
        rng = random.Random(6)
        for kind, _, data in CASES:
            source = responder.totals if kind == Request.COUNTERS else responder.values
            await send(ctx, source, data, rng, idle)

    async def bench(ctx: Any) -> None:
        session = responder.session
        for register, value in (
            *((session.epoch, EPOCH), (session.expected, EXPECTED), (session.nonce, NONCE)),
            *((responder.applied, APPLIED), (responder.digest, DIGEST), (responder.build, BUILD)),
            *((responder.noise_x, X), (responder.noise_w, W)),
        ):
            ctx.set(register, value)
        starts = [
            {"type": kind, "seq": at, "status": status, "data_bytes": len(data)}
            for at, (kind, status, data) in enumerate(CASES)
        ]
        await send(ctx, responder.answers, starts, random.Random(5), idle)
        await ctx.tick().until(responder.idle)

    simulate(responder, bench, stream, collect(responder.line, random.Random(7), stall, line))
    common = COMMON.pack
    assert bytes(line) == b"\0" + b"".join(
        encode_frame(
            kind ^ ANSWER,
            at,
            EPOCH,
            common(status, EXPECTED, APPLIED)
            + (data or (FIXED.get(kind, b"") if status == StatusCode.OK else b"")),
        )
        for at, (kind, status, data) in enumerate(CASES)
    )
