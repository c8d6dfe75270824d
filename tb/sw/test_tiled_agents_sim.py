"""Agents in CartPole and Mountain Car on simulated hardware match the model bit for bit."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tb.equal_agents import differing, go_on_after_a_reset, run_alike, run_alone, stop_midway
from tb.planted import Fault, faults, plant_python

from qstep.device.agents import LinkAgents
from qstep.golden.agents import ActingModel
from qstep.golden.tiled_fast import FastTiledModel
from qstep.mdp.tiled import TiledWorld
from qstep.spec.agents import Acting
from qstep.spec.config import Config, Link
from qstep.spec.epsilon import Epsilon
from qstep.spec.integer_worlds import CART_POLE, MOUNTAIN_CAR, IntegerWorld
from qstep.spec.settings import AgentSettings
from qstep.spec.tiles import Tiles
from qstep_rtl import agents, device, sources
from qstep_rtl.generate import generate
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort

pytestmark = pytest.mark.rtl

PATIENCE = 0.05
"""The driver's timeout in wall-clock seconds; a simulation runs slower than a device."""

CAR = Tiles([-1.2, -0.07], [0.6, 0.07], tiles=3, tilings=2, units=MOUNTAIN_CAR.units)
POLE = Tiles(
    low=[-2.4, -3, -0.2095, -3.5],
    high=[2.4, 3, 0.2095, 3.5],
    tiles=[4, 1, 3, 5],
    tilings=2,
    groups=[(2, 3), (0,)],
    units=CART_POLE.units,
)
NARROW = Tiles([-0.7, -0.01], [-0.3, 1.5], tiles=[9, 2], tilings=1, units=MOUNTAIN_CAR.units)
WIDE = Tiles([-50] * 4, [0.01, 0.1, 0.05, 90], [6, 4, 5, 3], 4, units=CART_POLE.units)

KINDS = [
    ("q-learning", CART_POLE, POLE, 3, "Q8.8", {"planes": 4}),
    ("sarsa", MOUNTAIN_CAR, CAR, 4, "Q8.8", {"planes": 2, "shared_table": True}),
    ("q-learning", CART_POLE, None, 16, "Q8.8", {"planes": 8}),
    ("expected-sarsa", CART_POLE, None, 5, "Q6.10", {"planes": 8, "shared_table": True}),
    ("sarsa", CART_POLE, WIDE, 2, "Q4.8", {"planes": 4, "rounding": "floor"}),
    ("expected-sarsa", CART_POLE, POLE, 16, "Q8.8", {"planes": 4, "schedules": False}),
    ("q-learning", MOUNTAIN_CAR, None, 2, "Q16.16", {"planes": 16, "rounding": "stochastic"}),
    ("q-learning", MOUNTAIN_CAR, CAR, 16, "Q4.4", {"planes": 2, "shared_table": True}),
    ("expected-sarsa", MOUNTAIN_CAR, NARROW, 3, "Q8.8", {"planes": 1, "step_limit": False}),
    ("sarsa", MOUNTAIN_CAR, None, 1, "Q8.8", {"planes": 16}),
    ("sarsa", CART_POLE, None, 32, "Q8.8", {"planes": 8, "lanes": 2}),
    ("q-learning", MOUNTAIN_CAR, CAR, 9, "Q8.8", {"planes": 2, "lanes": 3}),
]
"""For each kind: algorithm, world, tiles (None for the world's own), number of agents, format, and
further parts of the configuration. The kinds cover both worlds, separate and shared tables, 1 to 16
planes, and 1 to 3 lanes."""

OFTEN, LONG = KINDS[0], KINDS[2]
"""The kind that runs in ``make test``, and the one that makes more than a million steps."""


def built(kind: tuple[Any, ...]) -> Config:
    """Return the configuration of a kind, with a few rows more than it needs."""
    algorithm, world, tiles, count, number, parts = kind
    given = {name: parts[name] for name in ("planes", "rounding", "lanes") if name in parts}
    rest = {name: value for name, value in parts.items() if name not in given}
    acting = Acting(count, algorithm, world=world.env_id, tiles=tiles, **rest)
    assert acting.tiles is not None
    return Config(
        *(acting.tiles.rows + 3, world.actions, number),
        acting=acting,
        coefficient_bits=18,
        link=Link(buffer_bytes=512),
        **given,
    )


def world_of(config: Config, limit: int) -> TiledWorld:
    assert config.acting is not None
    world: IntegerWorld = config.acting.integer_world
    return TiledWorld(replace(world, max_episode_steps=limit), config)


