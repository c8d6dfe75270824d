"""Kill the hosts of a device that keeps running: `python -m tb.killed_hosts URL DEATHS [SKIPPED]`.

Each host opens the device, reads the number of applied transitions, and applies the following ones
until it is killed before a random system call. After each kill, the device's count, digest, noise and
table are compared with the model's.
"""

import json
import random
import sys
from functools import partial

import numpy as np
from tb.killed import dies_before

from qstep import Config, Link, Transitions
from qstep.device import open_device
from qstep.device.model import ModelDevice

__all__ = ["CONFIG", "kill_hosts"]

CONFIG = Config(16, 4, rounding="stochastic", link=Link(buffer_bytes=512))
COUNT = 1 << 21
MOST_CALLS = 250
"""Latest system call before which a host is killed; up to about ten thousand transitions precede it."""


def stream() -> Transitions:
    """Return more transitions than all hosts together apply."""
    rng = np.random.default_rng(1)
    return Transitions.from_arrays(
        CONFIG,
        rng.integers(0, CONFIG.states, COUNT),
        rng.integers(0, CONFIG.actions, COUNT),
        rng.choice([-1.0, 0.25, 3.0], COUNT),
        rng.integers(0, CONFIG.states, COUNT),
        rng.random(COUNT) < 0.1,
    )


def host(url: str, transitions: Transitions, skipped: int) -> None:
    """Apply the transitions that follow those already applied; a faulty host skips `skipped` of them."""
    with open_device(url, CONFIG) as device:
        device.apply(transitions[device.status().applied + skipped :])


def kill_hosts(url: str, deaths: int, skipped: int = 0) -> list[int]:
    """Kill `deaths` hosts; return the device's number of applied transitions after each kill.

    Raises
    ------
    AssertionError
        The device differs from the model.
    """
    rng = random.Random(deaths)
    transitions = stream()
    model = ModelDevice(CONFIG)
    applied = [0]
    with open_device(url, CONFIG) as device:
        device.clear()
        device.apply(transitions[:0])  # compiles the code that the hosts need
    for death in range(deaths):
        number = rng.randint(1, MOST_CALLS)
        assert dies_before(number, partial(host, url, transitions, skipped)), "too few transitions"
        with open_device(url, CONFIG) as device:
            status, table = device.status(), device.read()
        model.apply(transitions[applied[-1] : status.applied])
        where = f"death {death}, in front of system call {number}"
        assert model.status() == status, f"{where}: {status}, the model {model.status()}"
        assert np.array_equal(model.read(), table), f"{where}: another table"
        applied.append(status.applied)
    return applied[1:]


if __name__ == "__main__":
    print(json.dumps(kill_hosts(sys.argv[1], *map(int, sys.argv[2:]))))
