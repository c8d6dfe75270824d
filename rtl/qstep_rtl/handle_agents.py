"""Executes STORE, FETCH, RUN, STOP and PROGRESS: the host's requests to agents on the device.

Function    STORE and FETCH move words to and from the agents' memories, one access at a time; RUN starts
            a job that continues after its answer. See ``docs/link.md``, "Agents".
Latency     Two clocks per check; six clocks per word, plus the core's access time.
Throughput  One word at a time.
Reset       Idle.
Hazards     none
Invariants  A job starts only while no job is running. While a job runs, only counters are accessed.
"""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out, Signature

from qstep.spec.config import Config
from qstep.spec.memory_map import INDEX_BITS, REGION_BITS, WORD_BITS, Region
from qstep.spec.protocol import (
    ALL_LANES,
    MOST_STEPS,
    SILENT,
    WORD_BYTES,
    Request,
    StatusCode,
    max_words,
    requests_of,
)
from qstep_rtl.handler import HandlerSignature
from qstep_rtl.invariants import invariant

__all__ = ["AgentsHandler", "AgentsSignature"]


class AgentsSignature(Signature):
    """The host's requests to the agents, as seen from the handler.

    Parameters
    ----------
    lanes : int

    Attributes
    ----------
    lane : Out(8)
        With several lanes: the lane to access, or ALL_LANES in a write.
    access, write : Out(1), Out(1)
        Read or write a word; held, with its address and data, until `done`.
    region, index, word : Out(3), Out(30), Out(32)
        The word's address, and the data to write.
    done, read : In(1), In(32)
        1 for one clock when the access is done; the word read.
    run, steps : Out(1), Out(48)
        Start a job of this many steps per agent.
    stop : Out(1)
        End the job after the current steps.
    busy : In(1)
        A job is running, from the clock after `run` on.
    silent, silent_agent : In(1), In(4)
        The job ended because the world did not answer an agent in time; the number of that agent. Both
        are stable until the next job.
    """

    def __init__(self, lanes: int = 1) -> None:
        super().__init__(
            {
                **({"lane": Out(8)} if lanes > 1 else {}),
                "access": Out(1),
                "write": Out(1),
                "region": Out(REGION_BITS),
                "index": Out(INDEX_BITS),
                "word": Out(WORD_BITS),
                "done": In(1),
                "read": In(WORD_BITS),
                "run": Out(1),
                "steps": Out(48),
                "stop": Out(1),
                "busy": In(1),
                "silent": In(1),
                "silent_agent": In(4),
            }
        )


