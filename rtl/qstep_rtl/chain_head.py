"""The head of a farm's chain: makes frames of what the host asks, and its answers of what comes back.

Function    An access, a run or a stop is a frame to a lane or to all; what a read has found is pushed
            out by a second frame. ``rtl/qs_stop.sv`` has the frames, ``docs/farm.md`` an account.
Latency     n + 5 k + 14 clocks to lane k with a frame of n bits, and what the lane takes; 5 k + 43 more
            to read.
Throughput  One request at a time.
Reset       Resets all lanes, each two clocks later than the one before.
Hazards     none
Invariants  A run begins only while nothing is under way.
"""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import Component, In, Out

from qstep.acting.config import Algorithm
from qstep.config import Config
from qstep.protocol import ALL_LANES, WORD_BYTES
from qstep_rtl.handle_agents import AgentsSignature
from qstep_rtl.invariants import invariant

__all__ = ["DOWN", "UP", "ChainHead", "index_mask"]

DOWN = data.StructLayout({"data": 1, "valid": 1, "all": 1})
"""What passes from stop to stop, away from the link; ``qs_chain_pkg`` says what it is."""

UP = data.StructLayout({"data": 1, "pending": 1, "busy": 1})
"""The same towards the link."""

_INDEX_BITS = 30
_WORD_BITS = 8 * WORD_BYTES
_LEAST_INDEX_BITS = 16
"""With a word of data as many bits as the steps of a run."""

_STOP, _RUN = 0b1100, 0b1101
"""Of the low bits of a frame."""

_NOTHING = 0b1110

_RESET_CLOCKS = 6
"""A reset of four clocks or more leaves no clock between the lanes in which none is pending."""

_TAIL = 3
"""Clocks from the last bit of an answer to the first in which nothing is pending."""


_States = data.StructLayout(
    dict.fromkeys(("reset", "wait", "idle", "begin", "address", "send", "done", "fetch", "told"), 1)
)


def index_mask(config: Config) -> int:
    """Return the bits of an index that say something in any region, of 30.

    Examples
    --------
    >>> from qstep.acting.config import Acting
    >>> f"{index_mask(Config(25, 4, acting=Acting(agents=8), lanes=2)):030b}"
    '000001110001111101111111111111'
    """
    acting = config.acting
    assert acting is not None
    agent = (config.lane_agents - 1).bit_length()
    double = acting.algorithm is Algorithm.DOUBLE_Q_LEARNING
    outcome, start = ((n - 1).bit_length() for n in (acting.outcomes, acting.starts))
    fields = [  # where it begins, and how many bits it has; docs/agents.md
        *((0, 3), (3, agent)),  # settings and contexts
        *((0, 4), (4, agent)),  # counters
        *((0, config.action_bits), (6, config.state_bits), (22, agent), (26, int(double))),
        *((0, 2), (2, outcome), (8, config.action_bits), (14, config.state_bits)),  # outcomes
        *((0, 1), (1, start)),
    ]
    mask = 0
    for first, bits in fields:
        mask |= ((1 << bits) - 1) << first
    for place in range(_INDEX_BITS):
        if mask.bit_count() < _LEAST_INDEX_BITS:
            mask |= 1 << place
    return mask


