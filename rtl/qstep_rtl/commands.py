"""Carries out requests: reads frames, checks them, drives the blocks that do the work, starts answers.

Function    One request at a time, in the order of arrival: header, session rules, length,
            arguments, work, answer.
Latency     11 clocks from the first byte of a APPLY frame to its first record; 4 from the lane's
            last acceptance to the answer. Arguments are checked in two clocks of their own.
Throughput  A APPLY payload passes at one byte per clock, and 16 clocks more per frame; the line
            needs 13 and more for header, CRC and framing.
Reset       Idle; alpha and kappa are 0, rounding is nearest, the divisor is the configured one.
Hazards     A APPLY frame is read while the answer before it is composed: its transitions must be
            kept from the lane while `answer_busy` is 1. Every other request waits until
            `answer_busy` is 0 and `lane_idle` is 1.
Invariants  Each frame gets exactly one answer, and leaves no byte behind.
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out
from amaranth.utils import exact_log2

from qstep.config import Config
from qstep.protocol import ARGUMENTS, HEADER, Request, StatusCode, max_payload
from qstep_rtl.arguments import MOST_ARGUMENTS, Arguments
from qstep_rtl.responder import ANSWERED
from qstep_rtl.session import Session
from qstep_rtl.sleep import SLEEPLESS
from qstep_rtl.values import Task

__all__ = ["Commands"]

_APPLYS = (Request.APPLY_CODED, Request.APPLY_RAW)
_LEAST_BYTES = {Request.REWARDS: 1, Request.LOAD: 4}  # values follow the arguments
_TASKS = {
    Request.REWARDS: Task.REWARDS,
    Request.LOAD: Task.LOAD,
    Request.READ: Task.READ,
    Request.CLEAR: Task.CLEAR,
}
_REPEATABLE = (Request.READ, Request.STATUS, Request.COUNTERS)


class Commands(Component):
    """The command decoder.

    Parameters
    ----------
    config : Config
        Its link gives the divisor after reset.
    counter_data_bytes : int
        Length of the data of COUNTERS.

    Attributes
    ----------
    bytes : In(stream of 8)
        Good frames.
    request : Out(stream of ANSWERED)
        Starts an answer.
    quiet, asks_quiet : In(1), Out(1)
        Lane, digest and line have nothing to do, as seen a clock ago; that matters in the next clock.
    step_start, step_coded, step_bytes, step_busy, step_partial, step_illegal
        To and from the records.
    task, first_code, first_state, first_action, read_count, value_bytes, values_check, values_move,
    values_busy, values_verdict, values_data_bytes, payload_bytes
        To and from the values.
    counters_start, counters_answer : Out(1)
        Send the totals; they are the data of the answer under way.
    noise_load, noise_x, noise_w, alpha, kappa, rounding, divisor
        Parameters of lane and line.
    line_break : In(1)
        Put the divisor back to the configured one.
    refused : Out(1)
        One clock for each request that was refused.
    busy : Out(1)
        More is going on than that the payload of a APPLY passes.
    """

    def __init__(self, config: Config, counter_data_bytes: int) -> None:
        self._config = config
        self._counter_data_bytes = counter_data_bytes
        super().__init__(
            {
                "bytes": In(stream.Signature(8)),
                "request": Out(stream.Signature(ANSWERED)),
                "quiet": In(1),
                "asks_quiet": Out(1),
                "step_start": Out(1),
                "step_coded": Out(1),
                "step_bytes": Out(stream.Signature(8)),
                "step_busy": In(1),
                "step_partial": In(1),
                "step_illegal": In(1),
                "task": Out(Task),
                "first_code": Out(8),
                "first_state": Out(16),
                "first_action": Out(8),
                "payload_bytes": Out(range(max_payload(config.link.buffer_bytes) + 1)),
                "read_count": Out(16),
                "value_bytes": Out(stream.Signature(8, always_ready=True)),
                "values_check": Out(1),
                "values_move": Out(1),
                "values_busy": In(1),
                "values_verdict": In(StatusCode),
                "values_data_bytes": In(16),
                "counters_start": Out(1),
                "counters_answer": Out(1),
                "noise_load": Out(1),
                "noise_x": Out(32),
                "noise_w": Out(32),
                "alpha": Out(16),
                "kappa": Out(16),
                "rounding": Out(2),
                "divisor": Out(16, init=config.link.divisor),
                "epoch": Out(32),
                "expected": Out(16),
                "nonce": Out(32),
                "line_break": In(1),
                "refused": Out(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.session = session = Session()
        m.submodules.arguments = arguments = Arguments()
        fields, in_range = arguments.fields, arguments.in_range

        # Header, as it travels. No frame that is longer than the limit comes here, so the upper bits of
        # its length are 0. It counts down as the payload is taken; that it is 0 is known beforehand.
        kind, seq = Signal(8), Signal(16)
        left = Signal(len(self.payload_bytes), attrs=SLEEPLESS)
        spent = Signal(attrs=SLEEPLESS)
        sort = kind[: len(arguments.request)]  # tells known types apart
        index = Signal(range(max(MOST_ARGUMENTS, HEADER.size)))
        verdict = Signal(StatusCode)

        # Who takes the bytes; registered, as what is ready decides about all that the bytes go into.
        # What is `mine` goes into the header while `heading`, to the values while `moving`, else to the
        # arguments while there are any, or nowhere.
        mine, stepping, moving = Signal(init=1), Signal(attrs=SLEEPLESS), Signal()
        heading = Signal(init=1)
        judging = Signal()  # the header is there since this clock
        take, take_mine = Signal(), Signal()

        # What the type asks for, registered while the session judges; the length a clock later.
        is_step = Signal()
        has_arguments = Signal()  # until they are there
        last_argument = Signal(range(MOST_ARGUMENTS))
        allowed = Signal()  # by the session
        known, length_fits = Signal(), Signal()  # only that of a known type does
        configure = Signal()  # the arguments become the lane's parameters

        m.d.comb += [
            session.seq.eq(seq),
            session.byte.eq(self.bytes.payload),
            session.status.eq(verdict),
            session.greet_nonce.eq(fields.hello.nonce),
            arguments.request.eq(sort),
            arguments.take.eq(take_mine & ~heading & has_arguments),
            arguments.index.eq(index),
            arguments.byte.eq(self.bytes.payload),
            self.epoch.eq(session.epoch),
            self.expected.eq(session.expected),
            self.nonce.eq(fields.hello.nonce),
            self.step_bytes.payload.eq(self.bytes.payload),
            self.value_bytes.payload.eq(self.bytes.payload),
            self.first_code.eq(fields.rewards.first_code),
            self.first_state.eq(fields.read.first_state),
            self.first_action.eq(fields.read.first_action),
            self.read_count.eq(fields.read.count),
            self.payload_bytes.eq(left),
            self.busy.eq(~stepping),
            self.noise_x.eq(fields.noise.x),
            self.noise_w.eq(fields.noise.w),
            self.step_bytes.valid.eq(self.bytes.valid & stepping),
            self.value_bytes.valid.eq(self.bytes.valid & moving),
            self.bytes.ready.eq(mine | (stepping & self.step_bytes.ready)),
            take.eq(self.bytes.valid & self.bytes.ready),
            take_mine.eq(self.bytes.valid & mine),
            self.request.payload.type.eq(kind),
            self.request.payload.seq.eq(seq),
            self.request.payload.status.eq(verdict),
        ]

        def work(request: Request) -> None:
            """Carry out a request whose arguments are there."""
            if request in (Request.CONFIGURE, Request.NOISE, Request.BAUD):
                with m.If(~in_range):
                    m.d.sync += verdict.eq(StatusCode.OUT_OF_RANGE)
            m.next = "answer"
            if request == Request.HELLO:
                m.d.sync += session.greet.eq(1)
            elif request == Request.CONFIGURE:
                m.d.sync += configure.eq(in_range)
            elif request == Request.NOISE:
                m.d.sync += self.noise_load.eq(in_range)
            elif request == Request.CLEAR:
                m.d.sync += [self.task.eq(Task.CLEAR), self.values_move.eq(1)]
                m.next = "move"
            elif request in _TASKS:
                m.d.sync += [
                    self.task.eq(_TASKS[request]),
                    self.counters_answer.eq(0),
                    self.values_check.eq(1),
                ]
                m.next = "check"
            elif request in _APPLYS:
                m.d.sync += [
                    self.step_coded.eq(request == Request.APPLY_CODED),
                    stepping.eq(~spent),
                ]
                m.next = "step"
            elif request == Request.COUNTERS:
                m.d.comb += self.counters_start.eq(1)
                m.d.sync += self.counters_answer.eq(1)

        m.d.sync += [
            self.values_check.eq(0),
            self.values_move.eq(0),
            self.refused.eq(0),
            session.greet.eq(0),
            session.judge.eq(0),
            session.finish.eq(0),
            configure.eq(0),
            judging.eq(0),
        ]
        with m.If(configure):
            m.d.sync += [
                self.alpha.eq(fields.configure.alpha),
                self.kappa.eq(fields.configure.kappa),
                self.rounding.eq(fields.configure.rounding),
            ]
        with m.If(take_mine):
            m.d.sync += index.eq(index + 1)
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
                    mine.eq(0),
                    heading.eq(0),
                    judging.eq(1),
                ]

        with m.If(session.judge):
            m.d.sync += [known.eq(0), has_arguments.eq(0), is_step.eq(0)]
            m.d.sync += [session.is_hello.eq(0), session.repeatable.eq(0)]
            with m.Switch(kind):
                for request, layout in ARGUMENTS.items():
                    with m.Case(request):
                        m.d.sync += [
                            known.eq(1),
                            has_arguments.eq(layout.size != 0),
                            last_argument.eq(max(layout.size - 1, 0)),
                            is_step.eq(request in _APPLYS),
                            session.is_hello.eq(request == Request.HELLO),
                            session.repeatable.eq(request in _REPEATABLE),
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
                with m.If(known), m.Switch(sort):
                    for request, layout in ARGUMENTS.items():
                        with m.Case(request):
                            if request in _APPLYS:
                                m.d.sync += length_fits.eq(1)
                            elif request in _LEAST_BYTES:
                                # At least a power of two: no carry chain.
                                low = exact_log2(_LEAST_BYTES[request])
                                m.d.sync += length_fits.eq(left[low:].any())
                            else:
                                m.d.sync += length_fits.eq(left == layout.size)
                m.next = "decide"

            with m.State("decide"), m.If(is_step | self.quiet):
                m.d.sync += mine.eq(~spent)
                m.next = "discard"
                with m.If(allowed & length_fits):
                    m.d.sync += mine.eq(has_arguments)
                    m.next = "work"
                    with m.If(has_arguments):
                        m.next = "arguments"
                with m.Elif(allowed):
                    m.d.sync += verdict.eq(Mux(known, StatusCode.BAD_LENGTH, StatusCode.BAD_TYPE))

            with m.State("arguments"), m.If(take_mine), m.If(index == last_argument):
                m.d.sync += [mine.eq(0), has_arguments.eq(0)]
                m.next = "weigh"

            with m.State("weigh"):
                m.d.comb += arguments.check.eq(1)
                m.next = "weighed"
            with m.State("weighed"):
                m.next = "work"

            with m.State("work"):
                m.d.comb += self.step_start.eq(is_step)
                with m.Switch(sort):
                    for request in Request:
                        with m.Case(request):
                            work(request)

            # The values are busy from the clock after `values_check` or `values_move` on.
            with m.State("check"), m.If(~self.values_check & ~self.values_busy):
                m.d.sync += verdict.eq(self.values_verdict)
                m.next = "move"
                with m.If(self.values_verdict != StatusCode.OK):
                    m.d.sync += mine.eq(~spent)
                    m.next = "discard"
                with m.Elif(self.task == Task.READ):
                    m.next = "answer"
                with m.Else():
                    m.d.sync += self.values_move.eq(1)
            with m.State("move"), m.If(~self.values_move):
                m.d.sync += [mine.eq(~spent), moving.eq(~spent)]
                m.next = "moving"
            with m.State("moving"), m.If(~self.values_busy):
                m.next = "answer"

            with m.State("step"), m.If(spent & ~self.step_busy):
                with m.If(self.step_illegal):
                    m.d.sync += verdict.eq(StatusCode.OUT_OF_RANGE)
                with m.Elif(self.step_partial):
                    m.d.sync += verdict.eq(StatusCode.BAD_LENGTH)
                m.next = "answer"

            with m.State("discard"), m.If(spent):
                m.next = "answer"

            with m.State("answer"):
                m.d.comb += self.request.valid.eq(1)
                m.d.sync += [index.eq(0), self.noise_load.eq(0)]
                with m.If(verdict == StatusCode.OK):
                    with m.If(sort == Request.READ):
                        m.d.comb += self.request.payload.data_bytes.eq(self.values_data_bytes)
                    with m.Elif(sort == Request.COUNTERS):
                        m.d.comb += self.request.payload.data_bytes.eq(self._counter_data_bytes)
                with m.If(self.request.ready):
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
                        with m.If(sort == Request.READ):
                            m.d.sync += self.values_move.eq(1)
                        with m.Elif(sort == Request.BAUD):
                            m.d.sync += mine.eq(0)
                            m.next = "answered"

            # `quiet` is a clock late: here it is still that from before the answer.
            with m.State("answered"):
                m.next = "retune"
            with m.State("retune"), m.If(self.quiet):
                m.d.sync += [self.divisor.eq(fields.baud.divisor), mine.eq(1)]
                m.next = "header"
        with m.If(self.line_break):
            m.d.sync += self.divisor.eq(self._config.link.divisor)

        with m.If(take & ~heading):
            m.d.sync += left.eq(left - 1)
            with m.If(left == 1):
                m.d.sync += [spent.eq(1), mine.eq(0), stepping.eq(0), moving.eq(0)]
        return m
