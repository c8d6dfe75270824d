"""A world at the pins: agents step by the answers of a module there, at a known latency."""

import re
from pathlib import Path

import pytest
from tb.bench import RTL
from tb.equal_agents import run_alike
from tb.planted import plant_file
from tb.random_world import ring_model

import qstep_fpga
from qstep.device.agents import LinkAgents
from qstep.errors import WorldSilentError
from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep.spec.epsilon import Epsilon
from qstep.spec.settings import AgentSettings
from qstep_rtl import sources
from qstep_rtl.generate import generate
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort

pytestmark = pytest.mark.rtl

BENCH = RTL.parent / "tb/unit/qs_pins_bench.sv"
LED_PINS = Path(qstep_fpga.__file__).with_name("qs_pins.sv")
LATENCY = (18, 33)
"""Clocks from an answer to the next action, as docs/live-worlds.md says."""

LED_LATENCY = (21, 36)
"""Likewise, at a board's pins."""


def around(
    agents: int, folder: Path, pins: Path = LED_PINS, *, at_board: bool = False
) -> tuple[Config, SimPort]:
    """Return a device with a world at its own pins, or at those of a board."""
    config = Config(8, 4, acting=Acting(agents=agents, world="pins", deadline=5000))
    generate(config, folder)
    text = BENCH.read_text(encoding="utf-8").replace("Agents = 3", f"Agents = {agents}")
    bench = folder / BENCH.name
    bench.write_text(text.replace("AtBoard = 0", f"AtBoard = {at_board:d}"), encoding="utf-8")
    files = [*sources.rtl_files(config), folder / "qstep_device.v", pins, bench]
    library = compile_library(files, "qs_pins_bench", optimise=False)
    return config, SimPort(config, library=library)


def led_out(folder: Path, pins: Path = LED_PINS) -> tuple[Config, SimPort]:
    """Return a device with one agent whose world is at the pins of a board."""
    return around(1, folder, pins, at_board=True)


@pytest.mark.parametrize("agents", [1, pytest.param(16, marks=pytest.mark.slow)])
def test_agents_learn_at_the_pins_what_the_model_does(
    agents: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    learn(agents, *around(agents, tmp_path), LATENCY, capfd)


def test_boards_pins_learn_as_the_model(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    learn(1, *led_out(tmp_path), LED_LATENCY, capfd)


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("valid_q[1] && !valid_q[2]", "valid_q[1]", AssertionError),
        ("waits && !valid_q[1];", "waits;", WorldSilentError),
    ],
    ids=["answer-taken-twice", "action-behind-an-answer-that-stays"],
)
def test_fault_planted_between_device_and_pins_is_found(
    old: str, new: str, error: type[Exception], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    planted = plant_file(tmp_path, LED_PINS, old, new)
    with pytest.raises(error):
        learn(1, *led_out(tmp_path, planted), LED_LATENCY, capfd)


def learn(
    agents: int,
    config: Config,
    port: SimPort,
    latency: tuple[int, int],
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Let agents act at the pins; compare their whole state with the model, and the latency."""
    settings = [AgentSettings(0.5, 0.9, Epsilon(1 / (1 + own)), own) for own in range(agents)]
    model = ring_model(config, settings)
    with LinkAgents(port, config, 0, settings) as device:
        run_alike(device, model, 300)
        # before the first action of a second job, which answers nothing
        said = re.findall(r"latency (\d+) to (\d+) clocks", capfd.readouterr().err)
        assert tuple(map(int, said[-1])) == latency
        run_alike(device, model, 1, 2)
