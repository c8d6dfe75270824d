"""Three lanes with two agents each, simulated and driven over the link, match the model bit for bit."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tb.equal_agents import differing, go_on_after_a_reset, run_alike, run_alone, stop_midway
from tb.generated import whole
from tb.random_world import random_world

from qstep.device.agents import LinkAgents
from qstep.device.registers import words_from
from qstep.errors import RefusedError
from qstep.golden.agents_fast import FastActingModel
from qstep.spec.agents import Acting
from qstep.spec.config import Config, Link
from qstep.spec.epsilon import Epsilon
from qstep.spec.fixed import Rounding
from qstep.spec.memory_map import Region
from qstep.spec.protocol import ALL_LANES, Request
from qstep.spec.settings import AgentSettings
from qstep_rtl import sources
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort

pytestmark = [pytest.mark.rtl, pytest.mark.slow]

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
    device.write_text(whole(CONFIG), encoding="utf-8")
    return compile_library([*sources.rtl_files(CONFIG), device], "qstep_device", optimise=False)


@pytest.fixture
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimPort]:
    made = SimPort(CONFIG, library=library(tmp_path_factory.getbasetemp()))
    yield made
    made.close()


@pytest.fixture
def device(port: SimPort) -> LinkAgents:
    return LinkAgents(port, CONFIG, WORLD, SETTINGS, patience=0.5)


def begin() -> FastActingModel:
    return FastActingModel(CONFIG, WORLD, SETTINGS)


model = pytest.fixture(begin, name="model")


def test_a_farm_makes_the_steps_of_the_model(device: LinkAgents, model: FastActingModel) -> None:
    run_alike(device, model, 1000)
    model.run(100)
    device.restore(model.table, model.states, model.counters)
    run_alike(device, model, 100)
    model.run(1)
    assert differing(device, model) == ["table", "states", "counters"]


def test_a_running_farm_is_read_and_stops(device: LinkAgents) -> None:
    stop_midway(device)
    run_alone(device, begin)


def test_a_reset_goes_down_the_chain_and_ends_the_job_of_every_lane(
    port: SimPort, device: LinkAgents, model: FastActingModel
) -> None:
    go_on_after_a_reset(device, port, model)


@pytest.mark.parametrize(("kind", "lane"), [(Request.STORE, 3), (Request.FETCH, ALL_LANES)])
def test_a_lane_that_is_not_there_is_refused(device: LinkAgents, kind: Request, lane: int) -> None:
    where = device._where(kind, lane, Region.TABLE, words_from([0], 0, 1))
    word = bytes(4) if kind is Request.STORE else b""
    device._session.send(kind, where + word)
    with pytest.raises(RefusedError, match=f"refused {kind.name}: OUT_OF_RANGE"):
        device._session.drain()
