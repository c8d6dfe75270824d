"""cocotb tests of ``qs_axi_agents``: agents on AXI match the model; the test acts as their world.

Plusarg: ``+report=PATH`` writes the coverage to that file as JSON.
"""

import random
import struct
from collections.abc import AsyncIterator, Hashable, Iterable
from dataclasses import replace
from itertools import product
from typing import Any, Self

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge
from tb.bus.axi_coverage import report
from tb.bus.axi_port import AxiPort, no_output_follows_an_input
from tb.bus.axi_runs import AXI_AGENTS
from tb.bus.first_in_c import first_in_c

from qstep.device import registers
from qstep.device.live import LiveModel
from qstep.device.registers import Access
from qstep.golden.agents_fast import FastActingModel
from qstep.mdp.world import World
from qstep.spec.config import Config
from qstep.spec.epsilon import Epsilon
from qstep.spec.memory_map import INDEX, Region
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState
from qstep_rtl.bus.registers import AGENTS

_AGENTS, _STATES, _ACTIONS = AXI_AGENTS.lane_agents, AXI_AGENTS.states, AXI_AGENTS.actions
ACTION = struct.Struct("<IIII")
_ANSWER = struct.Struct("<IIiHH")
_LATENCY = (22, 37)
"""Minimum and maximum clocks from an answer's last beat to the first beat of its agent's next action."""


_LEAST, _GREATEST = AXI_AGENTS.format.minimum, AXI_AGENTS.format.maximum
_REWARDS = (0, -1, _GREATEST, _LEAST)
"""Raw reward for each next state."""

_LIVE: dict[str, list[Hashable]] = {
    # An episode ends in the last state, so no agent acts there.
    "action": list(product(range(_AGENTS), range(_STATES - 1), range(_ACTIONS))),
    "answer": list(product(range(_AGENTS), range(_STATES))),
    "refused": [
        *("agent", "next state", "reward too high", "reward too low", "reserved", "terminated"),
        *("nobody waits", "repeated"),
    ],
    "job": ["ends", "silent", "stopped", "no steps", "another one runs"],
}
"""Coverage bins for the world and the jobs; the last test fails if a bin is empty."""


def _next(state: int, action: int) -> tuple[int, int, bool]:
    """Return the next state, the raw reward and whether the episode ends; episodes start in state 0."""
    to = (state + action + 1) % _STATES
    return to, _REWARDS[to], to == _STATES - 1


