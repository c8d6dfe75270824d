"""The 64-bit counters stay exact when carries propagate from one chunk to the next."""

import random
import struct
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import Component, In, Out
from tb.unit.streams import collect, simulate

from qstep_rtl.counters import Counters, wide_counter

pytestmark = pytest.mark.unit


def test_counters_send_exact_totals_across_carries() -> None:
    counters = Counters(7)
    rng = random.Random(21)
    rates = (1.0, 0.5, 0.01, 0.0, 0.9, 1.0, 0.3)
    expected = [0] * len(rates)
    out: list[int] = []

    async def bench(ctx: Any) -> None:
        for clocks in (1500, 1):
            for _ in range(clocks):
                events = [rng.random() < rate for rate in rates]
                ctx.set(counters.events, sum(event << i for i, event in enumerate(events)))
                for i, event in enumerate(events):
                    expected[i] += event
                await ctx.tick()
            ctx.set(counters.events, 0)
            ctx.set(counters.start, 1)
            await ctx.tick()
            ctx.set(counters.start, 0)
            await ctx.tick().repeat(400)
            assert struct.unpack("<7Q", bytes(out)) == tuple(expected)
            out.clear()

    simulate(counters, bench, collect(counters.totals, rng, 0.3, out))


class Wide(Component):
    """A wide counter with ports."""

    def __init__(self) -> None:
        super().__init__({"event": In(1), "count": Out(64)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.count.eq(wide_counter(m, self.event, "count"))
        return m


def test_wide_counter_carries_into_the_next_chunk() -> None:
    wide = Wide()

    async def bench(ctx: Any) -> None:
        ctx.set(wide.event, 1)
        await ctx.tick().repeat(65537)
        ctx.set(wide.event, 0)
        await ctx.tick().repeat(3)
        assert ctx.get(wide.count) == 65537

    simulate(wide, bench)
