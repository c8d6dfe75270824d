"""cocotb tests of ``qs_epsilon`` (bench ``qs_agent_blocks_bench``) against the model's schedules."""

import random
from itertools import product
from types import SimpleNamespace
from typing import Any

import cocotb
from tb.unit.agent_slots import Slots

from qstep.golden.agents import ActingModel
from qstep.spec.epsilon import Epsilon, EpsilonCode
from qstep.spec.settings import AgentState

_ONE = 1 << 24
_SCHEDULES = [
    Epsilon(0.3),
    *(
        Epsilon(start, end, kind, over, unit)
        for kind in ("linear", "exponential")
        for unit in ("steps", "episodes")
        for start, end, over in ((1.0, 0.0, 40), (0.9, 0.25, 90), (1.0, 0.01, 7))
    ),
]


async def _set(dut: Any, slots: Slots, agent: int, code: EpsilonCode) -> None:
    """Write an agent's settings while it is not stepping, so that no step reads them meanwhile."""
    words = (
        code.by_episodes << 25 | code.end,
        code.shift << 25 | code.decrement,
        code.period - 1,
    )
    dut.epsilon_agent_i.value = agent
    for field, word in enumerate(words):
        await slots.until(10, agent)
        dut.epsilon_set_i.value = 1 << field
        dut.data_i.value = word
        await slots.clock()
        dut.epsilon_set_i.value = 0


async def _load(dut: Any, slots: Slots, agent: int, state: AgentState) -> None:
    """Write an agent's epsilon and count; each load stays at 1 from stage 0 to 11 of the slot."""
    dut.epsilon_agent_i.value = agent
    for field, data in enumerate((state.epsilon, state.epsilon_count << 16)):
        await slots.until(0, agent)
        dut.epsilon_load_i.value = 1 << field
        dut.data_i.value = data
        await slots.until(11, agent)
        await slots.clock()
        dut.epsilon_load_i.value = 0


async def _compare(
    dut: Any,
    slots: Slots,
    codes: list[EpsilonCode],
    states: list[AgentState],
    rotations: int,
    *,
    reload: bool = False,
) -> int:
    """Step at random and check epsilon and count in each slot; return how often epsilon fell.

    With `reload`, some slots load another epsilon or count instead of stepping.
    """
    for number, (code, state) in enumerate(zip(codes, states, strict=True)):
        await _set(dut, slots, number, code)
        await _load(dut, slots, number, state)
    settings: list[Any] = [SimpleNamespace(epsilon=SimpleNamespace(code=code)) for code in codes]
    falls = 0
    none = (-1, -1)
    loaded = none  # the agent and its new epsilon, or -1 if its count is loaded
    for _ in range(rotations * slots.slots):
        agent = slots.agent(0)
        if reload and loaded is none and agent is not None and random.random() < 0.1:
            loaded = agent, random.choice([random.randrange(_ONE + 1), -1])
            count = random.randrange(codes[agent].period)
            dut.epsilon_agent_i.value = agent
            dut.epsilon_load_i.value = 1 if loaded[1] >= 0 else 2
            dut.data_i.value = count << 16 if loaded[1] < 0 else loaded[1]
        agent = slots.agent(5)
        if agent is not None:
            seen, right = int(dut.epsilon_o.value), states[agent].epsilon
            assert seen == right, f"epsilon of agent {agent} is {seen}, not {right}"
        agent = slots.agent(9)
        if agent is not None:
            seen, right = int(dut.epsilon_count_o.value), states[agent].epsilon_count
            assert seen == right, f"count of agent {agent} is {seen}, not {right}"
        is_loaded = loaded[0] == agent
        stepped = agent is not None and not is_loaded and random.random() < 0.9
        ended = stepped and random.random() < 0.4
        if agent is not None:
            old = states[agent].epsilon
            if is_loaded and loaded[1] < 0:
                states[agent].epsilon_count = count
            elif is_loaded:
                states[agent].epsilon = loaded[1]
            elif stepped:
                ActingModel.lower_epsilon(states[agent], settings[agent], ended)
                falls += states[agent].epsilon < old
        # Without a step, the end of an episode must not change the schedule.
        dut.epsilon_stepped_i.value = stepped
        dut.epsilon_ended_i.value = ended or not stepped
        over = slots.agent(11) == loaded[0]
        await slots.clock()
        if over:
            dut.epsilon_load_i.value, loaded = 0, none
    dut.epsilon_stepped_i.value = 0
    await slots.clock(2 * slots.slots)
    dut.epsilon_load_i.value = 0
    return falls


