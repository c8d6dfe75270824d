"""At any pace, the reader of a ring sends every row below the limit exactly once and in order."""

import random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out
from tb.unit.streams import PACES, collect, simulate

from qstep_rtl.ring import RingReader

pytestmark = pytest.mark.unit

DEPTH = 8


class Ring(Component):
    """A reader with its memory; the limit moves past each row one clock after that row is written."""

    def __init__(self) -> None:
        memory = Memory(shape=8, depth=DEPTH, init=[])
        self._memory = memory
        self.reader = RingReader(memory.read_port())
        self.store = memory.write_port()
        super().__init__({"unused": In(1), "limit": Out(3)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules += [self._memory, self.reader]
        m.d.comb += self.reader.limit.eq(self.limit)
        return m


@pytest.mark.parametrize(("idle", "stall"), PACES)
def test_every_row_is_sent_once_and_in_order(idle: float, stall: float) -> None:
    ring = Ring()
    values = list(random.Random(2).randbytes(60))
    rows: list[int] = []

    async def bench(ctx: Any) -> None:
        rng = random.Random(3)
        for row, value in enumerate(values):
            while rng.random() < idle or ctx.get(ring.reader.before) == row % DEPTH:
                await ctx.tick()
            ctx.set(ring.store.addr, row % DEPTH)
            ctx.set(ring.store.data, value)
            ctx.set(ring.store.en, 1)
            await ctx.tick()
            ctx.set(ring.store.en, 0)
            ctx.set(ring.limit, (row + 1) % DEPTH)
        await ctx.tick().repeat(100)

    simulate(ring, bench, collect(ring.reader.rows, random.Random(4), stall, rows))
    assert rows == values
