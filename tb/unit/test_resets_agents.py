"""A reset in the middle of a request to agents: the driver says so, and the next run is exact."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from unittest.mock import patch

import numpy as np
import pytest
from tb.agents.worlds import random_world

from qstep.acting.agent import AgentSettings
from qstep.acting.config import Acting, Algorithm
from qstep.acting.epsilon import Epsilon
from qstep.acting.fast_model import FastActingModel
from qstep.config import Config, Link
from qstep.devices.agents_device import LinkAgents
from qstep.errors import DeviceError
from qstep.link.frames import DELIMITER, decode_frame
from qstep.protocol import Request
from qstep_sim import port as sim_port
from qstep_sim.port import SimPort

pytestmark = pytest.mark.rtl

CONFIG = Config(
    *(6, 3, "Q6.10"),
    rounding="stochastic",
    acting=Acting(agents=2, algorithm=Algorithm.SARSA, outcomes=2, starts=2),
    link=Link(buffer_bytes=512),
)
WORLD = random_world(CONFIG, 20, 3)
SETTINGS = [AgentSettings(0.5, 0.9, Epsilon(0.3), 1), AgentSettings(0.25, 0.5, Epsilon(0.9), 2)]
PATIENCE = 0.005
STEPS = 40


class CutPort:
    """Resets the device so many clocks after the first byte of the next request of a kind."""

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
        """Leave the simulation to the next driver."""


def opened(port: CutPort) -> LinkAgents:
    return LinkAgents(port, CONFIG, WORLD, SETTINGS, PATIENCE)


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


@pytest.fixture
def simulated() -> Iterator[SimPort]:
    made = SimPort(CONFIG)
    yield made
    made.close()


@pytest.mark.parametrize(
    "step", [37, pytest.param(1, marks=pytest.mark.release)], ids=["now and then", "every clock"]
)
@pytest.mark.parametrize("kind", WORK, ids=lambda kind: kind.name.lower())
def test_agents_reset_in_the_middle_of_a_request_run_exactly_afterwards(
    kind: Request, step: int, simulated: SimPort
) -> None:
    model = FastActingModel(CONFIG, WORLD, SETTINGS)
    model.run(STEPS)
    port = CutPort(simulated, kind)
    told = 0
    for clocks in range(0, 700, step):
        device = opened(port)
        port.clocks = clocks
        try:
            WORK[kind](device)
        except DeviceError:
            told += 1
        assert port.clocks is None, "nothing was reset"
        device = opened(port)
        device.run(STEPS)
        assert np.array_equal(device.table, model.table)
        assert (device.states, device.counters) == (model.states, model.counters)
    assert told > 700 // step // 20
