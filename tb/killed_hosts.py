"""Hosts that die at a device that lives on: `python -m tb.killed_hosts URL DEATHS [SKIPPED]`.

Each host opens the device, asks how many transitions were applied, and applies the following ones until
it is killed in front of a random system call. After each death another host compares count, digest,
noise and table with the model's.
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
"""A host that lives for so many system calls applies up to some ten thousand transitions."""


def stream() -> Transitions:
    """Return more transitions than all hosts apply."""
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
    """Apply the transitions that follow; a wrong host leaves some out."""
    with open_device(url, CONFIG) as device:
        device.apply(transitions[device.status().applied + skipped :])


def kill_hosts(url: str, deaths: int, skipped: int = 0) -> list[int]:
    """Kill so many hosts; return how many transitions the device had applied after each.

    Raises
    ------
    AssertionError
        The device is not where the model is.
    """
    rng = random.Random(deaths)
    transitions = stream()
    model = ModelDevice(CONFIG)
    applied = [0]
    with open_device(url, CONFIG) as device:
        device.clear()
        device.apply(transitions[:0])  # compiles what the hosts need
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
