"""A live world's handler delivers each answer once, when its agent samples it, and ignores repeats."""

import random
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
from amaranth.lib.wiring import Out
from tb.planted import Fault, faults, plant_python
from tb.unit.streams import begin, collect, simulate

from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep.spec.protocol import ARGUMENTS, Request, StatusCode, arguments_of
from qstep_rtl import handle_act
from qstep_rtl.handle_agents import AgentsSignature

pytestmark = pytest.mark.unit

CONFIG = Config(9, 4, "Q4.4", acting=Acting(agents=3, world="live"))
TURN, ASKED_AT = 16, 5


def check(module: ModuleType, planes: int = 1) -> None:
    """Let three agents take turns sending requests during a run, and check the answers that they get."""
    config = replace(CONFIG, planes=planes)
    handler, arguments = module.ActHandler(config), arguments_of(config)
    steps, taken, stops = [0] * 3, [], 0
    jobs: list[int] = []

    async def agents(ctx: Any) -> None:
        """Send requests as agents do, three clocks before they sample an answer; record the answers."""
        nonlocal stops
        port, world = handler.agents, handler.world
        left = clock = 0
        while True:
            slot = clock % TURN
            asks = left > 0 and slot - ASKED_AT in range(3)
            ctx.set(world.valid, asks)
            ctx.set(world.agent, slot - ASKED_AT if asks else 0)
            ctx.set(world.action, (sum(steps) + slot) % 4 if asks else 0)
            ctx.set(port.busy, left > 0)
            run, stop, ready = ctx.get(port.run), ctx.get(port.stop), ctx.get(world.ready)
            if ready and left:
                agent = slot - ASKED_AT - 3
                reward, state, over = (
                    ctx.get(of) for of in (world.reward, world.next_state, world.terminated)
                )
                taken.append((agent, reward, state, over))
                steps[agent] += 1
            if run:
                jobs.append(ctx.get(port.steps))
                left = jobs[-1]
            if stop:
                stops, left = stops + 1, 0
            await ctx.tick()
            clock += 1

    def rows(state: int) -> list[int]:
        return [state, 8 - state][:planes]

    async def request(
        ctx: Any, kind: Request, agent: int, rows: list[int], *values: int, again: bool = False
    ) -> StatusCode:
        port = handler.request
        ctx.set(handler.repeated, again)
        await begin(ctx, port, kind, arguments[kind].pack(agent, *rows, *values))
        for _ in range(200):
            if not ctx.get(port.busy):
                return StatusCode(ctx.get(port.status))
            await ctx.tick()
        raise AssertionError("it never ends")

    async def bench(ctx: Any) -> None:
        ok, outside = StatusCode.OK, StatusCode.OUT_OF_RANGE
        assert await request(ctx, Request.BEGIN, 1, rows(8)) == ok
        assert (jobs, stops, taken) == ([2], 1, [])
        action = ctx.get(handler.data.payload)
        assert action == (ASKED_AT + 1) % 4  # of agent 1, one slot after agent 0
        for number, (agent, state, over, reward) in enumerate(
            [(1, 8, 0, 5), (0, 2, 1, 0xFFFFFF80), (2, 0, 0, 127)], start=1
        ):
            given = agent, rows(state), over, reward
            assert await request(ctx, Request.ACT, *given) == ok
            raw = reward - (1 << 32) if reward >> 31 else reward
            place = sum(row << 4 * plane for plane, row in enumerate(rows(state)))
            assert taken[-1] == (agent, raw, place, over)
            assert (len(taken), len(jobs), stops) == (number, 1 + number, 1 + number)
            action = ctx.get(handler.data.payload)
            assert action == (number + ASKED_AT + agent) % 4
            assert await request(ctx, Request.ACT, *given, again=True) == ok
            assert (len(taken), ctx.get(handler.data.payload)) == (number, action)
        for agent, over, reward in ((3, 0, 0), (0, 2, 0), (0, 0, 128)):
            assert await request(ctx, Request.ACT, agent, rows(0), over, reward) == outside
        for plane in range(planes):
            wrong = [9 if plane == other else 0 for other in range(planes)]
            assert await request(ctx, Request.ACT, 0, wrong, 0, 0) == outside
        assert len(jobs) == 4

    simulate(handler, bench, agents)


@pytest.mark.parametrize("planes", [1, 2])
def test_an_answer_reaches_its_agent_once_and_a_repeat_does_nothing(planes: int) -> None:
    check(handle_act, planes)


def test_other_requests_pass_to_the_agents_and_their_answers_back() -> None:
    handler, rng = handle_act.ActHandler(CONFIG), random.Random(1)

    async def bench(ctx: Any) -> None:
        for _ in range(20):
            ways = []
            for name, member in AgentsSignature().members.items():
                ends = getattr(handler.host, name), getattr(handler.agents, name)
                given, seen = ends if member.flow == Out else ends[::-1]
                value = rng.getrandbits(len(given))
                ctx.set(given, value)
                ways.append((seen, value))
            await ctx.delay(1e-9)
            assert [ctx.get(seen) for seen, _ in ways] == [value for _, value in ways]
            await ctx.tick()

    simulate(handler, bench)


def test_what_is_outside_or_comes_while_a_job_runs_is_refused_and_an_action_is_said() -> None:
    handler, rng = handle_act.ActHandler(CONFIG), random.Random(2)
    port = handler.request
    found: list[StatusCode] = []
    heard: list[int] = []
    cases = []
    for _ in range(200):
        agent, state, over = rng.getrandbits(8), rng.getrandbits(16), rng.getrandbits(8)
        cases.append(((agent, state, over, rng.getrandbits(32)), rng.random() < 0.5))

    async def bench(ctx: Any) -> None:
        for values, busy in cases:
            ctx.set(handler.agents.busy, busy)
            await begin(ctx, port, Request.ACT, ARGUMENTS[Request.ACT].pack(*values))
            await ctx.tick().until(~port.busy)
            found.append(StatusCode(ctx.get(port.status)))
        ctx.set(handler.agents.busy, 0)
        for number, action in enumerate((0, 3, 2, 1, 0), 1):
            await begin(ctx, port, Request.BEGIN, ARGUMENTS[Request.BEGIN].pack(1, 0))
            ctx.set(handler.world.agent, 1)
            ctx.set(handler.world.action, action)
            ctx.set(handler.world.valid, 1)
            await ctx.tick().repeat(3)
            ctx.set(handler.agents.busy, number % 2)
            await ctx.tick().repeat(8)
            ctx.set(handler.agents.busy, 0)
            ctx.set(handler.world.valid, 0)
            await ctx.tick().repeat(2)
            assert not ctx.get(port.busy)
            ctx.set(port.answered, 1)
            await ctx.tick()
            ctx.set(port.answered, 0)
            await ctx.tick().repeat(20)
            assert heard == [0, 3, 2, 1, 0][:number]

    simulate(handler, bench, collect(handler.data, random.Random(3), 0.5, heard))
    # These random numbers are out of range in every case.
    assert found == [StatusCode.BUSY if busy else StatusCode.OUT_OF_RANGE for _, busy in cases]


@pytest.mark.parametrize("fault", faults("test_link_act"), ids=lambda fault: fault.name)
def test_a_fault_is_noticed(fault: Fault) -> None:
    with pytest.raises(AssertionError):
        check(plant_python(handle_act, fault.old, fault.new), planes=2)
