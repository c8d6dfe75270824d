"""Helpers for the session tests: a fast configuration, transitions, and the model's results."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tb.reference_device import ReferenceDevice

from qstep import Config, Hyperparameters, Link, Transitions
from qstep.device.lane import LinkDevice
from qstep.device.link.records import extend_digest
from qstep.golden.lane import Model

__all__ = ["CONFIG", "PATIENCE", "assert_exact", "expected_table", "spoiled", "transitions"]

# A fast line and a short timeout, so that retries cost milliseconds.
CONFIG = Config(36, 3, "Q6.10", link=Link(baud=6_000_000, buffer_bytes=512))
PATIENCE = 0.002


def transitions(
    count: int, seed: int = 0, config: Config = CONFIG, rewards: ArrayLike = (-1.0, 0.25, 3.0)
) -> Transitions:
    """Return a walk with occasional jumps."""
    rng = np.random.default_rng(seed)
    next_state = rng.integers(0, config.states, count)
    return Transitions.from_arrays(
        config,
        state=np.where(rng.random(count) < 0.8, np.roll(next_state, 1), 1),
        action=rng.integers(0, config.actions, count),
        reward=rng.choice(rewards, count),
        next_state=next_state,
        terminated=rng.random(count) < 0.1,
    )


def spoiled(count: int, at: int) -> Transitions:
    """Return transitions with an illegal action, inserted after validation."""
    batch = transitions(count)
    action = batch.action.copy()
    action[at] = CONFIG.actions
    object.__setattr__(batch, "action", action)
    return batch


def expected_table(
    batch: Transitions,
    hyper: Hyperparameters,
    config: Config = CONFIG,
    start: NDArray[np.int32] | None = None,
) -> NDArray[np.int32]:
    """Return the model's table after a batch, starting from zeros or from `start`."""
    model = Model(config)
    model.configure(hyper)
    if start is not None:
        model.load(start)
    model.apply(batch)
    return model.table


def assert_exact(
    device: LinkDevice, reference: ReferenceDevice, batch: Transitions, hyper: Hyperparameters
) -> None:
    """Check that table, digest and count match the model's after the same transitions."""
    table = expected_table(batch, hyper)
    assert np.array_equal(device.read(), table)
    assert np.array_equal(reference.table, table)
    status = device.status()
    assert (status.applied, status.digest) == (len(batch), extend_digest(CONFIG, batch))
