"""A session executes each sequence number only once, and executes nothing after a refusal."""

import random
from dataclasses import dataclass
from typing import Any

import pytest
from amaranth import Signal
from tb.unit.streams import simulate

from qstep.spec.protocol import REFUSALS, StatusCode
from qstep_rtl.session import Session

pytestmark = pytest.mark.unit

OK, DUPLICATE, GAP = StatusCode.OK, StatusCode.DUPLICATE, StatusCode.GAP
STALE = StatusCode.STALE_EPOCH


async def greet(ctx: Any, session: Session, nonce: int) -> int:
    """Execute a HELLO, and return the epoch."""
    ctx.set(session.greet_nonce, nonce)
    await ctx.tick()
    ctx.set(session.greet, 1)
    await ctx.tick()
    ctx.set(session.greet, 0)
    await ctx.tick()
    return int(ctx.get(session.epoch))


async def judge(ctx: Any, session: Session, epoch: int, seq: int = 0) -> StatusCode:
    """Return the session's verdict on a request."""
    ctx.set(session.compare, 1)
    for position, byte in enumerate(epoch.to_bytes(4, "little")):
        ctx.set(session.position, position)
        ctx.set(session.byte, byte)
        await ctx.tick()
    ctx.set(session.compare, 0)
    ctx.set(session.seq, seq)
    ctx.set(session.judge, 1)
    await ctx.tick()
    ctx.set(session.judge, 0)
    await ctx.tick()
    return StatusCode(int(ctx.get(session.verdict)))


async def finish(ctx: Any, session: Session, status: StatusCode) -> int:
    """Complete the judged request; return the sequence number that is expected next."""
    ctx.set(session.status, status)
    ctx.set(session.finish, 1)
    await ctx.tick()
    ctx.set(session.finish, 0)
    return int(ctx.get(session.expected))


@dataclass
class Rules:
    """A model of the session rules in ``docs/link.md``."""

    sessions: int = 1  # number of sessions and resets, modulo 2^16
    nonce: int | None = None  # nonce of the open session
    expected: int = 0
    halted: StatusCode = OK

    def epoch(self) -> int:
        return (self.nonce or 0) ^ self.sessions

    def reset(self) -> None:
        self.sessions, self.nonce = (self.sessions + 1) % (1 << 16), None
        self.expected, self.halted = 0, OK

    def greet(self, nonce: int) -> None:
        if nonce != self.nonce:
            self.sessions, self.nonce = (self.sessions + 1) % (1 << 16), nonce
            self.expected, self.halted = 0, OK

    def judge(self, epoch: int, seq: int, is_hello: bool, repeatable: bool) -> StatusCode:
        if is_hello:
            return OK
        if self.nonce is None or epoch != self.epoch():
            return STALE
        if self.halted != OK:
            return self.halted
        behind = (self.expected - seq) % (1 << 16)
        if behind == 0 or (behind == 1 and repeatable):
            return OK
        return DUPLICATE if behind < 1 << 15 else GAP

    def finish(self, epoch: int, seq: int, is_hello: bool, status: StatusCode) -> None:
        verdict = self.judge(epoch, seq, is_hello, repeatable=False)
        if is_hello or verdict not in (OK, DUPLICATE, GAP):
            return
        if verdict == OK:
            self.expected = (self.expected + 1) % (1 << 16)
        if status in REFUSALS:
            self.halted = status


def test_any_requests_greetings_and_resets_are_judged_by_the_rules() -> None:
    session, reset, rng = Session(), Signal(), random.Random(3)
    rules = Rules()

    async def request(ctx: Any) -> None:
        flips = rng.choice([0, 0, 0, 0, 0, 1 << rng.randrange(32), rng.getrandbits(32)])
        epoch = int(ctx.get(session.epoch)) ^ flips
        bit, half = 1 << rng.randrange(16), 1 << 15
        away = rng.choice(
            [0] * 5 + [-1, -1, 1, -2, half - 1, half, half + 1, bit, -1 ^ bit, -1 ^ bit]
        )
        seq = rng.choice([(rules.expected + away) % (1 << 16)] * 9 + [rng.getrandbits(16)])
        is_hello, repeatable = rng.random() < 0.1, rng.random() < 0.5
        ctx.set(session.is_hello, is_hello)
        ctx.set(session.repeatable, repeatable)
        verdict = await judge(ctx, session, epoch, seq)
        assert verdict == rules.judge(epoch, seq, is_hello, repeatable)
        for _ in range(rng.choice([0, 0, 2])):
            ctx.set(session.byte, rng.getrandbits(8))
            ctx.set(session.seq, rng.getrandbits(16))
            await ctx.tick()
        if is_hello and rng.random() < 0.3:
            nonce = rng.choice([rules.nonce or 0, 0, (rules.nonce or 0) ^ 1 << rng.randrange(32)])
            rules.greet(nonce)
            assert await greet(ctx, session, nonce) == rules.epoch()
        status = verdict if verdict != OK else rng.choice([OK] * 5 + [rng.choice(list(StatusCode))])
        rules.finish(epoch, seq, is_hello, status)
        assert await finish(ctx, session, status) == rules.expected

    async def bench(ctx: Any) -> None:
        await ctx.tick()
        for _ in range(2500):
            what = rng.random()
            if what < 0.02:
                ctx.set(reset, 1)
                for _ in range(rng.choice([1, 3])):
                    await ctx.tick()
                ctx.set(reset, 0)
                await ctx.tick()
                rules.reset()
            elif what < 0.1:
                nonce = rng.choice([rules.nonce or 0, rng.getrandbits(32)])
                rules.greet(nonce)
                assert await greet(ctx, session, nonce) == rules.epoch()
            assert int(ctx.get(session.expected)) == rules.expected
            await request(ctx)

    simulate(session, bench, reset=reset)


@pytest.mark.parametrize("bits", [11, pytest.param(16, marks=pytest.mark.release)])
def test_numbers_and_sessions_are_counted_to_every_bit(bits: int) -> None:
    session, reset = Session(), Signal()

    async def bench(ctx: Any) -> None:
        await ctx.tick()
        epoch = await greet(ctx, session, 1)
        assert await judge(ctx, session, epoch) == OK
        for following in range(1, (1 << bits) + 1):
            assert await finish(ctx, session, OK) == following % (1 << 16)
            ctx.set(session.seq, following)
            ctx.set(session.judge, 1)
            await ctx.tick()
            ctx.set(session.judge, 0)
            await ctx.tick()
        count = 2
        while count <= 1 << bits:
            if count % 64 == 0:
                ctx.set(reset, 1)
                await ctx.tick()
                ctx.set(reset, 0)
                await ctx.tick()
                count += 1
            count += 1
            nonce = ~count & 1
            epoch = await greet(ctx, session, nonce)
            assert epoch == nonce ^ count % (1 << 16)
            if count % 64 == 32:
                assert await greet(ctx, session, nonce) == epoch

    simulate(session, bench, reset=reset)
