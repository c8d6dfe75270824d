"""The handlers of settings accept what is in the link's ranges, and set nothing else."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from tb.unit.streams import simulate

from qstep.config import Config
from qstep.fixed import COEFFICIENT_ONE
from qstep.protocol import LEAST_DIVISOR, Request, StatusCode
from qstep_rtl.handle_rate import RateHandler
from qstep_rtl.handle_settings import SettingsHandler

pytestmark = pytest.mark.unit

CONFIG = Config(states=25, actions=3)
OK, OUT_OF_RANGE = StatusCode.OK, StatusCode.OUT_OF_RANGE


def judged(
    handler: SettingsHandler | RateHandler, request: Request, payloads: list[bytes]
) -> list[bool]:
    """Hand over several requests of one type; return which of them are carried out."""
    out = []
    port = handler.request

    async def bench(ctx: Any) -> None:
        ctx.set(port.type, request)
        for payload in payloads:
            ctx.set(port.fields.as_value(), int.from_bytes(payload, "little"))
            ctx.set(port.start, 1)
            await ctx.tick()
            ctx.set(port.start, 0)
            await ctx.tick().until(~port.busy)
            status = StatusCode(ctx.get(port.status))
            assert status in (OK, OUT_OF_RANGE)
            out.append(status == OK)

    simulate(handler, bench)
    return out


def test_configure_takes_a_kappa_up_to_alpha_and_an_alpha_up_to_one() -> None:
    one = COEFFICIENT_ONE
    edges = (0, 1, 255, 256, 257, one - 1, one, one + 1, 65535)
    cases = [(alpha, kappa, rounding) for alpha in edges for kappa in edges for rounding in (0, 2)]
    cases += [(one, one, rounding) for rounding in (1, 3, 4, 255)]
    payloads = [struct.pack("<HHB", *case) for case in cases]
    assert judged(SettingsHandler(CONFIG), Request.CONFIGURE, payloads) == [
        alpha <= one and kappa <= alpha and rounding <= 2 for alpha, kappa, rounding in cases
    ]


def test_noise_takes_every_x_but_zero() -> None:
    cases = [0, *(1 << bit for bit in range(32)), 2**32 - 1]
    payloads = [struct.pack("<II", x, w) for x in cases for w in (0, 1)]
    taken = judged(SettingsHandler(CONFIG), Request.NOISE, payloads)
    assert taken == [x != 0 for x in cases for _ in range(2)]


def test_baud_takes_a_divisor_from_eight_up() -> None:
    cases = (0, 1, 4, 7, 8, 9, 255, 256, 32768, 65535)
    payloads = [struct.pack("<H", divisor) for divisor in cases]
    taken = judged(RateHandler(CONFIG), Request.BAUD, payloads)
    assert taken == [divisor >= 8 for divisor in cases]


def test_a_rate_is_set_when_its_answer_has_left_and_a_break_puts_it_back() -> None:
    handler = RateHandler(CONFIG)
    port = handler.request

    async def bench(ctx: Any) -> None:
        before = CONFIG.link.divisor
        for divisor in (0x5555, 0xAAAA, 7, 0x5555):
            ctx.set(port.fields.as_value(), divisor)
            ctx.set(port.start, 1)
            await ctx.tick()
            ctx.set(port.start, 0)
            legal = divisor >= LEAST_DIVISOR
            assert StatusCode(ctx.get(port.status)) == (OK if legal else OUT_OF_RANGE)
            assert ctx.get(port.lingers) == legal
            if legal:
                ctx.set(port.answered, 1)
                await ctx.tick()
                ctx.set(port.answered, 0)
                await ctx.tick().repeat(9)
                assert (ctx.get(handler.divisor), ctx.get(port.lingers)) == (before, 1)
                ctx.set(handler.quiet, 1)
                await ctx.tick()
                ctx.set(handler.quiet, 0)
                before = divisor
            assert (ctx.get(handler.divisor), ctx.get(port.lingers)) == (before, 0)
        ctx.set(handler.line_break, 1)
        await ctx.tick()
        assert ctx.get(handler.divisor) == CONFIG.link.divisor

    simulate(handler, bench)


def test_settings_are_the_last_ones_in_range_and_a_refused_request_changes_none() -> None:
    handler = SettingsHandler(CONFIG)
    settings, port = handler.settings, handler.request
    seen = []

    async def carry_out(ctx: Any, request: Request, payload: bytes) -> None:
        ctx.set(port.type, request)
        ctx.set(port.fields.as_value(), int.from_bytes(payload, "little"))
        ctx.set(port.start, 1)
        await ctx.tick()
        ctx.set(port.start, 0)
        loaded = 0
        for _ in range(5):
            loaded += ctx.get(settings.noise_load)
            await ctx.tick()
        held = tuple(ctx.get(getattr(settings, name)) for name in ("alpha", "kappa", "rounding"))
        seen.append((held, loaded))

    async def bench(ctx: Any) -> None:
        await carry_out(ctx, Request.CONFIGURE, struct.pack("<HHB", 300, 200, 2))
        await carry_out(ctx, Request.CONFIGURE, struct.pack("<HHB", 300, 301, 0))
        await carry_out(ctx, Request.NOISE, struct.pack("<II", 0, 9))
        await carry_out(ctx, Request.NOISE, struct.pack("<II", 9, 0))

    simulate(handler, bench)
    held = (300, 200, 2)
    assert seen == [(held, 0), (held, 0), (held, 0), (held, 1)]
