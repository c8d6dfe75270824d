"""Each frame is consumed whole and gets one answer, which reports the first failed check, if any."""

import random
import struct
from collections.abc import Callable
from typing import Any

import pytest
from amaranth import Signal
from tb.unit.commands_neighbours import Neighbours
from tb.unit.commands_servants import Pace
from tb.unit.conversations import Exchange, Talk, body_of
from tb.unit.streams import PACES, collect, send, simulate

from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep.spec.memory_map import Region
from qstep.spec.protocol import ARGUMENTS, Request, StatusCode, max_words, requests_of
from qstep_rtl.commands import Commands

pytestmark = pytest.mark.unit

CONFIG = Config(states=25, actions=3)


async def cut_off(
    ctx: Any, commands: Commands, reset: Signal, frame: bytes, rng: random.Random
) -> None:
    """Reset ``Commands`` in the middle of a frame or of its execution."""
    stream = commands.bytes
    ctx.set(commands.quiet, 1)
    ctx.set(stream.valid, 1)
    for byte in frame:
        ctx.set(stream.payload, byte)
        for _ in range(20):
            if (await ctx.tick().sample(stream.ready))[2]:
                break
    await ctx.tick().repeat(rng.randint(1, 20))
    ctx.set(reset, 1)
    for _ in range(rng.randint(1, 2)):
        await ctx.tick()
    ctx.set(stream.valid, 0)
    ctx.set(reset, 0)


def expected_clocks(exchange: Exchange) -> int:
    """Return the clocks from the last byte to the answer if all other blocks respond in one clock."""
    clocks = 4
    if exchange.is_executed:
        clocks += exchange.status != StatusCode.OK  # the remaining payload is dropped
        clocks += exchange.kind in (Request.CONFIGURE, Request.NOISE)
    if exchange.is_of_tables:
        clocks += 3
        if exchange.kind in (Request.REWARDS, Request.LOAD) and exchange.succeeds:
            clocks += 4 if exchange.values else 3
    return clocks


@pytest.mark.parametrize(("idle", "stall"), PACES)
def test_commands_do_what_each_frame_says_and_nothing_else(idle: float, stall: float) -> None:
    commands, reset, talk = Commands(CONFIG), Signal(), Talk(CONFIG, 13 if stall else 18)
    pace = Pace(random.Random(2), idle, stall)
    exchanges: list[Exchange] = []

    async def bench(ctx: Any) -> None:
        for _ in range(4):
            around = Neighbours(ctx, commands, CONFIG, pace)
            said = talk.conversation(40)
            exchanges.extend(said)
            await around.converse(said)
            if not stall:
                for exchange, clocks in around.clocks:
                    assert clocks == len(exchange.body) + expected_clocks(exchange)
            await cut_off(ctx, commands, reset, talk.cut()[:40], pace.rng)

    simulate(commands, bench, reset=reset)
    assert {one.kind for one in exchanges if one.succeeds} == set(requests_of(CONFIG))
    assert {one.status for one in exchanges} == set(StatusCode) - {StatusCode.BUSY}


@pytest.mark.slow
@pytest.mark.parametrize("frames", [Talk.edges, Talk.sessions])
def test_each_type_length_argument_and_session_has_its_edge(
    frames: Callable[[Talk], list[Exchange]],
) -> None:
    commands, talk = Commands(CONFIG), Talk(CONFIG, 3)

    async def bench(ctx: Any) -> None:
        pace = Pace(random.Random(4), 0.0, 0.0)
        await Neighbours(ctx, commands, CONFIG, pace).converse(frames(talk))

    simulate(commands, bench)


def test_an_apply_does_not_wait_until_all_is_quiet_and_others_do() -> None:
    commands = Commands(CONFIG)
    rng = random.Random(5)
    answers: list[Any] = []
    epoch = 5 ^ 2  # of the first session, because the reset counts as a session

    async def give(ctx: Any, kind: Request, seq: int, payload: bytes) -> None:
        body = body_of(kind, seq, epoch, payload)
        await send(ctx, commands.bytes, body, rng, 0.0)
        await ctx.tick().repeat(20)

    async def bench(ctx: Any) -> None:
        ctx.set(commands.quiet, 1)
        await give(ctx, Request.HELLO, 0, struct.pack("<I", 5))
        ctx.set(commands.quiet, 0)
        await give(ctx, Request.APPLY_RAW, 0, b"")
        assert len(answers) == 2
        await give(ctx, Request.STATUS, 1, b"")
        assert len(answers) == 2
        ctx.set(commands.quiet, 1)
        await ctx.tick().repeat(20)

    simulate(commands, bench, collect(commands.answers, rng, 0.0, answers))
    kinds = [(one.type, one.status) for one in answers]
    asked = (Request.HELLO, Request.APPLY_RAW, Request.STATUS)
    assert kinds == [(kind, StatusCode.OK) for kind in asked]


