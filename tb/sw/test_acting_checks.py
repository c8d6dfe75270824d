"""Every device rejects unsupported requests and unusable checkpoints, and changes nothing."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tb.random_world import random_world
from tb.reference_agents import ReferenceAgents, ReferenceLive
from tb.sw.lossy_port import DirectPort

from qstep.device.agents import LinkAgents
from qstep.device.live import LinkLive, LiveModel
from qstep.device.registers import world_writes
from qstep.errors import ConfigError, TableError
from qstep.golden.agents import ActingModel
from qstep.golden.agents_fast import FastActingModel
from qstep.learn.plan import Budget, planned
from qstep.mdp.memory import WorldTable
from qstep.spec.agents import Acting, Algorithm
from qstep.spec.config import Config
from qstep.spec.epsilon import Epsilon
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState

WITHOUT = Config(9, 3, acting=Acting(2, schedules=False, step_limit=False))
CONSTANT = [AgentSettings(epsilon=Epsilon(0.25)), AgentSettings(epsilon=Epsilon(0))]
FALLING = [CONSTANT[0], AgentSettings(epsilon=Epsilon(1, 0, "linear", 9))]

Device = ActingModel | FastActingModel | LinkAgents | LiveModel | LinkLive


def on_a_link(config: Config, world: WorldTable, settings: Sequence[AgentSettings]) -> LinkAgents:
    return LinkAgents(DirectPort(ReferenceAgents(config)), config, world, settings)


every_device = pytest.mark.parametrize("make", [ActingModel, FastActingModel, on_a_link])


@every_device
@pytest.mark.parametrize(
    ("switch", "limit", "settings", "message"),
    [
        ("schedules", 0, FALLING,
         "epsilon kind of agent 1 is 'linear'; it must be 'constant' where acting.schedules is false"),
        ("step_limit", 200, CONSTANT,
         "max_episode_steps is 200; it must be 0 where acting.step_limit is false"),
    ],
)  # fmt: skip
def test_a_device_refuses_what_it_is_built_without(
    make: Callable[..., Device],
    switch: str,
    limit: int,
    settings: Sequence[AgentSettings],
    message: str,
) -> None:
    assert WITHOUT.acting is not None
    # The other switch is on, so only this one causes the error.
    off: dict[str, Any] = {switch: False}
    config = replace(WITHOUT, acting=Acting(2, **off))
    world = random_world(config, limit, 1)
    make(replace(config, acting=Acting(2)), world, settings)
    with pytest.raises(ConfigError, match=message):
        make(config, world, settings)


LIMIT = 20
FULL = Config(9, 3, acting=Acting(2))
# The first epsilon falls every 24 steps, the second one every 16 steps.
SETTINGS = [
    AgentSettings(epsilon=Epsilon(0.5, 0, "exponential", 7000)),
    AgentSettings(epsilon=Epsilon(1, 0, "linear", 1 << 20)),
]
LOW, MOST = 1 << 63, (1 << 48) - 1
LAST_STATE = AgentState(2 * LOW - 1, 1 << 24, 15, True, 8, 2, True, LIMIT - 1)
LAST_COUNTERS = AgentCounters(MOST, MOST, MOST, MOST, LOW - 1)


def device_of(kind: str, config: Config, settings: Sequence[AgentSettings]) -> Device:
    """Open a device whose episodes have a step limit, unless its world is live."""
    acting = config.acting
    assert acting is not None
    if kind.endswith("live"):
        config = replace(config, acting=replace(acting, world="live"))
        if kind == "live":
            return LiveModel(config, settings)
        return LinkLive(DirectPort(ReferenceLive(config)), config, settings)
    world = random_world(config, LIMIT if acting.step_limit else 0, 1)
    if kind == "link":
        return on_a_link(config, world, settings)
    return (ActingModel if kind == "model" else FastActingModel)(config, world, settings)


def parts_of(device: Device) -> tuple[Any, ...]:
    return np.array(device.table), device.states, device.counters


KINDS = ("model", "compiled", "link", "live", "link-live")
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
@pytest.mark.parametrize(
    ("what", "given", "error", "message"),
    [
        (1, {"word": 0}, ConfigError,
         r"word of agent 1 is 0; it must be an integer from 1 to 2\^64-1"),
        (1, {"word": 1 << 64}, ConfigError, "word of agent 1 is 18446744073709551616; it must"),
        (1, {"word": None}, ConfigError, "word of agent 1 is None; it must be an integer"),
        (1, {"epsilon": -1}, ConfigError,
         "epsilon of agent 1 is -1; it must be an integer from 0 to 16777216"),
        (1, {"epsilon": 1 << 25}, ConfigError, "epsilon of agent 1 is 33554432; it must"),
        (1, {"epsilon_count": 16}, ConfigError,
         "epsilon_count of agent 1 is 16; it must be an integer from 0 to 15, less than the period"),
        (1, {"epsilon_count": -1}, ConfigError, "epsilon_count of agent 1 is -1; it must"),
        (1, {"begun": 1}, ConfigError, "begun of agent 1 is 1; it must be true or false"),
        (1, {"state": 9}, ConfigError, "state of agent 1 is 9; it must be an integer from 0 to 8"),
        (1, {"action": 3}, ConfigError,
         "action of agent 1 is 3; it must be an integer from 0 to 2"),
        (1, {"action": 1.0}, ConfigError, r"action of agent 1 is 1\.0; it must"),
        (1, {"explored": "no"}, ConfigError,
         "explored of agent 1 is 'no'; it must be true or false"),
        (1, {"episode_steps": LIMIT}, ConfigError,
         "episode_steps of agent 1 is 20; it must be .*step limit"),
        (2, {"steps": -1}, ConfigError,
         r"steps of agent 1 is -1; it must be an integer from 0 to 2\^48-1"),
        (2, {"terminations": 1 << 48}, ConfigError,
         "terminations of agent 1 is 281474976710656; it must"),
        (2, {"truncations": -1}, ConfigError, "truncations of agent 1 is -1; it must"),
        (2, {"saturations": 1 << 64}, ConfigError,
         "saturations of agent 1 is 18446744073709551616; it must"),
        (2, {"return_sum": LOW}, ConfigError,
         r"return_sum of agent 1 is .*; it must be .* -2\^63 to 2\^63-1"),
        (2, {"return_sum": -LOW - 1}, ConfigError,
         "return_sum of agent 1 is -9223372036854775809; it must"),
        (0, None, TableError, "table has shape"),
        (0, np.zeros((2, 9, 3)), TableError, "table has dtype float64"),
        (0, np.full((2, 9, 3), 1 << 15), TableError, r"table\[0, 0, 0\] is 32768"),
        (1, None, ConfigError,
         "states is None; it must be a sequence of AgentState, one per agent"),
        (1, [LAST_STATE], ConfigError, "states are for 1 agents; the device has 2"),
        (1, [LAST_STATE, ()], ConfigError, r"states\[1\] is \(\); it must be an AgentState"),
        (2, 5, ConfigError, "counters is 5; it must be a sequence of AgentCounters"),
        (2, [], ConfigError, "counters are for 0 agents; the device has 2"),
        (2, [1, 2], ConfigError, r"counters\[0\] is 1; it must be an AgentCounters"),
    ],
    ids=lambda given: str(given) if isinstance(given, dict) else type(given).__name__,
)  # fmt: skip
def test_no_device_continues_from_an_illegal_part(
    kind: str, what: int, given: Any, error: type[Exception], message: str
) -> None:
    device = device_of(kind, FULL, SETTINGS)
    before = parts_of(device)
    parts = [before[0] + 1, *map(list, before[1:])]
    if isinstance(given, dict):
        parts[what][1] = replace(parts[what][1], **given)
    else:
        parts[what] = given
    with pytest.raises(error, match=message):
        device.restore(*parts)
    assert (before[0] == device.table).all()
    assert before[1:] == parts_of(device)[1:]


@every_kind
@pytest.mark.parametrize(
    ("switch", "what", "wrong", "message"),
    [
        ("schedules", 1, {"epsilon": 5},
         "epsilon of agent 1 is 5; it must be 0 where acting.sched"),
        ("schedules", 1, {"epsilon_count": 3}, "epsilon_count of agent 1 is 3; it must be 0, less"),
        ("step_limit", 1, {"episode_steps": 7}, "steps of agent 1 is 7; it must be 0; there is no"),
        ("step_limit", 2, {"truncations": 1},
         "truncations of agent 1 is 1; it must be 0 where act"),
    ],
)  # fmt: skip
def test_no_device_continues_from_what_it_is_built_without(
    kind: str, switch: str, what: int, wrong: dict[str, Any], message: str
) -> None:
    off: dict[str, Any] = {switch: False}
    device = device_of(kind, replace(FULL, acting=Acting(2, **off)), CONSTANT)
    parts = parts_of(device)
    parts[what][1] = replace(parts[what][1], **wrong)
    with pytest.raises(ConfigError, match=message):
        device.restore(*parts)


@every_kind
def test_every_device_continues_from_the_last_legal_values(kind: str) -> None:
    device = device_of(kind, FULL, SETTINGS)
    state = replace(LAST_STATE, episode_steps=0) if kind.endswith("live") else LAST_STATE
    parts = (
        np.full((2, 9, 3), -(1 << 15)),
        [AgentState(np.uint64(1), 0, np.int8(0)), state],  # type: ignore[arg-type]
        # The agents of a reference device count their own steps.
        [AgentCounters(return_sum=-LOW), replace(LAST_COUNTERS, steps=MOST * ("link" not in kind))],
    )
    device.restore(*parts)
    assert (device.table == parts[0]).all()
    assert (device.states, device.counters) == parts[1:]
    assert type(device.states[0].word) is int


@pytest.mark.parametrize("kind", KINDS[:4])
def test_no_device_but_a_live_world_continues_within_a_turn_of_a_shared_table(kind: str) -> None:
    device = device_of(kind, replace(FULL, acting=Acting(2, shared_table=True)), SETTINGS)
    counters = [AgentCounters(steps=6), AgentCounters(steps=5)]
    if kind == "live":
        device.restore(device.table, device.states, counters)
        assert device.counters == counters
        return
    said = r"steps of agent 1 is 5; it must be 6, as for agent 0, "
    with pytest.raises(ConfigError, match=said):
        device.restore(device.table, device.states, counters)
    device.restore(device.table, device.states, [counters[0]] * 2)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", Algorithm)
def test_both_models_go_on_alike_from_the_last_legal_values(algorithm: Algorithm) -> None:
    # Other tests need the same compiled loops, which are those for four actions.
    config = replace(FULL, actions=4, acting=Acting(2, algorithm, shared_table=True))
    plain, fast = (device_of(kind, config, SETTINGS) for kind in KINDS[:2])
    for device in (plain, fast):
        code = SETTINGS[0].epsilon.code
        first = AgentState(1, code.end, code.period - 1, True, 3, 1, False, LIMIT - 1)
        device.restore(device.table, [first, LAST_STATE], [LAST_COUNTERS] * 2)
    for steps in (1, 40):
        list(plain.run(steps) or ())
        fast.run(steps)
        assert (plain.table == fast.table).all()
        assert (plain.states, plain.counters) == (fast.states, fast.counters)
    assert plain.counters[0].steps == 40
    assert plain.counters[0].truncations <= 40


def choosing(split: int) -> WorldTable:
    """Return a world that takes the second of two outcomes for draws of at least `split` (0: always)."""
    world = random_world(WITHOUT, 0, 1)
    next_state, splits = world.next_state.copy(), world.split.copy()
    next_state[0, 0, 0], splits[0, 0, 0] = (1, 2), split
    return replace(world, next_state=next_state, split=splits)


LIVE = replace(WITHOUT, acting=Acting(2, world="live", schedules=False, step_limit=False))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AgentSettings(epsilon=0.1), r"it must be an Epsilon, such as qstep\.Epsilon\(0\.1\)$"),  # type: ignore[arg-type]
        (lambda: Acting(outcomes=3), "acting.outcomes is 3; it must be a power of two from 1 to"),
        (lambda: planned("gridworld", budget=Budget(1), agents=2, settings=CONSTANT * 2),
         "agents is 2; settings are for 4"),
        (lambda: list(world_writes(Config(9, 3), random_world(WITHOUT, 0, 1))),
         "acting is None; agents need a configuration that has it"),
        (lambda: list(world_writes(WITHOUT, choosing(5))),
         "stores one of the world's outcomes, but the world has two"),
        (lambda: LiveModel(LIVE, FALLING), "epsilon kind of agent 1 is 'linear'"),
    ],
)  # fmt: skip
def test_values_that_fit_no_agents_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


def test_a_world_that_never_chooses_and_a_live_one_need_one_outcome_and_no_limit() -> None:
    assert list(world_writes(WITHOUT, choosing(0)))
    assert LiveModel(LIVE, CONSTANT).begin(3) in range(3)
