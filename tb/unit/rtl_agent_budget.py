"""cocotb tests of ``qs_agent_budget`` (bench ``qs_agent_blocks_bench``)."""

import random
from typing import Any

import cocotb
from tb.unit.agent_slots import Slots

_MOST_AHEAD = 63
_QUIET_ROTATIONS = 8
"""Rotations without a step after which a run counts as over, and maximum extra rotations per run."""

_REST_BITS = 43
"""Width of the counter of undistributed steps, which counts blocks of 32 steps."""


class _Run:
    """Agents that step in stage 9 of a slot if stage 11 of their previous slot reported steps left."""

    def __init__(self, dut: Any) -> None:
        self.dut, self.slots = dut, Slots(dut)
        self.more = [False] * self.slots.agents
        self.made = [0] * self.slots.agents
        self.steps = 0  # length of the run
        self.begun = [True] * self.slots.agents

    async def begin(self, steps: int) -> None:
        self.steps, self.begun = steps, [False] * self.slots.agents
        self.dut.budget_steps_i.value = steps
        self.dut.budget_run_i.value = 1
        await self.clock(0.0)
        self.dut.budget_run_i.value = 0

    async def clock(self, often: float, waits: int | None = None) -> bool:
        """Advance by one clock; an agent with steps left takes one of them with probability `often`.

        The agent numbered `waits` never takes a step.
        """
        dut, slots = self.dut, self.slots
        agent = slots.agent(11)
        if agent is not None:
            self.more[agent] = bool(dut.budget_more_o.value)
            if self.begun[agent]:
                assert not self.more[agent] or self.made[agent] < self.steps, "a step too many"
        agent, stepped = slots.agent(9), False
        if agent is not None:
            if dut.budget_begins_o.value:
                self.begun[agent], self.made[agent], self.more[agent] = True, 0, False
            elif self.more[agent] and agent != waits and random.random() < often:
                self.made[agent] += 1
                stepped = True
                if all(self.begun):
                    ahead = max(self.made) - min(self.made)
                    assert ahead <= _MOST_AHEAD, f"an agent is {ahead} steps ahead"
        dut.budget_stepped_i.value = stepped
        await slots.clock()
        dut.budget_stepped_i.value = 0
        return stepped

    async def finish(self, often: float) -> int:
        """Run until no agent has steps left; return the number of rotations up to the last step."""
        clocks = quiet = 0
        while quiet < _QUIET_ROTATIONS * self.slots.slots or any(self.more):
            stepped = await self.clock(often)
            clocks, quiet = clocks + 1, 0 if stepped else quiet + 1
        assert all(self.begun)
        assert not self.dut.budget_left_o.value, "steps are left that nobody may make"
        return (clocks - quiet) // self.slots.slots


@cocotb.test()
async def every_agent_makes_exactly_the_steps_of_the_run_without_waiting(dut: Any) -> None:
    run = _Run(dut)
    await run.slots.start()
    await run.finish(1.0)
    for steps in (1, 31, 32, 33, 64, 65, 200, 0):
        await run.begin(steps)
        rotations = await run.finish(1.0)
        assert run.made == [steps] * run.slots.agents, f"{run.made} of {steps} steps"
        assert rotations <= steps + _QUIET_ROTATIONS, f"{steps} steps took {rotations} rotations"


@cocotb.test()
async def agents_that_wait_now_and_then_make_as_many(dut: Any) -> None:
    run = _Run(dut)
    await run.slots.start()
    for steps in (1, 40, 129):
        await run.begin(steps)
        await run.finish(0.4)
        assert run.made == [steps] * run.slots.agents, f"{run.made} of {steps} steps"


@cocotb.test()
async def another_run_takes_the_place_of_what_was_left_and_none_stops_all(dut: Any) -> None:
    run = _Run(dut)
    await run.slots.start()
    for clocks in (3, 1000, 1700):
        await run.begin((1 << 48) - 1)
        for _ in range(clocks):
            await run.clock(0.9)
        assert dut.budget_left_o.value
        await run.begin(random.choice([5, 70]))
        await run.finish(1.0)
        assert run.made == [run.steps] * run.slots.agents
        await run.begin((1 << 48) - 1)
        for _ in range(clocks):
            await run.clock(0.9)
        await run.begin(0)
        await run.finish(1.0)
        assert run.made == [0] * run.slots.agents


@cocotb.test()
async def a_reset_in_any_clock_of_a_pass_over_the_rest_leaves_no_steps(dut: Any) -> None:
    run = _Run(dut)
    await run.slots.start()
    for clocks in range(_REST_BITS + 2):
        await run.begin((1 << 48) - 1)
        for _ in range(clocks):
            await run.clock(1.0)
        await run.slots.reset(1)
        run.more = [False] * run.slots.agents
        assert not dut.budget_left_o.value, f"steps are left after a reset in clock {clocks}"


@cocotb.test()
async def no_agent_goes_on_without_the_slowest(dut: Any) -> None:
    run = _Run(dut)
    await run.slots.start()
    for slow in range(run.slots.agents):
        await run.begin(72)
        for _ in range(60 * run.slots.slots):
            await run.clock(1.0, waits=slow)
        made = [40] * run.slots.agents  # the odd 8 and one grant; the slowest still has 32 or more
        made[slow] = 0
        assert run.made == made, f"{run.made} steps while agent {slow} waits"
        await run.finish(1.0)
        assert run.made == [72] * run.slots.agents, f"{run.made} steps after agent {slow} waited"


@cocotb.test()
async def every_bit_of_the_steps_counts(dut: Any) -> None:
    run = _Run(dut)
    await run.slots.start()
    passes = 2 * (_REST_BITS + 2 * run.slots.slots)  # one subtracts nothing, one the first grant
    for bit in range(_REST_BITS):
        await run.begin(1 << bit + 5)
        assert dut.budget_remaining_o.value == 1 << bit
        for _ in range(passes):
            await run.clock(0.0)
        assert dut.budget_remaining_o.value == (1 << bit) - 1
        assert bool(dut.budget_left_o.value) == (bit > 0), f"of 2^{bit + 5} steps"
