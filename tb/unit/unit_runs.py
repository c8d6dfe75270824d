"""The simulations that test each hand-written module on its own."""

import hashlib
from pathlib import Path

from amaranth.back import verilog
from tb.bench import BUILD, RTL, TB, Run

from qstep._io.files import make_folder, write_atomically
from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep.spec.planes import PRESETS
from qstep_rtl.chain_head import ChainHead, index_mask
from qstep_rtl.invariants import GENERATED
from qstep_rtl.sources import source

__all__ = [
    "AGENT_UNITS",
    "FARMS",
    "LEARNER_UNITS",
    "PRESET_UNITS",
    "UNITS",
    "chain_run",
]


def _run(top: str, module: str, **parameters: int) -> Run:
    return Run(top, f"tb.unit.{module}", parameters)


_BLOCKS = ",".join(
    f"tb.unit.rtl_{name}"
    for name in ("draw", "epsilon", "agent_budget", "agent_bus", "agent_counters", "agent_store")
)


def _blocks(**parameters: int) -> Run:
    return Run("qs_agent_blocks_bench", _BLOCKS, parameters)


def _acting(**parameters: int) -> Run:
    return Run("qs_acting", "tb.unit.rtl_acting", parameters)


def _planes(**parameters: int) -> Run:
    return Run("qs_agents", "tb.unit.rtl_planes", parameters)


def _requests(**parameters: int) -> Run:
    return _run("qs_planes", "rtl_planes_requests", **parameters)


def _learner(**parameters: int) -> Run:
    # Verilator warns if only the first plane has a constant, because the others are then 0.
    return Run("qs_learner", "tb.unit.rtl_learner", parameters, build_args=("-Wno-WIDTHEXPAND",))


AGENT_UNITS = [
    _blocks(Agents=16, Slots=16, Width=16),
    _blocks(Agents=3, Slots=18, Width=8, CoeffFraction=24),
    _run("qs_agent_choice_bench", "rtl_agent_choice", Actions=2, Width=32),
    _run("qs_agent_choice_bench", "rtl_agent_choice", Actions=5, Width=16),
    _run("qs_agent_choice_bench", "rtl_agent_choice", Actions=64, Width=8),
    _run("qs_agent_update", "rtl_agent_update", Width=8),
    _run("qs_agent_update", "rtl_agent_update", Width=32),
    _run("qs_agent_update", "rtl_agent_update", Width=16, CoeffFraction=22),
    _run("qs_agent_update", "rtl_agent_update", Width=8, Planes=2),
    _run("qs_agent_update", "rtl_agent_update", Width=16, Planes=8),
    _run("qs_agent_update", "rtl_agent_update", Width=9, Planes=16),
    _run("qs_world_bench", "rtl_world", States=6, Actions=3, Width=8, Outcomes=4, Starts=2),
    _run("qs_world_bench", "rtl_world", States=9, Actions=2, Width=32, Outcomes=1, Starts=64),
    _acting(States=7, Actions=4, Width=16, Agents=3, Outcomes=2, Starts=2),
    _acting(States=5, Actions=2, Width=32, Agents=3, Algorithm=3, SharedTable=1, Rounding=2),
    _acting(States=5, Actions=2, Width=32, Agents=1, Algorithm=3, Rounding=2),
    _acting(States=4, Actions=4, Width=8, Agents=4, Algorithm=1, SharedTable=1, Rounding=1),
    _acting(States=6, Actions=5, Width=9, Agents=2, Algorithm=2, Schedules=0, StepLimit=0),
    _acting(States=5, Actions=3, Width=16, Agents=2, Algorithm=3, Rounding=2, CoeffFraction=22),
    _planes(States=16, Actions=2, Planes=8, Agents=2, CoeffFraction=18),
    _planes(States=9, Actions=3, Planes=4, Agents=3, Algorithm=1, Schedules=0, Rounding=1),
    _planes(States=16, Actions=3, Planes=2, Agents=1, Algorithm=2, Rounding=2),
    _planes(States=9, Actions=2, Planes=16, Agents=4, SharedTable=1, Width=12, CoeffFraction=24),
]
"""The modules of the interleaved lane."""

