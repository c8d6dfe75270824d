"""In a live world, the host reports each step and gets the next action; all devices agree."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from tb.bench import RTL
from tb.equal_agents import Held, differing
from tb.random_world import random_world
from tb.reference_agents import ReferenceAgents, ReferenceLive
from tb.sw.lossy_port import DirectPort, LossyPort
from tb.sw.session_bench import PATIENCE

from qstep.device import open_live
from qstep.device.agents import LinkAgents
from qstep.device.live import LinkLive, LiveDevice, LiveModel
from qstep.errors import ConfigError, RefusedError, TransitionError
from qstep.golden.agents import ActingModel, Step
from qstep.spec.agents import Acting, Algorithm
from qstep.spec.config import Config, Link
from qstep.spec.epsilon import Epsilon
from qstep.spec.protocol import ARGUMENTS, Request
from qstep.spec.settings import AgentSettings
from qstep_sim.port import SimPort

CONFIG = Config(
    *(25, 3, "Q6.10"),
    acting=Acting(agents=3, algorithm=Algorithm.DOUBLE_Q_LEARNING, world="live"),
    link=Link(buffer_bytes=512),
)
SETTINGS = [
    AgentSettings(0.5, 0.9, Epsilon(1, 0.05, "exponential", 500), 1),
    AgentSettings(0.1, 0.99, Epsilon(0.3), 2),
    AgentSettings(1.0, 0.5, Epsilon(1, 0, "linear", 90, unit="episodes"), 3),
]
# The driver's timeout is in wall-clock time, and a simulation runs slower than a device.
SIM_PATIENCE = 0.05


def lived() -> ActingModel:
    """Return a model in a world from tables; its steps can be reported to a live device."""
    acting = replace(CONFIG.acting or Acting(), world="table", outcomes=2, starts=2)
    config = replace(CONFIG, acting=acting)
    return ActingModel(config, random_world(config, 0, 3), SETTINGS)


def follow(device: LiveDevice, model: ActingModel, steps: int) -> Step:
    """Report the steps of `model`'s agents to `device`, compare actions, and return the last step."""
    for step in model.run(steps):
        own, number = model.states[step.agent], step.agent
        if not device.states[number].begun:
            assert device.begin(step.state, number) == step.action
        reward = step.reward * model.config.format.resolution
        assert device.act(reward, own.state, step.terminated, number) == own.action
    return step


@pytest.fixture
def port() -> Iterator[SimPort]:
    made = SimPort(CONFIG)
    yield made
    made.close()


def test_the_model_lives_through_what_it_is_told() -> None:
    model = lived()
    with open_live("model", CONFIG, SETTINGS) as device:
        follow(device, model, 500)
        assert differing(device, model) == []
        assert all(own.terminations for own in device.counters)


@pytest.mark.slow
@pytest.mark.rtl
def test_simulated_hardware_is_opened_by_its_name() -> None:
    model = lived()
    with open_live("sim", CONFIG, SETTINGS) as device:
        assert isinstance(device, LinkLive)
        follow(device, model, 30)
        assert differing(device, model) == []


