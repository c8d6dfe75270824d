"""Lanes in lockstep on simulated hardware, over the link, equal the model bit for bit."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tb.generated import generated
from tb.on_chip import differing
from tb.planted import plant
from tb.random_world import random_world

from qstep.acting.agent import AgentSettings, AgentState
from qstep.acting.config import Acting
from qstep.acting.epsilon import Epsilon
from qstep.acting.fast_model import FastActingModel
from qstep.config import Config, Link
from qstep.devices.agents_device import LinkAgents
from qstep.errors import ConfigError
from qstep.fixed import Rounding
from qstep.throughput import steps_per_clock
from qstep_fpga.board import load
from qstep_rtl import sources
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort

ACTING = Acting(agents=18, schedules=False, step_limit=False, lockstep=True)
CONFIG = Config(25, 4, "Q4.4", acting=ACTING, link=Link(buffer_bytes=512), lanes=2)
SETTINGS = [AgentSettings(0.5, 0.9, Epsilon(0.25), n) for n in range(18)]


@cache
def library(folder: Path, config: Config = CONFIG, planted: Path | None = None) -> Path:
    device = folder / "qstep_device.v"
    device.write_text(generated(config)["qstep_device"], encoding="utf-8")
    files = sources.rtl_files(config)
    if planted is not None:
        files = [planted / path.name for path in files]
    return compile_library([*files, device], "qstep_device", optimise=False)


def opened(folder: Path, config: Config = CONFIG, seed: int = 1) -> LinkAgents:
    return LinkAgents(
        SimPort(config, library=library(folder, config)),
        *(config, random_world(config, 0, seed), SETTINGS),
    )


def model(config: Config = CONFIG, seed: int = 1) -> FastActingModel:
    return FastActingModel(config, random_world(config, 0, seed), SETTINGS)


@pytest.mark.rtl
@pytest.mark.parametrize("seed", range(1, 4))
def test_lanes_in_lockstep_make_the_steps_of_the_model_and_go_on_from_it(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    device, own = opened(tmp_path_factory.getbasetemp(), seed=seed), model(seed=seed)
    assert differing(device, own) == []
    # Shorter than a sweep of the counters, as long as it, and longer.
    for steps in (1, 2, 113, 114, 115, 2000):
        device.run(steps)
        own.run(steps)
        assert differing(device, own) == []
    assert sum(count.saturations for count in own.counters) > 1000
    own.run(100)
    device.restore(own.table, own.states, own.counters)
    device.run(100)
    own.run(100)
    assert differing(device, own) == []
    own.run(1)
    assert differing(device, own) == ["table", "states", "counters"]


@pytest.mark.rtl
def test_the_board_as_users_simulate_it_makes_the_steps_of_the_model() -> None:
    config = load("icebreaker-farm").config
    assert config.acting is not None
    settings = [AgentSettings(0.5, 0.9, Epsilon(0.1), n) for n in range(config.acting.agents)]
    world = random_world(config, 0, 4)
    device = LinkAgents(SimPort(config), config, world, settings)
    own = FastActingModel(config, world, settings)
    device.run(3000)
    own.run(3000)
    assert differing(device, own) == []
    own.run(1)
    assert differing(device, own) == ["table", "states", "counters"]


@pytest.mark.rtl
def test_other_sizes_and_settings_are_exact(tmp_path: Path) -> None:
    config = replace(CONFIG, states=7, rounding=Rounding.FLOOR)
    device, own = opened(tmp_path, config), model(config)
    device.run(500)
    own.run(500)
    others = [replace(one, alpha=0.125, gamma=0.5, epsilon=Epsilon(1.0)) for one in SETTINGS]
    for either in (device, own):
        either.configure(others)
    device.run(500)
    own.run(500)
    assert differing(device, own) == []


@pytest.mark.rtl
def test_counters_of_one_moment_are_read_while_it_runs_and_it_stops(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    device, own = opened(tmp_path_factory.getbasetemp()), model()
    device.start(2**48 - 1)
    assert device.running
    first, second = device.counters, device.counters
    for number in sorted(range(18), key=lambda number: first[number].steps):
        own.run(first[number].steps - own.counters[0].steps)
        assert own.counters[number] == first[number]
    assert all(a.steps < b.steps for a, b in zip(first, second, strict=True))
    device.stop()
    assert not device.running
    own.run(device.counters[0].steps - own.counters[0].steps)
    assert differing(device, own) == []


@pytest.mark.rtl
def test_a_reset_ends_the_run_between_two_steps(tmp_path_factory: pytest.TempPathFactory) -> None:
    device, own = opened(tmp_path_factory.getbasetemp()), model()
    device.start(2**48 - 1)
    while not device.counters[0].steps:
        pass
    assert isinstance(device._port, SimPort)
    device._port.reset()
    device.reconnect()
    device.stop()
    own.run(device.counters[0].steps)
    assert differing(device, own) == []


FAULTS = [
    ("qs_lockstep_lane.sv", "not_entry_q[13] <= &s12_same_q ?", "not_entry_q[13] <= 1'b0 ?"),
    ("qs_lockstep_pkg.sv", "2'b11, state[4:3] == 2'd3", "2'b11, state[4:3] == 2'd2"),
    ("qs_lockstep_choice.sv", "lead >= 0", "lead >= -1"),
    ("qs_lockstep_tally.sv", "token_q[11] ? at_lane_q", "token_q[12] ? at_lane_q"),
]


@pytest.mark.rtl
@pytest.mark.parametrize(("file", "old", "new"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_a_planted_fault_is_found(file: str, old: str, new: str, tmp_path: Path) -> None:
    planted = plant(tmp_path, file, old, new)
    port = SimPort(CONFIG, library=library(tmp_path, planted=planted))
    device, own = LinkAgents(port, CONFIG, random_world(CONFIG, 0, 1), SETTINGS), model()
    device.run(400)
    own.run(400)
    assert differing(device, own) != []


@pytest.mark.parametrize(
    ("changes", "acting", "message"),
    [
        ({"lanes": 1}, {"agents": 9}, "lanes is 1; it must be 2 to 4"),
        ({"lanes": 5}, {"agents": 45}, "lanes is 5; it must be 2 to 4"),
        ({"states": 26}, {}, "states is 26; it must be 2 to 25"),
        ({"actions": 3}, {}, "actions is 3; it must be 4"),
        ({"format": "Q4.5"}, {}, "bits of format is 9; it must be 8"),
        ({}, {"agents": 16}, "acting.agents is 16; it must be 18"),
        ({}, {"algorithm": "sarsa"}, "acting.algorithm is 'sarsa'; it must be 'q-learning'"),
        ({}, {"outcomes": 2}, "acting.outcomes is 2; it must be 1"),
        ({}, {"starts": 2}, "acting.starts is 2; it must be 1"),
        ({}, {"schedules": True}, "acting.schedules is True; it must be False"),
        ({}, {"step_limit": True}, "acting.step_limit is True; it must be False"),
        ({"rounding": "stochastic"}, {}, "rounding is 'stochastic'; it must be 'nearest' or"),
    ],
)
def test_what_lanes_in_lockstep_cannot_have_is_refused(
    changes: dict[str, Any], acting: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=f"{message}.* where acting.lockstep is true"):
        replace(CONFIG, acting=replace(ACTING, **acting), **changes)


@pytest.mark.parametrize(
    ("field", "value"), [("alpha", 0.25), ("gamma", 0.5), ("epsilon", Epsilon(0.5))]
)
def test_agents_in_lockstep_have_equal_settings(field: str, value: Any) -> None:
    own = [*SETTINGS[:17], replace(SETTINGS[17], **{field: value})]
    message = f"{field} of agent 17 is .*; it must be that of agent 0, .* acting.lockstep is true"
    with pytest.raises(ConfigError, match=message):
        FastActingModel(CONFIG, random_world(CONFIG, 0, 1), own)


def test_agents_in_lockstep_begin_together() -> None:
    own = model()
    states: list[AgentState] = own.states
    states[3] = replace(states[3], begun=True)
    message = "begun of agent 3 is True; it must be that of agent 0, False, where acting.lockstep"
    with pytest.raises(ConfigError, match=message):
        own.restore(own.table, states, own.counters)


def test_lockstep_is_said_only_where_it_is_and_each_lane_makes_a_step_a_clock() -> None:
    assert "lockstep" not in Config(25, 4, acting=Acting()).to_dict()["acting"]
    assert Config.from_dict(CONFIG.to_dict()) == CONFIG
    assert steps_per_clock(CONFIG) == 2
    with pytest.raises(ConfigError, match=r"acting\.lockstep is 1; it must be true or false"):
        Acting(lockstep=1)  # type: ignore[arg-type]
