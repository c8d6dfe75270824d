"""cocotb tests of ``qs_agent_counters`` (bench ``qs_agent_blocks_bench``)."""

import random
from collections.abc import Sequence
from dataclasses import astuple
from itertools import product
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge, with_timeout
from cocotb.utils import get_sim_time
from tb.unit.agent_slots import Slots

from qstep.device.registers import counters_from, counters_writes
from qstep.spec.settings import AgentCounters

_STAGE = 13
_LATE = _STAGE + 8
_PATIENCE_NS = 10_000
_CLOCK_NS = 10
_COPIED, _WRITTEN = 19, 3
"""Clocks from the sweep of an agent's first word to the end of the copy, and to that word's write."""

_EARLY = 3
"""Clocks by which the earliest reads precede the sweep of the first word."""

_BITS = (48, 48, 48, 48, 64)


class _Counters:
    """Random steps of agents, with the expected counters after each step."""

    def __init__(self, dut: Any) -> None:
        self.dut, self.slots = dut, Slots(dut)
        self.history: list[list[AgentCounters]] = []
        self._saturated = [False] * self.slots.agents
        self._width = int(dut.Width.value)
        self._swept_ns = 0.0

    async def access(self, agent: int, word: int, data: int | None = None) -> int:
        """Read or write one word in the same way as ``qs_agent_bus``."""
        dut, edge = self.dut, FallingEdge(self.dut.clk_i)
        dut.counters_agent_i.value, dut.counters_word_i.value = agent, word
        asks = dut.counters_read_i if data is None else dut.counters_write_i
        dut.counters_data_i.value = data or 0
        asks.value = 1
        await with_timeout(RisingEdge(dut.counters_done_o), _PATIENCE_NS, "ns")
        await edge
        seen = int(dut.counters_data_o.value)
        clocks = _COPIED if data is None else word + _WRITTEN
        self._swept_ns = get_sim_time("ns") - clocks * _CLOCK_NS
        for clock in range(4):
            await edge
            assert not dut.counters_done_o.value, "an access ends twice"
            if clock == 0:  # the bus keeps its request for one clock after `done`
                asks.value = 0
        return seen

    async def until_its_sweep(self, late: int) -> None:
        """Advance to a clock close to the sweep of the last-accessed agent's first word.

        That access must have waited for one of the agent's words.
        """
        sweep = self.slots.slots * (self.slots.slots + 1)
        past = round((get_sim_time("ns") - self._swept_ns) / _CLOCK_NS)
        for _ in range((late - _EARLY - past) % sweep):
            await FallingEdge(self.dut.clk_i)

    async def write(self, agent: int, counters: AgentCounters) -> None:
        for _, place, data in counters_writes(agent, counters):
            await self.access(agent, place & 15, data)

    async def read(self, agent: int, longest: int = 0) -> AgentCounters:
        """Read all words, with pauses of up to `longest` clocks between them."""
        words = []
        for word in range(16):
            words.append(await self.access(agent, word))
            for _ in range(random.randrange(longest + 1)):
                await FallingEdge(self.dut.clk_i)
        return _of_words(agent, words)

    async def act(
        self,
        clocks: int,
        often: float,
        saturating: float = 0.3,
        truncating: float = 0.2,
        terminating: float = 0.2,
    ) -> None:
        """Step agents at random, with random rewards, episode ends and saturations."""
        dut, slots = self.dut, self.slots
        least = -(1 << (self._width - 1))
        for _ in range(clocks):
            agent = slots.agent(_LATE)
            dut.counters_saturated_i.value = agent is not None and self._saturated[agent]
            if agent is not None:
                self._saturated[agent] = False
            agent = slots.agent(_STAGE)
            counts = agent is not None and agent < len(self.history)
            stepped = counts and random.random() < often
            ends = random.random() if stepped else 1.0
            truncated = ends < truncating
            terminated = truncating <= ends < truncating + terminating
            reward = random.choice([least, -1, -least - 1, random.randrange(least, -least)])
            if not stepped:
                reward = 0
            elif agent is not None:
                last = astuple(self.history[agent][-1])
                saturated = random.random() < saturating
                self._saturated[agent] = saturated
                adds = 1, terminated, truncated, saturated, reward
                self.history[agent].append(_wrapped(last, adds))
            dut.counters_stepped_i.value = stepped
            dut.counters_terminated_i.value = terminated
            dut.counters_truncated_i.value = truncated
            dut.counters_reward_i.value = reward
            await slots.clock()
        for name in ("stepped", "terminated", "truncated", "reward", "saturated"):
            getattr(dut, f"counters_{name}_i").value = 0


def _of_words(agent: int, words: Sequence[int]) -> AgentCounters:
    return counters_from(agent, lambda _, place: words[place & 15])