def settings_of(config: Config) -> list[AgentSettings]:
    """Return settings that differ from agent to agent, with schedules only if the device has them."""
    assert config.acting is not None
    epsilons: Sequence[Epsilon] = (
        Epsilon(0.5, 0.01, "exponential", 500),
        Epsilon(0.0),
        Epsilon(1.0, 0.1, "linear", 30, "episodes"),
        Epsilon(0.2),
    )
    if not config.acting.schedules:
        epsilons = [Epsilon(own.start) for own in epsilons]
    rates = ((0.01, 0.99), (0.1, 1.0), (0.2, 0.9))
    return [
        AgentSettings(*rates[n % 3], epsilons[n % 4], seed=7 + n)
        for n in range(config.acting.agents)
    ]


Pair = tuple[LinkAgents, FastTiledModel]


def pair_of(port: SimPort, config: Config, limit: int) -> Pair:
    """Return device and model with the same random weights."""
    world, settings = world_of(config, limit), settings_of(config)
    pair = (
        LinkAgents(port, config, world, settings, PATIENCE),
        FastTiledModel(config, world, settings),
    )
    assert differing(*pair) == []
    ends = config.format.minimum, config.format.maximum
    table = np.random.default_rng(6).integers(*ends, config.table_shape).astype(np.int32)
    for learner in pair:
        learner.load(table)
    return pair


@pytest.fixture
def pair(port: SimPort) -> Pair:
    return pair_of(port, built(OFTEN), 30)


@pytest.fixture
def port() -> Iterator[SimPort]:
    made = SimPort(built(OFTEN))
    yield made
    made.close()


def marks_of(kind: tuple[Any, ...]) -> pytest.MarkDecorator | tuple[()]:
    """Return a mark that excludes a kind from ``make test``; 32 agents take minutes to build."""
    if kind is OFTEN:
        return ()
    return pytest.mark.release if kind[3] == 32 else pytest.mark.slow


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=marks_of(kind)) for kind in KINDS],
    ids=lambda kind: f"{kind[0]}-{kind[1].env_id}-{kind[5]['planes']}-planes-{kind[3]}-agents",
)
def test_agents_seen_through_tiles_make_the_steps_of_the_model(kind: tuple[Any, ...]) -> None:
    config = built(kind)
    has_limit = config.acting is not None and config.acting.step_limit
    port = SimPort(config)
    steps = 70_000 if kind is LONG else 4000
    run_alike(*pair_of(port, config, 120 * has_limit), 1, 2, 40, steps)
    port.close()


def test_hardware_goes_on_from_the_model_and_the_model_from_it(pair: Pair) -> None:
    hardware, model = pair
    model.run(333)
    hardware.restore(model.table, model.states, model.counters)
    assert differing(hardware, model) == []
    run_alike(hardware, model, 100)
    other = FastTiledModel(hardware.config, model.world, hardware.settings)
    other.restore(hardware.table, hardware.states, hardware.counters)
    run_alike(hardware, other, 100)


def test_hardware_goes_on_from_any_legal_state(pair: Pair) -> None:
    hardware, model = pair
    plain = ActingModel(hardware.config, model.world, hardware.settings)
    limits = model.world.world.limits
    table, counters = model.table.copy(), model.counters
    for begun in (True, False):
        states = [
            replace(own, state=place, begun=begun)
            for own, place in zip(
                model.states,
                [
                    tuple(low for low, _ in limits),
                    tuple(high for _, high in limits),
                    tuple(ends[k % 2] for k, ends in enumerate(limits)),
                ],
                strict=True,
            )
        ]
        for learner in (hardware, model, plain):
            learner.restore(table, states, counters)
        assert differing(hardware, model) == []
        run_alike(hardware, model, 1, 30)
        assert len(list(plain.run(31))) == 3 * 31
        assert differing(hardware, plain) == []


def test_agents_stop_and_go_on_where_they_were(pair: Pair, port: SimPort) -> None:
    hardware, model = pair
    stop_midway(hardware)

    def begin() -> FastTiledModel:
        first = FastTiledModel(model.config, model.world, model.settings)
        first.load(model.table)
        return first

    run_alone(hardware, begin)
    go_on_after_a_reset(hardware, port, model)


@pytest.mark.slow
@pytest.mark.parametrize("fault", faults("test_tiled_agents_sim"), ids=lambda fault: fault.name)
def test_a_fault_planted_between_agents_and_world_is_found(
    fault: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = built(OFTEN)
    monkeypatch.setattr(device, "Agents", plant_python(agents, fault.old, fault.new).Agents)
    generate(config, tmp_path)
    verilog = [*sources.rtl_files(config), tmp_path / "qstep_device.v"]
    library = compile_library(verilog, "qstep_device", optimise=False)
    port = SimPort(config, library=library)
    with pytest.raises(AssertionError):
        run_alike(*pair_of(port, config, 30), 1, 40)
    port.close()
