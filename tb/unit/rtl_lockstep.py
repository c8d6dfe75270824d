"""cocotb tests of ``qs_lockstep``: its agents are those of a model for each lane, bit for bit.

Plusarg: ``+report=PATH`` has the steps compared and the coverage written as JSON.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import cycle, product
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge
from numpy.typing import NDArray
from tb.random_world import random_world
from tb.unit.lockstep_bins import AGENTS, PHASES, LockstepBins
from tb.unit.lockstep_farm import LockstepFarm

from qstep import Config
from qstep.acting import registers
from qstep.acting.agent import AgentCounters, AgentSettings, AgentState
from qstep.acting.epsilon import Epsilon
from qstep.acting.model import ActingModel
from qstep.acting.world_table import WorldTable
from qstep.protocol import MOST_STEPS, Region

_BINS = LockstepBins(int(cocotb.top.Lanes.value), int(cocotb.top.States.value))
_LONGEST_ACCESS = 40
"""Clocks of an access that is not one of counters, and some more."""


def _table(rng: np.random.Generator, config: Config) -> NDArray[np.int32]:
    """Return tables in which any actions of a row are equally good."""
    best = rng.integers(
        config.format.minimum, config.format.maximum + 1, (*config.table_shape[:2], 1)
    )
    best = np.where(rng.random(best.shape) < 0.3, rng.choice([-128, 127], best.shape), best)
    worse = best - rng.integers(1, 40, config.table_shape)
    tied = rng.random(config.table_shape) < 0.5
    return np.maximum(np.where(tied, best, worse), config.format.minimum).astype(np.int32)


def _world(rng: np.random.Generator, config: Config, kind: str, lane: int) -> WorldTable:
    """Return a world in which agents often stay where they are and episodes often end.

    Where rewards have ``one sign``, none is below 0 in even lanes and none above 0 in odd ones. They
    may also all ``fall``. In a world of kind ``ends`` each step ends an episode. In a ``circle`` agents
    visit every state, and all values come to saturate.
    """
    world = random_world(config, 0, int(rng.integers(1 << 32)))
    states = np.arange(config.states).reshape(-1, 1, 1, 1)
    most = config.format.maximum
    if kind == "circle":
        return replace(
            world,
            next_state=np.broadcast_to((states + 1) % config.states, world.next_state.shape),
            reward=np.clip(np.abs(world.reward), most // 2, most),
            terminated=np.zeros_like(world.terminated),
        )
    if kind == "one sign":
        large = np.maximum(np.abs(world.reward), most * (rng.random(world.reward.shape) < 0.7))
        world = replace(world, reward=np.minimum(large, most) * (-1 if lane % 2 else 1))
    if kind == "fall":
        world = replace(world, reward=np.full_like(world.reward, config.format.minimum))
    stays = rng.random(world.next_state.shape) < 0.4
    return replace(
        world,
        next_state=np.where(stays, states, world.next_state),
        terminated=world.terminated | (rng.random(states.shape) < 0.3) | (kind == "ends"),
    )


def _models(
    farm: LockstepFarm, settings: AgentSettings, is_shared: bool, kind: str = ""
) -> list[ActingModel]:
    """Return a model for each lane, whose agents are in the middle of something.

    Lanes that share what can be written to all at once have the same world, table and places, and their
    agents draw a first start state.
    """
    rng, begun = np.random.default_rng(random.getrandbits(32)), not is_shared
    models: list[ActingModel] = []
    for lane in range(farm.lanes):
        if not (models and is_shared):
            world, table = _world(rng, farm.config, kind, lane), _table(rng, farm.config)
            places = [
                (random.randrange(farm.config.states), random.randrange(4), random.random() < 0.5)
                for _ in range(AGENTS)
            ]
            # The start state is that of all lanes.
            first = models[0].world if models else world
            world = replace(world, start_state=first.start_state, start_split=first.start_split)
        epsilon = settings.epsilon.code.start
        states = [
            AgentState(random.getrandbits(64) or 1, epsilon, 0, begun, *place) for place in places
        ]
        model = ActingModel(farm.config, world, [settings] * AGENTS)
        model.restore(table, states, [AgentCounters() for _ in states])
        models.append(model)
    return models


def _settings(alpha: float, gamma: float, epsilon: float) -> AgentSettings:
    return AgentSettings(alpha, gamma, Epsilon(epsilon))


def _counters(lane: int, word: int) -> AgentCounters:
    """Return counters that carry into the word behind `word`, where all rewards have one sign."""
    most = (1 << 16 * (1 + word)) - 1
    return AgentCounters(most, most, most, most, return_sum=3 if lane % 2 else -3)


async def _started(dut: Any) -> LockstepFarm:
    farm = LockstepFarm(dut, _BINS)
    await farm.start()
    return farm


@cocotb.test()
async def agents_that_begin_anywhere_are_the_models_afterwards(dut: Any) -> None:
    farm = await _started(dut)
    sweep = farm.bins.sweep
    rounds = [
        (_settings(0.0, 1.0, 0.0), "", (1, 2, 12)),
        (_settings(1.0, 0.0, 0.1), "", (2, 1, 12)),
        (_settings(0.5, 1.0, 1.0), "circle", (sweep, sweep + 30)),
        (_settings(0.25, 0.9, 0.3), "one sign", (20, 1, sweep + 30)),
        (_settings(0.25, 0.0, 0.2), "ends", (sweep + 30,)),
    ]
    for number, (settings, kind, runs) in enumerate(rounds):
        await farm.load(_models(farm, settings, is_shared=number % 2 == 0, kind=kind))
        for agent in range(2 * farm.lanes if kind == "one sign" else 0):
            lane = agent % farm.lanes
            await farm.load_counters((lane, agent), _counters(lane, agent // farm.lanes))
        for steps in runs:
            await farm.run(steps)
            await farm.compare_states()
        await farm.compare_tables()
        await farm.compare_counters()


@cocotb.test()
async def what_is_not_stored_is_read_too_and_changes_nothing(dut: Any) -> None:
    farm = await _started(dut)
    await farm.load(_models(farm, _settings(0.3, 0.7, 0.2), is_shared=True))
    for lane, number in product(range(farm.lanes), range(AGENTS << 3)):
        for region in (Region.SETTINGS, Region.WORLD, Region.STARTS):
            await farm.read(lane, region, random.getrandbits(30))
        if number & 7 not in (0, 1, 2, 4):
            assert await farm.read(lane, Region.CONTEXT, number) == 0
    for agent, field in product(range(AGENTS, 16), (0, 1, 4)):
        await farm.access(Region.CONTEXT, agent << 3 | field)
        await farm.access(Region.TABLE, registers.table_index(agent, 0, 0, 0))
    await farm.run(3)
    await farm.compare_states()
    await farm.compare_tables()


@cocotb.test()
async def counters_are_of_one_moment_whenever_they_are_read(dut: Any) -> None:
    farm = await _started(dut)
    await farm.load(_models(farm, _settings(0.5, 0.9, 0.25), is_shared=True))
    for number, phase in enumerate(PHASES):
        lane, agent = who = number % farm.lanes, random.randrange(AGENTS)
        await farm.load_counters(who, AgentCounters())
        if phase != "idle":
            await farm.begin(3 if phase == "drains" else MOST_STEPS)
        await farm.reach(phase, random.randrange(AGENTS))
        words = [await farm.read_counter(who, 0)]
        await farm.stop()
        # The copy, from which all other words come, may be older than the end of the run.
        found = await farm.counters(who, words)
        farm.follow(found.steps)
        right = farm.models[lane].counters[agent]
        assert found == right, f"counters are {found}, not {right}"
        rest = await farm.read_counter(who, 0) - found.steps
        farm.follow(rest, goes_on=found.steps > 0)
    await farm.compare_states()


@cocotb.test()
async def counters_are_those_asked_for_whichever_clock_of_a_sweep_they_are_asked_in(
    dut: Any,
) -> None:
    farm = await _started(dut)
    await farm.load(_models(farm, _settings(0.5, 0.9, 0.25), is_shared=True))
    one, other = (0, 0), (farm.lanes - 1, 1)
    await farm.load_counters(one, AgentCounters(steps=5))
    await farm.load_counters(other, AgentCounters(steps=9))
    for clocks in range(3 * AGENTS):  # behind the beginning of the host's visit
        assert await farm.read_counter(other, 0) == 9
        await RisingEdge(dut.u_tally.host_q)
        await farm.clock(1 + clocks)
        assert await farm.read_counter(one, 0) == 5, f"asked {clocks} clocks after"


@cocotb.test()
async def a_run_ends_with_the_rotation_in_which_it_is_stopped_or_reset(dut: Any) -> None:
    farm = await _started(dut)
    await farm.load(_models(farm, _settings(0.4, 0.8, 0.5), is_shared=False, kind="fall"))
    who = farm.lanes - 1, AGENTS - 1
    await farm.load_counters(who, AgentCounters())
    lengths = cycle([MOST_STEPS, 1 << 16, 1 << 40, random.randrange(1 << 40, MOST_STEPS)])
    last = 0
    for slot, phase, how in product(range(AGENTS), PHASES, ("stop", "reset")):
        steps = next(lengths) if phase in ("waits", "runs") else 3
        if phase != "idle":
            await farm.begin(steps)
            await farm.clock(2)
        before = await farm.reach(phase, slot)
        await (farm.stop() if how == "stop" else farm.reset())
        farm.bins.group.hit(how, (phase, slot))
        if phase == "idle":
            continue
        made = await farm.read_counter(who, 0) - last
        # A rotation is under way, and the next one may have been settled.
        late = made - (steps - before)
        legal = {"waits": (0, 1), "runs": (1, 2), "drains": (0,)}[phase]
        assert late in legal, f"{made} steps, {late} of them after a {how} in slot {slot}"
        last += made
        farm.follow(made)
    await farm.compare_states()
    await farm.compare_tables()
    await farm.compare_counters()


@cocotb.test()
async def a_reset_in_an_access_leaves_the_rest_as_it_is(dut: Any) -> None:
    farm = await _started(dut)
    await farm.load(_models(farm, _settings(0.6, 0.4, 0.1), is_shared=False))
    for clocks in range(1, _LONGEST_ACCESS):
        lane, agent = random.randrange(farm.lanes), random.randrange(AGENTS)
        region, index = random.choice(
            [
                (Region.CONTEXT, agent << 3 | random.choice([0, 1, 4])),
                (Region.COUNTERS, agent << 4),
                (Region.TABLE, random.choice(farm.entries)),
                (Region.WORLD, random.randrange(farm.config.states) << 14),
            ]
        )
        farm.select(lane)
        farm.ask(region, index)
        await farm.clock(clocks)
        await farm.reset()
        farm.bins.group.hit("reset", "in an access")
        if clocks % 8 == 0:
            await farm.run(1)
    await farm.compare_states()
    await farm.compare_tables()


@cocotb.test()
async def every_bin_is_hit(dut: Any) -> None:
    group = _BINS.group
    if "report" in cocotb.plusargs:
        report = {"steps": _BINS.steps, **group.report()}
        Path(cocotb.plusargs["report"]).write_text(json.dumps(report), encoding="utf-8")
    holes = group.holes()
    assert not holes, f"{len(holes)} bins were never hit: {holes}"
