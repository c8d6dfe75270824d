"""cocotb test of ``qs_axi_agents`` with sixteen agents that all wait for the world."""

import random
from typing import Any

import cocotb
from tb.bus.axi_agents_tests import ACTION, AgentsPort

from qstep.spec.memory_map import Region


async def answer_in_any_order(port: AgentsPort) -> None:
    """Wait until every agent has acted, then answer all actions in random order."""
    waiting = [ACTION.unpack(bytes((await port.sink.recv()).tdata)) for _ in range(port.agents)]
    assert sorted(agent for agent, *_ in waiting) == list(range(port.agents))
    assert all(max(action[1:]) < 4 for action in waiting), waiting
    random.shuffle(waiting)
    for agent, state, action, _ in waiting:
        await port.source.send(port.answer_to(agent, state, action))


@cocotb.test()
async def sixteen_actions_that_nobody_takes_wait_and_are_answered_in_any_order(dut: Any) -> None:
    port = await AgentsPort.started(dut)
    model = port.model()
    for steps in (1, 3):
        port.sink.pause = True
        await port.begin(steps)
        await port.clocks(200)
        assert await port.field("status", "busy") == 1
        port.sink.pause = False
        for _ in range(steps):
            await answer_in_any_order(port)
        await port.idle()
        model.run(steps)
        await port.check(model)
    assert await port.read("refused") == 0


@cocotb.test()
async def the_one_of_sixteen_agents_that_is_not_answered_is_named(dut: Any) -> None:
    port = await AgentsPort.started(dut)
    for silent in (10, 5, 0):
        await port.begin(1)
        for _ in range(port.agents):
            agent, state, action, _ = ACTION.unpack(bytes((await port.sink.recv()).tdata))
            if agent != silent:
                await port.source.send(port.answer_to(agent, state, action))
        await port.idle()
        assert await port.field("status", "silent") == 1
        assert await port.field("status", "silent_agent") == silent


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def jobs_of_any_length_are_stopped_and_words_of_any_index_are_answered(dut: Any) -> None:
    port = await AgentsPort.started(dut)
    for bits in (0x555555555555, 0xAAAAAAAAAAAA) * 2:
        await port.write("steps_high", value=bits >> 32)
        await port.begin(bits & 0xFFFFFFFF)
        assert await port.field("status", "busy") == 1
        await port.write("control", stop=1)
        await port.idle()
        for region in Region:
            await port.fetch(region, bits & 0xFFFFFFFF)
    assert await port.read("errors") == 0
    port.sink.clear()
    model = port.model()
    await port.begin(1)
    await answer_in_any_order(port)
    await port.idle()
    model.run(1)
    await port.check(model)
