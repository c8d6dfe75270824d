"""The handler of agents moves the words that the host names, and refuses what is illegal, in order."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest
from tb.unit.streams import collect, send, simulate

from qstep.acting.config import Acting
from qstep.config import Config
from qstep.protocol import Region, Request, StatusCode
from qstep_rtl.handle_agents import AgentsHandler

pytestmark = pytest.mark.unit

CONFIG = Config(states=25, actions=3, acting=Acting(agents=4))
OK, BUSY = StatusCode.OK, StatusCode.BUSY
BAD_LENGTH, OUT_OF_RANGE = StatusCode.BAD_LENGTH, StatusCode.OUT_OF_RANGE


def place(region: int, index: int, run: int, stride: int, count: int) -> bytes:
    return struct.pack("<BIBIH", region, index, run, stride, count)


class Bench:
    """A handler with a core that is a dictionary, and the host's side of requests."""

    def __init__(self) -> None:
        self.handler = AgentsHandler(CONFIG)
        self.words: dict[tuple[int, int], int] = {}
        self.jobs: list[int] = []
        self.stops = 0
        self.data: list[int] = []

    async def core(self, ctx: Any) -> None:
        agents, rng = self.handler.agents, random.Random(2)
        while True:
            *_, access, write, run, stop = await ctx.tick().sample(
                agents.access, agents.write, agents.run, agents.stop
            )
            if run:
                self.jobs.append(ctx.get(agents.steps))
            self.stops += stop
            if access:
                await ctx.tick().repeat(rng.randint(1, 5))
                at = (ctx.get(agents.region), ctx.get(agents.index))
                if write:
                    self.words[at] = ctx.get(agents.word)
                ctx.set(agents.read, self.words.get(at, 0))
                ctx.set(agents.done, 1)
                await ctx.tick()
                ctx.set(agents.done, 0)

    async def request(
        self, ctx: Any, kind: Request, payload: bytes = b"", rest: bytes = b""
    ) -> tuple[StatusCode, bytes]:
        """Carry out a request; return its status and the data of its answer."""
        port = self.handler.request
        ctx.set(port.type, kind)
        ctx.set(port.fields.as_value(), int.from_bytes(payload, "little"))
        ctx.set(port.left, len(rest))
        ctx.set(port.spent, not rest)
        ctx.set(port.start, 1)
        await ctx.tick()
        ctx.set(port.start, 0)
        for at, byte in enumerate(rest):
            while not ctx.get(port.payload.ready) and ctx.get(port.busy):
                await ctx.tick()
            if not ctx.get(port.busy):
                break
            await send(ctx, port.payload, [byte], random.Random(at), 0.1)
            ctx.set(port.left, len(rest) - at - 1)
            ctx.set(port.spent, at == len(rest) - 1)
        while ctx.get(port.busy):
            await ctx.tick()
        status, size = StatusCode(ctx.get(port.status)), ctx.get(port.data_bytes)
        if status != OK:
            return status, b""
        self.data.clear()
        ctx.set(port.answered, 1)
        await ctx.tick()
        ctx.set(port.answered, 0)
        while len(self.data) < size:
            await ctx.tick()
        await ctx.tick().repeat(10)
        assert len(self.data) == size
        return status, bytes(self.data)

    def run(self, bench: Any) -> None:
        watch = collect(self.handler.data, random.Random(3), 0.4, self.data)
        simulate(self.handler, bench, self.core, watch)


def test_words_are_stored_and_fetched_in_runs_and_strides() -> None:
    bench = Bench()
    values = [7, 0xFFFFFFFF, 3, 4, 0x80000000]
    indexes = [64, 65, 128, 129, 192]
    where = place(Region.TABLE, 64, 2, 64, 5)

    async def talk(ctx: Any) -> None:
        words = struct.pack("<5I", *values)
        assert await bench.request(ctx, Request.STORE, where, words) == (OK, b"")
        assert bench.words == {(3, at): value for at, value in zip(indexes, values, strict=True)}
        assert await bench.request(ctx, Request.FETCH, where) == (OK, words)
        one = place(Region.TABLE, 129, 255, 0, 1)
        assert await bench.request(ctx, Request.FETCH, one) == (OK, struct.pack("<I", 4))

    bench.run(talk)


