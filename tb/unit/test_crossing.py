"""The crossing between two clocks carries orders once and in order, and nothing bypasses it."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from amaranth.back import verilog
from amaranth.hdl import ClockDomain, Module
from amaranth.lib.wiring import Component, In, Out, connect, flipped
from amaranth.sim import Simulator
from tb.generated import generated
from tb.planted import Fault, faults, plant_python
from tb.unit.clock_domains import Netlist

from qstep.acting.config import Acting
from qstep.config import Config, Link
from qstep_rtl import crossing
from qstep_rtl.handle_agents import AgentsSignature
from qstep_rtl.invariants import GENERATED

LANES = 2
PLACE = {"lane": 8, "write": 1, "region": 3, "index": 30, "word": 32}
PULSES = "access", "run", "stop"
MOST_CLOCKS = 400
RATIOS = [1 / 3, 1.0, 3.0, *(3 ** random.Random(1).uniform(-1, 1) for _ in range(3))]
"""Periods of the lanes' clock, in those of the link's."""

Event = tuple[str | int, ...]


class _Top(Component):
    """The crossing of a module, between the two domains."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        agents = AgentsSignature(LANES)
        clocks = {name: In(1) for name in ("clk", "rst", "lanes_clk")}
        super().__init__({**clocks, "host": In(agents), "agents": Out(agents)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains += [sync := ClockDomain("sync"), lanes := ClockDomain("lanes")]
        m.submodules.crossing = inner = self._module.Crossing(LANES)
        sync.clk, lanes.clk = self.clk, self.lanes_clk
        sync.rst, lanes.rst = self.rst, inner.reset
        connect(m, flipped(self.host), inner.host)
        connect(m, inner.agents, flipped(self.agents))
        return m


class _Core:
    """A stand-in for the agents: it answers late, and records each request."""

    def __init__(self, top: _Top, rng: random.Random) -> None:
        self._agents, self._rng = top.agents, rng
        self.events: list[Event] = []
        self.before: list[Event] = []
        """The events before the last reset."""
        self.word = 0
        """The word that was read last."""
        self.silence = (0, 0)
        self.is_over = True
        self._left = self._working = 0
        self._place: Event = ()

    async def act(self, ctx: Any) -> None:
        agents, random_ = self._agents, self._rng
        names = [*PULSES, "steps", *PLACE]
        while True:
            tick = ctx.tick("lanes").sample(*(getattr(agents, name) for name in names))
            _, is_reset, *values = await tick
            asked = dict(zip(names, values, strict=True))
            done, read = 0, random_.getrandbits(32)
            self._left -= self._left > 0
            if is_reset:
                self.before, self.events = self.before or self.events, []
                self._left, self._working = random_.randrange(9), 0
            else:
                self._begin_and_end(asked)
                done = self._access(asked, read)
            self.is_over |= is_reset or not self._left
            ctx.set(agents.busy, self._left > 0)
            ctx.set(agents.done, done)
            ctx.set(agents.read, read)
            ctx.set(agents.silent, self.silence[0])
            ctx.set(agents.silent_agent, self.silence[1])

    def _begin_and_end(self, asked: dict[str, int]) -> None:
        if asked["run"]:
            assert not self._left, "a run begins while the agents are busy"
            self.events.append(("run", asked["steps"]))
            self._left, self.is_over = self._rng.randrange(1, 40), False
            self.silence = self._rng.getrandbits(1), self._rng.getrandbits(4)
        if asked["stop"]:
            self.events.append(("stop",))
            self._left = self._rng.randrange(1, 9)  # a farm is busy even if no job ran

    def _access(self, asked: dict[str, int], read: int) -> int:
        """Return whether an access that reads `read` is over."""
        if self._working == 1:  # the host was told in this clock
            self._working = 0
            return 0
        if not asked["access"]:
            assert not self._working, "an access is broken off"
            return 0
        place = tuple(asked[name] for name in PLACE)
        if not self._working:
            self._working, self._place = self._rng.randrange(2, 9), place
            self.events.append(("access", *place))
        assert place == self._place, "data change during an access"
        self._working -= 1
        if self._working > 1:
            return 0
        self.word = read
        return 1


class _CutOffError(Exception):
    """A request has been under way for as long as it may be."""


class _Bench:
    """The link's side: it makes requests and records them."""

    def __init__(self, module: ModuleType, rng: random.Random) -> None:
        self.top = _Top(module)
        self.core, self._host, self._rng = _Core(self.top, rng), self.top.host, rng
        self.asked: list[Event] = []
        self._arrived = 0  # requests known to have reached the agents
        self._left = -1  # clocks until the request is cut off
        self.ctx: Any = None

    def simulate(self, ratio: float, talk: Callable[[_Bench], Awaitable[None]]) -> None:
        async def bench(ctx: Any) -> None:
            self.ctx = ctx
            await self.reset()
            await talk(self)

        simulator = Simulator(self.top)
        phase = self._rng.random()
        simulator.add_clock(1e-6, phase=1e-6)
        simulator.add_clock(1e-6 * ratio, domain="lanes", phase=1e-6 * ratio * phase)
        simulator.add_testbench(bench)
        simulator.add_testbench(self.core.act, background=True)
        simulator.run()

    async def clock(self) -> dict[str, int]:
        """Wait for a clock of the link, check what busy claims, and return what the link saw."""
        host, set_ = self._host, self.ctx.set
        if self._left == 0:
            raise _CutOffError
        self._left -= 1
        names = ("busy", "done", "read", "silent", "silent_agent", "run", "access")
        values = await self.ctx.tick().sample(*(getattr(host, name) for name in names))
        seen = dict(zip(names, values[2:], strict=True))
        if not seen["busy"] and not seen["run"]:
            assert self.core.is_over, "busy falls while the agents run"
            assert _runs(self.core.events) == _runs(self.asked), "busy falls before the agents run"
        if not seen["access"] or seen["done"]:  # values without a request must not matter
            for name, bits in PLACE.items():
                set_(getattr(host, name), self._rng.getrandbits(bits))
            set_(host.access, 0)
        set_(host.steps, self._rng.getrandbits(48))
        set_(host.run, 0)
        set_(host.stop, 0)
        return seen

    async def at_rest(self) -> dict[str, int]:
        for _ in range(MOST_CLOCKS):
            seen = await self.clock()
            if not seen["busy"]:
                return seen
        raise AssertionError("busy does not fall")

    async def access(self) -> None:
        place = {name: self._rng.getrandbits(bits) for name, bits in PLACE.items()}
        self.asked.append(("access", *place.values()))
        for name, value in {**place, "access": 1}.items():
            self.ctx.set(getattr(self._host, name), value)
        for _ in range(MOST_CLOCKS):
            seen = await self.clock()
            if seen["done"]:
                assert self.core.events == self.asked, "the agents were asked something else"
                assert seen["read"] == self.core.word, "another word is read"
                self._arrived = len(self.asked)
                await self.clock()
                return
        raise AssertionError("an access does not end")

    async def run(self) -> None:
        seen = await self.at_rest()
        if _runs(self.asked):
            silence = seen["silent"], seen["silent_agent"]
            assert silence == self.core.silence, "another agent was silent"
        steps = self._rng.getrandbits(48)
        self.asked.append(("run", steps))
        self.core.is_over = False
        self.ctx.set(self._host.run, 1)
        self.ctx.set(self._host.steps, steps)
        await self.clock()

    async def stop(self) -> None:
        if self.asked and self.asked[-1] == ("stop",):
            return  # two pending stops are one
        self.asked.append(("stop",))
        self.ctx.set(self._host.stop, 1)
        await self.clock()

    async def something(self) -> None:
        await self._rng.choice([self.access, self.access, self.run, self.stop])()

    async def cut_off(self) -> None:
        """Make a request, and give up on it after some clocks."""
        self._left = self._rng.choice([1, 2, 5, 10, 20])
        try:
            while True:
                await self.something()
        except _CutOffError:
            self._left = -1

    async def reset(self) -> None:
        """Reset both sides; check that what must have arrived did, and nothing that was not asked."""
        self.core.before = []
        for name in PULSES:
            self.ctx.set(getattr(self._host, name), 0)
        self.ctx.set(self.top.rst, 1)
        for _ in range(self._rng.randrange(1, 4)):
            await self.ctx.tick()
        self.ctx.set(self.top.rst, 0)
        asked, self.asked = self.asked, []
        assert self.ctx.get(self._host.busy), "busy is 0 after a reset"
        await self.at_rest()
        before = self.core.before
        assert before == asked[: len(before)], "a reset lets something in"
        assert len(before) >= self._arrived, "an order was lost"
        self._arrived = 0


def _runs(events: list[Event]) -> int:
    return sum(event[0] == "run" for event in events)


async def all_in_order(bench: _Bench) -> None:
    """Make one request after the other."""
    rng = random.Random(2)
    for _ in range(25):
        await bench.something()
        for _ in range(rng.choice([0, 0, 0, 1, 2, 30])):
            await bench.clock()
    await bench.access()
    await bench.at_rest()


async def with_resets(bench: _Bench) -> None:
    """Reset in the middle of requests, again and again."""
    for _ in range(12):
        await bench.cut_off()
        await bench.reset()
        await bench.access()


def check(module: ModuleType) -> None:
    for number, ratio in enumerate(RATIOS):
        for talk in (all_in_order, with_resets):
            _Bench(module, random.Random(number)).simulate(ratio, talk)


@pytest.mark.unit
def test_orders_and_words_cross_between_unrelated_clocks() -> None:
    check(crossing)


@pytest.mark.unit
@pytest.mark.parametrize("fault", faults("test_crossing"), ids=lambda fault: fault.name)
def test_bench_finds_the_fault_planted_in_the_crossing(fault: Fault) -> None:
    with pytest.raises(AssertionError, match=str(fault.seen)):
        check(plant_python(crossing, fault.old, fault.new))


def check_domains(text: str, top: str, folder: Path) -> None:
    """Check that nothing passes between the clocks except through the crossing."""
    netlist = Netlist(text, top, folder)
    bits, held = set(), set()
    for passage in netlist.passages():
        names = {name.rpartition("crossing.")[2] for name in passage.source if "crossing." in name}
        if names & set(crossing.Crossing.held):
            held |= names & set(crossing.Crossing.held)
            continue
        assert names & set(crossing.Crossing.bits), f"{sorted(passage.source)} pass elsewhere"
        bits |= names & set(crossing.Crossing.bits)
        assert passage.is_direct, f"there is logic between {names} and its chain"
        sink = passage.sink
        for _ in range(crossing.STAGES - 1):
            sink = netlist.follower(sink)
    assert bits == set(crossing.Crossing.bits)
    assert held == set(crossing.Crossing.held)


@pytest.mark.synth
@pytest.mark.slow
def test_between_the_clocks_of_a_device_nothing_passes_but_by_the_crossing(tmp_path: Path) -> None:
    acting = Acting(agents=2, clock_hz=96_000_000)
    config = Config(4, 2, acting=acting, link=Link(buffer_bytes=512), lanes=2)
    check_domains(generated(config)["qstep_top"], "qstep_top", tmp_path)


PASSES = {
    "elsewhere": ("running & ~agents.busy", "running & ~agents.busy & ~waits", "pass elsewhere"),
    "no chain": ("asked_there != taken", "asked != taken", "logic between"),
    "logic": ("bit, there,", "bit & ~agents.busy, there,", "logic between"),
    "one register": ("stages=STAGES", "stages=1 + 1", "leads to"),
}


@pytest.mark.synth
@pytest.mark.slow
@pytest.mark.parametrize("fault", PASSES)
def test_what_passes_elsewhere_is_found(fault: str, tmp_path: Path) -> None:
    old, new, message = PASSES[fault]
    top = _Top(plant_python(crossing, old, new))
    text = verilog.convert(top, name="top", platform=GENERATED, emit_src=False)
    with pytest.raises(AssertionError, match=message):
        check_domains(text, "top", tmp_path)
