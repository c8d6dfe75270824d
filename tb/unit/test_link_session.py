"""The session carries out each number once."""

from __future__ import annotations

from typing import Any

import pytest
from tb.unit.streams import simulate

from qstep.protocol import StatusCode
from qstep_rtl.session import Session

pytestmark = pytest.mark.unit


def verdicts(seqs: list[int], repeatable: bool) -> list[tuple[StatusCode, int]]:
    """Open a session, judge and finish requests; return verdicts and what was expected then."""
    session = Session()
    out = []

    async def bench(ctx: Any) -> None:
        await ctx.tick()
        ctx.set(session.greet_nonce, 77)
        await ctx.tick()
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
        await ctx.tick()
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
