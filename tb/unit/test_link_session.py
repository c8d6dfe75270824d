"""The session carries out each number once, and nothing after a refusal."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest
from amaranth import Signal
from tb.unit.streams import simulate

from qstep.protocol import REFUSALS, StatusCode
from qstep_rtl.session import Session

pytestmark = pytest.mark.unit

OK, DUPLICATE, GAP = StatusCode.OK, StatusCode.DUPLICATE, StatusCode.GAP
STALE = StatusCode.STALE_EPOCH


async def greet(ctx: Any, session: Session, nonce: int) -> int:
    """Carry out a HELLO; return the epoch."""
    ctx.set(session.greet_nonce, nonce)
    await ctx.tick()
    ctx.set(session.greet, 1)
    await ctx.tick()
    ctx.set(session.greet, 0)
    await ctx.tick()
    return int(ctx.get(session.epoch))


async def judge(ctx: Any, session: Session, epoch: int, seq: int = 0) -> StatusCode:
    """Return the verdict on a request."""
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
    """Answer the judged request; return the number that is expected next."""
    ctx.set(session.status, status)
    ctx.set(session.finish, 1)
    await ctx.tick()
    ctx.set(session.finish, 0)
    return int(ctx.get(session.expected))


def verdicts(
    seqs: list[int], repeatable: bool = False, refusals: dict[int, StatusCode] | None = None
) -> list[tuple[StatusCode, int]]:
    """Open a session, judge and finish requests; return each verdict and the number expected next.

    The requests at the indices in `refusals` are refused, unless the session already rejects them.
    """
    session = Session()
    out = []

    async def bench(ctx: Any) -> None:
        await ctx.tick()
        epoch = await greet(ctx, session, 77)
        ctx.set(session.repeatable, repeatable)
        for at, seq in enumerate(seqs):
            verdict = await judge(ctx, session, epoch, seq)
            status = (refusals or {}).get(at, verdict) if verdict == OK else verdict
            out.append((verdict, await finish(ctx, session, status)))

    simulate(session, bench)
    return out


def test_session_carries_out_each_number_once() -> None:
    assert verdicts([0, 1, 1, 0, 3, 2, 2 + 32768, 4 + 65536 - 32768]) == [
        (OK, 1),
        (OK, 2),
        (DUPLICATE, 2),
        (DUPLICATE, 2),
        (GAP, 2),
        (OK, 3),
        (GAP, 3),
        (DUPLICATE, 3),
    ]


def test_session_repeats_only_the_latest_reading_request() -> None:
    assert verdicts([0, 1, 1, 0], repeatable=True) == [(OK, 1), (OK, 2), (OK, 2), (DUPLICATE, 2)]
    almost = [(2 + (0xFFFF ^ 1 << bit)) % 65536 for bit in range(16)]
    found = verdicts([0, 1, *almost], repeatable=True)
    assert found == [(OK, 1), (OK, 2), *[(DUPLICATE, 2)] * 15, (GAP, 2)]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.name)
def test_session_says_after_a_refusal_only_how_it_was_refused(refusal: StatusCode) -> None:
    for repeatable in (False, True):
        seqs = [0, 1, 1, 2, 0, 9, 65535, 2]
        found = verdicts(seqs, repeatable, {1: refusal})
        assert found == [(OK, 1), (OK, 2), *[(refusal, 2)] * 6]


@pytest.mark.parametrize(
    "status", sorted(set(StatusCode) - set(REFUSALS)), ids=lambda one: one.name
)
def test_session_goes_on_after_an_answer_that_is_no_refusal(status: StatusCode) -> None:
    assert verdicts([0, 1], refusals={0: status}) == [(OK, 1), (OK, 2)]


def test_a_nonce_that_differs_in_one_bit_opens_another_session() -> None:
    session = Session()

    async def bench(ctx: Any) -> None:
        await ctx.tick()
        nonce = 0xDEADBEEF
        await greet(ctx, session, nonce)
        for bit in range(32):
            nonce ^= 1 << bit
            assert await greet(ctx, session, nonce) == nonce ^ bit + 3

    simulate(session, bench)


def test_new_session_goes_on_after_a_refusal_and_a_repeated_hello_does_not() -> None:
    session = Session()

    async def bench(ctx: Any) -> None:
        await ctx.tick()
        first = await greet(ctx, session, 5)
        assert await judge(ctx, session, first) == OK
        assert await finish(ctx, session, StatusCode.OUT_OF_RANGE) == 1
        assert await greet(ctx, session, 5) == first
        assert await judge(ctx, session, first) == StatusCode.OUT_OF_RANGE
        second = await greet(ctx, session, 6)
        assert await judge(ctx, session, second) == OK
        assert await judge(ctx, session, first) == STALE

    simulate(session, bench)


def test_epoch_is_the_nonce_with_the_count_of_sessions_mixed_in() -> None:
    session = Session()

    async def bench(ctx: Any) -> None:
        await ctx.tick()
        assert await judge(ctx, session, int(ctx.get(session.epoch))) == STALE, "no session is open"
        # The reset at power-up is the first count. Repeats do not count.
        for count, nonce in enumerate((0, 1, 0xDEADBEEF, 0), start=2):
            for _ in range(2):
                epoch = await greet(ctx, session, nonce)
                assert epoch == nonce ^ count
            assert await judge(ctx, session, epoch) == OK
            for bit in range(32):
                assert await judge(ctx, session, epoch ^ 1 << bit) == STALE

    simulate(session, bench)


@dataclass
class Rules:
    """What ``docs/link.md`` says of sessions, in a few lines."""

    sessions: int = 1  # and resets, modulo 2^16
    nonce: int | None = None  # of the session that is open
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
        away = rng.choice(
            [0, 0, 0, 0, -1, -1, 1, -2, 1 << 15, (1 << 15) - 1, 1 << rng.randrange(16)]
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
        status = (
            verdict if verdict != OK else rng.choice([OK, OK, OK, OK, OK, rng.choice(REFUSALS)])
        )
        rules.finish(epoch, seq, is_hello, status)
        assert await finish(ctx, session, status) == rules.expected

    async def bench(ctx: Any) -> None:
        await ctx.tick()
        for _ in range(1500):
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
