"""Arguments are where the link says, and in range as it says."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from tb.unit.streams import simulate

from qstep.fixed import COEFFICIENT_ONE
from qstep.protocol import ARGUMENTS, Request
from qstep_rtl.arguments import Arguments

pytestmark = pytest.mark.unit


def judged(request: Request, payloads: list[bytes]) -> list[bool]:
    """Hand over the arguments of several requests of one type; return what is said of each."""
    arguments = Arguments()
    out = []

    async def bench(ctx: Any) -> None:
        ctx.set(arguments.request, request)
        for payload in payloads:
            assert len(payload) == ARGUMENTS[request].size
            for index, byte in enumerate(payload):
                ctx.set(arguments.index, index)
                ctx.set(arguments.byte, byte)
                ctx.set(arguments.take, 1)
                await ctx.tick()
            ctx.set(arguments.take, 0)
            held = ctx.get(arguments.fields.as_value())
            assert held.to_bytes(8, "little")[: len(payload)] == payload
            ctx.set(arguments.check, 1)
            await ctx.tick()
            ctx.set(arguments.check, 0)
            await ctx.tick()
            out.append(bool(ctx.get(arguments.in_range)))

    simulate(arguments, bench)
    return out


def test_configure_takes_a_kappa_up_to_alpha_and_an_alpha_up_to_one() -> None:
    one = COEFFICIENT_ONE
    edges = (0, 1, 255, 256, 257, one - 1, one, one + 1, 65535)
    cases = [(alpha, kappa, rounding) for alpha in edges for kappa in edges for rounding in (0, 2)]
    cases += [(one, one, rounding) for rounding in (1, 3, 4, 255)]
    assert judged(Request.CONFIGURE, [struct.pack("<HHB", *case) for case in cases]) == [
        alpha <= one and kappa <= alpha and rounding <= 2 for alpha, kappa, rounding in cases
    ]


def test_noise_takes_every_x_but_zero() -> None:
    cases = [0, *(1 << bit for bit in range(32)), 2**32 - 1]
    payloads = [struct.pack("<II", x, w) for x in cases for w in (0, 1)]
    assert judged(Request.NOISE, payloads) == [x != 0 for x in cases for _ in range(2)]


def test_baud_takes_a_divisor_from_eight_up() -> None:
    cases = (0, 1, 4, 7, 8, 9, 255, 256, 32768, 65535)
    payloads = [struct.pack("<H", divisor) for divisor in cases]
    assert judged(Request.BAUD, payloads) == [divisor >= 8 for divisor in cases]
