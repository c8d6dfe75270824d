"""cocotb tests of ``qs_agents`` with planes: agents in continuous worlds match the model."""

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import cocotb
import numpy as np
from numpy.typing import NDArray
from tb.unit.acting_port import AgentsPort

from qstep import Config
from qstep.device import registers
from qstep.golden.agents import ActingModel
from qstep.mdp.tiled import TiledWorld
from qstep.spec.epsilon import Epsilon
from qstep.spec.fixed import greatest_coefficient
from qstep.spec.integer_worlds import CART_POLE, MOUNTAIN_CAR, State
from qstep.spec.memory_map import INDEX, PLACE, Region
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState
from qstep.spec.tiles import Tiles

_ROUNDS = 6
_ANSWER, _ACT = 3, 5
"""Clocks from a request to its answer, and to the outcome of the step."""


class _Agents(AgentsPort):
    """A lane of agents, together with the continuous states of their world."""

    bus = ("bus_valid_i", "bus_i")

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.states: list[State] = []

    def place(self, agent: int, plane: int) -> int:
        """Return the index of an agent's `PLACE` word in a plane."""
        return INDEX[Region.CONTEXT].pack(word=PLACE.number, agent=agent, plane=plane)

    async def load(self, model: ActingModel) -> None:
        """Load settings, states, counters and tables from the model, and set the world's states."""
        await self.write([registers.limit_write(model.world.max_episode_steps)])
        self.states = [own.state for own in model.states]
        for agent, own in enumerate(model.settings):
            await self.write(registers.settings_writes(self.config, agent, own))
            state = model.states[agent]
            rows = model.world.rows(state.state)
            await self.write(registers.state_writes(agent, state, rows))
            await self.write(registers.counters_writes(agent, model.counters[agent]))
        await self.load_table(model.table)

    async def parts(self, agent: int) -> tuple[AgentState, AgentCounters, list[int]]:
        """Return the state and counters of an agent, and its row in each plane."""
        words = await self.context(agent)
        state = registers.state_from(agent, lambda _, index: words[index & 7])
        rows = [
            await self.access(Region.CONTEXT, self.place(agent, plane)) & 0xFFFF
            for plane in range(self.config.planes)
        ]
        return replace(state, state=self.states[agent]), await self.counters(agent), rows

    async def answer(self, world: TiledWorld, late: float) -> None:
        """Answer requests as the world does; an answer is late with probability `late`."""
        dut, bits = self.dut, (self.config.states - 1).bit_length()

        def packed(state: State) -> int:
            return sum(row << bits * plane for plane, row in enumerate(world.rows(state)))

        asked: list[tuple[State, State, bool]] = []
        acting = 0
        while True:
            await self.edge
            agent, acting = acting, int(dut.world_acting_o.value)
            start = world.start(int(dut.world_start_o.value))
            after, ended = start, False
            if dut.world_valid_o.value:
                state, action = self.states[int(dut.world_agent_o.value)], dut.world_action_o.value
                assert int(dut.world_state_o.value) == packed(state)
                after, ended = world.world.move(world.world.columns, state, int(action))
            asked.append((after, start, ended))
            if len(asked) <= _ACT:
                continue
            after, start, ended = asked[-1 - _ANSWER]
            dut.world_ready_i.value = random.random() >= late
            dut.world_reward_i.value = world.reward
            dut.world_next_state_i.value = packed(after)
            dut.world_terminated_i.value = ended
            dut.world_start_state_i.value = packed(start)
            after, start, _ = asked[-1 - _ACT]
            if dut.world_restarts_o.value:
                self.states[agent] = start
            elif dut.world_goes_o.value:
                self.states[agent] = after


def _anywhere(limits: Sequence[tuple[int, int]], draw: int) -> State:
    """Return a legal random state for a draw, with numbers of all magnitudes up to their limits."""
    drawn = random.Random(draw)
    return tuple(
        drawn.choice([*bounds, *(drawn.randint(*bounds) >> shift for shift in (0, 2, 4, 6))])
        for bounds in limits
    )


