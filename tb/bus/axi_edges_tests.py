"""cocotb tests of ``qs_axi_agents``: answers arrive in all clocks around a job's end and the next start.

A job may end before every action has been answered. The world then drops the unanswered actions, and the
next job repeats them. The phase of the agents' slots and the agent answered late are random.
"""

from __future__ import annotations

import random
from collections.abc import Coroutine
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from tb.bus.axi_agents_tests import AgentsPort
from tb.bus.axi_runs import AXI_AGENTS

from qstep.device import registers
from qstep.spec.memory_map import INDEX, Region
from qstep.spec.settings import AgentCounters, AgentState

_MANY = 1 << 20
_ROTATION = 16
_NEXT = 60
"""Clocks within which an answer leads to the agent's next action, if there is one."""

_REACH = 20
"""An answer is tried in each of this many clocks before and after an event."""

_BEGINS = 12
"""Clocks at the start of a job before the first action appears."""

Action = tuple[int, int, int]


class EdgePort(AgentsPort):
    """The ports, with one model per agent that repeats the agent's steps."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.models = [self.model() for _ in range(self.agents)]
        self.clock = self.taken = 0
        self.last: dict[str, int] = {}  # the clock of each event
        self.sent: list[int] = []  # the clock of each action

    @classmethod
    async def begun(cls, dut: Any) -> EdgePort:
        """Return the ports after every agent has made one step."""
        port = await cls.started(dut)
        cocotb.start_soon(port._watch())
        world = cocotb.start_soon(port.world())
        await port.run(1)
        world.cancel()
        assert await port.follow() == [1] * port.agents
        return port

    async def _watch(self) -> None:
        core, live = self.dut.u_agents, self.dut.gen_outside.u_live
        events = {"run": core.run, "stop": core.stop, "answer": live.have_q}
        while True:
            await RisingEdge(self.dut.aclk)
            self.clock += 1
            self.last |= {name: self.clock for name, signal in events.items() if signal.value}
            if live.taken.value:
                self.sent.append(self.clock)
            self.taken += int(core.answer_valid.value and core.answer_ready.value)

    def after(self, event: str) -> int:
        """Return how many clocks after an event the last answer arrived."""
        return self.last["answer"] - self.last[event]

    async def words(self, region: Region, first: int, count: int) -> list[int]:
        """Return consecutive words of a memory region."""
        await self.write("word_region", value=region)
        await self.write("word_index", value=first)
        return [await self.read("word") for _ in range(count)]

    async def parts(self, agent: int) -> tuple[AgentState, AgentCounters]:
        """Return the state and the counters of an agent."""
        words: dict[tuple[int, int], int] = {}
        for region, count in ((Region.CONTEXT, 5), (Region.COUNTERS, 16)):
            first = INDEX[region].pack(agent=agent)
            found = await self.words(region, first, count)
            words |= {(region, first + n): word for n, word in enumerate(found)}

        def read(region: int, index: int) -> int:
            return words[region, index]

        return registers.state_from(agent, read), registers.counters_from(agent, read)

    async def follow(self) -> list[int]:
        """Drop actions, compare agents with their models, and return the new steps of each agent."""
        while not self.sink.empty():
            self.sink.recv_nowait()
        made = []
        for agent, model in enumerate(self.models):
            state, counters = await self.parts(agent)
            made.append(counters.steps - model.counters[agent].steps)
            model.run(made[-1])
            assert (state, counters) == (model.states[agent], model.counters[agent])
        return made

    async def ends(self, refused: int) -> None:
        """Compare the tables with the models', and check the counts of accepted and refused answers."""
        mask = (1 << self.format.width) - 1
        for agent, model in enumerate(self.models):
            for state, row in enumerate(model.table[agent].tolist()):
                first = registers.table_index(agent, 0, state, 0)
                found = await self.words(Region.TABLE, first, len(row))
                assert [word & mask for word in found] == [value & mask for value in row]
        counts = [await self.read(name) for name in ("answers", "refused")]
        assert counts == [self.taken, refused]

    async def waiting(self, steps: int) -> list[Action]:
        """Start a job in a random clock of the rotation; return the first action of each agent."""
        await self.clocks(random.randrange(_ROTATION))
        await self.begin(steps)
        return await self.first()

    async def first(self) -> list[Action]:
        """Return each agent's next action, after checking that it is the model's next action."""
        found = sorted([await self.action() for _ in range(self.agents)])
        own = [model.states[agent] for agent, model in enumerate(self.models)]
        assert found == [(agent, state.state, state.action) for agent, state in enumerate(own)]
        return found

    async def halt(self) -> None:
        """Stop the job, and wait until it has ended."""
        await self.write("control", stop=1)
        await self.idle()

    async def both(
        self, offset: int, first: Coroutine[Any, Any, None], second: Coroutine[Any, Any, None]
    ) -> None:
        """Run two coroutines, the second `offset` clocks after the first (before it if negative)."""
        if offset < 0:
            first, second = second, first
        task = cocotb.start_soon(first)
        await self.clocks(abs(offset))
        await second
        await task


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def an_answer_around_a_stop_is_a_step_or_is_asked_for_again(dut: Any) -> None:
    port = await EdgePort.begun(dut)
    seen = {}
    for offset in range(-_REACH - 8, _REACH + 8):
        actions = await port.waiting(_MANY)
        late = actions.pop(random.randrange(port.agents))
        for action in actions:
            await port.answer(*action)
        await port.clocks(_NEXT)
        await port.both(offset, port.write("control", stop=1), port.answer(*late))
        await port.idle()
        made = await port.follow()
        seen[port.after("stop")] = made.pop(late[0])
        assert made == [1] * len(made)
    assert set(range(-_REACH, _REACH + 1)) <= seen.keys()
    assert all(made for clocks, made in seen.items() if clocks <= -_ROTATION)
    assert not all(seen.values())
    await port.ends(refused=0)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def an_answer_around_the_beginning_of_the_next_job_is_void(dut: Any) -> None:
    port = await EdgePort.begun(dut)
    seen, refused = set(), 0
    for offset in range(-_REACH - 8, _BEGINS + 8):
        actions = await port.waiting(_MANY)
        await port.halt()
        assert await port.follow() == [0] * port.agents
        taken = port.taken
        await port.both(offset, port.begin(_MANY), port.answer(*random.choice(actions)))
        assert await port.first() == actions
        refused += 1 - (port.taken - taken)
        seen.add(port.after("run"))
        await port.clocks(_NEXT)
        assert port.sink.empty(), "the void answer led to an action"
        await port.halt()
        assert await port.follow() == [0] * port.agents
    assert set(range(-_REACH, _BEGINS + 1)) <= seen, sorted(seen)
    await port.ends(refused)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def answers_as_a_job_ends_are_steps_and_repeats_of_them_are_refused(dut: Any) -> None:
    port = await EdgePort.begun(dut)
    refused = 0
    for offset in range(_REACH):
        actions = await port.waiting(1)
        random.shuffle(actions)
        await port.both(offset, *(port.answer(*action) for action in actions))
        # Repeat the answers right away, and around the end of the job.
        for clocks in (1, offset, 400 + offset):
            await port.clocks(clocks)
            for action in actions:
                await port.answer(*action)
            refused += len(actions)
        await port.idle()
        assert await port.follow() == [1] * port.agents
    await port.ends(refused)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def an_answer_is_refused_until_its_action_is_out(dut: Any) -> None:
    port = await EdgePort.begun(dut)
    refused = 0
    seen: set[int] = set()
    while not seen.issuperset(range(-2, 3)):
        actions = await port.waiting(_MANY)
        first = random.choice(actions)
        sent = len(port.sent)
        await port.answer(*first)
        agent, model = first[0], port.models[first[0]]
        model.run(1)
        guess = model.states[agent]
        await port.clocks(random.randrange(1, 2 * _ROTATION))
        await port.answer(agent, guess.state, guess.action)
        await port.clocks(_NEXT)
        await port.halt()
        made = (await port.follow())[agent]
        refused += not made
        seen.add(port.last["answer"] - port.sent[sent])
        assert made == (port.last["answer"] > port.sent[sent])
    await port.ends(refused)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def an_answer_around_the_deadline_is_a_step_or_is_asked_for_again(dut: Any) -> None:
    port = await EdgePort.begun(dut)
    acting = AXI_AGENTS.acting
    assert acting is not None
    seen = set()
    for offset in range(-2 * _REACH, _REACH):
        actions = await port.waiting(1)
        late = actions.pop(random.randrange(port.agents))
        for action in actions:
            await port.answer(*action)
        await port.clocks(acting.deadline + offset)
        await port.answer(*late)
        await port.idle()
        silent = await port.field("status", "silent")
        made = await port.follow()
        seen.add((silent, made.pop(late[0])))
        assert made == [1] * len(made)
        if silent:
            assert await port.field("status", "silent_agent") == late[0]
    assert {(0, 1), (1, 0)} <= seen <= {(0, 1), (1, 0), (1, 1)}
    await port.ends(refused=0)
