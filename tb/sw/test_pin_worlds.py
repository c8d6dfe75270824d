"""A world at the pins: a module there answers the agents, with a known latency."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tb.bench import RTL
from tb.equal_agents import differing, run_alike
from tb.planted import plant_file
from tb.random_world import ring_model

import qstep_fpga
from qstep.device.agents import LinkAgents
from qstep.device.live import LiveModel
from qstep.errors import WorldSilentError
from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep.spec.epsilon import Epsilon
from qstep.spec.settings import AgentSettings
from qstep.spec.tiles import Tiles
from qstep_rtl import sources
from qstep_rtl.generate import generate
from qstep_rtl.tile_coder import CODER_CLOCKS
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort

pytestmark = [pytest.mark.rtl, pytest.mark.slow]

BENCH = RTL.parent / "tb/unit/qs_pins_bench.sv"
LED_PINS = Path(qstep_fpga.__file__).with_name("qs_pins.sv")
LATENCY = (18, 33)
"""Minimum and maximum clocks from an answer to the next action, from docs/live-worlds.md."""

LED_LATENCY = (21, 36)
"""The same latency at a board's pins."""

TILES = Tiles([-400, 30], [420, 400], tiles=[4, 3], tilings=2, units=1)
"""Tiles for the observations from `numbers` in the bench, some of which are out of range."""


def around(
    agents: int,
    folder: Path,
    pins: Path = LED_PINS,
    *,
    at_board: bool = False,
    planes: int = 1,
    tiles: Tiles | None = None,
) -> tuple[Config, SimPort]:
    """Return a device with a world at its own pins or at a board's pins."""
    acting = Acting(agents=agents, world="pins", deadline=5000, tiles=tiles)
    config = Config(8 if tiles is None else tiles.rows, 4, acting=acting, planes=planes)
    generate(config, folder)
    text = BENCH.read_text(encoding="utf-8").replace("Agents = 3", f"Agents = {agents}")
    text = text.replace("Planes = 1", f"Planes = {planes}")
    text = text.replace("Tiled = 0", f"Tiled = {tiles is not None:d}")
    bench = folder / BENCH.name
    bench.write_text(text.replace("AtBoard = 0", f"AtBoard = {at_board:d}"), encoding="utf-8")
    files = [*sources.rtl_files(config), folder / "qstep_device.v", pins, bench]
    library = compile_library(files, "qs_pins_bench", optimise=False)
    return config, SimPort(config, library=library)


def led_out(folder: Path, pins: Path = LED_PINS) -> tuple[Config, SimPort]:
    """Return a device with one agent whose world is at a board's pins."""
    return around(1, folder, pins, at_board=True)


@pytest.mark.parametrize("agents", [1, 16])
def test_agents_learn_at_the_pins_what_the_model_does(
    agents: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    learn(agents, *around(agents, tmp_path), LATENCY, capfd)


def test_boards_pins_learn_as_the_model(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    learn(1, *led_out(tmp_path), LED_LATENCY, capfd)


@pytest.mark.parametrize(("agents", "at_board"), [(2, False), (1, True)], ids=["device", "board"])
def test_agents_learn_at_the_pins_from_the_row_in_each_plane(
    agents: int, at_board: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config, port = around(agents, tmp_path, at_board=at_board, planes=2)
    learn_rows(config, port, lambda state: (state, 7 - state), capfd)


@pytest.mark.parametrize(
    ("agents", "at_board"),
    [(1, False), (3, False), (1, True)],
    ids=["one", "three", "board"],
)
def test_agents_learn_at_the_pins_from_observations(
    agents: int, at_board: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config, port = around(agents, tmp_path, at_board=at_board, planes=TILES.planes, tiles=TILES)
    latency = learn_rows(
        config, port, lambda state: TILES.of((120 * state - 410, 9 * state**2)), capfd
    )
    least, most = LED_LATENCY if at_board else LATENCY
    assert latency == (least + CODER_CLOCKS, most + CODER_CLOCKS)


def learn_rows(
    config: Config,
    port: SimPort,
    rows: Callable[[int], tuple[int, ...]],
    capfd: pytest.CaptureFixture[str],
) -> tuple[int, int]:
    """Compare agents in states with these rows with a model; return the latency printed by the bench."""
    assert config.acting is not None
    agents = config.acting.agents
    settings = [AgentSettings(0.5, 0.9, Epsilon(1 / (1 + own)), own) for own in range(agents)]
    live = replace(config, acting=replace(config.acting, world="live"))
    model, states = LiveModel(live, settings), [0] * agents
    for agent in range(agents):
        model.begin(rows(0), agent)
    with LinkAgents(port, config, 0, settings) as device:
        latency = (0, 0)
        for steps in (300, 1, 2):
            device.run(steps)
            # read now, because the first action of a second job follows no answer
            latency = shown_latency(capfd) if steps == 300 else latency
            for agent in steps * list(range(agents)):
                state = (states[agent] + model.states[agent].action + 1) % 8
                states[agent] = state % 7  # after state 7 ends an episode, the next starts in 0
                reward = state * config.format.resolution
                model.act(reward, rows(states[agent]), state == 7, agent)
            assert differing(device, model) == []
    return latency


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
    """Let agents act at the pins, and compare their complete state and latency with expected ones."""
    settings = [AgentSettings(0.5, 0.9, Epsilon(1 / (1 + own)), own) for own in range(agents)]
    model = ring_model(config, settings)
    with LinkAgents(port, config, 0, settings) as device:
        run_alike(device, model, 300)
        # read now, because the first action of a second job follows no answer
        assert shown_latency(capfd) == latency
        run_alike(device, model, 1, 2)


def shown_latency(capfd: pytest.CaptureFixture[str]) -> tuple[int, int]:
    """Return the last latency that the bench has printed."""
    least, most = re.findall(r"latency (\d+) to (\d+) clocks", capfd.readouterr().err)[-1]
    return int(least), int(most)
