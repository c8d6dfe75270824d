"""The deadline of a world fires within one turn after its limit, and names the waiting agent."""

from types import ModuleType
from typing import Any

import pytest
from tb.planted import Fault, faults, plant_python
from tb.unit.streams import simulate

from qstep_rtl import deadline

pytestmark = pytest.mark.unit

CLOCKS, TURN = 1000, 16


def check(module: ModuleType) -> None:
    """Check a deadline: agent 0 gets every answer, agent 1 every 40th, and agent 2 none."""
    watched = module.Deadline(3, CLOCKS)
    said: list[tuple[int, int]] = []  # clock and agent of each rise of `silent`

    async def bench(ctx: Any) -> None:
        async def turns(count: int, asks: tuple[int, ...], first: int = 0) -> int:
            """Wait for `count` turns; return the clock in which the deadline first fired, or -1."""
            found = -1
            for clock in range(count * TURN):
                turn, slot = divmod(clock, TURN)
                ctx.set(watched.valid, slot in asks)
                ctx.set(watched.agent, slot)
                asker = slot - 3  # the agent whose answer is due
                ctx.set(watched.ready, asker == 0 or (asker == 1 and turn % 40 == 39))
                await ctx.tick()
                if ctx.get(watched.silent) and found < 0:
                    found = clock + 1
                    said.append((found, ctx.get(watched.silent_agent)))
            return found

        # All answers are in time: agent 0's at each request, and agent 1's after 39 turns of 16 clocks.
        assert await turns(200, (0, 1)) == -1
        # An answer is due three clocks after the request, so agent 2 waits from clock 5 on.
        late = await turns(70, (0, 1, 2))
        assert 5 + CLOCKS <= late <= 5 + CLOCKS + TURN + 2
        assert ctx.get(watched.silent_agent) == 2
        # The deadline keeps firing until a run starts; then the waiting times of all agents restart.
        assert await turns(5, (0,)) == 1
        ctx.set(watched.run, 1)
        await ctx.tick()
        ctx.set(watched.run, 0)
        assert not ctx.get(watched.silent)
        assert await turns(CLOCKS // TURN, (2,)) == -1
        assert await turns(3, (2,)) > 0

    simulate(watched, bench)


def test_who_waits_too_long_is_named_to_the_turn() -> None:
    check(deadline)


def test_each_of_sixteen_agents_can_be_the_one_that_waits() -> None:
    watched = deadline.Deadline(TURN, 100)

    async def bench(ctx: Any) -> None:
        for agent in (*range(0, TURN, 2), *range(1, TURN, 2), 0):
            ctx.set(watched.valid, 0)
            await ctx.tick().repeat(8)  # the last request has passed
            ctx.set(watched.run, 1)
            await ctx.tick()
            ctx.set(watched.run, 0)
            assert not ctx.get(watched.silent)
            for clock in range(10 * TURN):
                ctx.set(watched.valid, clock % TURN == agent)
                ctx.set(watched.agent, clock % TURN)
                await ctx.tick()
            assert ctx.get(watched.silent)
            assert ctx.get(watched.silent_agent) == agent

    simulate(watched, bench)


@pytest.mark.parametrize("fault", faults("test_deadline"), ids=lambda fault: fault.name)
def test_a_fault_is_noticed(fault: Fault) -> None:
    with pytest.raises(AssertionError):
        check(plant_python(deadline, fault.old, fault.new))