def test_every_bit_of_a_place_and_as_many_words_as_a_frame_holds() -> None:
    bench, rng = Bench(), random.Random(5)

    async def talk(ctx: Any) -> None:
        for run, count in ((255, 252), (85, 171), (1, 3), (170, 2), *8 * [(2, 4)]):
            bench.words.clear()
            index, stride = rng.getrandbits(30), rng.getrandbits(32)
            where = place(Region.TABLE, index, run, stride, count)
            starts = [index + n * stride for n in range(count)]
            indexes = [(starts[n // run] + n % run) % 2**30 for n in range(count)]
            values = [rng.getrandbits(32) for _ in range(count)]
            words = struct.pack(f"<{count}I", *values)
            assert await bench.request(ctx, Request.STORE, where, words) == (OK, b"")
            assert bench.words == {
                (3, at): value for at, value in zip(indexes, values, strict=True)
            }
            assert await bench.request(ctx, Request.FETCH, where) == (OK, words)

    bench.run(talk)


def test_jobs_begin_and_end_and_are_told_of() -> None:
    bench = Bench()

    async def talk(ctx: Any) -> None:
        busy = bench.handler.agents.busy
        assert await bench.request(ctx, Request.PROGRESS) == (OK, b"\0")
        most = struct.pack("<Q", 2**48 - 1)
        assert await bench.request(ctx, Request.RUN, most) == (OK, b"")
        ctx.set(busy, 1)
        assert await bench.request(ctx, Request.PROGRESS) == (OK, b"\1")
        assert await bench.request(ctx, Request.STOP) == (OK, b"")
        # The job ends because the world did not answer an agent.
        for agent in (3, 12, 0):
            ctx.set(busy, 1)
            ctx.set(bench.handler.agents.silent, 1)
            ctx.set(bench.handler.agents.silent_agent, agent)
            assert await bench.request(ctx, Request.PROGRESS) == (OK, b"\1")
            ctx.set(busy, 0)
            assert await bench.request(ctx, Request.PROGRESS) == (OK, bytes([0x80 + agent]))
        ctx.set(bench.handler.agents.silent, 0)
        assert await bench.request(ctx, Request.PROGRESS) == (OK, b"\0")

    bench.run(talk)
    assert (bench.jobs, bench.stops) == ([2**48 - 1], 1)


def test_what_cannot_be_is_refused_and_nothing_is_done() -> None:
    bench = Bench()
    word = bytes(4)
    counters = place(Region.COUNTERS, 0, 1, 0, 1)
    cases = [
        (False, Request.RUN, bytes(8), b"", OUT_OF_RANGE),
        (False, Request.RUN, struct.pack("<Q", 2**48), b"", OUT_OF_RANGE),
        (False, Request.STORE, place(6, 0, 1, 0, 1), word, OUT_OF_RANGE),
        (False, Request.STORE, place(0, 0, 0, 0, 1), word, OUT_OF_RANGE),
        (False, Request.STORE, place(6, 0, 1, 0, 2), word, BAD_LENGTH),
        (False, Request.STORE, place(0, 0, 1, 0, 1), word + b"x", BAD_LENGTH),
        (False, Request.FETCH, place(0, 0, 1, 0, 0), b"", OUT_OF_RANGE),
        (False, Request.FETCH, place(0, 0, 1, 0, 0xFFFF), b"", OUT_OF_RANGE),
        (True, Request.RUN, bytes(8), b"", BUSY),
        (True, Request.STORE, place(6, 0, 1, 0, 1), word, BUSY),
        (True, Request.STORE, counters, word, BUSY),
        (True, Request.FETCH, place(Region.TABLE, 0, 1, 0, 1), b"", BUSY),
        (True, Request.FETCH, counters, b"", OK),
    ]
    found = []

    async def talk(ctx: Any) -> None:
        for busy, kind, payload, rest, _ in cases:
            ctx.set(bench.handler.agents.busy, busy)
            found.append((await bench.request(ctx, kind, payload, rest))[0])

    bench.run(talk)
    assert found == [status for *_, status in cases]
    assert (bench.words, bench.jobs) == ({}, [])