@pytest.mark.release
def test_sessions_and_requests_are_counted_to_every_bit() -> None:
    commands, rng = Commands(CONFIG), random.Random(7)
    answers: list[Any] = []

    async def ask(ctx: Any, kind: Request, seq: int, epoch: int, payload: bytes) -> None:
        answers.clear()
        body = body_of(kind, seq, epoch, payload)
        await send(ctx, commands.bytes, body, rng, 0.0)
        await ctx.tick().until(commands.answers.valid)
        await ctx.tick().repeat(4)
        assert [one.status for one in answers] == [StatusCode.OK]

    async def bench(ctx: Any) -> None:
        ctx.set(commands.quiet, 1)
        for count in range(2, 1 << 13):
            nonce = rng.getrandbits(32)
            await ask(ctx, Request.HELLO, 0, 0, struct.pack("<I", nonce))
            assert ctx.get(commands.session.epoch) == nonce ^ count
        for seq in range(1 << 14):
            await ask(ctx, Request.STATUS, seq, nonce ^ count, b"")
            assert ctx.get(commands.session.expected) == seq + 1

    simulate(commands, bench, collect(commands.answers, rng, 0.0, answers))


@pytest.mark.slow
@pytest.mark.parametrize("world", ["table", "live"])
def test_requests_to_agents_arrive_with_every_bit_and_their_answers_return(world: str) -> None:
    config = Config(9, 4, "Q4.4", acting=Acting(agents=3, world=world))
    commands, rng = Commands(config), random.Random(6)
    agents = commands.agents
    most = max_words(config.link.buffer_bytes)
    answers: list[Any] = []
    data: list[int] = []
    seen: list[tuple[int, int]] = []

    async def core(ctx: Any) -> None:
        """Answer each access with its index as the data word."""
        while True:
            *_, access, region, index = await ctx.tick().sample(
                agents.access, agents.region, agents.index
            )
            if access:
                seen.append((region, index))
                ctx.set(agents.read, index)
                ctx.set(agents.done, 1)
                await ctx.tick()
                ctx.set(agents.done, 0)

    async def ask(ctx: Any, number: int, kind: Request, payload: bytes) -> StatusCode:
        for was in (answers, data, seen):
            was.clear()
        nonce, silent = rng.getrandbits(32), rng.getrandbits(4)
        ctx.set(agents.silent, number % 2)
        ctx.set(agents.silent_agent, silent)
        hello = body_of(Request.HELLO, 0, 0, struct.pack("<I", nonce))
        body = body_of(kind, 0, nonce ^ (number + 2), payload)
        await send(ctx, commands.bytes, hello + body, rng, 0.0)
        while len(answers) < 2 or len(data) < answers[1].data_bytes:
            await ctx.tick()
        if kind == Request.PROGRESS:
            assert data == [0x80 | silent if number % 2 else 0]
        return StatusCode(answers[1].status)

    async def bench(ctx: Any) -> None:
        ctx.set(commands.quiet, 1)
        for number in range(45):
            if world == "table" and number % 3 == 0:
                assert await ask(ctx, number, Request.PROGRESS, b"") == StatusCode.OK
                continue
            index, count = rng.getrandbits(32), rng.choice([rng.randint(1, 9), rng.getrandbits(16)])
            place = (
                rng.choice(list(Region)),
                index,
                rng.randint(1, 255),
                rng.getrandbits(32),
                count,
            )
            where = ARGUMENTS[Request.FETCH].pack(*place)
            if count > most:
                assert await ask(ctx, number, Request.FETCH, where) == StatusCode.OUT_OF_RANGE
            else:
                assert await ask(ctx, number, Request.FETCH, where) == StatusCode.OK
                assert (seen[0], len(seen)) == ((place[0], index % (1 << 30)), count)
                words = struct.pack(f"<{count}I", *(at for _, at in seen))
                assert bytes(data) == words

    watches = (collect(commands.answers, rng, 0.0, answers), collect(commands.data, rng, 0.3, data))
    simulate(commands, bench, core, *watches)
