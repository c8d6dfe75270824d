"""Compare the agents of devices, models and snapshots."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import pytest
from numpy.typing import NDArray

from qstep.device.agents import LinkAgents
from qstep.errors import RefusedError
from qstep.golden.agents_fast import FastActingModel
from qstep.golden.tiled_fast import FastTiledModel
from qstep.spec.settings import AgentCounters, AgentState
from qstep_sim.port import SimPort

__all__ = ["Held", "differing", "go_on_after_a_reset", "run_alike", "run_alone", "stop_midway"]

ENDLESS = 2**48 - 1


Model = FastActingModel | FastTiledModel


class Held(NamedTuple):
    """Snapshot of the agents' table, states and counters."""

    table: NDArray[np.int32]
    states: list[AgentState]
    counters: list[AgentCounters]


class Agents(Protocol):
    """Agents of a device, a model or a snapshot."""

    @property
    def table(self) -> NDArray[np.int32]: ...

    @property
    def states(self) -> Any: ...

    @property
    def counters(self) -> Any: ...


def differing(one: Agents, other: Agents) -> list[str]:
    """Return the names of the parts that differ in any bit."""
    equal = {
        "table": (one.table == other.table).all(),
        "states": one.states == other.states,
        "counters": one.counters == other.counters,
    }
    return [what for what, is_equal in equal.items() if not is_equal]


def run_alike(device: LinkAgents, model: Model, *pieces: int) -> None:
    """Run device and model for each number of steps in `pieces`; check that they match each time."""
    for steps in pieces:
        device.run(steps)
        model.run(steps)
        assert differing(device, model) == []


def run_alone(device: LinkAgents, begin: Callable[[], Model]) -> None:
    """Check each agent, with its own table, against a new model after the same number of steps."""
    counters, states, table = device.counters, device.states, device.table
    for number, own in enumerate(counters):
        model = begin()
        model.run(own.steps)
        assert (states[number], own) == (model.states[number], model.counters[number])
        assert np.array_equal(table[number], model.table[number])


def stop_midway(device: LinkAgents) -> None:
    """Start a job, read its counters twice, check that another job is refused, and stop it."""
    device.start(ENDLESS)
    assert device.running
    first, second = (device.counters for _ in range(2))
    assert all(0 < a.steps < b.steps for a, b in zip(first, second, strict=True))
    with pytest.raises(RefusedError, match="refused RUN: BUSY"):
        device.start(1)
    device.stop()
    assert not device.running
    assert device.counters == device.counters


def go_on_after_a_reset(device: LinkAgents, port: SimPort, model: Model) -> None:
    """Reset a device during a job, restore the model's data, and check that both then run alike.

    After the reset, the device must be idle.
    """
    device.start(ENDLESS)
    port.reset()
    device.reconnect()
    device.stop()
    assert device.counters == device.counters
    device.restore(model.table, model.states, model.counters)
    run_alike(device, model, 50, 250)
