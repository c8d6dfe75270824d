"""Detects designs that do not fit, before any placement."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from qstep.errors import BuildError
from qstep.spec.config import Config
from qstep_fpga import chip
from qstep_fpga.board import Board
from qstep_fpga.families import FAMILIES
from qstep_fpga.lane_wrapper import wrapper_cells
from qstep_fpga.netlist import synthesise
from qstep_fpga.pin_wrapper import WRAPPER

__all__ = [
    "Shortage",
    "check_fit",
    "check_table",
    "hopeless",
    "needs",
    "needs_around_lane",
    "shortages",
]

_MEMORY = "block RAM"
_DSP = "DSP"
_LEAST = 2, 8
"""Minimum number of actions, and width of the narrowest format in bits."""


@dataclass(frozen=True)
class Shortage:
    """A resource of which a netlist needs more than the chip has."""

    resource: str
    needed: int
    there: int

    @property
    def over(self) -> int:
        """Amount by which the chip falls short."""
        return self.needed - self.there


def needs(board: Board, netlist: Path) -> dict[str, int]:
    """Return the minimum amount of each resource that a netlist needs, by its family's names."""
    module = json.loads(netlist.read_text(encoding="utf-8"))["modules"][WRAPPER]
    return _resources(board, Counter(cell["type"] for cell in module["cells"].values()))


def needs_around_lane(board: Board, netlist: Path) -> dict[str, int]:
    """Return the resources that the wrapper uses in a netlist of the lane alone."""
    module = json.loads(netlist.read_text(encoding="utf-8"))["modules"][WRAPPER]
    return _resources(board, wrapper_cells(module))


def _resources(board: Board, cells: Counter[str]) -> dict[str, int]:
    return {
        name: max(sum(cells[kind] for kind in group) for group in groups)
        for name, groups in FAMILIES[board.family].cells.items()
    }


def hopeless(board: Board, config: Config) -> Shortage | None:
    """Return the shortage of block RAM if tables are far too large, because synthesis would take hours.

    The hardware stores two copies of a shared table, or one table per agent. LUTs can store less than
    the chip's block RAMs, so tables that need more than twice the block RAMs cannot fit.
    """
    tables = config.lanes * config.lane_agents if _has_own_tables(config) else 2
    bits = tables * config.planes * config.states * config.actions * config.format.width
    blocks = -(-bits // FAMILIES[board.family].block_bits)
    there = chip.available(board)[_MEMORY]
    return Shortage(_MEMORY, blocks, there) if blocks > 2 * there else None


def _has_own_tables(config: Config) -> bool:
    return config.acting is not None and not config.acting.shared_table


def shortages(board: Board, need: dict[str, int]) -> list[Shortage]:
    """Return the shortages for these needs; an empty list means that a netlist may fit."""
    there = chip.available(board)
    found = [Shortage(name, needed, there[name]) for name, needed in need.items()]
    return [shortage for shortage in found if shortage.over > 0]


def check_table(board: Board, config: Config) -> None:
    """Raise BuildError if the table is so large that synthesis is pointless."""
    short = hopeless(board, config)
    if short:
        raise _error(board, config, [short], _advice(board, config, [short]))


def check_fit(board: Board, config: Config, netlist: Path) -> None:
    """Raise BuildError if a netlist needs more resources than the chip has."""
    need = needs(board, netlist)
    lacking = shortages(board, need)
    if lacking and config.lanes > 1:
        most = _most_lanes(board, config, need)
        raise _error(
            board, config, lacking, f"By resource count, at most {most} of {config.lanes} lanes fit"
        )
    if lacking:
        raise _error(board, config, lacking, _advice(board, config, lacking))


def _most_lanes(board: Board, config: Config, need: dict[str, int]) -> int:
    """Return how many lanes fit, from the needs of all lanes and of a synthesis with two lanes."""
    two, there = 2, chip.available(board)
    assert config.acting is not None  # because it has lanes
    acting = replace(config.acting, agents=two * config.acting.agents // config.lanes)
    least = needs(board, synthesise(board, replace(config, lanes=two, acting=acting)))
    others = config.lanes - two
    rooms = [
        two + (there[name] - least[name]) * others // (need[name] - least[name])
        for name in need
        if need[name] > there[name] and need[name] > least[name]
    ]
    return max(1, min(rooms, default=1))


def _error(board: Board, config: Config, lacking: list[Shortage], advice: str) -> BuildError:
    words = [
        f"{short.resource}: needs {short.needed}, {short.over} more than the {short.there} "
        "available"
        for short in lacking
    ]
    planes = f"{config.planes} planes of " if config.planes > 1 else ""
    return BuildError(
        f"{planes}{config.states} x {config.actions} in {config.format} does not fit {board.title} "
        f"({board.part}). {'; '.join(words)}. {advice}"
    )


def _advice(board: Board, config: Config, lacking: list[Shortage]) -> str:
    """Return advice for the error message; only for block RAM does it name the required change."""
    short = {shortage.resource: shortage for shortage in lacking}
    memory, dsp = short.pop(_MEMORY, None), short.pop(_DSP, None)
    advice = [_of_memory(board, config, memory)] if memory else []
    if short:
        least = (config.actions, config.format.width) == _LEAST
        words = ", which are already at their minimum" if least else ""
        advice.append(f"Logic grows with the number of actions and the width{words}")
    if dsp:
        advice.append("DSP use depends only on the width")
    return ". ".join(advice)


def _of_memory(board: Board, config: Config, short: Shortage) -> str:
    block_bits, width = FAMILIES[board.family].block_bits, config.format.width

    def table(states: int, actions: int) -> int:
        """Count the blocks for separate tables, or for a shared table: a bank per action and a copy."""
        if _has_own_tables(config):
            return config.planes * -(-config.lane_agents * states * actions * width // block_bits)
        bank = -(-states * width // block_bits)
        return config.planes * (actions * bank - (-states * actions * width // block_bits))

    # The link's blocks are needed with any table.
    left = short.there - max(0, short.needed - table(config.states, config.actions))
    # A power of two wastes no memory.
    for states in (1 << bits for bits in reversed(range(1, config.states.bit_length()))):
        if table(states, config.actions) <= left:
            return f"There is block RAM for about {states} states"
    for actions in reversed(range(2, config.actions)):
        if table(2, actions) <= left:
            return (
                f"There is block RAM for about {actions} actions, as each takes at least one block"
            )
    return "The link leaves no block RAM for a table; lower link.buffer_bytes"
