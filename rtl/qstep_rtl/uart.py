"""UART: 8 data bits, no parity, 1 stop bit, LSB first, divisor set at run time.

Function    :class:`UartReceiver` samples each bit in its middle; :class:`UartSender` shifts bytes
            out.
Latency     Receiver: 9.5 bit times and four clocks from the falling edge to `valid`.
Throughput  One byte per ten bit times in both directions.
Reset       Both are idle; a byte in progress is lost. The sender then keeps the line high for the
            time of one byte, so that a receiver can resynchronise after a truncated byte.
Hazards     `divisor` (clocks per bit, ``protocol.LEAST_DIVISOR`` or more) is sampled at each start
            bit: a byte in progress keeps its rate.
Invariants  The line is high while the sender is idle. A byte without a stop bit is dropped, and the
            receiver then waits until the line is high.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import Component, In, Out

from qstep.spec.protocol import BITS_PER_BYTE, BREAK_BITS, LEAST_DIVISOR
from qstep_rtl.invariants import invariant

__all__ = ["UartReceiver", "UartSender"]


class UartReceiver(Component):
    """Turns a serial line into bytes, each offered for one clock.

    Attributes
    ----------
    rx : In(1)
        The line, asynchronous; synchronised here with two flip-flops.
    divisor : In(16)
        Clocks per bit, LEAST_DIVISOR..65535.
    valid, data : Out(1), Out(8)
        A received byte.
    line_break : Out(1)
        1 for one clock when the line has been low for longer than two bytes, which no data can cause.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "rx": In(1, init=1),
                "divisor": In(16),
                "valid": Out(1),
                "data": Out(8),
                "line_break": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        line = Signal(init=1)
        m.submodules.synchroniser = FFSynchronizer(self.rx, line, init=1)

        period = Signal(16)
        timer = Signal(16)
        over = Signal()  # `timer` is 0
        bits = Signal(range(BITS_PER_BYTE + 1))  # still to be sampled, including start and stop bit
        armed = Signal()  # the line has been high since the last byte
        low = Signal(range(BREAK_BITS + 1))  # consecutive low samples

        m.d.sync += [self.valid.eq(0), self.line_break.eq(0)]
        with m.If((bits == 0) & armed & ~line):
            # Time to the middle of the start bit, minus the clock that edge detection took and the half
            # clock before it: late samples limit how fast a sender may be.
            m.d.sync += [
                period.eq(self.divisor - 1),
                timer.eq((self.divisor - 3)[1:16]),
                over.eq(0),
                bits.eq(BITS_PER_BYTE),
                armed.eq(0),
            ]
        with m.Elif((bits == 0) & line):
            m.d.sync += [armed.eq(1), low.eq(0)]
        with m.Elif(~over):
            m.d.sync += [timer.eq(timer - 1), over.eq(timer == 1)]
        with m.Else():
            m.d.sync += [
                timer.eq(period),
                over.eq(0),
                low.eq(Mux(line, 0, low + 1)),
                self.line_break.eq(~line & (low == BREAK_BITS)),
            ]
            with m.If(bits != 0):
                m.d.sync += bits.eq(bits - 1)
            with m.If((bits == BITS_PER_BYTE) & line):
                m.d.sync += [bits.eq(0), armed.eq(1)]  # a glitch, not a start bit
            with m.Elif(bits == 1):
                m.d.sync += [self.valid.eq(line), armed.eq(line)]
            with m.Elif(bits != 0):
                m.d.sync += self.data.eq(Cat(self.data[1:], line))
        return m


class UartSender(Component):
    """Sends bytes over a serial line.

    Attributes
    ----------
    tx : Out(1)
        The line.
    divisor : In(16)
        Clocks per bit, LEAST_DIVISOR..65535.
    bytes : In(stream of 8)
        Bytes to send.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "tx": Out(1, init=1),
                "divisor": In(16),
                "bytes": In(stream.Signature(8)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        period = Signal(16)
        timer = Signal(16)
        over = Signal(init=1)  # `timer` is 0
        # The bits after the bit on the line, followed by ones.
        shifter = Signal(BITS_PER_BYTE - 1, init=-1)
        # Bits until the line is free; after a reset, one more than in a byte, as no bit is timed yet.
        bits = Signal(range(BITS_PER_BYTE + 2), init=BITS_PER_BYTE + 1)

        invariant(m, platform, (bits != 0) | self.tx, "the line is low while the sender is idle")
        with m.If(self.bytes.valid & self.bytes.ready):
            invariant(m, platform, self.divisor >= LEAST_DIVISOR, "the divisor is too small")
        m.d.comb += self.bytes.ready.eq((bits == 0) | ((bits == 1) & over))
        with m.If(~over):
            m.d.sync += [timer.eq(timer - 1), over.eq(timer == 1)]
        with m.Elif(bits != 0):
            m.d.sync += [
                Cat(self.tx, shifter).eq(Cat(shifter, Const(1, 1))),
                timer.eq(period),
                over.eq(0),
                bits.eq(bits - 1),
            ]
        with m.If(bits == BITS_PER_BYTE + 1):
            m.d.sync += [period.eq(self.divisor - 1), timer.eq(self.divisor - 1)]
        with m.If(self.bytes.valid & self.bytes.ready):
            m.d.sync += [
                Cat(self.tx, shifter).eq(Cat(Const(0, 1), self.bytes.payload, Const(1, 1))),
                period.eq(self.divisor - 1),
                timer.eq(self.divisor - 1),
                over.eq(0),
                bits.eq(BITS_PER_BYTE),
            ]
        return m
