"""Carries out requests: reads frames, checks them, drives the blocks that do the work, starts answers.

Function    One request at a time, in the order of arrival: header, session rules, length,
            arguments, work, answer.
Latency     13 clocks from the first byte of an APPLY frame to its first record; 4 from the lane's
            last acceptance to the answer. Arguments are checked in two clocks of their own.
Throughput  An APPLY payload passes at one byte per clock, and 18 clocks more per frame; the line
            needs 15 and more for header, CRC and framing.
Reset       Idle; alpha and kappa are 0, rounding is nearest, the divisor is the configured one.
Hazards     An APPLY frame is read while the answer before it is composed: its transitions must be
            kept from the lane while the responder reads. Every other request waits until all is
            quiet.
Invariants  Each frame gets exactly one answer, and leaves no byte behind.
"""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out, Signature
from amaranth.utils import exact_log2

from qstep.config import Config
from qstep.protocol import ANSWERS, ARGUMENTS, HEADER, Request, StatusCode
from qstep_rtl.arguments import MOST_ARGUMENTS, Arguments
from qstep_rtl.record_decoder import RecordsSignature
from qstep_rtl.responder import ANSWERED
from qstep_rtl.session import Session, SessionSignature
from qstep_rtl.sleep import SLEEPLESS
from qstep_rtl.table_access import AccessSignature, Task

__all__ = ["Commands", "LaneSettings"]

_APPLY = (Request.APPLY_CODED, Request.APPLY_RAW)
_LEAST_BYTES = {Request.REWARDS: 1, Request.LOAD: 4}  # values follow the arguments
_REPEATABLE = (Request.READ, Request.STATUS, Request.COUNTERS)


