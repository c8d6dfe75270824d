"""Carries out requests: reads frames, checks them, drives the blocks that do the work, starts answers.

Function    One request at a time, in the order of arrival: header, session rules, length,
            arguments, work, answer.
Latency     11 clocks from the first byte of a STEP frame to its first record; 4 from the lane's
            last acceptance to the answer.
Throughput  A STEP payload passes at one byte per clock, and 16 clocks more per frame; the line
            needs 13 and more for header, CRC and framing.
Reset       Idle; alpha and kappa are 0, rounding is nearest, the divisor is the configured one.
Hazards     A STEP frame is read while the answer before it is composed: its transitions must be
            kept from the lane while `answer_busy` is 1. Every other request waits until
            `answer_busy` is 0 and `lane_idle` is 1.
Invariants  Each frame gets exactly one answer, and leaves no byte behind.
"""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from qstep.config import Config
from qstep.fixed import COEFFICIENT_ONE, Rounding
from qstep.protocol import HEADER_BYTES, Request, StatusCode
from qstep_rtl.responder import ANSWER
from qstep_rtl.session import Session
from qstep_rtl.values import Task

__all__ = ["Commands"]

_ARGUMENT_BYTES = {
    Request.HELLO: 4,
    Request.CONFIGURE: 5,
    Request.NOISE: 8,
    Request.REWARDS: 1,
    Request.CLEAR: 0,
    Request.LOAD: 3,
    Request.READ: 5,
    Request.STEP_CODED: 0,
    Request.STEP_RAW: 0,
    Request.STATUS: 0,
    Request.COUNTERS: 0,
    Request.BAUD: 2,
}
_STEPS = (Request.STEP_CODED, Request.STEP_RAW)
_TASKS = {
    Request.REWARDS: Task.REWARDS,
    Request.LOAD: Task.LOAD,
    Request.READ: Task.READ,
    Request.CLEAR: Task.CLEAR,
}
_REPEATABLE = (Request.READ, Request.STATUS, Request.COUNTERS)
_MOST_ARGUMENTS = max(_ARGUMENT_BYTES.values())
_LEAST_DIVISOR = 4


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
    request, answer_busy, line_idle : Out, In(1), In(1)
        To and from the responder.
    lane_idle : In(1)
        Neither lane nor digest works on a transition.
    step_start, step_coded, step_bytes, step_busy, step_partial, step_illegal
        To and from the records.
    task, first_code, first_state, first_action, read_count, value_bytes, values_check, values_move,
    values_busy, values_verdict, values_data_bytes, payload_bytes
        To and from the values.
    counters_start, counters_answer : Out(1)
        Send the totals; they are the data of the answer under way.
    noise_load, noise_x, noise_w, alpha, kappa, rounding, divisor
        Parameters of lane and line.
    refused : Out(1)
        One clock for each request that was refused.
    """

    def __init__(self, config: Config, counter_data_bytes: int) -> None:
        self._config = config
        self._counter_data_bytes = counter_data_bytes
        super().__init__(
            {
                "bytes": In(stream.Signature(8)),
                "request": Out(stream.Signature(ANSWER)),
                "answer_busy": In(1),
                "line_idle": In(1),
                "lane_idle": In(1),
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
                "payload_bytes": Out(16),
                "read_count": Out(16),
                "value_bytes": Out(stream.Signature(8)),
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
                "epoch": Out(16),
                "expected": Out(16),
                "nonce": Out(32),
                "refused": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.session = session = Session()

        # Header, as it travels; its length counts down as the payload is taken.
        kind, seq, epoch, left = Signal(8), Signal(16), Signal(16), Signal(16)
        header = [kind, seq[:8], seq[8:], epoch[:8], epoch[8:], left[:8], left[8:]]
        arguments = Signal(8 * _MOST_ARGUMENTS)
        index = Signal(range(_MOST_ARGUMENTS))
        take = Signal()
        verdict = Signal(StatusCode)

        # What the type asks for, registered while the session judges.
        is_step = Signal()
        count = Signal(range(_MOST_ARGUMENTS + 1))
        known, length_fits = Signal(), Signal()

        m.d.comb += [
            session.seq.eq(seq),
            session.claimed_epoch.eq(epoch),
            session.greet_nonce.eq(arguments[:32]),
            self.epoch.eq(session.epoch),
            self.expected.eq(session.expected),
            self.nonce.eq(session.nonce),
            self.step_bytes.payload.eq(self.bytes.payload),
            self.value_bytes.payload.eq(self.bytes.payload),
            self.first_code.eq(arguments[:8]),
            self.first_state.eq(arguments[:16]),
            self.first_action.eq(arguments[16:24]),
            self.read_count.eq(arguments[24:40]),
            self.payload_bytes.eq(left),
            self.noise_x.eq(arguments[:32]),
            self.noise_w.eq(arguments[32:]),
            take.eq(self.bytes.valid & self.bytes.ready),
            self.request.payload.type.eq(kind),
            self.request.payload.seq.eq(seq),
            self.request.payload.verdict.eq(verdict),
        ]

        def work(request: Request) -> None:
            """Carry out a request whose arguments are there."""
            if request == Request.HELLO:
                m.d.comb += session.greet.eq(1)
                m.next = "answer"
            elif request == Request.CONFIGURE:
                alpha, kappa, rounding = arguments[:16], arguments[16:32], arguments[32:40]
                with m.If(
                    (alpha > COEFFICIENT_ONE) | (kappa > alpha) | (rounding >= len(Rounding))
                ):
                    m.d.sync += verdict.eq(StatusCode.OUT_OF_RANGE)
                with m.Else():
                    m.d.sync += [
                        self.alpha.eq(alpha),
                        self.kappa.eq(kappa),
                        self.rounding.eq(rounding),
                    ]
                m.next = "answer"
            elif request == Request.NOISE:
                with m.If(self.noise_x == 0):
                    m.d.sync += verdict.eq(StatusCode.OUT_OF_RANGE)
                with m.Else():
                    m.d.comb += self.noise_load.eq(1)
                m.next = "answer"
            elif request == Request.CLEAR:
                m.d.sync += self.task.eq(Task.CLEAR)
                m.next = "move"
            elif request in _TASKS:
                m.d.sync += [self.task.eq(_TASKS[request]), self.counters_answer.eq(0)]
                m.next = "check"
            elif request in _STEPS:
                m.d.comb += self.step_start.eq(1)
                m.d.sync += self.step_coded.eq(request == Request.STEP_CODED)
                m.next = "step"
            elif request == Request.COUNTERS:
                m.d.comb += self.counters_start.eq(1)
                m.d.sync += self.counters_answer.eq(1)
                m.next = "answer"
            elif request == Request.BAUD:
                with m.If(arguments[:16] < _LEAST_DIVISOR):
                    m.d.sync += verdict.eq(StatusCode.OUT_OF_RANGE)
                m.next = "answer"
            else:
                m.next = "answer"

        with m.If(take):
            m.d.sync += [index.eq(index + 1), left.eq(left - 1)]

        with m.FSM():
            with m.State("header"):
                m.d.comb += self.bytes.ready.eq(1)
                with m.If(take):
                    m.d.sync += left.eq(left)  # the header itself is not part of the length
                    for position, part in enumerate(header):
                        with m.If(index == position):
                            m.d.sync += part.eq(self.bytes.payload)
                    with m.If(index == HEADER_BYTES - 1):
                        m.d.sync += index.eq(0)
                        m.next = "judge"

            with m.State("judge"):
                m.d.comb += session.judge.eq(1)
                m.d.sync += [known.eq(0), length_fits.eq(0), count.eq(0), is_step.eq(0)]
                with m.Switch(kind):
                    for request, size in _ARGUMENT_BYTES.items():
                        with m.Case(request):
                            m.d.sync += [
                                known.eq(1),
                                count.eq(size),
                                is_step.eq(request in _STEPS),
                                session.is_hello.eq(request == Request.HELLO),
                                session.repeatable.eq(request in _REPEATABLE),
                            ]
                            if request in _STEPS:
                                m.d.sync += length_fits.eq(1)
                            elif request == Request.REWARDS:
                                m.d.sync += length_fits.eq(left >= size)
                            elif request == Request.LOAD:
                                m.d.sync += length_fits.eq(left > size)
                            else:
                                m.d.sync += length_fits.eq(left == size)
                    with m.Default():
                        m.d.sync += [session.is_hello.eq(0), session.repeatable.eq(0)]
                m.next = "decide"

            with m.State("decide"), m.If(is_step | (self.lane_idle & ~self.answer_busy)):
                m.next = "discard"
                with m.If(session.verdict != StatusCode.OK):
                    m.d.sync += verdict.eq(session.verdict)
                with m.Elif(~known):
                    m.d.sync += verdict.eq(StatusCode.BAD_TYPE)
                with m.Elif(~length_fits):
                    m.d.sync += verdict.eq(StatusCode.BAD_LENGTH)
                with m.Else():
                    m.d.sync += verdict.eq(StatusCode.OK)
                    m.next = "work"
                    with m.If(count != 0):
                        m.next = "arguments"

            with m.State("arguments"):
                m.d.comb += self.bytes.ready.eq(1)
                with m.If(take):
                    for position in range(_MOST_ARGUMENTS):
                        with m.If(index == position):
                            m.d.sync += arguments.word_select(position, 8).eq(self.bytes.payload)
                    with m.If(index == count - 1):
                        m.next = "work"

            with m.State("work"), m.Switch(kind):
                for request in Request:
                    with m.Case(request):
                        work(request)

            with m.State("check"):
                m.d.comb += self.values_check.eq(1)
                m.next = "checking"
            with m.State("checking"), m.If(~self.values_busy):
                m.d.sync += verdict.eq(self.values_verdict)
                m.next = "move"
                with m.If(self.values_verdict != StatusCode.OK):
                    m.next = "discard"
                with m.Elif(self.task == Task.READ):
                    m.next = "answer"
            with m.State("move"):
                m.d.comb += self.values_move.eq(1)
                m.next = "moving"
            with m.State("moving"):
                m.d.comb += [
                    self.value_bytes.valid.eq(self.bytes.valid),
                    self.bytes.ready.eq(self.value_bytes.ready),
                ]
                with m.If(~self.values_busy):
                    m.next = "answer"

            with m.State("step"):
                m.d.comb += [
                    self.step_bytes.valid.eq(self.bytes.valid & (left != 0)),
                    self.bytes.ready.eq(self.step_bytes.ready & (left != 0)),
                ]
                with m.If((left == 0) & ~self.step_busy):
                    with m.If(self.step_illegal):
                        m.d.sync += verdict.eq(StatusCode.OUT_OF_RANGE)
                    with m.Elif(self.step_partial):
                        m.d.sync += verdict.eq(StatusCode.BAD_LENGTH)
                    m.next = "answer"

            with m.State("discard"):
                m.d.comb += self.bytes.ready.eq(left != 0)
                with m.If(left == 0):
                    m.next = "answer"

            with m.State("answer"):
                m.d.comb += self.request.valid.eq(1)
                m.d.sync += index.eq(0)
                with m.If(verdict == StatusCode.OK):
                    with m.If(kind == Request.READ):
                        m.d.comb += self.request.payload.data_bytes.eq(self.values_data_bytes)
                    with m.Elif(kind == Request.COUNTERS):
                        m.d.comb += self.request.payload.data_bytes.eq(self._counter_data_bytes)
                with m.If(self.request.ready):
                    m.d.comb += [
                        session.finish.eq(1),
                        self.refused.eq(
                            (verdict != StatusCode.OK) & (verdict != StatusCode.DUPLICATE)
                        ),
                    ]
                    m.next = "header"
                    with m.If(verdict == StatusCode.OK):
                        with m.If(kind == Request.READ):
                            m.d.comb += self.values_move.eq(1)
                        with m.Elif(kind == Request.BAUD):
                            m.next = "retune"

            with m.State("retune"), m.If(self.line_idle):
                m.d.sync += self.divisor.eq(arguments[:16])
                m.next = "header"
        return m