class ChainHead(Component):
    """The head of the chain.

    Parameters
    ----------
    config : Config
        With ``config.lanes`` above 1.

    Attributes
    ----------
    agents : In(AgentsSignature)
    reset : Out(1)
        Reset of the first stop.
    down, up : Out(DOWN), In(UP)
        To and from it.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                "agents": In(AgentsSignature(config.lanes)),
                "reset": Out(1, init=1),
                "down": Out(DOWN),
                "up": In(UP),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        host, down, up = self.agents, self.down, self.up
        mask = index_mask(self._config)
        index = Cat(host.index[n] for n in range(_INDEX_BITS) if mask >> n & 1)
        access = Cat(host.write, host.region, index, host.word)
        run = Cat(C(_RUN, 4), C(0, len(access) - 4 - len(host.steps)), host.steps)
        nothing = C(_NOTHING << (len(access) - _WORD_BITS), len(access))

        # The lanes' clock is fast. So what moves the frame's many bits, and what the host says, comes
        # from registers, and a state is a bit.
        at = Signal(_States, init={"reset": 1})
        frame = Signal(len(access))  # its highest bit is next
        loads, shifts = Signal(), Signal()
        runs, halts, asks = Signal(), Signal(), Signal()  # what it says, if it is no access
        # Below 0 they are over: a sign is there at once, and whether all bits are 0 is not.
        left = Signal(range(-1, max(len(frame), _RESET_CLOCKS)), init=_RESET_CLOCKS - 2)
        before = Signal(range(-1, self._config.lanes))  # lanes before the one that it is for
        to_all, is_job, stops = Signal(), Signal(init=1), Signal()
        reads = Signal()  # what it has read is asked for by a second frame
        heard = Signal(_WORD_BITS + _TAIL)
        busy, under_way = Signal(init=1), Signal(init=1)
        runs_now, accesses, done = Signal(), Signal(), Signal()
        ahead, for_all = Signal.like(before), Signal()

        m.d.comb += [host.read.eq(heard[_TAIL:]), host.busy.eq(busy), host.done.eq(done)]
        m.d.sync += [runs_now.eq(host.run), accesses.eq(host.access & ~done)]
        m.d.sync += [for_all.eq(host.lane == ALL_LANES), ahead.eq(host.lane - 1)]
        m.d.sync += under_way.eq(up.busy | stops | runs_now | (is_job & ~at.idle))
        m.d.sync += busy.eq(host.run | host.stop | runs_now | under_way)

        is_over, is_addressed = left < 0, before < 0
        begins, fetches = runs_now | stops | accesses, reads & ~asks
        m.d.sync += [
            at.reset.eq(at.reset & ~is_over),
            at.wait.eq(((at.reset | at.send) & is_over) | (at.wait & up.pending)),
            at.idle.eq(at.told | (at.idle & ~begins)),
            at.begin.eq(at.idle & begins),
            at.address.eq(at.begin | at.fetch | (at.address & ~is_addressed)),
            at.send.eq((at.address & is_addressed) | (at.send & ~is_over)),
            at.done.eq(at.wait & ~up.pending),
            at.fetch.eq(at.done & fetches),
            at.told.eq(at.done & ~fetches),
        ]
        m.d.sync += [self.reset.eq(at.reset), loads.eq(at.begin | at.fetch)]
        m.d.sync += shifts.eq((at.address & is_addressed) | at.send)
        m.d.sync += done.eq(at.done & ~fetches & ~is_job)
        m.d.sync += [down.valid.eq(at.address | at.send), down.all.eq(to_all)]
        m.d.sync += down.data.eq(Mux(at.address, is_addressed, frame[-1]))
        with m.If(at.idle):
            m.d.sync += [runs.eq(runs_now), halts.eq(stops), asks.eq(0)]
            m.d.sync += is_job.eq(runs_now | stops | ~accesses)
        with m.If(at.begin):
            m.d.sync += [reads.eq(~is_job & ~host.write), to_all.eq(is_job | for_all)]
        with m.If(at.fetch):
            m.d.sync += asks.eq(1)
        with m.If(at.begin | at.fetch):
            m.d.sync += left.eq(Mux(at.fetch, _WORD_BITS, len(frame)) - 2)
            m.d.sync += before.eq(Mux(at.begin & (is_job | for_all), -1, ahead))
        with m.If(at.reset | at.send):
            m.d.sync += left.eq(left - 1)
        with m.If(at.address):
            m.d.sync += before.eq(before - 1)
        with m.If(host.stop):
            m.d.sync += stops.eq(1)
        with m.Elif(at.idle & ~runs_now):
            m.d.sync += stops.eq(0)
        with m.If(loads):
            said = Mux(halts, C(_STOP, len(access)), Mux(asks, nothing, access))
            m.d.sync += frame.eq(Mux(runs, run, said))
        with m.Elif(shifts):
            m.d.sync += frame.eq(frame << 1)
        with m.If(asks & ~at.done):
            m.d.sync += heard.eq(Cat(up.data, heard))
        with m.If(host.run):
            invariant(
                m, platform, at.idle & ~up.pending, "a run begins while a frame is on its way"
            )
        return m