class LaneSettings(Signature):
    """What a host sets in the lane, seen from the commands.

    Attributes
    ----------
    alpha, kappa, rounding : Out(16), Out(16), Out(2)
        Coefficients and rounding mode; they change only while the lane is idle.
    noise_load, noise_x, noise_w : Out(1), Out(32), Out(32)
        Load the registers of the rounding noise.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "alpha": Out(16),
                "kappa": Out(16),
                "rounding": Out(2),
                "noise_load": Out(1),
                "noise_x": Out(32),
                "noise_w": Out(32),
            }
        )


class Commands(Component):
    """The command decoder.

    Parameters
    ----------
    config : Config
        Its link gives the divisor after reset.

    Attributes
    ----------
    bytes : In(stream of 8)
        Good frames.
    answers : Out(stream of ANSWERED)
        Starts an answer.
    session : Out(SessionSignature)
        Registers of the session that each answer holds.
    records : Out(RecordsSignature)
        The decoder of records.
    access : Out(AccessSignature)
        The access to the tables.
    settings : Out(LaneSettings)
        Parameters of the lane.
    count : Out(1)
        Send the totals of the counters once.
    divisor, line_break : Out(16), In(1)
        Clocks per bit; put them back to the configured ones.
    quiet, asks_quiet : In(1), Out(1)
        Lane, digest and line have nothing to do, as seen a clock ago; that matters in the next clock.
    refused : Out(1)
        One clock for each request that was not carried out, but for repeats of those that were.
    busy : Out(1)
        Busy with anything other than the payload of an APPLY.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                "bytes": In(stream.Signature(8)),
                "answers": Out(stream.Signature(ANSWERED)),
                "session": Out(SessionSignature()),
                "records": Out(RecordsSignature()),
                "access": Out(AccessSignature(config)),
                "settings": Out(LaneSettings()),
                "count": Out(1),
                "divisor": Out(16, init=config.link.divisor),
                "line_break": In(1),
                "quiet": In(1),
                "asks_quiet": Out(1),
                "refused": Out(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.session = session = Session()
        m.submodules.arguments = arguments = Arguments()
        fields, in_range = arguments.fields, arguments.in_range
        records, access, settings = self.records, self.access, self.settings

        # Header, as it travels. No frame that is longer than the limit comes here, so the upper bits of
        # its length are 0. It counts down as the payload is taken; that it is 0 is known beforehand.
        kind, seq = Signal(8), Signal(16)
        left = Signal(len(access.payload_bytes), attrs=SLEEPLESS)
        spent = Signal(attrs=SLEEPLESS)
        request = kind[: len(arguments.request)]  # tells known types apart
        index = Signal(range(max(MOST_ARGUMENTS, HEADER.size)))
        verdict = Signal(StatusCode)

        # Who takes the bytes; registered, as what is ready decides about all that the bytes go into.
        # What is `mine` goes into the header while `heading`, to the tables while `moving`, else to the
        # arguments while there are any, or nowhere.
        mine, applying, moving = Signal(init=1), Signal(attrs=SLEEPLESS), Signal()
        heading = Signal(init=1)
        # A break comes whenever it likes.
        divisor = Signal(16, init=self._config.link.divisor, attrs=SLEEPLESS)
        judging = Signal()  # the header is there since this clock
        take, take_mine = Signal(), Signal()

        # What the type asks for, registered while the session judges; the length a clock later.
        is_apply = Signal()
        has_arguments = Signal()  # until they are there
        last_argument = Signal(range(MOST_ARGUMENTS))
        at_last = Signal()  # `index` is at it; compared a byte early
        allowed = Signal()  # by the session
        known, length_fits = Signal(), Signal()  # only that of a known type does
        is_configured = Signal()  # the arguments become the lane's parameters

        m.d.comb += [
            session.seq.eq(seq),
            session.byte.eq(self.bytes.payload),
            session.status.eq(verdict),
            session.greet_nonce.eq(fields.hello.nonce),
            arguments.request.eq(request),
            arguments.take.eq(take_mine & ~heading & has_arguments),
            arguments.index.eq(index),
            arguments.byte.eq(self.bytes.payload),
            self.session.epoch.eq(session.epoch),
            self.session.expected.eq(session.expected),
            self.session.nonce.eq(fields.hello.nonce),
            records.bytes.payload.eq(self.bytes.payload),
            access.values.payload.eq(self.bytes.payload),
            access.first_code.eq(fields.rewards.first_code),
            access.first_state.eq(fields.read.first_state),
            access.first_action.eq(fields.read.first_action),
            access.count.eq(fields.read.count),
            access.payload_bytes.eq(left),
            self.busy.eq(~applying),
            self.divisor.eq(divisor),
            settings.noise_x.eq(fields.noise.x),
            settings.noise_w.eq(fields.noise.w),
            records.bytes.valid.eq(self.bytes.valid & applying),
            access.values.valid.eq(self.bytes.valid & moving),
            self.bytes.ready.eq(mine | (applying & records.bytes.ready)),
            take.eq(self.bytes.valid & self.bytes.ready),
            take_mine.eq(self.bytes.valid & mine),
            self.answers.payload.type.eq(kind),
            self.answers.payload.seq.eq(seq),
            self.answers.payload.status.eq(verdict),
        ]

        # What is done when the arguments are there, one handler a request.
        def hello() -> None:
            m.d.sync += session.greet.eq(1)

        def configure() -> None:
            m.d.sync += is_configured.eq(in_range)
            refuse_what_is_out_of_range()

        def noise() -> None:
            m.d.sync += settings.noise_load.eq(in_range)
            refuse_what_is_out_of_range()

        def clear() -> None:
            m.d.sync += [access.task.eq(Task.CLEAR), access.move.eq(1)]
            m.next = "move"

        def entries(task: Task) -> None:
            m.d.sync += [access.task.eq(task), access.check.eq(1)]
            m.next = "check entries"

        def apply(coded: bool) -> None:
            m.d.sync += [records.coded.eq(coded), applying.eq(~spent)]
            m.next = "apply"

        def status() -> None:
            """The responder has all that it says."""

        def counters() -> None:
            m.d.comb += self.count.eq(1)

        def baud() -> None:
            refuse_what_is_out_of_range()

        def refuse_what_is_out_of_range() -> None:
            with m.If(~in_range):
                m.d.sync += verdict.eq(StatusCode.OUT_OF_RANGE)

        handlers: dict[Request, Callable[[], None]] = {
            Request.HELLO: hello,
            Request.CONFIGURE: configure,
            Request.NOISE: noise,
            Request.REWARDS: lambda: entries(Task.REWARDS),
            Request.CLEAR: clear,
            Request.LOAD: lambda: entries(Task.LOAD),
            Request.READ: lambda: entries(Task.READ),
            Request.APPLY_CODED: lambda: apply(coded=True),
            Request.APPLY_RAW: lambda: apply(coded=False),
            Request.STATUS: status,
            Request.COUNTERS: counters,
            Request.BAUD: baud,
        }

        m.d.sync += [
            access.check.eq(0),
            access.move.eq(0),
            self.refused.eq(0),
            session.greet.eq(0),
            session.judge.eq(0),
            session.finish.eq(0),
            is_configured.eq(0),
            judging.eq(0),
        ]
        with m.If(is_configured):
            m.d.sync += [
                settings.alpha.eq(fields.configure.alpha),
                settings.kappa.eq(fields.configure.kappa),
                settings.rounding.eq(fields.configure.rounding),
            ]
        with m.If(take_mine):
            m.d.sync += [index.eq(index + 1), at_last.eq(index + 1 == last_argument)]
        position, places = 0, {}
        for name, size in HEADER.sizes.items():
            places[name] = range(position, position + size)
            position += size
        with m.If(take_mine & heading):
            for register, name in ((kind, "type"), (seq, "seq"), (left, "length")):
                for byte, position in enumerate(places[name]):
                    with m.If(index == position):
                        m.d.sync += register[8 * byte : 8 * byte + 8].eq(self.bytes.payload)
            for byte, position in enumerate(places["epoch"]):
                with m.If(index == position):
                    m.d.comb += [session.compare.eq(1), session.position.eq(byte)]
            # Type, sequence number and epoch are there two bytes before the end.
            with m.If(index == places["epoch"][-1]):
                m.d.sync += session.judge.eq(1)
            with m.If(index == HEADER.size - 1):
                m.d.sync += [
                    spent.eq((left[:8] == 0) & (self.bytes.payload == 0)),
                    index.eq(0),
                    at_last.eq(last_argument == 0),
                    mine.eq(0),
                    heading.eq(0),
                    judging.eq(1),
                ]

        with m.If(session.judge):
            m.d.sync += [known.eq(0), has_arguments.eq(0), is_apply.eq(0)]
            m.d.sync += [session.is_hello.eq(0), session.repeatable.eq(0)]
            with m.Switch(kind):
                for number, layout in ARGUMENTS.items():
                    with m.Case(number):
                        m.d.sync += [
                            known.eq(1),
                            has_arguments.eq(layout.size != 0),
                            last_argument.eq(max(layout.size - 1, 0)),
                            is_apply.eq(number in _APPLY),
                            session.is_hello.eq(number == Request.HELLO),
                            session.repeatable.eq(number in _REPEATABLE),
                        ]

        with m.FSM() as fsm:
            m.d.comb += self.asks_quiet.eq(
                judging | fsm.ongoing("decide") | fsm.ongoing("answered") | fsm.ongoing("retune")
            )
            with m.State("header"), m.If(judging):
                m.d.sync += [
                    verdict.eq(session.verdict),
                    allowed.eq(session.verdict == StatusCode.OK),
                    length_fits.eq(0),
                ]
                with m.If(known), m.Switch(request):
                    for number, layout in ARGUMENTS.items():
                        with m.Case(number):
                            if number in _APPLY:
                                m.d.sync += length_fits.eq(1)
                            elif number in _LEAST_BYTES:
                                # At least a power of two: no carry chain.
                                low = exact_log2(_LEAST_BYTES[number])
                                m.d.sync += length_fits.eq(left[low:].any())
                            else:
                                m.d.sync += length_fits.eq(left == layout.size)
                m.next = "decide"

            with m.State("decide"), m.If(is_apply | self.quiet):
                m.d.sync += mine.eq(~spent)
                m.next = "discard"
                with m.If(allowed & length_fits):
                    m.d.sync += mine.eq(has_arguments)
                    m.next = "work"
                    with m.If(has_arguments):
                        m.next = "arguments"
                with m.Elif(allowed):
                    m.d.sync += verdict.eq(Mux(known, StatusCode.BAD_LENGTH, StatusCode.BAD_TYPE))

            with m.State("arguments"), m.If(take_mine & at_last):
                m.d.sync += [mine.eq(0), has_arguments.eq(0)]
                m.next = "check arguments"

            with m.State("check arguments"):
                m.d.comb += arguments.check.eq(1)
                m.next = "arguments checked"
            with m.State("arguments checked"):
                m.next = "work"

            with m.State("work"):
                m.d.comb += records.start.eq(is_apply)
                m.next = "answer"
                with m.Switch(request):
                    for number, handle in handlers.items():
                        with m.Case(number):
                            handle()

            # The access is busy from the clock after `check` or `move` on.
            with m.State("check entries"), m.If(~access.check & ~access.busy):
                m.d.sync += verdict.eq(access.verdict)
                m.next = "move"
                with m.If(access.verdict != StatusCode.OK):
                    m.d.sync += mine.eq(~spent)
                    m.next = "discard"
                with m.Elif(access.task == Task.READ):
                    m.next = "answer"
                with m.Else():
                    m.d.sync += access.move.eq(1)
            with m.State("move"), m.If(~access.move):
                m.d.sync += [mine.eq(~spent), moving.eq(~spent)]
                m.next = "moving"
            with m.State("moving"), m.If(~access.busy):
                m.next = "answer"

            with m.State("apply"), m.If(spent & ~records.busy):
                with m.If(records.illegal):
                    m.d.sync += verdict.eq(StatusCode.OUT_OF_RANGE)
                with m.Elif(records.partial):
                    m.d.sync += verdict.eq(StatusCode.BAD_LENGTH)
                m.next = "answer"

            with m.State("discard"), m.If(spent):
                m.next = "answer"

            with m.State("answer"):
                m.d.comb += self.answers.valid.eq(1)
                m.d.sync += [index.eq(0), settings.noise_load.eq(0)]
                with m.If(verdict == StatusCode.OK):
                    with m.If(request == Request.READ):
                        m.d.comb += self.answers.payload.data_bytes.eq(access.data_bytes)
                    with m.Elif(request == Request.COUNTERS):
                        m.d.comb += self.answers.payload.data_bytes.eq(
                            ANSWERS[Request.COUNTERS].size
                        )
                with m.If(self.answers.ready):
                    m.d.sync += [
                        session.finish.eq(1),
                        mine.eq(1),
                        heading.eq(1),
                        self.refused.eq(
                            (verdict != StatusCode.OK) & (verdict != StatusCode.DUPLICATE)
                        ),
                    ]
                    m.next = "header"
                    with m.If(verdict == StatusCode.OK):
                        with m.If(request == Request.READ):
                            m.d.sync += access.move.eq(1)
                        with m.Elif(request == Request.BAUD):
                            m.d.sync += mine.eq(0)
                            m.next = "answered"

            # `quiet` is a clock late: here it is still that from before the answer.
            with m.State("answered"):
                m.next = "retune"
            with m.State("retune"), m.If(self.quiet):
                m.d.sync += [divisor.eq(fields.baud.divisor), mine.eq(1)]
                m.next = "header"
        with m.If(self.line_break):
            m.d.sync += divisor.eq(self._config.link.divisor)

        with m.If(take & ~heading):
            m.d.sync += left.eq(left - 1)
            with m.If(left == 1):
                m.d.sync += [spent.eq(1), mine.eq(0), applying.eq(0), moving.eq(0)]
        return m
