"""cocotb tests of ``qs_acting``: agents with random initial states match the model."""

import random
from dataclasses import replace
from typing import Any

import cocotb
import numpy as np
from tb.random_world import random_world
from tb.unit.acting_port import AgentsPort

from qstep import Config
from qstep.device import registers
from qstep.golden.agents_fast import FastActingModel
from qstep.spec.epsilon import Epsilon
from qstep.spec.fixed import greatest_coefficient
from qstep.spec.memory_map import INDEX, SETTINGS, Region
from qstep.spec.protocol import MOST_STEPS
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState

_ROUNDS = 16
_MOST_LIMIT = (1 << 16) - 1
_NO_SETTINGS = sorted(set(range(8)) - {word.number for word in SETTINGS})


class _Agents(AgentsPort):
    """A lane of agents that can be loaded from a model."""

    async def load(self, model: FastActingModel) -> None:
        """Load world, settings, states, counters and tables from the model."""
        await self.write(registers.world_writes(self.config, model.world))
        for agent, own in enumerate(model.settings):
            await self.write(registers.settings_writes(self.config, agent, own))
            await self.write(registers.state_writes(agent, model.states[agent]))
            await self.write(registers.counters_writes(agent, model.counters[agent]))
        await self.load_table(model.table)

    async def parts(self, agent: int) -> tuple[AgentState, AgentCounters]:
        """Return the state and counters of an agent."""
        words = await self.context(agent)
        state = registers.state_from(agent, lambda _, index: words[index & 7])
        return state, await self.counters(agent)


def _anything(config: Config, limit: int) -> tuple[AgentSettings, AgentState, AgentCounters]:
    """Return random settings, state and counters for an agent in the middle of a run."""
    acting = config.acting
    assert acting is not None
    start, end = sorted((random.random(), random.random()), reverse=True)
    unit, over = random.choice(["steps", "episodes"]), 1 << random.randrange(32)
    epsilon = Epsilon(random.choice([0.0, start, 1.0]))
    if acting.schedules:
        kind = random.choice(["linear", "exponential"])
        epsilon = random.choice([epsilon, Epsilon(start, end, kind, over, unit)])
    bits = config.coefficient_bits
    alpha = random.randint(0, greatest_coefficient(bits)) / (1 << bits)
    settings = AgentSettings(alpha, random.random(), epsilon, random.getrandbits(64))
    code = epsilon.code
    state = AgentState(
        word=random.getrandbits(64) or 1,
        epsilon=code.start,
        epsilon_count=random.randrange(code.period) if acting.schedules else 0,
        begun=random.random() < 0.9,
        state=random.randrange(config.states),
        action=random.randrange(config.actions),
        explored=random.random() < 0.5,
        episode_steps=random.randrange(limit) if limit else 0,
    )
    ends = 0, (1 << 47) - 1, (1 << 48) - 1
    counters = [random.choice([*ends, random.randrange(ends[-1])]) for _ in range(4)]
    if not acting.step_limit:
        counters[2] = 0
    counters.append(random.getrandbits(64) - (1 << 63))
    return settings, state, AgentCounters(*counters)


def _model(config: Config, number: int, limit: int | None = None) -> FastActingModel:
    acting = config.acting
    assert acting is not None
    if limit is None:
        limit = random.choice([0, 1, _MOST_LIMIT, random.randrange(1, _MOST_LIMIT)])
    limit = limit if acting.step_limit else 0
    agents = [_anything(config, limit) for _ in range(acting.agents)]
    settings, states, counters = (list(part) for part in zip(*agents, strict=True))
    if acting.shared_table:
        counters = [replace(own, steps=counters[0].steps) for own in counters]
    model = FastActingModel(config, random_world(config, limit, number), settings)
    least, greatest = config.format.minimum, config.format.maximum
    table = np.random.default_rng(number).integers(least, greatest + 1, config.table_shape)
    model.restore(table.astype(np.int32), states, counters)
    return model


@cocotb.test()
async def agents_that_begin_anywhere_are_the_models_afterwards(dut: Any) -> None:
    lane = _Agents(dut)
    await lane.start()
    for number in range(_ROUNDS):
        model = _model(lane.config, number)
        await lane.load(model)
        for steps in (1, random.randrange(2, 20)):
            await lane.begin(steps)
            # Accesses to unmapped addresses are answered as well, and change nothing.
            await lane.idle()
            await lane.access(Region.WORLD, random.getrandbits(30))
            place = {"word": random.choice(_NO_SETTINGS), "agent": random.randrange(16)}
            index = INDEX[Region.SETTINGS].pack(**place)
            await lane.access(Region.SETTINGS, index, random.getrandbits(32))
            model.run(steps)
        parts = [await lane.parts(agent) for agent in range(lane.acting.agents)]
        right = list(zip(model.states, model.counters, strict=True))
        assert parts == right, f"round {number}: {parts}, not {right}"
        assert np.array_equal(await lane.table(), model.table), f"round {number}: tables differ"


@cocotb.test()
async def any_number_of_steps_is_begun_and_stopped(dut: Any) -> None:
    lane = _Agents(dut)
    await lane.start()
    for number in range(_ROUNDS // 2):
        model = _model(lane.config, number)
        model.restore(model.table, model.states, [AgentCounters() for _ in model.counters])
        await lane.load(model)
        await lane.begin(random.choice([MOST_STEPS, random.randrange(1 << 20, MOST_STEPS)]))
        await lane.clock(random.randrange(40, 400))
        await lane.stop()
        made = [(await lane.parts(agent))[1].steps for agent in range(lane.acting.agents)]
        if lane.acting.shared_table:
            assert max(made) - min(made) <= 1, f"round {number}: {made} steps in turns"
            continue
        # Agents with separate tables are independent: each matches the model after the same number of
        # steps.
        table = await lane.table()
        for agent in sorted(range(lane.acting.agents), key=made.__getitem__):
            model.run(made[agent] - model.counters[0].steps)
            right = model.states[agent], model.counters[agent]
            assert await lane.parts(agent) == right, f"round {number}, agent {agent}"
            own = (agent,) if lane.acting.agents > 1 else ()
            assert np.array_equal(table[own], model.table[own]), f"round {number}, agent {agent}"


@cocotb.test()
async def the_count_of_held_slots_goes_on_behind_its_last_bit(dut: Any) -> None:
    lane = _Agents(dut)
    await lane.start()
    if not lane.acting.shared_table:
        return  # only a shared table has a counter of held slots
    model = _model(lane.config, 1)
    most = (1 << 32) - 1
    # Counting to billions would take minutes, so the counter is preset.
    for first in (most >> 1, most):
        dut.u_agents.gen_order.u_order.holds_o.value = first
        await lane.clock()
        assert await lane.access(Region.COUNTERS, registers.HOLDS) == first
        await lane.load(model)
        await lane.begin(200)
        await lane.idle()
        held = await lane.access(Region.COUNTERS, registers.HOLDS) - first & most
        assert 0 < held < 200 * lane.acting.agents, f"{held} slots held from {first}"


@cocotb.test()
async def a_run_takes_one_rotation_for_each_step_and_each_held_slot(dut: Any) -> None:
    lane = _Agents(dut)
    await lane.start()
    await lane.load(_model(lane.config, 1, limit=0))  # a truncation takes a slot of its own
    await lane.check_rotations()
