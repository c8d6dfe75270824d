"""Three lanes of two agents on simulated hardware, over the link, equal the model bit for bit."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tb.equal_agents import differing
from tb.generated import generated
from tb.random_world import random_world

from qstep.acting.agent import AgentSettings
from qstep.acting.config import Acting
from qstep.acting.epsilon import Epsilon
from qstep.acting.fast_model import FastActingModel
from qstep.config import Config, Link
from qstep.devices.agents_device import LinkAgents
from qstep.errors import RefusedError
from qstep.fixed import Rounding
from qstep.link.words import words_from
from qstep.protocol import ALL_LANES, Region, Request
from qstep_rtl import sources
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort

pytestmark = pytest.mark.rtl

CONFIG = Config(
    *(7, 3, "Q6.10"),
    rounding=Rounding.STOCHASTIC,
    acting=Acting(agents=6, outcomes=2, starts=2),
    link=Link(buffer_bytes=512),
    lanes=3,
)
WORLD = random_world(CONFIG, 20, 3)
SETTINGS = [AgentSettings(0.5, 0.9, Epsilon(n / 8), n) for n in range(6)]


@cache
def library(folder: Path) -> Path:
    device = folder / "qstep_device.v"
    device.write_text(generated(CONFIG)["qstep_device"], encoding="utf-8")
    return compile_library([*sources.rtl_files(CONFIG), device], "qstep_device", optimise=False)


@pytest.fixture
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimPort]:
    made = SimPort(CONFIG, library=library(tmp_path_factory.getbasetemp()))
    yield made
    made.close()


@pytest.fixture
def device(port: SimPort) -> LinkAgents:
    return LinkAgents(port, CONFIG, WORLD, SETTINGS, patience=0.5)


@pytest.fixture
def model() -> FastActingModel:
    return FastActingModel(CONFIG, WORLD, SETTINGS)


def test_a_farm_makes_the_steps_of_the_model(device: LinkAgents, model: FastActingModel) -> None:
    device.run(1000)
    model.run(1000)
    assert differing(device, model) == []
    model.run(100)
    device.restore(model.table, model.states, model.counters)
    device.run(100)
    model.run(100)
    assert differing(device, model) == []
    model.run(1)
    assert differing(device, model) == ["table", "states", "counters"]


def test_a_running_farm_is_read_and_stops(device: LinkAgents, model: FastActingModel) -> None:
    device.start(2**48 - 1)
    assert device.running
    first, second = (device.counters for _ in range(2))
    assert all(0 < a.steps < b.steps for a, b in zip(first, second, strict=True))
    with pytest.raises(RefusedError, match="refused RUN: BUSY"):
        device.start(1)
    device.stop()
    assert not device.running
    counters, states, table = device.counters, device.states, device.table
    # Agents with tables of their own are alone: each is where the model is after as many steps.
    for number in sorted(range(6), key=lambda number: counters[number].steps):
        model.run(counters[number].steps - model.counters[0].steps)
        assert (states[number], counters[number]) == (model.states[number], model.counters[number])
        assert np.array_equal(table[number], model.table[number])


def test_a_reset_goes_down_the_chain_and_ends_the_job_of_every_lane(
    port: SimPort, device: LinkAgents, model: FastActingModel
) -> None:
    device.start(2**48 - 1)
    port.reset()
    device.reconnect()
    device.stop()
    counters = device.counters
    assert counters == device.counters
    device.restore(model.table, model.states, model.counters)
    device.run(300)
    model.run(300)
    assert differing(device, model) == []


@pytest.mark.parametrize(("kind", "lane"), [(Request.STORE, 3), (Request.FETCH, ALL_LANES)])
def test_a_lane_that_is_not_there_is_refused(device: LinkAgents, kind: Request, lane: int) -> None:
    where = device._where(kind, lane, Region.TABLE, words_from([0], 0, 1))
    word = bytes(4) if kind is Request.STORE else b""
    device._session.send(kind, where + word)
    with pytest.raises(RefusedError, match=f"refused {kind.name}: OUT_OF_RANGE"):
        device._session.drain()