LEARNER_UNITS = [
    _run("qs_feature_hash", "rtl_feature_hash"),
    _run("qs_feature_hash", "rtl_feature_hash", RowBits=16, Constant=0xACA081B9),
    _run("qs_evaluation_queue", "rtl_evaluation_queue", Entries=8, KeyBits=4, Width=8),
    _run("qs_evaluation_queue", "rtl_evaluation_queue", Entries=2, KeyBits=2, PayloadBits=9),
    _requests(Groups=2, Planes=2, Rows=8, Actions=3, Width=8, Floor=1),
    _requests(Groups=1, Planes=2, Rows=4, Actions=2, Width=12, SharedError=1, Start=-7),
    _requests(Groups=3, Planes=1, Rows=4, Actions=5, Width=32, CoeffFraction=24, Start=1000),
    _requests(Groups=1, Planes=1, Rows=2, Actions=3, SharedError=1),
    _requests(Groups=5, Planes=3, Rows=2, Actions=2, Floor=1),
    _requests(Groups=1, Planes=16, Rows=4, Actions=2, SharedError=1, CoeffFraction=18),
    _learner(Rows=4, Actions=3, Entries=4, KeyBits=4, Planes=2, Constants=0xACA081B9),
]
"""The learner, which executes choose and learn requests from external logic, and its parts."""

PRESET_UNITS = [
    _requests(
        Groups=own.groups,
        Planes=own.planes,
        Rows=own.rows,
        Actions=own.actions,
        CoeffFraction=own.coefficient_bits,
        Floor=int(own.floor),
        Start=own.start_raw,
    )
    for own in PRESETS.values()
]
"""The learners from three papers; each simulation takes ten seconds."""


UNITS = [
    _run("qs_max_tree_bench", "rtl_max_tree", Width=8),
    _run("qs_max_tree_bench", "rtl_max_tree", Width=32),
    _run("qs_noise", "rtl_noise"),
    _run("qs_noise", "rtl_noise", CoeffFraction=24),
    _run("qs_table", "rtl_table", States=16, Actions=4, Width=16),
    _run("qs_table", "rtl_table", States=7, Actions=3, Width=9),
    _run("qs_hazard", "rtl_hazard", States=5, Actions=3, LoopDepth=1),
    _run("qs_hazard", "rtl_hazard", States=16, Actions=4, LoopDepth=2),
    _run("qs_hazard", "rtl_hazard", States=7, Actions=2, LoopDepth=3),
    _run("qs_update", "rtl_update", Width=8, LoopDepth=1),
    _run("qs_update", "rtl_update", Width=16, LoopDepth=2),
    _run("qs_update", "rtl_update", Width=32, LoopDepth=3),
    _run("qs_update", "rtl_update", Width=8, CoeffFraction=16, LoopDepth=2),
    _run("qs_update", "rtl_update", Width=16, CoeffFraction=22, LoopDepth=1),
    _run("qs_update", "rtl_update", Width=32, CoeffFraction=24, LoopDepth=3),
    *AGENT_UNITS,
    *LEARNER_UNITS,
    *PRESET_UNITS,
]


FARMS = [Config(25, 4, acting=Acting(agents=48), lanes=3)]
"""Farms with the same number of lanes as ``qs_chain_bench``."""


def chain_run(config: Config, rtl: Path = RTL) -> Run:
    """Generate the head of a farm's chain and return the simulation that runs the chain's tests."""
    text = verilog.convert(
        ChainHead(config), name="qs_chain_head", platform=GENERATED, emit_src=False
    )
    folder = BUILD / f"chain-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    make_folder(folder)
    head = folder / "qstep_chain_head.v"
    write_atomically(head, text.encode())
    bench = TB / "unit/qs_chain_bench.sv"
    sources = (source("qs_chain_pkg.sv", rtl), RTL / "qstep_generated.vlt", head, bench)
    parameters = {"IndexMask": index_mask(config)}
    return Run(bench.stem, "tb.unit.rtl_chain", parameters, rtl=rtl, sources=sources)
