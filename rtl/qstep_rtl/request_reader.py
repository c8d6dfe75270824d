"""Reads and checks requests: header, session rules, type, length, arguments.

Function    Performs the checks of ``docs/link.md`` that all requests share, in order: epoch, earlier
            refusal, sequence number, type, length. A request that passes is offered when its arguments
            have arrived; any other request is offered immediately, with the status of the first failed
            check.
Latency     3 clocks from the last byte of a header to `request`, if the request has no arguments and
            need not wait.
Throughput  One byte per clock, one request at a time.
Reset       Waits for a header.
Hazards     Arguments are registers that later blocks use until the answer has been sent, so every
            request except APPLY waits for `quiet` before its arguments are read.
Invariants  A request is completed only after the last byte of its payload.
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Shape, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import Component, In, Out
from amaranth.utils import exact_log2

from qstep.spec.config import Config
from qstep.spec.protocol import HEADER, REQUESTS, Request, StatusCode, arguments_of
from qstep_rtl.handler import fields_of, known_type, payload_bits
from qstep_rtl.invariants import invariant
from qstep_rtl.session import Session, SessionSignature

__all__ = ["REQUEST", "RequestReader"]

REQUEST = data.StructLayout({"type": 8, "seq": 16, "status": StatusCode})
"""A request that has been read; `status` is OK if it may be executed."""


def _places() -> dict[str, range]:
    """Return the byte positions of each header field."""
    places, at = {}, 0
    for name, size in HEADER.sizes.items():
        places[name] = range(at, at + size)
        at += size
    return places


class RequestReader(Component):
    """Turns bytes of valid frames into checked requests.

    Parameters
    ----------
    config : Config
        Its link limits the payload size.

    Attributes
    ----------
    bytes : In(stream of 8)
        Bytes of valid frames.
    request : Out(stream of REQUEST)
        Requests, each offered until it has been answered and its payload consumed.
    fields : Out(fields_of(config))
        The request's arguments.
    payload : Out(stream of 8)
        Bytes after the arguments; for a refused request, the whole payload.
    left, spent : Out, Out(1)
        Number of payload bytes left; 1 if no byte is left.
    quiet, asks_quiet : In(1), Out(1)
        `quiet`: all earlier work had finished one clock ago. `asks_quiet`: `quiet` is needed in the next
        clock.
    greet : In(1)
        A HELLO is being executed.
    answered, status : In(1), In(StatusCode)
        The request's answer has just begun; its status, stable for one more clock.
    session : Out(SessionSignature)
        Session registers, which are part of every answer.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                "bytes": In(stream.Signature(8)),
                "request": Out(stream.Signature(REQUEST)),
                "fields": Out(fields_of(config)),
                "payload": Out(stream.Signature(8)),
                "left": Out(payload_bits(config)),
                "spent": Out(1),
                "quiet": In(1),
                "asks_quiet": Out(1),
                "greet": In(1),
                "answered": In(1),
                "status": In(StatusCode),
                "session": Out(SessionSignature()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.session = session = Session()
        places = _places()
        arguments = arguments_of(self._config)
        most_arguments = max(layout.size for layout in arguments.values())
        known_bits = Shape.cast(known_type(self._config)).width

        # Header fields, in link order. No frame exceeds the limit here, so the upper bits of its length
        # are 0. The length counts down as the payload is consumed; a register flags 0 without a
        # comparison.
        kind = Signal(8)
        seq = Signal(16)
        status = Signal(StatusCode)
        left = Signal(len(self.left))
        spent = Signal()
        index = Signal(range(max(most_arguments, HEADER.size)))

        # Destination of the bytes; registered, because ready drives every block that receives bytes.
        mine = Signal(init=1)
        heading = Signal(init=1)
        passing = Signal()
        take = Signal()
        take_mine = Signal()

        # Properties of the type, registered during the session's check; the length is checked one clock
        # later.
        known = Signal()
        length_fits = Signal()
        is_apply = Signal()
        has_arguments = Signal()
        last_argument = Signal(range(most_arguments))
        at_last = Signal()  # `index` is at the last argument; compared one byte early

        m.d.comb += [
            session.seq.eq(seq),
            session.byte.eq(self.bytes.payload),
            session.status.eq(self.status),
            session.greet.eq(self.greet),
            session.greet_nonce.eq(self.fields.hello.nonce),
            self.session.epoch.eq(session.epoch),
            self.session.expected.eq(session.expected),
            self.session.nonce.eq(self.fields.hello.nonce),
            self.request.payload.type.eq(kind),
            self.request.payload.seq.eq(seq),
            self.request.payload.status.eq(status),
            self.left.eq(left),
            self.spent.eq(spent),
            self.payload.payload.eq(self.bytes.payload),
            self.payload.valid.eq(self.bytes.valid & passing),
            self.bytes.ready.eq(mine | (passing & self.payload.ready)),
            take.eq(self.bytes.valid & self.bytes.ready),
            take_mine.eq(self.bytes.valid & mine),
        ]
        m.d.sync += [session.judge.eq(0), session.finish.eq(self.answered)]

        with m.If(take_mine):
            m.d.sync += [index.eq(index + 1), at_last.eq(index + 1 == last_argument)]
        with m.If(take & ~heading):
            m.d.sync += left.eq(left - 1)
            with m.If(left == 1):
                m.d.sync += [spent.eq(1), passing.eq(0)]
        with m.If(take_mine & heading):
            for register, name in ((kind, "type"), (seq, "seq"), (left, "length")):
                for byte, place in enumerate(places[name]):
                    with m.If(index == place):
                        m.d.sync += register[8 * byte : 8 * byte + 8].eq(self.bytes.payload)
            for byte, place in enumerate(places["epoch"]):
                with m.If(index == place):
                    m.d.comb += [session.compare.eq(1), session.position.eq(byte)]
            # Type, sequence number and epoch have arrived two bytes before the end of the header.
            with m.If(index == places["epoch"][-1]):
                m.d.sync += session.judge.eq(1)
        with m.Elif(take_mine):
            for place in range(most_arguments):
                with m.If(index == place):
                    m.d.sync += self.fields.as_value().word_select(place, 8).eq(self.bytes.payload)

        with m.If(session.judge):
            m.d.sync += [known.eq(0), has_arguments.eq(0), is_apply.eq(0)]
            m.d.sync += [session.is_hello.eq(0), session.repeatable.eq(0)]
            with m.Switch(kind):
                for number, layout in arguments.items():
                    with m.Case(number):
                        m.d.sync += [
                            known.eq(1),
                            has_arguments.eq(layout.size != 0),
                            last_argument.eq(max(layout.size - 1, 0)),
                            is_apply.eq(not REQUESTS[number].needs_quiet),
                            session.is_hello.eq(number == Request.HELLO),
                            session.repeatable.eq(REQUESTS[number].repeatable),
                        ]

        with m.FSM() as fsm:
            m.d.comb += [
                self.request.valid.eq(fsm.ongoing("offer")),
                self.asks_quiet.eq(fsm.ongoing("judge") | fsm.ongoing("decide")),
            ]
            with m.State("header"), m.If(take_mine & (index == HEADER.size - 1)):
                m.d.sync += [
                    spent.eq((left[:8] == 0) & (self.bytes.payload == 0)),
                    index.eq(0),
                    at_last.eq(last_argument == 0),
                    mine.eq(0),
                    heading.eq(0),
                ]
                m.next = "judge"
            with m.State("judge"):
                m.d.sync += [status.eq(session.verdict), length_fits.eq(0)]
                with m.If(known), m.Switch(kind[:known_bits]):
                    for number, layout in arguments.items():
                        least = REQUESTS[number].least_bytes
                        with m.Case(number):
                            if least is None:
                                m.d.sync += length_fits.eq(left == layout.size)
                            elif least == 0:
                                m.d.sync += length_fits.eq(1)
                            else:  # a power of two: no carry chain
                                m.d.sync += length_fits.eq(left[exact_log2(least) :].any())
                m.next = "decide"
            with m.State("decide"), m.If(is_apply | self.quiet):
                m.d.sync += passing.eq(~spent)
                m.next = "offer"
                with m.If(status == StatusCode.OK):
                    with m.If(~length_fits):
                        m.d.sync += status.eq(
                            Mux(known, StatusCode.BAD_LENGTH, StatusCode.BAD_TYPE)
                        )
                    with m.Elif(has_arguments):
                        m.d.sync += [mine.eq(1), passing.eq(0)]
                        m.next = "arguments"
            with m.State("arguments"), m.If(take_mine & at_last):
                m.d.sync += [mine.eq(0), passing.eq(left != 1)]
                m.next = "offer"
            with m.State("offer"), m.If(self.request.ready):
                invariant(m, platform, spent, "a request is taken before its payload")
                m.d.sync += [index.eq(0), mine.eq(1), heading.eq(1)]
                m.next = "header"
        return m
