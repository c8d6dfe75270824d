"""The mutated blocks: their files, and the benches that must find each mutant."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from amaranth.lib.wiring import Component
from tb.bench import Run
from tb.mutate import (
    agent_contracts,
    chain_contract,
    contracts,
    link_contracts,
)
from tb.mutate.contracts import Contract
from tb.mutate.generated import Generated
from tb.unit.unit_runs import FARMS, UNITS, chain_run
from tb.uvm.acting_runs import OWNING
from tb.uvm.lane_runs import lane_run

from qstep.spec.config import Config
from qstep_rtl.cobs import CobsDecoder, CobsEncoder
from qstep_rtl.commands import Commands
from qstep_rtl.crc32 import Crc32, RecordDigest
from qstep_rtl.session import Session

__all__ = ["BLOCKS", "Block"]


@dataclass(frozen=True)
class Block:
    """A part of the hardware.

    Parameters
    ----------
    name : str
    sources : tuple of str
        Files whose cells are mutated.
    runs : tuple of (Run or Generated, Contract)
        Benches in several geometries, each with separate mutants.
    words : int
        Arrays of at most this many words become registers, not memories.
    """

    name: str
    sources: tuple[str, ...]
    runs: tuple[tuple[Run | Generated, Contract], ...]
    words: int = 1


def _units(top: str, module: str = "") -> list[Run]:
    found = [unit for unit in UNITS if unit.top == top]
    return [replace(unit, module=f"tb.unit.{module}") for unit in found] if module else found


def _lanes(*geometries: tuple[int, int, int, int]) -> tuple[tuple[Run, Contract], ...]:
    return _with(contracts.lane, [lane_run("LaneSuite", *each, 5000) for each in geometries])


def _with(
    contract: Callable[[Run], Contract], runs: Sequence[Run]
) -> tuple[tuple[Run, Contract], ...]:
    return tuple((run, contract(run)) for run in runs)


def _plain(*runs: Run) -> tuple[tuple[Run, Contract], ...]:
    return tuple((run, Contract()) for run in runs)


def _agents(*runs: Run) -> tuple[tuple[Run, Contract], ...]:
    return _with(agent_contracts.agents, runs)


def _beside_slots(
    block: str, source: str, contract: Callable[[Run], Contract] | None = None
) -> Block:
    """Return a block with a separate bench in ``qs_agent_blocks_bench``."""
    name = source.removeprefix("qs_").removesuffix(".sv")
    runs = _units("qs_agent_blocks_bench", f"rtl_{name}")
    return Block(block, (source,), _with(contract, runs) if contract else _plain(*runs))


def _link(
    name: str,
    component: type[Component],
    module: str,
    chosen: str,
    *given: Any,
    contract: Contract | None = None,
    release: str = "",
) -> Block:
    """Return a generated block of the link."""
    bench = Generated(component, given, f"tb.unit.test_link_{module}", chosen, release)
    return Block(name, (bench.source,), ((bench, contract or Contract()),))


_COMMANDED = Config(states=25, actions=3)
_LANES = _lanes((16, 4, 16, 1), (7, 3, 8, 3))


BLOCKS = {
    block.name: block
    for block in (
        Block("hazard", ("qs_hazard.sv",), _with(contracts.hazard, _units("qs_hazard"))),
        Block("tree", ("qs_max_tree.sv",), _with(contracts.tree, _units("qs_max_tree_bench")), 64),
        Block("table", ("qs_table.sv", "qs_ram.sv"), _with(contracts.table, _units("qs_table"))),
        Block("update", ("qs_update.sv", "qs_pkg.sv"), _LANES, 4),
        Block("lane", ("qs_lane.sv", "qs_noise.sv", "qs_delay.sv"), _LANES, 4),
        _beside_slots("draw", "qs_draw.sv"),
        _beside_slots("epsilon", "qs_epsilon.sv", agent_contracts.epsilon),
        _beside_slots("budget", "qs_agent_budget.sv", agent_contracts.budget),
        _beside_slots("bus", "qs_agent_bus.sv", agent_contracts.agent_bus),
        _beside_slots("counters", "qs_agent_counters.sv", agent_contracts.counters),
        Block(
            "choice",
            ("qs_agent_choice.sv",),
            _with(agent_contracts.choice, _units("qs_agent_choice_bench")[:2]),
            64,
        ),
        Block(
            "expectation",
            ("qs_expectation.sv",),
            _with(agent_contracts.choice, _units("qs_agent_choice_bench")[:2]),
            64,
        ),
        Block(
            "agent-update",
            ("qs_agent_update.sv", "qs_agent_product.sv"),
            _with(agent_contracts.agent_update, _units("qs_agent_update")[:3]),
        ),
        Block(
            "world",
            ("qs_world.sv", "qs_alias.sv"),
            _with(agent_contracts.world, _units("qs_world_bench")),
        ),
        Block(
            "agents",
            (
                "qs_agents.sv",
                "qs_agent_episode.sv",
                "qs_agent_explore.sv",
                "qs_agent_flags.sv",
                "qs_agent_place.sv",
                "qs_agent_read.sv",
                "qs_agent_rows.sv",
                "qs_agent_write.sv",
            ),
            _agents(*OWNING),
        ),
        Block("node", ("qs_chain_node.sv",), _with(chain_contract.node, [chain_run(FARMS[0])])),
        _link("cobs-decoder", CobsDecoder, "cobs", "decoder", contract=link_contracts.COBS_DECODER),
        _link("cobs-encoder", CobsEncoder, "cobs", "encoder", contract=link_contracts.COBS_ENCODER),
        _link("crc", Crc32, "crc", "crc"),
        _link(
            "digest",
            RecordDigest,
            "crc",
            "digest and not 5-1",
            5,
            3,
            contract=link_contracts.DIGEST,
        ),
        _link(
            "session", Session, "session", "", contract=link_contracts.SESSION, release="every_bit"
        ),
        _link(
            "commands",
            Commands,
            "commands",
            "",
            _COMMANDED,
            contract=link_contracts.commands(_COMMANDED),
        ),
    )
}
