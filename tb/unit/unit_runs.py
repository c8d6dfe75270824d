"""Which simulations test the hand-written modules one by one."""

import hashlib
from pathlib import Path

from amaranth.back import verilog
from tb.bench import BUILD, RTL, TB, Run
from tools.lint_rtl import BOARD, BOARD_WAIVER, SLOTS_WAIVER

from qstep._io.files import make_folder, write_atomically
from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep_rtl.chain_head import ChainHead, index_mask
from qstep_rtl.invariants import GENERATED

__all__ = [
    "AGENT_UNITS",
    "BOARD_RUN",
    "FARMS",
    "STAND_IN",
    "UNITS",
    "chain_run",
]


def _run(top: str, module: str, **parameters: int) -> Run:
    return Run(top, f"tb.unit.{module}", parameters)


STAND_IN = TB / "unit/qstep_top.sv"
"""The stand-in for the device inside the board."""

# The LED's shortest flicker, a fortieth of a second, is a whole number of its ticks here.
BOARD_RUN = Run(
    "qs_board",
    "tb.unit.rtl_board",
    {"ClockHz": 40 * 128},
    sources=(STAND_IN, BOARD),
    build_args=(BOARD_WAIVER,),
)

_BLOCKS = ",".join(
    f"tb.unit.rtl_{name}"
    for name in ("draw", "epsilon", "agent_budget", "agent_bus", "agent_counters", "agent_store")
)


def _blocks(**parameters: int) -> Run:
    return Run("qs_agent_blocks_bench", _BLOCKS, parameters, build_args=(SLOTS_WAIVER,))


def _acting(**parameters: int) -> Run:
    return Run("qs_acting", "tb.unit.rtl_acting", parameters, build_args=(SLOTS_WAIVER,))


AGENT_UNITS = [
    _blocks(Agents=16, Slots=16, Width=16),
    _blocks(Agents=3, Slots=18, Width=8),
    _run("qs_agent_choice_bench", "rtl_agent_choice", Actions=2, Width=32),
    _run("qs_agent_choice_bench", "rtl_agent_choice", Actions=5, Width=16),
    _run("qs_agent_choice_bench", "rtl_agent_choice", Actions=64, Width=8),
    _run("qs_agent_update", "rtl_agent_update", Width=8),
    _run("qs_agent_update", "rtl_agent_update", Width=32),
    _run("qs_world_bench", "rtl_world", States=6, Actions=3, Width=8, Outcomes=4, Starts=2),
    _run("qs_world_bench", "rtl_world", States=9, Actions=2, Width=32, Outcomes=1, Starts=64),
    _acting(States=7, Actions=4, Width=16, Agents=3, Outcomes=2, Starts=2),
    _acting(States=5, Actions=2, Width=32, Agents=3, Algorithm=3, SharedTable=1, Rounding=2),
    _acting(States=5, Actions=2, Width=32, Agents=1, Algorithm=3, Rounding=2),
    _acting(States=4, Actions=4, Width=8, Agents=4, Algorithm=1, SharedTable=1, Rounding=1),
    _acting(States=6, Actions=5, Width=9, Agents=2, Algorithm=2, Schedules=0, StepLimit=0),
]
"""The modules of the interleaved lane."""


UNITS = [
    _run("qs_max_tree_bench", "rtl_max_tree", Width=8),
    _run("qs_max_tree_bench", "rtl_max_tree", Width=32),
    _run("qs_noise", "rtl_noise"),
    _run("qs_table", "rtl_table", States=16, Actions=4, Width=16),
    _run("qs_table", "rtl_table", States=7, Actions=3, Width=9),
    _run("qs_hazard", "rtl_hazard", States=5, Actions=3, LoopDepth=1),
    _run("qs_hazard", "rtl_hazard", States=16, Actions=4, LoopDepth=2),
    _run("qs_hazard", "rtl_hazard", States=7, Actions=2, LoopDepth=3),
    _run("qs_update", "rtl_update", Width=8, LoopDepth=1),
    _run("qs_update", "rtl_update", Width=16, LoopDepth=2),
    _run("qs_update", "rtl_update", Width=32, LoopDepth=3),
    BOARD_RUN,
    *AGENT_UNITS,
]


FARMS = [Config(25, 4, acting=Acting(agents=48), lanes=3)]
"""Farms of as many lanes as ``qs_chain_bench`` has."""


def chain_run(config: Config, rtl: Path = RTL) -> Run:
    """Generate the head of a farm's chain and return the run of the chain's tests."""
    text = verilog.convert(
        ChainHead(config), name="qs_chain_head", platform=GENERATED, emit_src=False
    )
    folder = BUILD / f"chain-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    make_folder(folder)
    head = folder / "qstep_chain_head.v"
    write_atomically(head, text.encode())
    bench = TB / "unit/qs_chain_bench.sv"
    sources = (rtl / "qs_chain_pkg.sv", RTL / "qstep_generated.vlt", head, bench)
    parameters = {"IndexMask": index_mask(config)}
    return Run(bench.stem, "tb.unit.rtl_chain", parameters, rtl=rtl, sources=sources)
