"""The simulated device matches the compiled model on streams of up to 50 million transitions."""

import numpy as np
import pytest
from tb.sw.lossy_port import NoisyPort
from tb.verify.figures import Count

from qstep.device.lane import LinkDevice
from qstep.device.link.ports import Port
from qstep.device.model import ModelDevice
from qstep.mdp.transitions import Transitions
from qstep.spec.config import Config, Link
from qstep.spec.settings import Hyperparameters
from qstep_sim.port import SimPort

pytestmark = [
    pytest.mark.rtl,
    pytest.mark.slow,
    # Random alphas and gammas can cause precision warnings, which do not matter here.
    pytest.mark.filterwarnings("ignore::qstep.errors.PrecisionWarning"),
]

CONFIGS = [
    Config(16, 4, "Q8.8"),
    Config(25, 3, "Q4.4", loop_depth=2),
    Config(64, 4, "Q8.8", loop_depth=3),
    Config(300, 6, "Q16.16", loop_depth=3),
]
MILLIONS = (25, 25, 25, 50)
"""Millions of transitions per configuration in a release; 100 million of them use 16 or 32 bits."""

BATCH = 500_000
MILLION = 1_000_000


def config_id(config: Config) -> str:
    return f"s{config.states}-a{config.actions}-w{config.format.width}-d{config.loop_depth}"


def batch(config: Config, rng: np.random.Generator) -> Transitions:
    """Return random transitions with rewards over the whole format; half of them follow a walk."""
    walk = rng.integers(0, config.states, BATCH, dtype=np.int32)
    codes = rng.integers(
        config.format.minimum, config.format.maximum, 200, dtype=np.int32, endpoint=True
    )
    return Transitions.from_arrays(
        config,
        state=np.where(rng.random(BATCH) < 0.5, np.roll(walk, 1), 1).astype(np.int32),
        action=rng.integers(0, config.actions, BATCH, dtype=np.int32),
        reward=config.format.to_float(rng.choice(codes, BATCH)),
        next_state=walk,
        terminated=rng.random(BATCH) < 0.1,
    )


def assert_exact(port: Port, config: Config, count: int, patience: float) -> None:
    """Apply `count` random transitions to the device at `port` and to the model, and compare both."""
    rng = np.random.default_rng(1)
    model = ModelDevice(config)
    with LinkDevice(port, config, patience) as device:
        for each in (device, model):
            each.clear()
        for start in range(0, count, BATCH):
            rounding = ("nearest", "stochastic", "floor")[start // BATCH % 3]
            settings = Hyperparameters(rng.random(), rng.random(), rounding, seed=start)
            transitions = batch(config, rng)
            for each in (device, model):
                each.configure(settings)
                each.apply(transitions)
            assert np.array_equal(device.read(), model.read())
            assert device.status() == model.status()
        assert device.status().applied == count


@pytest.mark.parametrize(
    ("config", "count"),
    [
        (CONFIGS[0], MILLION),
        *(
            pytest.param(config, millions * MILLION, marks=pytest.mark.release)
            for config, millions in zip(CONFIGS, MILLIONS, strict=True)
        ),
    ],
    ids=lambda value: config_id(value) if isinstance(value, Config) else f"{value // MILLION}m",
)
def test_random_transitions_through_the_device_are_exact(
    config: Config, count: int, record_property: Count
) -> None:
    assert_exact(SimPort(config), config, count, patience=1.0)
    record_property("transitions", count)


def test_one_transition_too_few_is_noticed() -> None:
    config = CONFIGS[0]
    model = ModelDevice(config)
    with LinkDevice(SimPort(config), config) as device:
        stream = batch(config, np.random.default_rng(1))
        for each, count in ((device, 999), (model, 1000)):
            each.clear()
            each.configure(Hyperparameters(rounding="stochastic"))
            each.apply(stream[:count])
        assert device.status() != model.status()


@pytest.mark.release
def test_a_flipped_bit_in_a_thousand_bytes_changes_nothing_in_a_million(
    record_property: Count,
) -> None:
    config = Config(36, 3, "Q6.10", link=Link(baud=6_000_000, buffer_bytes=512))
    port = NoisyPort(SimPort(config), seed=1, period=1000)
    assert_exact(port, config, MILLION, patience=0.02)
    assert port.flips > 2000
    record_property("noisy", MILLION)
