"""An agent method accepts any argument or raises a QStepError, and the agents stay usable."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from tb.random_world import random_world
from tb.reference_device import ReferenceDevice
from tb.sw.lossy_port import DirectPort
from tb.sw.test_acting_checks import FULL, KINDS, LIMIT, SETTINGS, device_of, every_kind
from tb.sw.test_front_door import WRONG

from qstep.device.agents import LinkAgents
from qstep.errors import ConfigError, QStepError
from qstep.golden.agents import ActingModel
from qstep.golden.agents_fast import FastActingModel
from qstep.spec.agents import Acting
from qstep.spec.settings import AgentCounters, AgentState

TAKEN = 8
"""Upper limit on the wrong values that are legal for a particular argument."""


def is_refused(call: Callable[..., Any], given: list[Any]) -> bool:
    try:
        made = call(*given)
        if isinstance(made, Iterator):
            list(islice(made, 3))
    except QStepError:
        return True
    return False


def holes(right: list[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all arguments, of each list's last element, and of that element's fields."""
    for place, value in enumerate(right):
        yield (place,)
        if isinstance(value, list):
            yield place, -1
            if isinstance(value[-1], AgentState | AgentCounters):
                yield from ((place, -1, name) for name in value[-1].__slots__)


def spoilt(right: list[Any], hole: tuple[Any, ...], wrong: Any) -> list[Any]:
    """Return the arguments with a wrong value at one path."""
    given = deepcopy(right)
    *way, last = hole
    at: Any = given
    for step in way:
        at = at[step]
    setattr(at, last, wrong) if isinstance(last, str) else at.__setitem__(last, wrong)
    return given


@pytest.mark.slow
@every_kind
def test_a_method_takes_a_wrong_argument_or_refuses_it_with_our_own_error(kind: str) -> None:
    device: Any = device_of(kind, FULL, SETTINGS)
    parts = [np.array(device.table), device.states, device.counters]
    calls = {"restore": parts, "load": parts[:1], "configure": [SETTINGS], "run": [0]}
    if kind.endswith("live"):
        del calls["run"]
        calls |= {"begin": [0, 0], "act": [0.0, 0, False, 0]}
    for name, right in calls.items():
        if name == "act":
            device.begin(0)
        method = getattr(device, name)
        for hole in holes(right):
            given = [spoilt(right, hole, wrong) for wrong in WRONG.values()]
            refused = sum(is_refused(method, arguments) for arguments in given)
            assert refused >= len(WRONG) - TAKEN, (name, hole)
    device.restore(*parts)
    assert (device.table == parts[0]).all()
    assert [device.states, device.counters] == parts[1:]


@pytest.mark.parametrize("kind", KINDS[:3])
def test_a_job_has_a_number_of_steps_of_any_integer_type(kind: str) -> None:
    device: Any = device_of(kind, FULL, SETTINGS)
    for steps in (np.array(2), np.uint8(2), 2):
        made = device.run(steps)
        assert made is None or len(list(made)) == 4
    assert device.counters[0].steps == 6


@pytest.mark.parametrize("kind", [ActingModel, FastActingModel, LinkAgents])
@pytest.mark.parametrize(
    ("world", "message"),
    [
        (None, "world is None; it must be a WorldTable|max_episode_steps is None"),
        (replace(FULL, states=8), "states of world is 8; it must be 9: use World.table"),
        (replace(FULL, acting=Acting(2, outcomes=2)), "outcomes of world is 2; it must be 1: use"),
    ],
    ids=["none", "states", "outcomes"],
)
def test_a_world_of_another_kind_or_size_is_refused(kind: Any, world: Any, message: str) -> None:
    port = [DirectPort(ReferenceDevice(FULL))] if kind is LinkAgents else []
    given = random_world(world, LIMIT, 1) if world else world
    with pytest.raises(ConfigError, match=message):
        kind(*port, FULL, given, SETTINGS)
