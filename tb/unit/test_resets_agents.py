"""If a reset interrupts a request to agents, the driver reports it, and the next run is exact."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TypeVar
from unittest.mock import patch

import numpy as np
import pytest
from tb.random_world import random_world

from qstep.device.agents import LinkAgents
from qstep.device.link.frames import DELIMITER, decode_frame
from qstep.device.live import LinkLive, LiveModel
from qstep.errors import DeviceError
from qstep.golden.agents_fast import FastActingModel
from qstep.spec.agents import Acting, Algorithm
from qstep.spec.config import Config, Link
from qstep.spec.epsilon import Epsilon
from qstep.spec.protocol import Request
from qstep.spec.settings import AgentSettings
from qstep_sim import port as sim_port
from qstep_sim.port import SimPort

pytestmark = [pytest.mark.rtl, pytest.mark.slow]

CONFIG = Config(
    *(6, 3, "Q6.10"),
    rounding="stochastic",
    acting=Acting(agents=2, algorithm=Algorithm.SARSA, outcomes=2, starts=2),
    link=Link(buffer_bytes=512),
)
LIVE = replace(CONFIG, acting=Acting(agents=2, algorithm=Algorithm.SARSA, world="live"))
WORLD = random_world(CONFIG, 20, 3)
SETTINGS = [AgentSettings(0.5, 0.9, Epsilon(0.3), 1), AgentSettings(0.25, 0.5, Epsilon(0.9), 2)]
PATIENCE = 0.005
STEPS = 40
CLOCKS = 700
STEP = [
    pytest.param(37, id="now and then"),
    pytest.param(1, marks=pytest.mark.release, id="every clock"),
]

Driver = TypeVar("Driver")


class CutPort:
    """Resets the device `clocks` clocks after the first byte of the next request of a kind."""

    def __init__(self, port: SimPort, kind: Request) -> None:
        self._port = port
        self._kind = kind
        self.clocks: int | None = None

    def write(self, data: bytes) -> None:
        frames = [decode_frame(part) for part in data.split(DELIMITER) if part]
        self._port.write(data)
        if self.clocks is not None and any(f and f.type == self._kind for f in frames):
            with patch.object(sim_port, "_CHUNK_CLOCKS", self.clocks):
                self._port.read(0)
            self.clocks = None
            self._port.reset()

    def read(self, timeout: float) -> bytes:
        return self._port.read(timeout)

    def close(self) -> None:
        """Do nothing, because the next driver uses the same simulation."""


def started_and_stopped(device: LinkAgents) -> None:
    device.start(2**48 - 1)
    device.stop()


WORK: dict[Request, Callable[[LinkAgents], object]] = {
    Request.STORE: lambda device: device.load(np.zeros((2, 6, 3), np.int32)),
    Request.FETCH: lambda device: device.table,
    Request.RUN: lambda device: device.run(STEPS),
    Request.STOP: started_and_stopped,
    Request.PROGRESS: lambda device: device.running,
}
LIVE_WORK: dict[Request, Callable[[LinkLive], object]] = {
    Request.BEGIN: lambda device: device.begin(3),
    Request.ACT: lambda device: device.begin(3) + device.act(0.5, 2, False),
}


def told_of_resets(
    open_device: Callable[[], Driver],
    port: CutPort,
    work: Callable[[Driver], object],
    check: Callable[[Driver], None],
    step: int,
) -> int:
    """Reset the device at increasing times during `work`, and check the operations that follow.

    Return how often the driver reported a reset. In all other cases, the work was already complete.
    """
    told = 0
    for clocks in range(0, CLOCKS, step):
        device = open_device()
        port.clocks = clocks
        try:
            work(device)
        except DeviceError:
            told += 1
        assert port.clocks is None, "nothing was reset"
        check(open_device())
    return told


@pytest.mark.parametrize("step", STEP)
@pytest.mark.parametrize("kind", WORK, ids=lambda kind: kind.name.lower())
def test_agents_reset_in_the_middle_of_a_request_run_exactly_afterwards(
    kind: Request, step: int
) -> None:
    model = FastActingModel(CONFIG, WORLD, SETTINGS)
    model.run(STEPS)

    def check(device: LinkAgents) -> None:
        device.run(STEPS)
        assert np.array_equal(device.table, model.table)
        assert (device.states, device.counters) == (model.states, model.counters)

    with closing(SimPort(CONFIG)) as simulated:
        port = CutPort(simulated, kind)
        told = told_of_resets(
            lambda: LinkAgents(port, CONFIG, WORLD, SETTINGS, PATIENCE),
            port,
            WORK[kind],
            check,
            step,
        )
    assert told > CLOCKS // step // 20


@pytest.mark.parametrize("step", STEP)
@pytest.mark.parametrize("kind", LIVE_WORK, ids=lambda kind: kind.name.lower())
def test_agents_of_a_live_world_reset_in_the_middle_of_a_request_act_exactly_afterwards(
    kind: Request, step: int
) -> None:
    def check(device: LinkLive) -> None:
        model = LiveModel(LIVE, SETTINGS)
        for state in range(3):
            agent = state % 2
            assert device.begin(state, agent) == model.begin(state, agent)
            told = (-1.5, state + 1, False, agent)
            assert device.act(*told) == model.act(*told)
        assert np.array_equal(device.table, model.table)

    with closing(SimPort(LIVE)) as simulated:
        port = CutPort(simulated, kind)
        told = told_of_resets(
            lambda: LinkLive(port, LIVE, SETTINGS, PATIENCE), port, LIVE_WORK[kind], check, step
        )
    assert told > CLOCKS // step // 20