def test_example_of_the_page_learns_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    page = (RTL.parent / "docs/live-worlds.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(example, {})
    assert capsys.readouterr().out == "[1 1 1 1]\n"


@pytest.mark.rtl
@pytest.mark.parametrize("rate", [0.0, 0.02], ids=["clean", "lossy"])
def test_hardware_lives_through_what_it_is_told(port: SimPort, rate: float) -> None:
    line = LossyPort(port, 5, rate) if rate else port
    device, model = LinkLive(line, CONFIG, SETTINGS, SIM_PATIENCE), lived()
    follow(device, model, 40)
    assert differing(device, model) == []
    assert not isinstance(line, LossyPort) or sum(line.hits.values()) > 10
    # A restored device continues from there, and a host may abandon an episode for a new one.
    device.restore(device.table, device.states, device.counters)
    twin = LiveModel(CONFIG, SETTINGS)
    twin.restore(model.table, model.states, model.counters)
    for learner in (device, twin):
        learner.configure([replace(own, alpha=0.75, epsilon=Epsilon(0.5)) for own in SETTINGS])
    for state, agent in ((7, 1), (24, 1), (0, 0)):
        assert device.begin(state, agent) == twin.begin(state, agent)
        assert device.act(-1.5, 3, False, agent) == twin.act(-1.5, 3, False, agent)
    assert differing(device, twin) == []


@pytest.mark.rtl
def test_hardware_refuses_what_is_out_of_range_and_does_nothing(port: SimPort) -> None:
    device = LinkLive(port, CONFIG, SETTINGS, SIM_PATIENCE)
    device.begin(3, 2)
    before = Held(device.table, device.states, device.counters)
    for kind, arguments in (
        (Request.BEGIN, (3, 0)),
        (Request.BEGIN, (0, 25)),
        (Request.ACT, (3, 0, 0, 0)),
        (Request.ACT, (2, 25, 0, 0)),
        (Request.ACT, (2, 0, 2, 0)),
        (Request.ACT, (2, 0, 0, 1 << 15)),
        (Request.ACT, (2, 0, 0, (1 << 32) - (1 << 15) - 1)),
    ):
        with pytest.raises(RefusedError, match=f"refused {kind.name}: OUT_OF_RANGE"):
            device._acted(kind, *arguments)
    device._session.send(Request.RUN, ARGUMENTS[Request.RUN].pack(1))
    with pytest.raises(RefusedError, match="refused RUN: BAD_TYPE"):
        device._session.drain()
    assert differing(device, before) == []
    device.act(-32.0, 24, True, 2)


@pytest.mark.parametrize("seed", range(2))
def test_what_happened_is_said_once_over_a_lossy_line(seed: int) -> None:
    reference = ReferenceLive(CONFIG)
    device = LinkLive(LossyPort(DirectPort(reference), seed, 0.1), CONFIG, SETTINGS, PATIENCE)
    said: list[tuple[int, ...]] = []
    for number in range(60):
        agent, state = number % 3, number % 25
        if number < 3:
            said.append((agent, state))
            assert device.begin(state, agent) == (agent + state) % 3
        said.append((agent, state, number % 2, -number))
        assert device.act(-number / 1024, state, number % 2 > 0, agent) == (agent + state) % 3
    assert reference.said == said


@pytest.mark.parametrize("kind", ["model", "link"])
@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((0.0, 25, False, 0), ConfigError, "next_state is 25; it must be an integer from 0 to 24"),
        ((0.0, 0, False, 3), ConfigError, "agent is 3; it must be an integer from 0 to 2"),
        ((0.0, 0, 1, 0), ConfigError, "terminated is 1; it must be true or false"),
        ((32.0, 0, False, 0), TransitionError, r"reward is 32\.0; Q6\.10 holds -32\.0 to 31\.99"),
        ((float("nan"), 0, False, 0), TransitionError, "reward is nan; Q6"),
        ((0.0, 0, False, 1), ConfigError, r"agent 1 has not begun; begin\(state\) comes before"),
    ],
)
def test_what_is_out_of_range_is_refused_before_anything_is_said(
    kind: str, given: Any, error: type[Exception], message: str
) -> None:
    reference = ReferenceLive(CONFIG)
    device: LiveDevice = LiveModel(CONFIG, SETTINGS)
    if kind == "link":
        device = LinkLive(DirectPort(reference), CONFIG, SETTINGS, PATIENCE)
    device.begin(5)
    before = device.states
    with pytest.raises(error, match=message):
        device.act(*given)
    with pytest.raises(ConfigError, match="state is -1; it must be an integer from 0 to 24"):
        device.begin(-1)
    assert (device.states, len(reference.said)) == (before, kind == "link")


def stepped() -> None:
    LinkLive(DirectPort(ReferenceLive(CONFIG)), CONFIG, SETTINGS, PATIENCE).run(1)


def told_of_an_act() -> None:
    acts = replace(CONFIG, acting=Acting(agents=3, world="a.sv"))
    device = LinkAgents(DirectPort(ReferenceAgents(acts)), acts, 0, SETTINGS, PATIENCE)
    device._session.ask(Request.ACT, 1, ARGUMENTS[Request.ACT].pack(0, 0, 0, 0))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: open_live("model", replace(CONFIG, acting=Acting(agents=3)), SETTINGS), ConfigError,
         r"acting\.world is 'table'; begin and act need 'live'"),
        (lambda: open_live("sim", Config(25, 3), SETTINGS), ConfigError,
         r"acting\.world is None; begin and act need 'live'"),
        (stepped, ConfigError, r"acting\.world is 'live'; its agents step only by act"),
        (told_of_an_act, RefusedError, "refused ACT: BAD_TYPE"),
    ],
)  # fmt: skip
def test_a_world_is_live_or_not(
    call: Callable[[], object], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        call()