def _world(config: Config, limit: int) -> TiledWorld:
    """Return the world with the configured number of actions, and tiles that form the planes.

    The world's episodes begin in the usual start states or in random states.
    """
    side = int(config.states**0.5) - 1
    world = replace(
        CART_POLE if config.actions == CART_POLE.actions else MOUNTAIN_CAR, max_episode_steps=limit
    )
    if config.actions == CART_POLE.actions:
        tiles = Tiles(
            [-2.4, -3, -0.2095, -3.5],
            [2.4, 3, 0.2095, 3.5],
            side,
            config.planes // 2,
            [(2, 3), (0, 1)],
            units=world.units,
        )
    else:
        tiles = Tiles([-1.2, -0.07], [0.6, 0.07], side, config.planes, units=world.units)
    if random.random() < 0.5:
        world = replace(world, start=partial(_anywhere, world.limits))
    return TiledWorld(replace(world, tiles=tiles), config)


def _model(config: Config, number: int, limit: int) -> ActingModel:
    acting = config.acting
    assert acting is not None
    world = _world(config, limit)
    settings, states = [], []
    for _ in range(acting.agents):
        epsilon = Epsilon(random.choice([0.0, 0.3, 1.0]))
        alpha, gamma = (random.choice([1.0, random.random()]) for _ in range(2))
        alpha *= greatest_coefficient(config.coefficient_bits) / (1 << config.coefficient_bits)
        own = AgentSettings(alpha, gamma, epsilon, random.getrandbits(64))
        settings.append(own)
        states.append(
            AgentState(
                word=random.getrandbits(64) or 1,
                epsilon=own.epsilon.code.start,
                epsilon_count=0,
                begun=random.random() < 0.9,
                state=_anywhere(world.world.limits, random.getrandbits(32)),
                action=random.randrange(config.actions),
                explored=random.random() < 0.5,
                episode_steps=0,
            )
        )
    model = ActingModel(config, world, settings)
    least, greatest = config.format.minimum, config.format.maximum
    table = np.random.default_rng(number).integers(least, greatest + 1, config.table_shape)
    if number % 2:
        table //= 256
    model.restore(table.astype(np.int32), states, [AgentCounters() for _ in states])
    return model


@cocotb.test()
async def agents_in_continuous_worlds_are_the_models_afterwards(dut: Any) -> None:
    lane = _Agents(dut)
    dut.world_ready_i.value = 0
    await lane.start()
    for number in range(_ROUNDS):
        model = _model(lane.config, number, limit=random.choice([1, 7, 500]))
        await lane.load(model)
        assert isinstance(model.world, TiledWorld)
        world = cocotb.start_soon(lane.answer(model.world, late=0.1 * (number % 3)))
        for steps in (1, random.randrange(2, 40)):
            await lane.begin(steps)
            await lane.idle()
            for _ in model.run(steps):
                pass
        world.cancel()
        for agent, state in enumerate(model.states):
            rows = list(model.world.rows(state.state))
            right = state, model.counters[agent], rows
            seen = await lane.parts(agent)
            assert seen == right, f"round {number}, agent {agent}: {seen}, not {right}"
        table: NDArray[np.int32] = await lane.table()
        assert np.array_equal(table, model.table), f"round {number}: tables differ"


@cocotb.test()
async def a_run_with_planes_takes_one_rotation_for_each_step_and_each_held_slot(dut: Any) -> None:
    lane = _Agents(dut)
    dut.world_ready_i.value = 0
    await lane.start()
    model = _model(lane.config, 1, limit=0)  # a truncation takes a slot of its own
    await lane.load(model)
    assert isinstance(model.world, TiledWorld)
    world = cocotb.start_soon(lane.answer(model.world, late=0))
    await lane.check_rotations()
    world.cancel()