def _wrapped(last: tuple[int, ...], adds: tuple[int, ...]) -> AgentCounters:
    sums = [a + b for a, b in zip(last, adds, strict=True)]
    counts = [value & ((1 << n) - 1) for value, n in zip(sums, _BITS, strict=True)]
    counts[-1] -= counts[-1] >> 63 << 64
    return AgentCounters(*counts)


async def _start(dut: Any, *first: AgentCounters) -> _Counters:
    bench = _Counters(dut)
    await bench.slots.start()
    for agent in range(bench.slots.agents):
        counters = first[agent % len(first)]
        await bench.write(agent, counters)
        bench.history.append([counters])
    # The accesses advanced the slots on their own.
    bench.slots._slot = int(dut.slot_o.value)
    return bench


_CARRIES = (
    AgentCounters(),
    AgentCounters(0xFFFE, 0xFFFF_FFFF, 0xFFFF, 0xFFFF_FFFE, -1),
    AgentCounters((1 << 48) - 3, (1 << 48) - 1, 1 << 47, (1 << 48) - 2, (1 << 63) - 5),
    # At least one sweep adds so much that adding it twice would cause a carry.
    AgentCounters((1 << 32) - 40, (1 << 32) - 5, (1 << 32) - 90, (1 << 32) - 30, (1 << 32) - 1),
)


@cocotb.test()
async def counts_of_all_agents_carry_and_wrap_as_wide_numbers(dut: Any) -> None:
    bench = await _start(dut, *reversed(_CARRIES))
    # In the first three phases, saturations, truncations or terminations of a sweep reach their maximum.
    phases = (
        (1.0, 1.0, 0.2, 0.2),
        (1.0, 0.3, 1.0, 0.0),
        (1.0, 0.3, 0.0, 1.0),
        (0.5, 0.3, 0.2, 0.2),
    )
    for phase in phases:
        await bench.act(60 * bench.slots.slots, *phase)
        await bench.act(bench.slots.slots * (bench.slots.slots + 6), 0.0)
        for agent in range(bench.slots.agents):
            seen = await bench.read(agent)
            assert seen == bench.history[agent][-1], f"counters of agent {agent} are {seen}"
        bench.slots._slot = int(dut.slot_o.value)


@cocotb.test()
async def words_that_are_read_while_agents_step_are_of_one_moment(dut: Any) -> None:
    bench = await _start(dut, AgentCounters(0xFFF0, 0xFFFF, 0xFFFD, 0xFFFC, -70_000))
    slots = bench.slots
    acting = cocotb.start_soon(bench.act(slots.slots * 800, 1.0))
    reads = 0
    while not acting.done():
        agent = random.randrange(slots.agents)
        behind = len(bench.history[agent])
        # In the longer pauses, the agent is swept again.
        seen = await bench.read(agent, longest=random.choice([0, 60]))
        made = seen.steps - 0xFFF0
        assert seen == bench.history[agent][made], f"counters of agent {agent} are {seen}"
        assert made >= behind - slots.slots - 4, f"counters are {behind - made} steps old"
        reads += 1
    assert reads > 10


@cocotb.test()
async def a_copy_begins_with_the_first_word_whenever_it_is_asked_for(dut: Any) -> None:
    """Reads start in every clock around the sweep of the agent's first word."""
    bench = await _start(dut, AgentCounters(0xFFF0, 0xFFFF, 0xFFFD, 0xFFFC, -70_000))
    acting = cocotb.start_soon(bench.act(10_000 * bench.slots.slots, 1.0))
    for late in range(24):
        agent = random.randrange(bench.slots.agents)
        await bench.access(agent, 0)
        await bench.until_its_sweep(late)
        seen = await bench.read(agent)
        made = seen.steps - 0xFFF0
        assert seen == bench.history[agent][made], f"counters of agent {agent} are {seen}"
    acting.cancel()


@cocotb.test()
async def a_copy_stays_as_it_is_when_another_word_is_read(dut: Any) -> None:
    bench = await _start(dut, AgentCounters(0xFFF0, 0xFFFF, 0xFFFD, 0xFFFC, -70_000))
    for word, late in product((1, 2, 4, 8), range(1, 6)):
        agent = random.randrange(bench.slots.agents)
        copy = [await bench.access(agent, other) for other in range(3)]
        await bench.access(agent, 1, copy[1] ^ 0xFFFF)
        await bench.access(agent, 2, copy[2] ^ 0xFFFF)
        await bench.until_its_sweep(late)
        await bench.access(agent, word)
        for other in (1, 2):
            seen = await bench.access(agent, other)
            assert seen == copy[other], f"word {other} has changed since word {word} was read"
