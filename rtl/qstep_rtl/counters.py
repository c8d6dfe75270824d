"""Event counters of 64 bits: the low bits in flip-flops, the rest in one block RAM.

Function    Each event has a counter of 7 bits. A walker passes over the 64-bit totals byte by byte
            and adds what the small counter has gathered since its last visit. :func:`wide_counter`
            is the plain kind, for a count that must be readable at once.
Latency     A total is up to date at most 128 clocks after `start`, and is then sent.
Throughput  One event per clock on each counter.
Reset       All totals are 0: the first pass after a reset starts from 0 instead of what the RAM
            holds.
Hazards     While the totals are sent nothing is added: no event may happen more than 63 times then.
Invariants  A small counter never overflows: a pass takes 64 clocks.
"""

from __future__ import annotations

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

__all__ = ["COUNTER_BYTES", "Counters", "wide_counter"]

COUNTER_BYTES = 8

_SLOTS = 8
_PASS = _SLOTS * COUNTER_BYTES
_CHUNK = 16


def wide_counter(m: Module, event: Value, name: str) -> Signal:
    """Return a 64-bit count of `event`, settled three clocks after the last one.

    The carries between its four chunks are registered, so that it does not limit the clock.
    """
    count = Signal(8 * COUNTER_BYTES, name=name)
    carry = event
    for index in range(len(count) // _CHUNK):
        chunk = count.word_select(index, _CHUNK)
        following = Signal(_CHUNK + 1, name=f"{name}_following{index}")
        overflow = Signal(name=f"{name}_carry{index}")
        m.d.comb += following.eq(chunk + 1)
        m.d.sync += overflow.eq(carry & following[_CHUNK])
        with m.If(carry):
            m.d.sync += chunk.eq(following)
        carry = overflow
    return count


class Counters(Component):
    """Totals of up to eight events.

    Parameters
    ----------
    events : int
        How many, 1..8.

    Attributes
    ----------
    events : In(events)
        One bit for each event; counts in every clock in which it is 1.
    start : In(1)
        Send the totals once.
    totals : Out(stream of 8)
        Eight bytes for each event, low byte first, in the order of `events`.
    """

    def __init__(self, events: int) -> None:
        self._count = events
        super().__init__({"events": In(events), "start": In(1), "totals": Out(stream.Signature(8))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=_PASS, init=[])
        store, load = memory.write_port(), memory.read_port()

        # Walker: `position` is being read, `behind` is being written.
        position = Signal(range(_PASS))
        behind = Signal(range(_PASS))
        behind_valid = Signal()
        clearing = Signal(init=1)
        addend = Signal(range(_PASS + 1))
        total = Signal(9)
        carry = Signal()
        gathered = [Signal(range(_PASS + 1), name=f"gathered{i}") for i in range(self._count)]
        visited = Signal(range(_SLOTS))
        visit = Signal()

        m.d.comb += [
            visited.eq(position[3:]),
            load.addr.eq(position),
            store.addr.eq(behind),
            store.en.eq(behind_valid),
            store.data.eq(total),
            total.eq(Mux(clearing, 0, load.data) + addend + carry),
        ]
        for index, small in enumerate(gathered):
            event = self.events[index]
            with m.If(visit & (visited == index)):
                m.d.sync += small.eq(event)
            with m.Else():
                m.d.sync += small.eq(small + event)

        with m.If(behind_valid):
            # The carry into the next byte; none into the next total.
            m.d.sync += carry.eq(total[8] & (behind[:3] != COUNTER_BYTES - 1))
            with m.If(behind == _PASS - 1):
                m.d.sync += clearing.eq(0)

        # A request waits for the end of a pass, and for one more that sees every event before it.
        requested = Signal(2)
        with m.If(self.start):
            m.d.sync += requested.eq(2)

        def step() -> None:
            m.d.sync += position.eq(position + 1)

        with m.FSM():
            with m.State("add"):
                m.d.comb += visit.eq(position[:3] == 0)
                m.d.sync += [
                    behind.eq(position),
                    behind_valid.eq(1),
                    addend.eq(
                        Mux(visit, Array(gathered + [0] * (_SLOTS - self._count))[visited], 0)
                    ),
                ]
                step()
                with m.If((position == _PASS - 1) & (requested != 0) & ~self.start):
                    m.d.sync += requested.eq(requested - 1)
                    with m.If(requested == 1):
                        m.next = "settle"
            with m.State("settle"):
                # The last byte is being written; `position` is 0 again.
                m.d.sync += behind_valid.eq(0)
                m.next = "fetch"
            with m.State("fetch"):
                step()
                m.next = "send"
            with m.State("send"):
                m.d.comb += [self.totals.valid.eq(1), load.en.eq(self.totals.ready)]
                with m.If(self.totals.ready):
                    step()
                    with m.If(position == COUNTER_BYTES * self._count % _PASS):
                        m.d.sync += position.eq(0)
                        m.next = "add"
        m.d.comb += self.totals.payload.eq(load.data)
        with m.If(~self.totals.valid):
            m.d.comb += load.en.eq(1)
        return m
