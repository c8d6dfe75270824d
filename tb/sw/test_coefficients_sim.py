"""Simulated devices whose coefficients have over 15 fractional bits match the models bit for bit."""

import numpy as np
import pytest
from tb.random_world import random_world

from qstep import AgentSettings, Config, Epsilon, Hyperparameters, Rounding, Transitions
from qstep.device import open_agents, open_device
from qstep.golden.agents import ActingModel
from qstep.golden.agents_fast import FastActingModel
from qstep.golden.lane import Model
from qstep.golden.lane_fast import FastModel
from qstep.spec.agents import Acting

pytestmark = [pytest.mark.rtl, pytest.mark.slow]

BITS = 22
MOST = (2**16 - 1) / 2**BITS
"""The largest alpha."""


def test_lane_is_both_models_after_105000_transitions() -> None:
    config, rng, count = Config(25, 4, coefficient_bits=BITS), np.random.default_rng(1), 35_000
    plain, fast = Model(config), FastModel(config)
    with open_device("sim:", config) as device:
        for seed, rounding in enumerate(Rounding):
            moves = Transitions.from_arrays(
                config,
                rng.integers(25, size=count),
                rng.integers(4, size=count),
                rng.uniform(-128, 127.9, count),
                rng.integers(25, size=count),
                rng.random(count) < 0.1,
            )
            hyper = Hyperparameters(MOST * rng.uniform(0.3, 1), 0.95, rounding, seed)
            for user in (device, plain, fast):
                user.configure(hyper)
                user.apply(moves)
            assert np.array_equal(device.read(), plain.table)
            assert np.array_equal(fast.table, plain.table)
            assert device.status().noise == plain.noise == fast.noise
    assert len(np.unique(plain.table)) > 90


@pytest.mark.parametrize(("algorithm", "rounding"), [("q-learning", 0), ("double-q", 2)])
def test_agents_are_both_models_after_104000_steps(algorithm: str, rounding: int) -> None:
    acting = Acting(agents=16, algorithm=algorithm, outcomes=2, starts=2)
    config = Config(20, 3, rounding=list(Rounding)[rounding], acting=acting, coefficient_bits=BITS)
    own = [AgentSettings(MOST * (n + 1) / 16, 0.95, Epsilon(0.3), n) for n in range(16)]
    world = random_world(config, 50, 7)
    plain, fast = ActingModel(config, world, own), FastActingModel(config, world, own)
    with open_agents("sim:", config, world, own) as device:
        device.run(6_500)
        fast.run(6_500)
        for _ in plain.run(6_500):
            pass
        assert np.array_equal(device.table, plain.table)
        assert np.array_equal(fast.table, plain.table)
        assert device.states == plain.states == fast.states
        assert device.counters == plain.counters == fast.counters
    assert len(np.unique(plain.table)) > 500
