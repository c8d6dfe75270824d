"""The handler of a live world: an answer reaches its agent once, in its clock; a repeat does nothing."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from tb.planted import plant_python
from tb.unit.streams import simulate

from qstep.acting.config import Acting
from qstep.config import Config
from qstep.protocol import ARGUMENTS, Request, StatusCode
from qstep_rtl import handle_act

pytestmark = pytest.mark.unit

CONFIG = Config(9, 4, "Q4.4", acting=Acting(agents=3, world="live"))
TURN, ASKED_AT = 16, 5


def check(module: ModuleType) -> None:
    """Let three agents ask in turns while a job runs, and compare the answers they get."""
    handler = module.ActHandler(CONFIG)
    steps, taken, stops = [0] * 3, [], 0
    jobs: list[int] = []

    async def agents(ctx: Any) -> None:
        """Ask as agents do, three clocks before they look at an answer; note the answers."""
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

    async def request(ctx: Any, kind: Request, *values: int, again: bool = False) -> StatusCode:
        port = handler.request
        ctx.set(port.type, kind)
        ctx.set(port.fields.as_value(), int.from_bytes(ARGUMENTS[kind].pack(*values), "little"))
        ctx.set(handler.repeated, again)
        ctx.set(port.start, 1)
        await ctx.tick()
        ctx.set(port.start, 0)
        for _ in range(200):
            if not ctx.get(port.busy):
                return StatusCode(ctx.get(port.status))
            await ctx.tick()
        raise AssertionError("it never ends")

    async def bench(ctx: Any) -> None:
        ok, outside = StatusCode.OK, StatusCode.OUT_OF_RANGE
        assert await request(ctx, Request.BEGIN, 1, 8) == ok
        assert (jobs, stops, taken) == ([2], 1, [])
        action = ctx.get(handler.data.payload)
        assert action == (ASKED_AT + 1) % 4  # of agent 1, which asked one slot after the first
        for number, (agent, state, over, reward) in enumerate(
            [(1, 8, 0, 5), (0, 2, 1, 0xFFFFFF80), (2, 0, 0, 127)], start=1
        ):
            assert await request(ctx, Request.ACT, agent, state, over, reward) == ok
            raw = reward - (1 << 32) if reward >> 31 else reward
            assert taken[-1] == (agent, raw, state, over)
            assert (len(taken), len(jobs), stops) == (number, 1 + number, 1 + number)
            action = ctx.get(handler.data.payload)
            assert action == (number + ASKED_AT + agent) % 4
            assert await request(ctx, Request.ACT, agent, state, over, reward, again=True) == ok
            assert (len(taken), ctx.get(handler.data.payload)) == (number, action)
        for values in ((3, 0, 0, 0), (0, 9, 0, 0), (0, 0, 2, 0), (0, 0, 0, 128)):
            assert await request(ctx, Request.ACT, *values) == outside
        assert len(jobs) == 4

    simulate(handler, bench, agents)


def test_an_answer_reaches_its_agent_once_and_a_repeat_does_nothing() -> None:
    check(handle_act)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("m.If(~self.repeated)", "m.If(1)"),
        ("world.agent == given.agent", "1"),
        ("answered[-1]", "answered[0]"),
        ("given.terminated > 1", "0"),
        ("agents.stop.eq(1)", "agents.stop.eq(0)"),
    ],
)
def test_a_fault_is_noticed(old: str, new: str) -> None:
    with pytest.raises(AssertionError):
        check(plant_python(handle_act, old, new))
