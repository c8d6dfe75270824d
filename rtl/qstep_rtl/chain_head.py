"""The head of a farm's daisy chain: turns host requests into frames, and returned bits into answers.

Function    An access, a run or a stop becomes a frame to one lane or to all lanes; a second frame shifts
            out the result of a read. ``rtl/farm/qs_chain_node.sv`` defines the frames, and
            ``docs/farm.md`` explains them.
Latency     n + 5 k + 15 clocks to lane k for a frame of n bits, plus the lane's latency. A read takes 5
            k + 44 more clocks.
Throughput  One request at a time.
Reset       Resets all lanes, each two clocks after the previous one.
Hazards     none
Invariants  A run begins only while no frame is in flight.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import Component, In, Out

from qstep.spec.config import Config
from qstep.spec.memory_map import INDEX, INDEX_BITS, NUMBERS, WORD_BITS, Region
from qstep.spec.protocol import ALL_LANES
from qstep_rtl.handle_agents import AgentsSignature
from qstep_rtl.invariants import invariant

__all__ = ["DOWN", "UP", "ChainHead", "index_mask"]

DOWN = data.StructLayout({"data": 1, "valid": 1, "all": 1})
"""Node-to-node signals away from the link; see ``qs_chain_pkg``."""

UP = data.StructLayout({"data": 1, "pending": 1, "busy": 1})
"""Node-to-node signals towards the link."""

_LEAST_INDEX_BITS = 16
"""Fewest index bits; with a data word, they make a frame long enough for the steps of a run."""

_STOP, _RUN = 0b1100, 0b1101
"""Low bits of the frames that are not accesses."""

_NOTHING = 0b1110

_RESET_CLOCKS = 6
"""Length of a reset in clocks; with four or more, at least one lane is pending in every clock."""

_TAIL = 3
"""Clocks from the last bit of an answer until nothing is pending."""

_STATES = ("reset", "wait", "idle", "begin", "address", "send", "done", "fetch", "told")
"""States, one-hot because the lanes' clock is fast."""


def index_mask(config: Config) -> int:
    """Return a mask of the 30 index bits: 1 for each bit that any region uses.

    Examples
    --------
    >>> from qstep.spec.agents import Acting
    >>> f"{index_mask(Config(25, 4, acting=Acting(agents=8), lanes=2)):030b}"
    '000001111001111101111111111111'
    """
    acting = config.acting
    assert acting is not None
    built = {  # bits of fields that are narrower than in the map
        "action": config.action_bits,
        "state": config.state_bits,
        "table_number": (config.agent_tables - 1).bit_length(),
        "plane": (config.planes - 1).bit_length(),
        "slot": (acting.outcomes - 1).bit_length(),
        "start": (acting.starts - 1).bit_length(),
    }
    mask = 0
    regions = {**INDEX, **({Region.WORLD: NUMBERS} if acting.is_tiled else {})}
    for index in regions.values():
        for name, first in index.offsets.items():
            mask |= ((1 << built.get(name, index.widths[name])) - 1) << first
    for place in range(INDEX_BITS):
        if mask.bit_count() < _LEAST_INDEX_BITS:
            mask |= 1 << place
    return mask


