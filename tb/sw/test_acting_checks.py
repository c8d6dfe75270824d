"""Every device refuses what it cannot do without schedules or without a limit of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tb.agents.worlds import random_world
from tb.reference_agents import ReferenceAgents
from tb.sw.lossy_port import DirectPort

from qstep.acting.agent import AgentSettings
from qstep.acting.config import Acting
from qstep.acting.epsilon import Epsilon
from qstep.acting.fast_model import FastActingModel
from qstep.acting.live import LiveModel
from qstep.acting.model import ActingModel
from qstep.acting.plan import planned
from qstep.acting.registers import world_writes
from qstep.acting.training import Budget
from qstep.acting.world_table import WorldTable
from qstep.config import Config
from qstep.devices.agents_device import LinkAgents
from qstep.errors import ConfigError

pytestmark = pytest.mark.unit

WITHOUT = Config(9, 3, acting=Acting(2, schedules=False, step_limit=False))
CONSTANT = [AgentSettings(epsilon=Epsilon(0.25)), AgentSettings(epsilon=Epsilon(0))]
FALLING = [CONSTANT[0], AgentSettings(epsilon=Epsilon(1, 0, "linear", 9))]

Device = ActingModel | FastActingModel | LinkAgents


def on_a_link(config: Config, world: WorldTable, settings: Sequence[AgentSettings]) -> LinkAgents:
    return LinkAgents(DirectPort(ReferenceAgents(config)), config, world, settings)


every_device = pytest.mark.parametrize("make", [ActingModel, FastActingModel, on_a_link])


@every_device
@pytest.mark.parametrize(
    ("switch", "limit", "settings", "message"),
    [
        (
            "schedules",
            0,
            FALLING,
            "epsilon kind of agent 1 is 'linear'; it must be 'constant' where acting.schedules is false",
        ),
        (
            "step_limit",
            200,
            CONSTANT,
            "max_episode_steps is 200; it must be 0 where acting.step_limit is false",
        ),
    ],
    ids=["schedules", "step_limit"],
)
def test_a_device_refuses_what_it_is_built_without(
    make: Callable[..., Device],
    switch: str,
    limit: int,
    settings: Sequence[AgentSettings],
    message: str,
) -> None:
    assert WITHOUT.acting is not None
    # The other switch is on: only this one is in the way.
    config = replace(WITHOUT, acting=replace(Acting(2), **{switch: False}))
    world = random_world(config, limit, 1)
    make(replace(config, acting=Acting(2)), world, settings)
    with pytest.raises(ConfigError, match=message):
        make(config, world, settings)


@every_device
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"epsilon": 5},
            "epsilon of agent 1 is 5; it must be 0 where acting.schedules is false",
        ),
        (
            {"epsilon_count": 3},
            "epsilon_count of agent 1 is 3; it must be 0 where acting.schedules is false",
        ),
        (
            {"episode_steps": 7},
            "episode_steps of agent 1 is 7; it must be 0 where acting.step_limit is false",
        ),
    ],
    ids=["epsilon", "epsilon_count", "episode_steps"],
)
def test_a_state_that_a_device_cannot_have_is_refused(
    make: Callable[..., Device], wrong: dict[str, Any], message: str
) -> None:
    device = make(WITHOUT, random_world(WITHOUT, 0, 1), CONSTANT)
    first, second = device.states
    device.restore(device.table, [first, second], device.counters)
    with pytest.raises(ConfigError, match=message):
        device.restore(device.table + 1, [first, replace(second, **wrong)], device.counters)
    assert not device.table.any()


def test_a_live_world_refuses_a_schedule_and_has_no_limit() -> None:
    config = replace(WITHOUT, acting=Acting(2, world="live", schedules=False, step_limit=False))
    with pytest.raises(ConfigError, match="epsilon kind of agent 1 is 'linear'"):
        LiveModel(config, FALLING)
    assert LiveModel(config, CONSTANT).begin(3) in range(3)


def test_a_world_that_chooses_where_the_device_has_one_outcome_is_refused() -> None:
    world = random_world(WITHOUT, 0, 1)
    next_state, split = world.next_state.copy(), world.split.copy()
    next_state[0, 0, 0], split[0, 0, 0] = (1, 2), 5
    choosing = replace(world, next_state=next_state, split=split)
    with pytest.raises(ConfigError, match="room for one of its outcomes chooses between two"):
        list(world_writes(WITHOUT, choosing))
    split[0, 0, 0] = 0  # the second, always
    assert list(world_writes(WITHOUT, replace(choosing, split=split)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AgentSettings(epsilon=0.1), r"epsilon is 0\.1; it must be an Epsilon"),  # type: ignore[arg-type]
        (
            lambda: Acting(outcomes=3),
            "acting.outcomes is 3; it must be a power of two from 1 to",
        ),
        (
            lambda: planned("gridworld", budget=Budget(1), agents=2, settings=CONSTANT * 2),
            "agents is 2; settings are for 4",
        ),
        (
            lambda: list(world_writes(Config(9, 3), random_world(WITHOUT, 0, 1))),
            "acting is None; agents need a configuration that has it",
        ),
    ],
    ids=["epsilon", "outcomes", "agents", "acting"],
)
def test_values_that_do_not_fit_agents_are_refused(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        make()
