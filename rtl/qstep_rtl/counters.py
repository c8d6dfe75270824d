"""64-bit event counters: low bytes in flip-flops, the other bytes in one block RAM.

Function    Each event has an 8-bit counter, the low byte of its total. A walker regularly scans the
            totals: a low byte below its value at the last visit has overflowed, and its carry propagates
            through the higher bytes. :func:`wide_counter` is an ordinary counter, for counts that must
            be readable immediately.
Latency     The totals are sent at most 227 clocks after `start`, usually after about 40.
Throughput  One event per clock and counter.
Reset       All totals are 0: the first pass after a reset starts from 0 instead of the RAM's
            contents.
Hazards     No pass runs while the totals are sent. They must therefore be accepted within 140 clocks, in
            which no low byte can overflow twice.
Invariants  A low byte never overflows twice between visits: a pass takes at most 113 clocks, and
            the next one starts 128 clocks later, or immediately after the totals have been sent.
"""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from qstep_rtl.invariants import GENERATED, invariant
from qstep_rtl.ring import UNORDERED

__all__ = ["COUNTER_BYTES", "Counters", "wide_counter"]

COUNTER_BYTES = 8

_SLOTS = 8
_PASS = _SLOTS * COUNTER_BYTES
_CHUNK = 16
_REST = 128  # clocks between passes
_MOST_SENDING = 140  # clocks


def wide_counter(m: Module, event: Value, name: str) -> Signal:
    """Return a 64-bit count of `event`, stable three clocks after the last event.

    The carries between its four chunks are registered, so that they do not limit the clock rate.
    """
    chunks = []
    carry = event
    for index in range(8 * COUNTER_BYTES // _CHUNK):
        chunk = Signal(_CHUNK, name=f"{name}{index}")
        overflow = Signal(name=f"{name}_carry{index}")
        m.d.sync += overflow.eq(0)
        with m.If(carry):
            m.d.sync += Cat(chunk, overflow).eq(chunk + 1)
        chunks.append(chunk)
        carry = overflow
    return Cat(chunks)


class Counters(Component):
    """Totals of up to eight events.

    Parameters
    ----------
    events : int
        Number of events, 1..8.

    Attributes
    ----------
    events : In(events)
        One bit per event, counted in every clock while it is 1.
    start : In(1)
        Send the totals once.
    totals : Out(stream of 8)
        Eight bytes per event, low byte first, in the order of `events`.
    busy : Out(1)
        A pass is in progress or is starting.
    """

    def __init__(self, events: int) -> None:
        self._count = events
        super().__init__(
            {
                "events": In(events),
                "start": In(1),
                "totals": Out(stream.Signature(8)),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=_PASS, init=[], attrs=UNORDERED)
        store, load = memory.write_port(), memory.read_port()

        low = [Signal(8, name=f"low{index}") for index in range(self._count)]
        for counter, event in zip(low, self.events, strict=True):
            with m.If(event):
                m.d.sync += counter.eq(counter + 1)

        # Walker: `position` is the current byte, `upcoming` the next counter.
        position = Signal(range(_PASS))
        byte = position[:3]
        upcoming = Signal(range(self._count + 1))
        current = Signal(8)  # the counter's low byte, sampled when its total was loaded
        total = Signal(9)  # the byte and its carry out
        onward = Signal()  # continue with the counter's next byte; skipped without a carry
        clearing = Signal(init=1)
        rested = Signal(range(_REST))
        requested = Signal()
        sending = Signal()

        old = Mux(clearing, 0, load.data)
        m.d.comb += [
            onward.eq((byte != 0) & (total[8] | clearing)),
            load.addr.eq(position),
            store.data.eq(total[:8]),
            self.totals.payload.eq(load.data),
        ]
        rest_is_over = Signal()
        m.d.sync += store.en.eq(0)
        m.d.comb += rest_is_over.eq(requested | (rested == _REST - 1))
        with m.FSM() as fsm:
            m.d.comb += self.busy.eq(~fsm.ongoing("rest") | rest_is_over)
            with m.State("rest"):
                m.d.sync += rested.eq(rested + 1)
                with m.If(rest_is_over):
                    m.d.sync += [sending.eq(requested), requested.eq(0), rested.eq(0)]
                    m.next = "load"
            with m.State("load"):
                m.d.comb += load.en.eq(1)
                m.d.sync += current.eq(Array(low)[upcoming])
                m.next = "add"
                with m.If(~onward):
                    m.d.comb += load.addr.eq(Cat(Const(0, 3), upcoming))
                    m.d.sync += [position.eq(Cat(Const(0, 3), upcoming)), upcoming.eq(upcoming + 1)]
                    with m.If(upcoming == self._count):
                        m.d.sync += [position.eq(0), upcoming.eq(0), clearing.eq(0)]
                        m.next = "rest"
                        with m.If(sending):
                            m.next = "fetch"
            # The sum is stored one clock later, while the next byte is loaded.
            with m.State("add"):
                m.d.sync += [
                    total.eq(Mux(byte == 0, Cat(current, current < old), old + total[8])),
                    store.en.eq(1),
                    store.addr.eq(position),
                    position.eq(position + 1),
                ]
                m.next = "load"
            with m.State("fetch"):
                m.d.comb += load.en.eq(1)
                m.d.sync += [position.eq(1), self.totals.valid.eq(1)]
                m.next = "send"
            with m.State("send"):
                m.d.comb += load.en.eq(self.totals.ready)
                with m.If(self.totals.ready):
                    m.d.sync += position.eq(position + 1)
                    with m.If(position == COUNTER_BYTES * self._count % _PASS):
                        m.d.sync += [position.eq(0), sending.eq(0), self.totals.valid.eq(0)]
                        m.next = "load"
        waited = Signal(range(_MOST_SENDING + 2))  # clocks since the last pass
        if platform is not GENERATED:
            m.d.sync += waited.eq(Mux(sending & self.totals.valid, waited + 1, 0))
        invariant(m, platform, waited <= _MOST_SENDING, "the totals were not taken in time")
        # Only a new pass includes every earlier event: a pass in progress has already visited some
        # counters.
        with m.If(self.start):
            m.d.sync += requested.eq(1)
        return m
