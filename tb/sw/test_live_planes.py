"""In a live world seen through planes, hardware takes one row per plane and matches the model."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from tb.equal_agents import Held, differing
from tb.reference_agents import ReferenceLive
from tb.slow import slow_except
from tb.sw.lossy_port import DirectPort, LossyPort
from tb.sw.session_bench import PATIENCE
from tb.sw.test_live_worlds import SIM_PATIENCE

import qstep_sim.port
from qstep.device import open_live
from qstep.device.live import LinkLive, LiveDevice, LiveModel
from qstep.errors import ConfigError, RefusedError
from qstep.spec.agents import Acting
from qstep.spec.config import Config, Link
from qstep.spec.epsilon import Epsilon
from qstep.spec.protocol import Request
from qstep.spec.settings import AgentSettings
from qstep_sim.port import SimPort


def configured(planes: int, algorithm: str, agents: int, *, shared: bool = False) -> Config:
    """Return a configuration whose number of rows is not a power of two."""
    acting = Acting(agents, algorithm, shared, world="live")
    return Config(
        *(11, 3, "Q6.10", "stochastic"),
        acting=acting,
        planes=planes,
        link=Link(buffer_bytes=512),
        coefficient_bits=18,
    )


def settings_of(config: Config) -> list[AgentSettings]:
    assert config.acting is not None
    kinds = [Epsilon(1, 0.05, "exponential", 50), Epsilon(0.25)]
    return [AgentSettings(0.1, 0.9, kinds[n % 2], n + 1) for n in range(config.acting.agents)]


def follow(learners: Sequence[LiveDevice], rng: random.Random, steps: int) -> None:
    """Send the same random rows and rewards to all learners, and check that their actions agree."""
    config = learners[0].config

    def rows() -> list[int]:
        return [rng.randrange(config.states) for _ in range(config.planes)]

    for _ in range(steps):
        agent = rng.randrange(len(learners[0].settings))
        if not learners[0].states[agent].begun or rng.random() < 0.05:
            start = rows()
            assert len({learner.begin(start, agent) for learner in learners}) == 1
        told = rng.randint(-3000, 3000) / 1024, rows(), rng.random() < 0.1, agent
        assert len({learner.act(*told) for learner in learners}) == 1


SMALL = configured(2, "sarsa", 3)
LARGE = [
    configured(8, "q-learning", 2),
    configured(8, "expected-sarsa", 1, shared=True),
    configured(2, "q-learning", 1, shared=True),
    configured(16, "sarsa", 1),
]


@pytest.mark.slow
@pytest.mark.rtl
@pytest.mark.parametrize(
    "config",
    [SMALL, *LARGE],
    ids=lambda config: f"{config.planes}-{config.acting.algorithm.value}-{config.acting.agents}",
)
def test_hardware_learns_from_the_row_in_each_plane(config: Config) -> None:
    rng, settings = random.Random(config.planes), settings_of(config)
    with open_live("sim", config, settings) as device:
        model = LiveModel(config, settings)
        follow([device, model], rng, 40)
        assert differing(device, model) == []
        twin = LiveModel(config, settings)
        for other in (twin, device):
            other.restore(model.table, model.states, model.counters)
        assert device.states == model.states
        follow([model, device, twin], rng, 20)
        assert differing(device, model) == differing(twin, model) == []


class Stopwatch:
    """Wraps a simulated device; counts clocks from the end of a request to the start of its answer."""

    def __init__(self, port: SimPort) -> None:
        self._port, self.clocks = port, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    def read(self, timeout: float) -> bytes:
        if not self._port.waiting:
            return self._port.read(timeout)
        answer, taken = b"", 0
        while not answer.endswith(b"\0"):
            is_waiting = self._port.waiting > 0
            data = self._port.read(0)  # simulates a single clock
            if is_waiting and not self._port.waiting:
                taken = self._port.clocks
            if data and not answer:
                self.clocks = self._port.clocks - taken
            answer += data
        return answer


LATENCIES = {2: (SMALL, 521), 8: (LARGE[0], 563), 16: (LARGE[-1], 627)}
"""Configuration, and maximum clocks from an ACT to its answer according to docs/live-worlds.md."""


@pytest.mark.rtl
@pytest.mark.parametrize("planes", slow_except([2], LATENCIES))
def test_answer_comes_within_the_clocks_that_the_page_says(
    planes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, most = LATENCIES[planes]
    port, rng = SimPort(config), random.Random(1)
    device = LinkLive(watch := Stopwatch(port), config, settings_of(config), SIM_PATIENCE)
    device.begin([0] * planes)
    monkeypatch.setattr(qstep_sim.port, "_CHUNK_CLOCKS", 1)
    found = []
    for _ in range(40):
        for _ in range(rng.randrange(40)):  # an agent's slot comes every 16 to 21 clocks
            port.read(0)
        device.act(1.0, [rng.randrange(config.states) for _ in range(planes)], rng.random() < 0.1)
        found.append(watch.clocks)
    print(f"{planes} planes: {min(found)} to {max(found)} clocks")
    assert max(found) <= most


@pytest.mark.rtl
def test_hardware_refuses_a_row_that_no_plane_has_and_does_nothing() -> None:
    port = SimPort(SMALL)
    device = LinkLive(port, SMALL, settings_of(SMALL), SIM_PATIENCE)
    device.begin([3, 10], 2)
    before = Held(device.table, device.states, device.counters)
    for kind, arguments in (
        (Request.BEGIN, (0, 11, 0)),
        (Request.BEGIN, (0, 0, 11)),
        (Request.ACT, (2, 0, 11, 0, 0)),
        (Request.ACT, (2, 0, 1 << 15, 0, 0)),
    ):
        with pytest.raises(RefusedError, match=f"refused {kind.name}: OUT_OF_RANGE"):
            device._acted(kind, *arguments)
    assert differing(device, before) == []
    device.act(1.0, [10, 0], terminated=False, agent=2)
    port.close()


@pytest.mark.parametrize("kind", ["model", "link"])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (3, "next_state is 3; it must be a row in each of 2 planes"),
        ([3], r"next_state is \[3\]; it must be a row in each of 2 planes"),
        ([3, 4, 5], r"next_state is \[3, 4, 5\]; it must be a row in each of 2 planes"),
        ([3, 11], r"next_state\[1\] is 11; it must be an integer from 0 to 10"),
        ([-1, 3], r"next_state\[0\] is -1; it must be an integer from 0 to 10"),
    ],
)
def test_rows_that_are_not_one_per_plane_are_refused_before_anything_is_said(
    kind: str, rows: int | list[int], message: str
) -> None:
    reference = ReferenceLive(SMALL)
    device: LiveDevice = LiveModel(SMALL, settings_of(SMALL))
    if kind == "link":
        device = LinkLive(DirectPort(reference), SMALL, settings_of(SMALL), PATIENCE)
    device.begin([5, 6])
    before = device.states
    with pytest.raises(ConfigError, match=message):
        device.act(0.0, rows, terminated=False)
    with pytest.raises(ConfigError, match=message.replace("next_state", "state")):
        device.begin(rows)
    assert (device.states, len(reference.said)) == (before, kind == "link")


def test_rows_are_said_once_over_a_lossy_line() -> None:
    reference = ReferenceLive(SMALL)
    port = LossyPort(DirectPort(reference), 1, 0.1)
    device = LinkLive(port, SMALL, settings_of(SMALL), PATIENCE)
    said: list[tuple[int, ...]] = []
    for number in range(30):
        rows = number % 11, 10 - number % 11
        if number < 3:
            said.append((number, *rows))
            device.begin(rows, number)
        said.append((number % 3, *rows, number % 2, -number))
        device.act(-number / 1024, rows, number % 2 > 0, number % 3)
    assert reference.said == said