class AgentsPort(AxiPort):
    """The ports of ``qs_axi_agents``, with the world connected to its streams."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut, AGENTS)
        self.config = Config(_STATES, _ACTIONS)
        self.coverage.group.add(_LIVE)
        self.agents = int(dut.Agents.value)
        self.settings = [
            AgentSettings(0.5, 0.9, Epsilon(1 / (1 + own)), own) for own in range(self.agents)
        ]
        self.said = 0  # actions received
        self.wait = 0  # the world answers within this many clocks

    @classmethod
    async def started(cls, dut: Any) -> Self:
        """Return the ports of a device that has been reset and whose memories have all been written."""
        port = cls(dut)
        await port.start()
        await port.idle()
        await port.begin_anew()
        return port

    async def begin_anew(self) -> None:
        """Return every agent to its state before the first step, and clear all tables."""
        words = [registers.limit_write(0)]
        for number, own in enumerate(self.settings):
            words += registers.settings_writes(self.config, number, own)
            words += registers.state_writes(number, AgentState.first(own, number))
            words += registers.counters_writes(number, AgentCounters())
        words += [Access(Region.TABLE, index, 0) for index in self.indexes()]
        await self.store(words)

    def indexes(self) -> list[int]:
        """Return the indexes of all table values, in the order of the model's table."""
        config = self.config
        shape = (self.agents, config.planes, config.states, config.actions)
        return [registers.table_index(*place) for place in np.ndindex(shape)]

    def model(self, start: int = 0) -> FastActingModel:
        """Return the model in the same world, with episodes starting in state `start`."""
        state, action = np.divmod(np.arange(_STATES * _ACTIONS), _ACTIONS)
        to = (state + action + 1) % _STATES
        world = World.from_arrays(
            state=state,
            action=action,
            next_state=to,
            reward=np.array(_REWARDS)[to] / (1 << self.format.fraction),
            terminated=to == _STATES - 1,
            start_state=[start],
        )
        config = replace(AXI_AGENTS, acting=world.acting(agents=self.agents))
        return FastActingModel(config, world.table(config), self.settings)

    async def store(self, words: Iterable[Access]) -> None:
        """Write words to the memories; the index register increments by itself."""
        place = (-1, -1)
        for region, index, word in words:
            if place != (region, index):
                await self.write("word_region", value=region)
                await self.write("word_index", value=index)
            await self.write("word", value=word)
            place = (region, index + 1)

    async def everything(self) -> dict[tuple[int, int], int]:
        """Return all words that steps can change, by region and index."""
        places = [(Region.CONTEXT, n << 3 | f) for n in range(self.agents) for f in range(5)]
        places += [(Region.COUNTERS, n << 4 | f) for n in range(self.agents) for f in range(16)]
        places += [(Region.TABLE, index) for index in self.indexes()]
        found: dict[tuple[int, int], int] = {}
        for region, index in places:
            found[region, index] = await self.fetch(region, index)
        return found

    async def fetch(self, region: int, index: int) -> int:
        """Return one memory word."""
        await self.write("word_region", value=region)
        await self.write("word_index", value=index)
        return await self.read("word")

    def state(self, agent: int, read: registers.Read) -> AgentState:
        """Decode an agent's state from its memory words."""
        return registers.state_from(agent, read)

    async def check(self, model: FastActingModel | LiveModel) -> None:
        """Compare the states, counters and tables with the model's."""
        words = await self.everything()

        def read(region: int, index: int) -> int:
            return words[region, index]

        agents = range(self.agents)
        assert [self.state(n, read) for n in agents] == model.states
        assert [registers.counters_from(n, read) for n in agents] == model.counters
        mask = (1 << self.format.width) - 1
        for index, (place, value) in zip(self.indexes(), np.ndenumerate(model.table), strict=True):
            assert read(Region.TABLE, index) & mask == int(value) & mask, place

    async def idle(self) -> None:
        """Wait until no job is running; after a reset, the device is also busy for a while."""
        while await self.field("status", "busy"):
            pass

    async def begin(self, steps: int) -> None:
        """Start a job."""
        await self.write("steps", value=steps)
        await self.write("control", run=1)

    async def run(self, steps: int) -> None:
        """Run a job until it ends."""
        await self.begin(steps)
        await self.idle()
        self.coverage.group.hit("job", "ends")

    async def action(self) -> tuple[int, int, int]:
        """Return the next action record: agent, state and action."""
        agent, state, action, _ = ACTION.unpack(bytes((await self.sink.recv()).tdata))
        self.said += 1
        self.coverage.group.hit("action", (agent, state, action))
        return agent, state, action

    async def answer(self, agent: int, state: int, action: int) -> None:
        """Send the answer to an action."""
        self.coverage.group.hit("answer", (agent, _next(state, action)[0]))
        await self.source.send(self.answer_to(agent, state, action))

    async def latencies(self, count: int) -> list[int]:
        """Return the clocks from each answer's last beat to the first beat of its agent's action."""
        dut, answered, said = self.dut, dict[int, int](), list[int]()
        clock, agent_in, first_in, first_out = 0, -1, True, True
        while len(said) < count:
            await RisingEdge(dut.aclk)
            clock += 1
            if dut.s_axis_tvalid.value and dut.s_axis_tready.value:
                if first_in:
                    agent_in = int(dut.s_axis_tdata.value) & 0xF
                first_in = bool(dut.s_axis_tlast.value)
                if first_in:
                    answered[agent_in] = clock
            if dut.m_axis_tvalid.value and dut.m_axis_tready.value:
                if first_out:
                    agent_out = int(dut.m_axis_tdata.value) & 0xF
                    if agent_out in answered:
                        said.append(clock - answered.pop(agent_out))
                first_out = bool(dut.m_axis_tlast.value)
        return said

    @staticmethod
    def answer_to(agent: int, state: int, action: int) -> bytes:
        """Return the answer to an action."""
        to, reward, ends = _next(state, action)
        return _ANSWER.pack(agent, to, reward, 0, ends)

    async def world(self) -> None:
        """Answer all actions after random delays and in random order."""
        waiting: list[tuple[int, int, int]] = []
        while True:
            if not waiting or not self.sink.empty():
                waiting.append(await self.action())
            if self.wait:
                await self.clocks(random.randrange(self.wait))
            if self.sink.empty():
                await self.answer(*waiting.pop(random.randrange(len(waiting))))

    async def jobs_with_stalls(self) -> AsyncIterator[int]:
        """Run jobs with stalls on every channel, yielding each job's steps; then check the counters."""
        cocotb.start_soon(self.world())
        made = 0
        for steps, stalls, wait in ((40, 0, 0), (30, 0.5, 9), (1, 0.8, 40), (2, 0.2, 3)):
            self.stall(stalls)
            self.wait = wait
            await self.run(steps)
            made += steps * self.agents
            yield steps
        self.stall(0)
        names = ("answers", "actions", "refused", "cut", "errors")
        assert [await self.read(name) for name in names] == [made, made, 0, 0, 0]


