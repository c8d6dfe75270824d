"""Agents on simulated hardware match the model bit for bit over the link, even if the line is lossy."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tb.equal_agents import differing, go_on_after_a_reset, run_alike, run_alone, stop_midway
from tb.generated import generated
from tb.random_world import random_world
from tb.sw.lossy_port import LossyPort
from tb.unit.device_pair import exchange

from qstep.device.agents import LinkAgents
from qstep.device.link.frames import Frame, decode_frame, encode_frame
from qstep.errors import ConfigError, SessionLostError
from qstep.golden.agents import ActingModel
from qstep.golden.agents_fast import FastActingModel
from qstep.spec.agents import Acting, Algorithm
from qstep.spec.config import Config, Link
from qstep.spec.epsilon import Epsilon
from qstep.spec.fixed import Rounding
from qstep.spec.memory_map import Region
from qstep.spec.protocol import ARGUMENTS, COMMON, WORD_BYTES, Request, StatusCode, max_words
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState
from qstep_rtl import sources
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort

pytestmark = pytest.mark.rtl

CONFIG = Config(
    *(25, 3, "Q6.10"),
    rounding=Rounding.STOCHASTIC,
    acting=Acting(agents=3, algorithm=Algorithm.DOUBLE_Q_LEARNING, outcomes=2, starts=2),
    link=Link(buffer_bytes=512),
)
WORLD = random_world(CONFIG, 20, 3)
SETTINGS = [
    AgentSettings(0.5, 0.9, Epsilon(1, 0.05, "exponential", 5000), 1),
    AgentSettings(0.1, 0.99, Epsilon(0.3), 2),
    AgentSettings(1.0, 0.5, Epsilon(1, 0, "linear", 900, unit="episodes"), 3),
]
# The driver's timeout is in wall-clock time, and a simulation runs slower than a device.
PATIENCE = 0.05


WITHOUT = {"schedules": False, "step_limit": False}
KINDS = [
    ("q-learning", 16, 25, 4, "Q8.8", "nearest", 11, {}),
    ("q-learning", 16, 25, 4, "Q8.8", "nearest", 11, {"shared_table": True}),
    ("sarsa", 3, 16, 4, "Q4.4", "floor", 5, {"outcomes": 4, "starts": 4}),
    ("expected-sarsa", 1, 7, 3, "Q8.8", "stochastic", 9, {"starts": 8}),
    ("expected-sarsa", 16, 5, 2, "Q16.16", "nearest", 0, {"outcomes": 8, **WITHOUT}),
    ("expected-sarsa", 2, 33, 64, "Q4.8", "floor", 30, {"schedules": False}),
    ("double-q", 5, 12, 4, "Q6.6", "stochastic", 7, {"outcomes": 2, "starts": 2}),
    ("q-learning", 4, 500, 6, "Q12.4", "stochastic", 0, {"starts": 512, "step_limit": False}),
    ("sarsa", 3, 16, 4, "Q4.4", "floor", 5, {"shared_table": True, "outcomes": 4, "starts": 4}),
    (
        *("expected-sarsa", 2, 2, 2, "Q16.16", "nearest", 1),
        {"shared_table": True, "outcomes": 8, "starts": 2},
    ),
    ("double-q", 5, 12, 4, "Q6.6", "stochastic", 7, {"shared_table": True, "starts": 2}),
    (
        *("expected-sarsa", 16, 50, 20, "Q4.8", "floor", 0),
        {"shared_table": True, "starts": 64, **WITHOUT},
    ),
    (
        *("sarsa", 1, 7, 3, "Q8.8", "nearest", 9),
        {"shared_table": True, "starts": 8, "schedules": False},
    ),
]
"""For each kind: algorithm, numbers of agents, states and actions, format, rounding, step limit, and
further parts of the configuration. The kinds cover separate and shared tables, 1 to 16 agents, and
2 to 64 actions."""

EPSILONS = (
    Epsilon(0.5),
    Epsilon(1.0, 0.05, "linear", 500),
    Epsilon(0.9, 0.01, "exponential", 50, "episodes"),
    Epsilon(0.9, 0.1, "exponential", 300),
    Epsilon(0.7, 0.2, "linear", 40, "episodes"),
    Epsilon(0.0),
)


def opened(port: SimPort | LossyPort) -> LinkAgents:
    return LinkAgents(port, CONFIG, WORLD, SETTINGS, PATIENCE)


def begin() -> FastActingModel:
    return FastActingModel(CONFIG, WORLD, SETTINGS)


@pytest.fixture
def port() -> Iterator[SimPort]:
    made = SimPort(CONFIG)
    yield made
    made.close()


@pytest.mark.parametrize(
    "rate", [0.0, pytest.param(0.05, marks=pytest.mark.slow)], ids=["clean", "lossy"]
)
def test_hardware_makes_the_steps_of_the_model(port: SimPort, rate: float) -> None:
    line = LossyPort(port, 5, rate) if rate else port
    run_alike(opened(line), begin(), 1, 2, 17, 3000)
    assert not isinstance(line, LossyPort) or sum(line.hits.values()) > 10


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    KINDS,
    ids=lambda kind: "-".join(map(str, kind[:6])) + "-shared" * ("shared_table" in kind[7]),
)
def test_agents_of_each_kind_make_the_steps_of_the_model(kind: tuple[Any, ...]) -> None:
    algorithm, agents, states, actions, number, rounding, limit, parts = kind
    acting = Acting(agents, algorithm, **parts)
    config = Config(states, actions, number, rounding=rounding, acting=acting, link=CONFIG.link)
    alphas, gammas = (0.5, 0.25, 1.0, 0.1), (0.9, 1.0, 0.5)
    epsilons = EPSILONS if acting.schedules else [Epsilon(own.start) for own in EPSILONS]
    settings = [
        AgentSettings(alphas[n % 4], gammas[n % 3], epsilons[n % len(EPSILONS)], seed=99 + n)
        for n in range(acting.agents)
    ]
    world, port = random_world(config, limit, seed=5), SimPort(config)
    device = LinkAgents(port, config, world, settings, PATIENCE)
    model = FastActingModel(config, world, settings)
    ends = config.format.minimum, config.format.maximum
    table = np.random.default_rng(6).integers(*ends, config.table_shape)
    for learner in (device, model):
        learner.load(table.astype(np.int32))
    run_alike(device, model, 1, 2, 40, 1000 if acting.shared_table else 5000)
    port.close()


def test_a_wrong_table_is_noticed(port: SimPort) -> None:
    device, model = opened(port), begin()
    device.run(50)
    model.run(51)
    assert differing(device, model) == ["table", "states", "counters"]


def test_hardware_goes_on_from_what_the_model_was_and_the_model_from_it(port: SimPort) -> None:
    device, model = opened(port), begin()
    model.run(100)
    device.restore(model.table, model.states, model.counters)
    device.run(100)
    other = begin()
    other.restore(device.table, device.states, device.counters)
    other.run(100)
    model.run(200)
    assert differing(other, model) == []


def test_hardware_goes_on_from_the_last_legal_values_as_both_models(port: SimPort) -> None:
    most, half = (1 << 48) - 1, 1 << 63
    device, fast = opened(port), FastActingModel(CONFIG, WORLD, SETTINGS)
    plain = ActingModel(CONFIG, WORLD, SETTINGS)
    codes = [own.epsilon.code for own in SETTINGS]
    states = [
        AgentState(2 * half - 1, 1 << 24, codes[0].period - 1, True, 24, 2, True, 19),
        AgentState(1, 0, codes[1].period - 1, True, 0, 0, False, 19),
        AgentState(half, codes[2].end, codes[2].period - 1, False, 24, 2, True, 18),
    ]
    counters = [AgentCounters(most, most, most, most, total) for total in (half - 1, -half, 0)]
    table = np.full(CONFIG.table_shape, CONFIG.format.minimum)
    for learner in (device, fast, plain):
        learner.restore(table, states, counters)
    assert differing(device, fast) == []
    for steps in (1, 70):
        run_alike(device, fast, steps)
        assert len(list(plain.run(steps))) == 3 * steps
        assert differing(device, plain) == []
    assert [own.steps for own in device.counters] == [70] * 3


def test_hardware_goes_on_with_other_settings_as_the_model(port: SimPort) -> None:
    device, model = opened(port), begin()
    own = [replace(one, alpha=0.25, gamma=0.75) for one in SETTINGS]
    own[1] = replace(own[1], epsilon=Epsilon(0.8, 0.1, "linear", 300))
    for kept in (SETTINGS, own, SETTINGS):
        for learner in (device, model):
            learner.configure(kept)
        run_alike(device, model, 100)
    with pytest.raises(ConfigError, match="seed of agent 0 is 9; it must stay 1"):
        device.configure([replace(own[0], seed=9), *own[1:]])
    assert device.settings == tuple(SETTINGS)


def test_agents_are_at_rest_when_a_session_is_opened_after_a_reset(port: SimPort) -> None:
    device, model = opened(port), begin()
    for has_job in (False, False, True):
        if has_job:
            device.start(2**48 - 1)
        port.reset()
        device.reconnect()
        assert len(device.states) == 3
        device.restore(model.table, model.states, model.counters)
        run_alike(device, model, 40)


def test_counters_are_read_in_a_job_and_stop_ends_it_after_whole_steps(port: SimPort) -> None:
    device = opened(port)
    stop_midway(device)
    run_alone(device, begin)


def test_words_at_any_place_are_read_or_refused(port: SimPort) -> None:
    rng, device = random.Random(1), opened(port)
    most = max_words(CONFIG.link.buffer_bytes)

    def asked(kind: Request, epoch: int, payload: bytes) -> Frame:
        (answer,) = exchange(port, encode_frame(kind, 0, epoch, payload), 1)
        frame = decode_frame(answer)
        assert frame is not None
        return frame

    device.run(1)
    epoch = asked(Request.HELLO, 0, rng.randbytes(4)).epoch
    assert len(asked(Request.COUNTERS, epoch, b"").payload) == COMMON.size + 7 * 8
    for _ in range(40):
        region = rng.choice([*Region, 6, 255])
        run = rng.choice([0, *range(256)])
        count = rng.choice([rng.randint(0, most + 2), rng.getrandbits(16)])
        where = (region, rng.getrandbits(32), run, rng.getrandbits(32), count)
        epoch = asked(Request.HELLO, 0, rng.randbytes(4)).epoch
        answer = asked(Request.FETCH, epoch, ARGUMENTS[Request.FETCH].pack(*where))
        legal = region <= max(Region) and run > 0 and 0 < count <= most
        status, _, _ = COMMON.unpack(answer.payload[: COMMON.size])
        assert status == (StatusCode.OK if legal else StatusCode.OUT_OF_RANGE)
        assert len(answer.payload) == COMMON.size + legal * count * WORD_BYTES


@pytest.mark.slow
def test_agents_of_a_shared_table_stop_after_whole_turns_and_go_on_as_the_model() -> None:
    config = replace(CONFIG, acting=Acting(agents=3, shared_table=True, outcomes=2, starts=2))
    port = SimPort(config)
    device = LinkAgents(port, config, WORLD, SETTINGS, PATIENCE)
    model = FastActingModel(config, WORLD, SETTINGS)
    model.run(100)
    device.restore(model.table, model.states, model.counters)
    device.start(2**48 - 1)
    _ = device.counters
    device.stop()
    (steps,) = {counters.steps for counters in device.counters}
    model.run(steps - 100)
    assert differing(device, model) == []
    go_on_after_a_reset(device, port, model)
    port.close()


def test_reset_ends_the_job_and_the_counters_say_how_far_it_was(port: SimPort) -> None:
    device = opened(port)
    device.start(2**48 - 1)
    before = device.counters
    port.reset()
    with pytest.raises(SessionLostError, match="the device was reset"):
        _ = device.running
    device.reconnect()
    port.read(0)  # steps in flight still finish, as after STOP
    assert not device.running
    after = device.counters
    assert all(a.steps <= b.steps for a, b in zip(before, after, strict=True))
    assert device.counters == after
    go_on_after_a_reset(device, port, begin())


@pytest.mark.slow
def test_reset_at_rest_keeps_the_words_of_all_agents(tmp_path: Path) -> None:
    device = tmp_path / "qstep_device.v"
    device.write_text(generated(CONFIG)["qstep_device"], encoding="utf-8")
    # This memory corrupts a word that is read in the clock in which it is written, as a chip may.
    library = compile_library([*sources.rtl_files(CONFIG), device], "qstep_device", optimise=False)
    port = SimPort(CONFIG, library=library)
    agents = LinkAgents(port, CONFIG, WORLD, SETTINGS)
    agents.run(20)
    words = [state.word for state in agents.states]
    port.reset()
    agents.reconnect()
    agents.stop()
    assert [state.word for state in agents.states] == words
    port.close()
