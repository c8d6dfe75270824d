"""Simulations of the lane and of agents on AXI: generated files and parameters."""

import hashlib
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

from tb.bench import BUILD, RTL, Run

from qstep import Acting, Algorithm, Config
from qstep._io.files import write_atomically
from qstep.spec.tiles import Tiles
from qstep_rtl.bus.agents_core import CORE, agents_core, stream_numbers, stream_planes
from qstep_rtl.bus.registers import AGENTS, LANE, write_block
from qstep_rtl.sources import source

__all__ = [
    "AXI_AGENTS",
    "AXI_BEATS",
    "AXI_LANES",
    "AXI_SENSORS",
    "AXI_SHARED",
    "MORE_AXI_LANES",
    "MOST_ACTIONS",
    "axi_agents_run",
    "axi_planes",
    "axi_run",
    "register_block",
]

AXI_LANES = [
    {"States": 25, "Actions": 4, "Width": 16, "LoopDepth": 1, "StreamBytes": 4},
    {"States": 33, "Actions": 3, "Width": 9, "Fraction": 3, "LoopDepth": 3, "StreamBytes": 16},
]
"""Parameters of ``qs_axi_lane``."""

MORE_AXI_LANES = [
    {"States": 18, "Actions": 2, "Width": 32, "LoopDepth": 2, "StreamBytes": 8},
    {"States": 300, "Actions": 64, "Width": 8, "Fraction": 7, "LoopDepth": 1, "StreamBytes": 16},
]
"""Parameters of ``qs_axi_lane`` in the release run only."""

MOST_ACTIONS = {**MORE_AXI_LANES[1], "States": 18}
"""Parameters used only for coverage, with the fewest states that the tests can run with."""


AXI_BEATS = [8]
"""Bytes per beat of the agents' streams in ``make sim``; the release run adds the other sizes."""


@cache
def register_block(block: str) -> tuple[Path, ...]:
    """Return the generated register files, cached until their description changes."""
    BUILD.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".registers-", dir=BUILD))
    names = [path.name for path in write_block(block, aside)]
    digest = hashlib.sha256(b"".join((aside / name).read_bytes() for name in names)).hexdigest()
    folder = BUILD / f"{block}-{digest[:12]}"
    try:
        aside.rename(folder)
    except OSError:  # the folder exists already
        for path in aside.iterdir():
            path.unlink()
        aside.rmdir()
    return tuple(folder / name for name in names)


def axi_run(parameters: dict[str, int], rtl: Path = RTL, seed: int = 1, packets: int = 6) -> Run:
    """Return the run of all tests of the wrapper; `packets` sets the length of the random test."""
    return Run(
        "qs_axi_lane",
        "tb.bus.axi_lane_tests",
        parameters,
        options={"packets": str(packets)},
        seed=seed,
        rtl=rtl,
        sources=(*register_block(LANE), source("qs_axi_lane.sv", rtl)),
    )


AXI_AGENTS = Config(4, 4, acting=Acting(agents=2, world="pins", deadline=1000))
"""Agents with the test as their world."""

_ACTING = replace(AXI_AGENTS, acting=Acting(agents=2))
"""The same agents with their world on chip."""

_CROWD = replace(AXI_AGENTS, acting=Acting(agents=16, world="pins", deadline=10_000))
"""The maximum number of agents."""

AXI_SHARED = [
    replace(AXI_AGENTS, acting=Acting(agents=16, shared_table=True, algorithm=algorithm))
    for algorithm in (Algorithm.Q_LEARNING, Algorithm.EXPECTED_SARSA)
]
"""Sixteen agents that take turns on one table, with the world on chip; one entry per rotation length."""


def axi_planes(planes: int) -> Config:
    """Return agents with several planes, a row count not a power of two, and the test as their world."""
    acting = Acting(agents=2, world="pins", deadline=100_000)
    return Config(5, 3, acting=acting, planes=planes)


_TILES = Tiles([-(1 << 31), 30], [420, 400], tiles=[4, 3], tilings=2, units=1)

AXI_SENSORS = Config(
    *(_TILES.rows, 3),
    acting=Acting(agents=2, world="pins", deadline=100_000, tiles=_TILES),
    planes=_TILES.planes,
)
"""Agents that observe two tile-coded numbers, with the test as their world."""


@cache
def _agents_sources(config: Config) -> tuple[Path, ...]:
    """Return the generated source of agents, cached like :func:`register_block`."""
    text = agents_core(config)
    folder = BUILD / f"{CORE}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / f"{CORE}.v", text.encode())
    return (folder / f"{CORE}.v",)


_AGENT_TESTS = {
    "axi_agents_tests": (AXI_AGENTS, 8),
    "axi_edges_tests": (AXI_AGENTS, 8),
    "axi_crowd_tests": (_CROWD, 16),
    "axi_acting_tests": (_ACTING, 4),
    "axi_reset_tests": (AXI_SHARED[0], 4),
    "axi_planes_tests": (axi_planes(2), 4),
    "axi_sensors_tests": (AXI_SENSORS, 4),
}
"""Configuration of the agents and bytes per beat, by test module."""


def axi_agents_run(
    tests: str,
    rtl: Path = RTL,
    config: Config | None = None,
    stream_bytes: int | None = None,
    seed: int = 1,
) -> Run:
    """Return the run of a test module for agents on AXI; `config` replaces its configuration."""
    usual, size = _AGENT_TESTS[tests]
    config = config or usual
    acting = config.acting
    assert acting is not None
    parameters = {
        "States": config.states,
        "Actions": config.actions,
        "Agents": acting.agents,
        "Planes": stream_planes(config),
        "Numbers": stream_numbers(config),
        "AtPins": int(not acting.is_table),
        "StreamBytes": stream_bytes or size,
    }
    return Run(
        "qs_axi_agents",
        f"tb.bus.{tests}",
        parameters,
        seed=seed,
        rtl=rtl,
        sources=(
            *_agents_sources(config),
            *register_block(AGENTS),
            source("qs_axi_agents.sv", rtl),
        ),
    )