@cocotb.test()
async def first_job_in_c_passes(dut: Any) -> None:
    port = await AgentsPort.started(dut)
    assert await first_in_c(port, AXI_AGENTS, AGENTS) is None


@cocotb.test()
async def registers_say_what_was_built(dut: Any) -> None:
    port = await AgentsPort.started(dut)
    assert await port.read("id") == int.from_bytes(b"QSTP", "big")
    assert await port.read("version") == 1 << 16 | 1
    assert await port.read("digest") == int(dut.Digest.value)
    assert await port.field("geometry", "states") == _STATES
    assert await port.field("geometry", "actions") == _ACTIONS
    assert await port.field("format", "width") == AXI_AGENTS.format.width
    assert await port.field("format", "stream_bytes") == int(dut.StreamBytes.value)
    await port.reads_parts_of("id")


@cocotb.test()
async def accesses_that_are_refused_change_nothing_and_the_others_stay_in_order(dut: Any) -> None:
    port = await AgentsPort.started(dut)
    for name, value in (("steps", 7), ("steps_high", 1), ("start_state", 2), ("word_region", 3)):
        await port.write(name, value=value)
        assert await port.read(name) == value
    port.stall(0.3)
    await port.refuses(
        ("steps", "steps_high", "start_state", "word_region", "word_index", "errors")
    )
    await port.at_once("steps")
    words = [cocotb.start_soon(port.read("word")) for _ in range(8)]
    assert [await word for word in words] == [0] * len(words)


@cocotb.test()
async def agents_learn_what_the_model_does_with_stalls_on_every_channel(dut: Any) -> None:
    port = await AgentsPort.started(dut)
    model = port.model()
    async for steps in port.jobs_with_stalls():
        model.run(steps)
    await port.check(model)


@cocotb.test()
async def episodes_start_where_the_register_says(dut: Any) -> None:
    port = await AgentsPort.started(dut)
    cocotb.start_soon(port.world())
    # A nonexistent start state is replaced by state 0.
    for value, start in ((1, 1), (_STATES - 2, _STATES - 2), (_STATES, 0), (0xFFFF, 0)):
        await port.write("start_state", value=value)
        await port.begin_anew()
        model = port.model(start)
        await port.run(20)
        model.run(20)
        await port.check(model)


@cocotb.test()
async def an_action_follows_its_answer_as_fast_as_the_header_says(dut: Any) -> None:
    port = await AgentsPort.started(dut)
    port.wait = 33
    cocotb.start_soon(port.world())
    await port.begin(150)
    said = await port.latencies(200)
    beats = ACTION.size // int(dut.StreamBytes.value)
    assert min(said) == _LATENCY[0]
    assert _LATENCY[1] <= max(said) < _LATENCY[1] + port.agents * beats, "others are in front of it"