class ChainHead(Component):
    """The head of the chain.

    Parameters
    ----------
    config : Config
        Must have several lanes.

    Attributes
    ----------
    agents : In(AgentsSignature)
    reset : Out(1)
        Reset of the first node.
    down, up : Out(DOWN), In(UP)
        Signals to and from the first node.
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
        index = Cat(host.index[n] for n in range(INDEX_BITS) if mask >> n & 1)
        access = Cat(host.write, host.region, index, host.word)
        run = Cat(C(_RUN, 4), C(0, len(access) - 4 - len(host.steps)), host.steps)
        nothing = C(_NOTHING << (len(access) - WORD_BITS), len(access))

        # Because the lanes' clock is fast, the host's signals and the controls of the wide frame are
        # registered, and a request is selected in one clock and prepared in the next. Few registers need
        # the reset, which keeps its wires short.
        at = Signal(data.StructLayout(dict.fromkeys(_STATES, 1)), init={"reset": 1})
        frame = Signal(len(access), reset_less=True)  # its highest bit is sent next
        shifts = Signal(reset_less=True)
        # The kind of the frame, one-hot.
        kinds = {"accesses": access, "runs": run, "halts": C(_STOP, 4), "asks": nothing}
        is_kind = {kind: Signal(name=kind, reset_less=True) for kind in kinds}
        # A down counter, done below 0: testing a sign bit is faster than comparing with 0.
        left = Signal(range(-1, max(len(frame), _RESET_CLOCKS)), init=_RESET_CLOCKS - 2)
        # Number of lanes before the addressed lane.
        before = Signal(range(-1, self._config.lanes), reset_less=True)
        to_all = Signal(reset_less=True)
        is_job = Signal(init=1)
        stops = Signal()
        reads = Signal()  # a second frame fetches the word that was read
        heard = Signal(WORD_BITS + _TAIL, reset_less=True)
        busy = Signal(init=1)
        under_way = Signal(init=1)
        runs_now = Signal()
        access_now = Signal()
        done = Signal()
        ahead = Signal.like(before)
        for_all = Signal(reset_less=True)

        m.d.comb += [host.read.eq(heard[_TAIL:]), host.busy.eq(busy), host.done.eq(done)]
        m.d.sync += [runs_now.eq(host.run), access_now.eq(host.access & ~done)]
        m.d.sync += [for_all.eq(host.lane == ALL_LANES), ahead.eq(host.lane - 1)]
        m.d.sync += under_way.eq(up.busy | stops | runs_now | (is_job & ~at.idle))
        m.d.sync += busy.eq(host.run | host.stop | runs_now | under_way)

        is_over, is_addressed = left < 0, before < 0
        begins, fetches = runs_now | stops | access_now, reads & ~is_kind["asks"]
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
        m.d.sync += self.reset.eq(at.reset)
        m.d.sync += shifts.eq((at.address & is_addressed) | at.send)
        m.d.sync += done.eq(at.done & ~fetches & ~is_job)
        m.d.sync += [down.valid.eq(at.address | at.send), down.all.eq(to_all)]
        m.d.sync += down.data.eq(Mux(at.address, is_addressed, frame[-1]))
        with m.If(at.idle):
            m.d.sync += [is_kind["runs"].eq(runs_now), is_kind["halts"].eq(~runs_now & stops)]
            m.d.sync += [is_kind["accesses"].eq(~runs_now & ~stops), is_kind["asks"].eq(0)]
            m.d.sync += is_job.eq(runs_now | stops | ~access_now)
        with m.If(at.begin):
            m.d.sync += [reads.eq(~is_job & ~host.write), to_all.eq(is_job | for_all)]
        with m.If(at.fetch):
            m.d.sync += [is_kind["accesses"].eq(0), is_kind["asks"].eq(1)]
        with m.If(at.begin | at.fetch):
            m.d.sync += left.eq(Mux(at.fetch, WORD_BITS, len(frame)) - 2)
            m.d.sync += before.eq(Mux(at.begin & (is_job | for_all), -1, ahead))
        with m.If(at.reset | at.send):
            m.d.sync += left.eq(left - 1)
        with m.If(at.address):
            m.d.sync += before.eq(before - 1)
        with m.If(host.stop):
            m.d.sync += stops.eq(1)
        with m.Elif(at.idle & ~runs_now):
            m.d.sync += stops.eq(0)
        made = (bits & is_kind[kind].replicate(len(bits)) for kind, bits in kinds.items())
        m.d.sync += frame.eq(Mux(shifts, frame << 1, reduce(or_, made)))
        with m.If(is_kind["asks"] & ~at.done):
            m.d.sync += heard.eq(Cat(up.data, heard))
        with m.If(host.run):
            invariant(
                m, platform, at.idle & ~up.pending, "a run begins while a frame is on its way"
            )
        return m
