"""After its reset, a device behaves identically whatever its registers and memories contained before."""

from pathlib import Path

import numpy as np
import pytest
from tb.bench import RTL
from tb.planted import faults, plant_all
from tb.random_world import random_world
from tb.unit.power_up import RESET_CLOCKS, TX, PoweredUp, replayed

from qstep import Config, Hyperparameters, Link
from qstep.device.agents import LinkAgents
from qstep.device.lane import LinkDevice
from qstep.golden.agents_fast import FastActingModel
from qstep.golden.lane import Model
from qstep.mdp.transitions import Transitions
from qstep.spec.agents import Acting
from qstep.spec.epsilon import Epsilon
from qstep.spec.settings import AgentSettings

pytestmark = [pytest.mark.rtl, pytest.mark.slow]

POWER_UPS = range(1, 101)
PATIENCE_S = 60.0

LANES = [
    Config(16, 4, link=Link(buffer_bytes=512)),
    Config(25, 3, "Q10.10", loop_depth=3, link=Link(buffer_bytes=512)),
]
AGENTS = [
    Config(
        *(7, 3, "Q6.10"),
        rounding="stochastic",
        acting=Acting(agents=5, algorithm="double-q", outcomes=2, starts=2),
        link=Link(buffer_bytes=512),
    ),
    Config(9, 4, acting=Acting(agents=4, shared_table=True), link=Link(buffer_bytes=512)),
    Config(
        *(7, 3),
        acting=Acting(agents=6, outcomes=2, starts=2),
        link=Link(buffer_bytes=512),
        lanes=3,
    ),
]


def learnt(config: Config) -> PoweredUp:
    """Return a cleanly started device whose lane has learned, and whose table has been read."""
    port = PoweredUp(config)
    rng = np.random.default_rng(1)
    with LinkDevice(port, config, patience=PATIENCE_S) as device:
        model = Model(config)
        device.clear()
        port.all_written()
        for either in (device, model):
            either.configure(Hyperparameters(0.5, 0.9, rounding="stochastic", seed=5))
        count = 300
        moves = Transitions.from_arrays(
            config,
            state=rng.integers(config.states, size=count),
            action=rng.integers(config.actions, size=count),
            reward=rng.uniform(-20, 20, count),
            next_state=rng.integers(config.states, size=count),
            terminated=rng.random(count) < 0.1,
        )
        device.apply(moves)
        model.apply(moves)
        assert np.array_equal(device.read(), model.table)
    return port


def acted(config: Config) -> PoweredUp:
    """Return a cleanly started device whose agents have acted and have been read."""
    assert config.acting is not None
    port = PoweredUp(config)
    world = random_world(config, 9, 3)
    settings = [AgentSettings(0.5, 0.9, Epsilon(n / 8), n) for n in range(config.acting.agents)]
    device = LinkAgents(port, config, world, settings, patience=PATIENCE_S)
    port.all_written()
    model = FastActingModel(config, world, settings)
    device.run(40)
    model.run(40)
    assert np.array_equal(device.table, model.table)
    assert (device.states, device.counters) == (model.states, model.counters)
    device.close()
    return port


@pytest.mark.parametrize("config", LANES, ids=lambda config: f"d{config.loop_depth}")
def test_a_lane_does_the_same_after_a_hundred_power_ups(config: Config) -> None:
    compare(config, learnt(config))


@pytest.mark.parametrize("config", AGENTS, ids=["own", "shared", "farm"])
def test_agents_do_the_same_after_a_hundred_power_ups(config: Config) -> None:
    compare(config, acted(config))


def compare(config: Config, clean: PoweredUp, rtl: Path = RTL) -> None:
    """Compare every output in every clock after the reset.

    Values that the driver reads before the memories are written are undefined. They also determine the
    timing of stuffed bytes, so the bytes sent are compared only once all memories have been written.
    """
    inputs, outputs = clean.inputs, clean.outputs
    for seed in POWER_UPS:
        seen = replayed(config, inputs, seed, rtl)
        differ = seen ^ outputs
        differ[: clean.written] &= ~np.uint32(TX)
        wrong = RESET_CLOCKS + np.flatnonzero(differ[RESET_CLOCKS:])
        assert not len(wrong), f"power-up {seed}: another output in clock {wrong[0]}"


def test_memories_begin_at_random() -> None:
    config = LANES[0]
    tables = []
    for seed in (0, 1, 2):
        with LinkDevice(PoweredUp(config, seed), config, patience=PATIENCE_S) as device:
            tables.append(device.read().tobytes())
    assert len(set(tables)) == 3


def test_a_register_without_its_reset_is_found(tmp_path: Path) -> None:
    (fault,) = faults("test_power_up")
    rtl = plant_all(tmp_path, [fault])
    clean = acted(AGENTS[0])
    with pytest.raises(AssertionError, match=str(fault.seen)):
        compare(AGENTS[0], clean, rtl)