@cocotb.test()
async def answers_out_of_range_too_many_or_cut_off_are_dropped_and_counted(dut: Any) -> None:
    port = await AgentsPort.started(dut)
    model = port.model()
    good = (0, 1, 5, 0, 0)
    wrong_in = {
        "agent": (port.agents, *good[1:]),
        "next state": (0, _STATES, *good[2:]),
        "reward too high": (0, 1, _GREATEST + 1, 0, 0),
        "reward too low": (0, 1, _LEAST - 1, 0, 0),
        "reserved": (0, 1, 5, 1, 0),
        "terminated": (0, 1, 5, 0, 2),
    }
    bad: list[tuple[int, ...]] = [*wrong_in.values(), (1 << 31, *good[1:])]
    for _ in range(20):
        numbers = [random.getrandbits(32) | 1 << 20 for _ in range(2)]
        reward = random.getrandbits(32) - (1 << 31)
        bad.append((*numbers, reward, random.getrandbits(16), random.getrandbits(16)))
    await port.source.send(_ANSWER.pack(*good))  # no agent has acted yet
    await port.begin(20)
    waiting = [await port.action() for _ in range(port.agents)]
    for wrong in bad:
        await port.source.send(_ANSWER.pack(*wrong))
    size = int(dut.StreamBytes.value)
    for end in range(size, 16, size):
        await port.source.send(_ANSWER.pack(*good)[:end])
    cuts = len(range(size, 16, size))
    for action in waiting:
        await port.answer(*action)
        await port.answer(*action)  # the repeat is refused
    cocotb.start_soon(port.world())
    await port.idle()
    model.run(20)
    await port.check(model)
    assert await port.read("refused") == 1 + len(bad) + port.agents
    assert await port.read("cut") == cuts
    assert await port.read("answers") == 20 * port.agents
    for why in (*wrong_in, "nobody waits", "repeated"):
        port.coverage.group.hit("refused", why)


@cocotb.test()
async def what_cannot_be_done_during_a_job_is_refused_and_reported(dut: Any) -> None:
    port = await AgentsPort.started(dut)
    await port.begin(0)
    assert await port.field("errors", "bad_run") == 1
    assert await port.field("status", "busy") == 0
    port.coverage.group.hit("job", "no steps")
    await port.write("errors", bad_run=1)
    await port.write("word_region", value=6)
    assert await port.read("word") == 0
    assert await port.field("errors", "bad_word") == 1
    await port.write("errors", bad_word=1)
    await port.write("word_region", value=Region.TABLE)
    await port.write("word_index", value=0)
    await port.write("steps_high", value=0xFFFF)
    await port.begin(0xFFFFFFFF)
    await port.write("word", value=0xFFFFFFFF)
    assert await port.field("errors", "bad_word") == 1
    await port.write("control", run=1)
    assert await port.field("errors", "bad_run") == 1
    port.coverage.group.hit("job", "another one runs")
    await port.write("errors", bad_word=1, bad_run=1)
    await port.write("word_region", value=Region.COUNTERS)
    await port.write("word_index", value=0)
    await port.read("word")
    assert await port.read("errors") == 0
    await port.write("control", stop=1)
    await port.idle()
    port.coverage.group.hit("job", "stopped")
    await port.write("word_region", value=Region.TABLE)
    await port.write("word_index", value=0)
    assert await port.read("word") == 0
    assert await port.read("word_index") == 1
    assert await port.read("steps") == 0xFFFFFFFF
    for value in (0xFFFF, 0):
        await port.write("word_index", value=0)
        await port.write("word", value=value)
        await port.write("word_index", value=0)
        assert await port.read("word") & 0xFFFF == value


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def words_of_an_agent_that_does_not_exist_are_answered_and_written_nowhere(dut: Any) -> None:
    port = await AgentsPort.started(dut)
    for region in (Region.SETTINGS, Region.CONTEXT, Region.COUNTERS, Region.TABLE):
        index = INDEX[region].pack(agent=port.agents)
        await port.write("word_region", value=region)
        for _ in range(2):
            await port.write("word_index", value=index)
            await port.write("word", value=0x55555555)
            await port.write("word_index", value=index)
            await port.read("word")
    assert await port.read("errors") == 0
    await port.check(port.model())


@cocotb.test()
async def a_job_whose_world_is_silent_ends_and_the_next_one_says_its_actions_anew(dut: Any) -> None:
    port = await AgentsPort.started(dut)
    model = port.model()
    port.sink.pause = True
    await port.run(3)
    assert await port.field("status", "silent") == 1
    port.coverage.group.hit("job", "silent")
    assert await port.field("status", "silent_agent") < port.agents
    await port.begin(3)
    port.sink.pause = False
    cocotb.start_soon(port.world())
    await port.idle()
    assert await port.field("status", "silent") == 0
    model.run(3)
    await port.check(model)
    assert port.said == 1 + 3 * port.agents, "one action had left the queue already"


@cocotb.test()
async def no_output_follows_an_input_within_a_clock(dut: Any) -> None:
    await no_output_follows_an_input(dut, 2000)


@cocotb.test()
async def every_bin_is_hit(dut: Any) -> None:
    report(AgentsPort(dut).coverage.group)