@cocotb.test()
async def every_kind_of_schedule_falls_as_the_model_does_by_steps_and_by_episodes(dut: Any) -> None:
    slots = Slots(dut)
    await slots.start()
    schedules = [epsilon.code for epsilon in _SCHEDULES]
    while schedules:
        codes = [schedules.pop() if schedules else _SCHEDULES[0].code for _ in range(slots.agents)]
        states = [AgentState(1, code.start) for code in codes]
        await _compare(dut, slots, codes, states, 130)
        for code, state in zip(codes, states, strict=True):
            assert state.epsilon < code.start or code.start == code.end


@cocotb.test()
async def any_shift_decrement_and_period_match(dut: Any) -> None:
    slots = Slots(dut)
    await slots.start()
    falls = 0
    for _ in range(5):
        codes, states = [], []
        for _ in range(slots.agents):
            start = random.choice([_ONE, random.randrange(_ONE), random.randrange(1 << 12)])
            end = random.choice([0, start, random.randrange(start + 1)])
            decrement = random.choice([0, 1, _ONE, random.randrange(1 << random.randrange(1, 25))])
            period = random.choice([1, 1, 2, 3, random.randrange(1, 1 << 16), (1 << 16) - 1])
            by_episodes = bool(random.getrandbits(1))
            codes.append(
                EpsilonCode(start, end, decrement, random.randrange(13), period, by_episodes)
            )
            states.append(
                AgentState(1, start, epsilon_count=max(0, period - random.randrange(1, 4)))
            )
        falls += await _compare(dut, slots, codes, states, 20)
    assert falls > slots.agents


@cocotb.test()
async def products_round_up_at_every_bit_and_every_bit_of_a_decrement_counts(dut: Any) -> None:
    slots = Slots(dut)
    await slots.start()
    cases = [
        EpsilonCode(random.getrandbits(24) >> shift << shift | low, 0, 0, shift, 1, False)
        for shift in range(1, 13)
        for low in (0, 1, (1 << shift) - 1)
    ]
    cases += [EpsilonCode(_ONE - 1, 0, 1 << bit, 0, 1, False) for bit in range(25)]
    cases += [
        EpsilonCode(random.randrange(_ONE + 1), 0, random.getrandbits(20), shift, 1, False)
        for shift in (*range(13), *range(13))
    ]
    cases.append(EpsilonCode(_ONE, 0, 0, 0, 1, False))
    # An epsilon far below its end rises to it; the extreme case is 0 minus the largest decrement.
    cases += [EpsilonCode(low, _ONE, _ONE, 0, 1, False) for low in (0, 1, 1000)]
    for bit, sign in product(range(20), (-1, 0, 1)):  # close to the end, where the fall stops
        left = random.randrange(1 << 20, 1 << 23)
        decrement = random.getrandbits(20)
        end = left + sign * (1 << bit)
        cases.append(EpsilonCode(left + decrement, end, decrement, 0, 1, False))
    while cases:
        codes = [cases.pop() if cases else _SCHEDULES[0].code for _ in range(slots.agents)]
        await _compare(dut, slots, codes, [AgentState(1, code.start) for code in codes], 2)


@cocotb.test()
async def every_bit_of_a_count_is_compared_with_the_period(dut: Any) -> None:
    slots = Slots(dut)
    await slots.start()
    last = 0xFFFE
    counts = [last, *(last & ~(1 << bit) for bit in range(1, 16)), last - 1]
    while counts:
        states = [
            AgentState(1, _ONE, epsilon_count=counts.pop() if counts else last)
            for _ in range(slots.agents)
        ]
        codes = [EpsilonCode(_ONE, 0, 1 << 20, 0, last + 1, False)] * slots.agents
        await _compare(dut, slots, codes, states, 2)


@cocotb.test()
async def what_is_loaded_while_agents_step_is_the_named_agents_alone(dut: Any) -> None:
    slots = Slots(dut)
    await slots.start()
    codes = [
        EpsilonCode(_ONE, random.getrandbits(23), random.getrandbits(22), shift, period, False)
        for shift, period in (
            (random.randrange(13), random.choice([1, 2, 9])) for _ in range(slots.agents)
        )
    ]
    await _compare(dut, slots, codes, [AgentState(1, _ONE) for _ in codes], 100, reload=True)
