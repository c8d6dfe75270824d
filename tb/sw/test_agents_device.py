"""The agent driver on the reference device: jobs start exactly once, and words reach their addresses."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tb.random_world import random_world
from tb.reference_agents import ReferenceAgents
from tb.reference_device import ReferenceDevice
from tb.sw.lossy_port import DirectPort, LossyPort
from tb.sw.session_bench import PATIENCE

from qstep.device import agents as agents_device
from qstep.device import open_agents
from qstep.device.agents import LinkAgents
from qstep.device.registers import (
    epsilon_writes,
    limit_write,
    settings_writes,
    words_from,
    world_writes,
)
from qstep.errors import (
    ConfigError,
    ConfigMismatchError,
    DeadlineError,
    RefusedError,
    SessionLostError,
    WorldSilentError,
)
from qstep.golden.tiled_fast import FastTiledModel
from qstep.mdp.tiled import TiledWorld
from qstep.spec.agents import Acting
from qstep.spec.config import Config, Link
from qstep.spec.epsilon import Epsilon
from qstep.spec.integer_worlds import CART_POLE
from qstep.spec.memory_map import NUMBERS, Region
from qstep.spec.protocol import Request
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState
from qstep.spec.tiles import Tiles

CONFIG = Config(
    *(9, 3),
    acting=Acting(agents=2, outcomes=2, starts=2),
    link=Link(baud=6_000_000, buffer_bytes=512),
)
WORLD = random_world(CONFIG, 20, 1)
SETTINGS = [AgentSettings(seed=seed) for seed in range(2)]
TILED = Config(81, 2, acting=Acting(agents=2, world="CartPole-v1"), planes=8, link=CONFIG.link)
COARSE = Tiles.from_dict({**CART_POLE.tiles.to_dict(), "tiles": 7})


def opened(reference: ReferenceDevice, port: type[DirectPort] = DirectPort) -> LinkAgents:
    return LinkAgents(port(reference), CONFIG, WORLD, SETTINGS, PATIENCE)


def opened_in(own: str, world: Any) -> LinkAgents:
    """Open agents with `own` as the world of their configuration."""
    wanted = TILED if own == CART_POLE.env_id else CONFIG
    config = replace(wanted, acting=Acting(agents=2, world=own))
    return LinkAgents(DirectPort(ReferenceAgents(config)), config, world, SETTINGS, PATIENCE)


def opened_tiled(config: Config = TILED, **changed: Any) -> LinkAgents:
    """Open agents in CartPole with its own tiles, after changes to the configuration or world."""
    world = TiledWorld(replace(CART_POLE, **changed), config)
    return LinkAgents(DirectPort(ReferenceAgents(config)), config, world, SETTINGS, PATIENCE)


def test_a_world_seen_through_tiles_opens_its_model() -> None:
    world = TiledWorld(CART_POLE, TILED)
    with open_agents("model:", TILED, world, SETTINGS) as model:
        assert isinstance(model, FastTiledModel)


def test_the_numbers_of_a_state_are_words_of_the_world() -> None:
    reference = ReferenceAgents(TILED)
    world = TiledWorld(CART_POLE, TILED)
    device = LinkAgents(DirectPort(reference), TILED, world, SETTINGS, PATIENCE)
    assert [own.state for own in device.states] == [(0,) * 4] * 2
    states = [
        replace(own, state=tuple(limits[agent] for limits in CART_POLE.limits), begun=True)
        for agent, own in enumerate(device.states)
    ]
    device.restore(device.table, states, device.counters)
    assert device.states == states
    least = CART_POLE.limits[3][0]
    assert reference.words[Region.WORLD, NUMBERS.pack(word=3, agent=0)] == least & 0xFFFFFFFF


def opened_model() -> object:
    config = replace(CONFIG, acting=Acting(agents=2, world="a.sv"))
    return open_agents("model", config, 0, SETTINGS)


def started(steps: Any) -> None:
    reference = ReferenceAgents(CONFIG)
    try:
        opened(reference).start(steps)
    finally:
        assert reference.left == 0  # nothing was sent


def cleared() -> None:
    device = opened(ReferenceAgents(CONFIG))
    device._session.send(Request.CLEAR)
    device._session.drain()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        *((lambda steps=steps: started(steps), ConfigError,
           r"steps is .*; it must be .*from 1 to 2\^48-1") for steps in (0, -1, 2**48, 1.5, None)),
        (lambda: opened(ReferenceAgents(CONFIG)).run(1, trace=True), ConfigError,
         "trace is True; only the model records"),
        (lambda: opened_in("a.sv", WORLD), ConfigError, "world is a table; the device's is 'a.sv'"),
        (lambda: opened_in("table", 0), ConfigError,
         "world is a step limit; the device's is a table"),
        (lambda: opened_in("CartPole-v1", 0), ConfigError,
         "world is a step limit; the device's is 'CartPole-v1' seen through tiles, which must"),
        (lambda: opened_tiled(replace(TILED, acting=Acting(agents=2))), ConfigError,
         "world is CartPole-v1; the device's is 'table'"),
        (lambda: opened_tiled(tiles=COARSE), ConfigError,
         "world is CartPole-v1 with tiles or numbers that differ from the device's 'CartPole-v1'; use"),
        (lambda: opened_tiled(max_episode_steps=65536), ConfigError,
         "max_episode_steps is 65536; it must be an integer from 0 to 65535"),
        (lambda: opened_in("a.sv", 65536), ConfigError,
         "max_episode_steps is 65536; it must be an integer from 0 to 65535"),
        (opened_model, ConfigError, "device is 'model', which supports only worlds from tables"),
        (lambda: opened(ReferenceDevice(Config(9, 3, link=CONFIG.link))), ConfigMismatchError,
         "configuration digest"),
        (cleared, RefusedError, "refused CLEAR: BAD_TYPE"),
    ],
)  # fmt: skip
def test_what_agents_cannot_do_is_refused(
    call: Callable[[], object], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        call()


def test_opening_ends_a_job_and_loads_world_settings_and_agents() -> None:
    reference = ReferenceAgents(CONFIG)
    opened(reference).start(2**48 - 1)
    reference.words.clear()
    device = opened(reference)
    assert reference.left == 0
    writes = [
        *world_writes(CONFIG, WORLD),
        *(one for at, own in enumerate(SETTINGS) for one in settings_writes(CONFIG, at, own)),
    ]
    for region, place, data in writes:
        assert reference.words[region, place] == data
    assert device.states == [AgentState.first(own, at) for at, own in enumerate(SETTINGS)]
    assert not device.table.any()


def test_what_is_restored_is_there() -> None:
    device = opened(ReferenceAgents(CONFIG))
    rng = np.random.default_rng(2)
    table = rng.integers(-(2**15), 2**15, CONFIG.table_shape, np.int32)
    states = [AgentState(2**64 - 1, 2**24, 0, True, 8, 2, True, 19), AgentState(1, 0)]
    counters = [AgentCounters(0, 2**48 - 1, 1, 7, -(2**63)), AgentCounters(0, 3, 4, 5, 6)]
    device.restore(table, states, counters)
    assert np.array_equal(device.table, table)
    assert device.states == states
    assert device.counters == counters


def test_other_settings_write_those_words_only() -> None:
    reference = ReferenceAgents(CONFIG)
    device = opened(reference)
    states = [AgentState(7, 5, 0, True, 8, 2, True, 9), AgentState(1, 6)]
    device.restore(device.table, states, device.counters)
    before = dict(reference.words)
    own = [replace(SETTINGS[0], alpha=0.25), replace(SETTINGS[1], epsilon=Epsilon(0.5))]
    device.configure(own)
    assert device.states == [states[0], replace(states[1], epsilon=1 << 23, epsilon_count=0)]
    written = {where for where, word in reference.words.items() if before.get(where) != word}
    writes = [write for n in range(2) for write in settings_writes(CONFIG, n, own[n])]
    asked = {(write.region, write.place) for write in writes}
    assert written < asked | {(write.region, write.place) for write in epsilon_writes(1, states[1])}
    assert device.settings == tuple(own)


@pytest.mark.parametrize("seed", range(3))
def test_every_job_is_carried_out_once_over_a_lossy_line(seed: int) -> None:
    reference = ReferenceAgents(CONFIG)
    port = LossyPort(DirectPort(reference), seed, 0.1)
    device = LinkAgents(port, CONFIG, WORLD, SETTINGS, PATIENCE)
    steps = (1, 5, 2500, 700)
    for made, more in zip(itertools.accumulate(steps), steps, strict=True):
        device.run(more)
        assert (reference.made, reference.left) == (made, 0)
    assert sum(port.hits.values()) > 10


def test_a_job_that_begins_twice_is_noticed() -> None:
    class Twice(ReferenceAgents):
        def _run(self, payload: bytes) -> bytes:
            super()._run(payload)
            self.left *= 2
            return b""

    reference = Twice(CONFIG)
    opened(reference).run(5)
    assert reference.made != 5


def test_a_job_is_refused_while_another_runs_and_that_one_goes_on() -> None:
    reference = ReferenceAgents(CONFIG)
    device = opened(reference)
    device.start(10_000)
    with pytest.raises(RefusedError, match="the device refused RUN: BUSY"):
        device.start(1)
    assert device.running
    assert reference.left > 0
    with pytest.raises(RefusedError, match="the device refused FETCH: BUSY"):
        _ = device.table
    assert device.counters[0].steps == reference.made > 0
    device.stop()
    assert not device.running
    device.run(3)


def test_a_job_of_no_steps_is_not_sent() -> None:
    reference = ReferenceAgents(CONFIG)
    device = opened(reference)
    device.run(0)
    assert (device.running, reference.made) == (False, 0)


def test_agents_that_make_no_steps_end_in_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents_device, "_STUCK_SECONDS", 0.01)
    device = opened(ReferenceAgents(CONFIG, pace=0))
    with pytest.raises(DeadlineError, match=r"the agents made no step within 0\.01 s"):
        device.run(5)
    device.stop()
    assert not device.running


def test_a_world_that_does_not_answer_is_told_and_the_next_job_runs() -> None:
    config = replace(CONFIG, acting=Acting(agents=2, world="nowhere.sv", deadline=2000))
    reference = ReferenceAgents(config)
    device = LinkAgents(DirectPort(reference), config, 9, SETTINGS, PATIENCE)
    assert reference.words[0, 7] == limit_write(9).data
    reference.silent = 1
    with pytest.raises(WorldSilentError, match="answer agent 1 within 2000 clocks") as raised:
        device.run(5)
    assert (raised.value.agent, raised.value.clocks) == (1, 2000)
    reference.silent = None
    device.run(5)
    assert device.counters[0].steps == 5


def test_a_reset_ends_the_job_and_the_counters_say_how_far_it_was() -> None:
    reference = ReferenceAgents(CONFIG)

    class Resets(DirectPort):
        def there(self, data: bytes) -> bytes:
            if reference.left and reference.made == 2500:
                reference.reset()
            return data

    device = LinkAgents(Resets(reference), CONFIG, WORLD, SETTINGS, PATIENCE)
    reference._pace = 500
    with pytest.raises(SessionLostError, match="the device was reset"):
        device.run(10_000)
    device.reconnect()
    assert not device.running
    assert device.counters[0].steps == reference.made == 2500


def test_what_interrupts_a_job_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    reference = ReferenceAgents(CONFIG)
    device = opened(reference)

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(device._session, "pause", interrupted)
    with pytest.raises(KeyboardInterrupt):
        device.run(10_000)
    assert reference.left == 0
    assert 0 < reference.made < 10_000


@pytest.mark.parametrize("most", [1, 2, 7, 60])
def test_requests_name_the_words_in_order(most: int) -> None:
    rng = np.random.default_rng(most)
    indexes = [
        *range(300),
        *(64 * state + action for state in range(20, 40) for action in range(5)),
        *sorted(rng.choice(2**20, 50, replace=False).tolist(), reverse=True),
    ]
    named, at = [], 0
    while at < len(indexes):
        first, run, stride, total = words_from(indexes, at, most)
        assert 1 <= total <= most
        assert 1 <= run <= 255
        named += [first + n // run * stride + n % run for n in range(total)]
        at += total
    assert named == indexes