class AgentsHandler(Component):
    """The agents' handler.

    Parameters
    ----------
    config : Config
        Its link limits the words per answer.

    Attributes
    ----------
    request : In(HandlerSignature)
    agents : Out(AgentsSignature)
    data : Out(stream of 8)
        Data of the answers to FETCH and PROGRESS.
    """

    requests: ClassVar = (
        *(Request.STORE, Request.FETCH),
        *(Request.RUN, Request.STOP, Request.PROGRESS),
    )

    def __init__(self, config: Config) -> None:
        self._config = config
        self._most_words = max_words(config.link.buffer_bytes)
        super().__init__(
            {
                "request": In(HandlerSignature(config)),
                "agents": Out(AgentsSignature(config.lanes)),
                "data": Out(stream.Signature(8)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, agents = self.request, self.agents
        place = request.fields.fetch
        has_jobs = Request.RUN in requests_of(self._config)  # otherwise another handler starts them
        steps = request.fields.run.steps if has_jobs else C(0, 48)
        is_fetch, is_store = (request.type == kind for kind in (Request.FETCH, Request.STORE))

        # The addresses: runs of `run` consecutive words, each run `stride` after the previous one.
        row = Signal(INDEX_BITS)
        word = Signal(WORD_BITS)
        in_run = Signal(8)  # words of the run already done
        byte = Signal(2)  # of the word
        left = Signal(16)  # words of the request, then words left to fetch
        collecting = Signal()
        further = (row + place.stride)[:INDEX_BITS]

        def advance() -> None:
            m.d.sync += [agents.index.eq(agents.index + 1), in_run.eq(in_run + 1)]
            with m.If(in_run + 1 == place.run):
                m.d.sync += [agents.index.eq(further), row.eq(further), in_run.eq(0)]

        if self._config.lanes > 1:
            m.d.comb += agents.lane.eq(place.lane)

        # The fields are compared in one clock, and the results are evaluated in the next.
        is_busy = Signal()
        is_outside = Signal()
        is_cut = Signal()
        m.d.comb += [
            agents.region.eq(place.region),
            agents.word.eq(word),
            agents.steps.eq(steps),
            request.payload.ready.eq(collecting),
            self.data.payload.eq(word[:8]),
        ]
        with m.If(is_fetch):
            m.d.comb += request.data_bytes.eq(left * WORD_BYTES)
        with m.Elif(request.type == Request.PROGRESS):
            m.d.comb += request.data_bytes.eq(1)
        with m.FSM() as fsm:
            m.d.comb += request.busy.eq(
                fsm.ongoing("compare")
                | fsm.ongoing("judge")
                | fsm.ongoing("collect")
                | fsm.ongoing("store")
            )
            with m.State("idle"):
                with m.If(request.start):
                    m.d.sync += [
                        request.status.eq(StatusCode.OK),
                        agents.index.eq(place.index),
                        row.eq(place.index),
                        in_run.eq(0),
                        left.eq(place.count),
                    ]
                    with m.If(request.type == Request.STOP):
                        m.d.comb += agents.stop.eq(1)
                    with m.Elif(request.type != Request.PROGRESS):
                        m.next = "compare"
                with m.If(request.answered & is_fetch):
                    m.next = "fetch"
                with m.If(request.answered & (request.type == Request.PROGRESS)):
                    job = Mux(agents.silent, Cat(agents.silent_agent, C(SILENT >> 4, 4)), 0)
                    m.d.sync += [
                        word.eq(Mux(agents.busy, 1, job)),
                        byte.eq(WORD_BYTES - 1),
                        left.eq(1),
                    ]
                    m.next = "send"
            with m.State("compare"):
                no_word = (place.region > max(Region)) | (place.run == 0)
                if self._config.lanes > 1:
                    to_all = is_store & (place.lane == ALL_LANES)
                    no_word |= (place.lane >= self._config.lanes) & ~to_all
                m.d.sync += [
                    is_cut.eq(is_store & (request.left != left * WORD_BYTES)),
                    is_busy.eq(agents.busy & ~(is_fetch & (place.region == Region.COUNTERS))),
                    is_outside.eq(no_word | (is_fetch & ((left == 0) | (left > self._most_words)))),
                ]
                with m.If(request.type == Request.RUN):
                    m.d.sync += is_outside.eq((steps == 0) | (steps > MOST_STEPS))
                m.next = "judge"
            with m.State("judge"):
                m.next = "idle"
                with m.If(is_cut):
                    m.d.sync += request.status.eq(StatusCode.BAD_LENGTH)
                with m.Elif(is_busy):
                    m.d.sync += request.status.eq(StatusCode.BUSY)
                with m.Elif(is_outside):
                    m.d.sync += request.status.eq(StatusCode.OUT_OF_RANGE)
                with m.Elif(is_store):
                    m.d.sync += [collecting.eq(1), byte.eq(0)]
                    m.next = "collect"
                with m.Elif(request.type == Request.RUN):
                    m.d.comb += agents.run.eq(1)
            with m.State("collect"), m.If(request.payload.valid):
                m.d.sync += [
                    word.eq(Cat(word, request.payload.payload)[8:]),
                    byte.eq(byte + 1),
                ]
                with m.If(byte == WORD_BYTES - 1):
                    m.d.sync += collecting.eq(0)
                    m.next = "store"
            with m.State("store"):
                m.d.comb += [agents.access.eq(1), agents.write.eq(1)]
                with m.If(agents.done):
                    advance()
                    m.d.sync += collecting.eq(~request.spent)
                    m.next = "collect"
                    with m.If(request.spent):
                        m.next = "idle"
            with m.State("fetch"):
                m.d.comb += agents.access.eq(1)
                with m.If(agents.done):
                    advance()
                    m.d.sync += [word.eq(agents.read), byte.eq(0)]
                    m.next = "send"
            with m.State("send"):
                m.d.comb += self.data.valid.eq(1)
                with m.If(self.data.ready):
                    m.d.sync += [word.eq(word >> 8), byte.eq(byte + 1)]
                    with m.If(byte == WORD_BYTES - 1):
                        m.d.sync += left.eq(left - 1)
                        m.next = "fetch"
                        with m.If(left == 1):
                            m.next = "idle"
        with m.If(agents.run):
            invariant(m, platform, ~agents.busy, "a job begins while one runs")
        with m.If(agents.access & agents.busy):
            is_count = ~agents.write & (agents.region == Region.COUNTERS)
            invariant(m, platform, is_count, "memories are accessed while a job runs")
        return m
