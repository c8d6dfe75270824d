"""Places the design without its lanes: their sites are blocked, and stand-ins mark their ports.

The placement includes the lanes' block RAMs and multipliers, without their connections. The bitstream
settings of their unused inputs are lost when a packed netlist is read again, so they are taken from this
placement.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qstep._io import cache
from qstep.errors import BuildError
from qstep_fpga import tools
from qstep_fpga.board import Board
from qstep_fpga.families import FAMILIES
from qstep_fpga.families.base import CONSTRAINTS, NETLIST, PLACED
from qstep_fpga.families.ecp5.islands.dummies import DUMMY, dummies, register
from qstep_fpga.families.ecp5.islands.grid import LOGIC, Bel, Grid, Tile, design, parse
from qstep_fpga.families.ecp5.islands.sites import Site

__all__ = [
    "Around",
    "Lane",
    "Original",
    "clock_of",
    "instances",
    "net_outside",
    "place_around",
    "stand_in",
]

Bit = int | str

_CLOCKS = re.compile(r"CLK\w?|WCK")


@dataclass(frozen=True)
class Original:
    """A placed lane that will be copied.

    Attributes
    ----------
    site : Site
        Site in which the lane was placed.
    module : dict
        The lane's module, as nextpnr wrote it.
    clock : str
        Name of the lane's clock port.
    path : sequence of dict
        The lane's critical path, as nextpnr reports it.
    """

    site: Site
    module: Mapping[str, Any]
    clock: str
    path: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Lane:
    """One instance of the lane's module.

    Attributes
    ----------
    name : str
        Name of the instance.
    site : Site
    original : Original
        The placed lane that is copied to the site.
    ports : dict
        Nets of the enclosing module, or constants, by port name.
    """

    name: str
    site: Site
    original: Original
    ports: Mapping[str, Sequence[Bit]]

    @property
    def by(self) -> Tile:
        """Offset of the lane from its original, in columns and rows."""
        return self.site.beyond(self.original.site)


@dataclass(frozen=True)
class Around:
    """The design without its lanes, packed and placed.

    Attributes
    ----------
    module : dict
        The design's module as nextpnr wrote it, with stand-ins and dummies.
    text : str
        The bitstream's settings before routing.
    """

    module: dict[str, Any]
    text: str


def instances(top: Mapping[str, Any], module: str) -> list[str]:
    """Return the names of a module's instances, sorted by the number in each name."""
    found = [name for name, cell in top["cells"].items() if cell["type"] == module]
    return sorted(found, key=lambda name: [int(part) for part in re.findall(r"\d+", name)])


def clock_of(packed: Mapping[str, Any]) -> str:
    """Return the clock port of a lane, from its netlist as nextpnr writes it.

    Raises
    ------
    BuildError
        The lane does not have exactly one clock port.
    """
    ports = {bit: name for name, port in packed["ports"].items() for bit in port["bits"]}
    found = {
        ports[bit]
        for cell in packed["cells"].values()
        for port, bits in cell["connections"].items()
        for bit in bits
        if bit in ports and _CLOCKS.fullmatch(port)
    }
    if len(found) != 1:
        raise BuildError(
            f"a lane has clocks at {sorted(found) or 'no port'}; it must have one clock"
        )
    return str(found.pop())


def stand_in(lane: str, port: str, index: int) -> str:
    """Return the name of the stand-in for a bit of a lane's port."""
    return f"{DUMMY}{lane}.{port}[{index}]"


def net_outside(around: Around, lane: Lane, port: str, index: int) -> int | tuple[str, Bit] | None:
    """Return the net that a bit of a lane's port is connected to.

    Parameters
    ----------
    around : Around
    lane : Lane
    port : str
    index : int

    Returns
    -------
    int, tuple or None
        A net of `around`; or ``("between", net)``, with the net's number in the yosys netlist, if the
        net connects only lanes; or None if the bit is unconnected.
    """
    stand = around.module["cells"].get(stand_in(lane.name, port, index))
    if stand is not None:
        wires = stand["connections"]
        ways = ("CLK",) if port == lane.original.clock else ("Q", "M", "DI")
        return int(next(wires[way][0] for way in ways if wires.get(way)))
    outer = lane.ports.get(port, ())
    if index < len(outer) and isinstance(outer[index], int):
        return "between", outer[index]
    return None


def place_around(
    board: Board,
    grid: Grid,
    top: Mapping[str, Any],
    lanes: Sequence[Lane],
    island: Mapping[str, Any],
    beside: frozenset[Tile],
    clock_hz: int,
    seed: int,
    lanes_hz: int | None = None,
) -> Around:
    """Pack and place the design without its lanes, or return it from the cache.

    Parameters
    ----------
    board : Board
    grid : Grid
    top : dict
        Top module of the yosys netlist, which instantiates the lanes.
    lanes : sequence of Lane
    island : dict
        The lane's module as yosys wrote it.
    beside : frozenset of tuple
        The tiles that the placement may use.
    clock_hz : int
        Clock of the link.
    seed : int
    lanes_hz : int, optional
        Clock of the lanes, if it is separate.

    Raises
    ------
    BuildError
        The other logic does not fit next to the lanes, or the tool failed.
    """
    family = FAMILIES[board.family]
    names = {lane.name for lane in lanes}
    cells = {name: cell for name, cell in top["cells"].items() if name not in names}
    cells |= _taken(grid, lanes, top, island)
    free = beside.union(*(lane.site for lane in lanes))
    every = itertools.chain.from_iterable(grid.places.values())
    cells |= dummies([bel for bel in every if bel.tile not in free])
    netlist = design("board", cells, top["ports"], top["netnames"])
    words = [*family.place(board), "--json", NETLIST, "--write", "placed.json", "--no-route"]
    words += ["--freq", f"{clock_hz / 1e6:g}", "--seed", str(seed), "--timing-allow-fail"]
    pins = family.constraints(board, lanes_hz)
    parts = [netlist, pins, *words, str(tools.versions(family.packages))]

    def make(folder: Path) -> Path:  # pragma: no cover: a test may find it in the cache
        (folder / NETLIST).write_text(netlist, encoding="utf-8")
        (folder / CONSTRAINTS).write_text(pins, encoding="utf-8")
        tools.run(words, folder)
        kept = folder / "around.zip"
        with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in ("placed.json", PLACED):
                archive.write(folder / name, name)
        return kept

    file = cache.fetch(hashlib.sha256("\0".join(parts).encode()).hexdigest(), ".zip", make)
    with zipfile.ZipFile(file) as archive:
        placed = json.loads(archive.read("placed.json"))["modules"]["top"]
        return Around(placed, archive.read(PLACED).decode())


def _taken(
    grid: Grid,
    lanes: Sequence[Lane],
    top: Mapping[str, Any],
    island: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the cells that block the sites of the lanes."""
    cells: dict[str, Any] = {}
    used: set[Bel] = set()
    shared = _shared(top, lanes)
    for lane in lanes:
        by, packed, clock_port = lane.by, lane.original.module, lane.original.clock
        free = [bel for bel in grid.places[LOGIC] if bel.tile in lane.site]
        (clock,) = lane.ports[clock_port]
        for name, cell in packed["cells"].items():
            if cell["type"] not in ("DP16KD", "MULT18X18D"):
                continue
            bel = parse(cell["attributes"]["NEXTPNR_BEL"]).moved(by)
            cells[f"{DUMMY}{lane.name}.{name}"] = _unwired(island["cells"][name], bel, clock)
            used.add(bel)
        for port, index, bit, tile in _ports(lane):
            if port != clock_port and bit in shared:
                tile = tile[0] + by[0], tile[1] + by[1]
                bel = min(
                    (bel for bel in free if bel not in used),
                    key=lambda bel: abs(bel.column - tile[0]) + abs(bel.row - tile[1]),
                )
                used.add(bel)
                way = "Q" if packed["ports"][port]["direction"] == "output" else "M"
                cells[stand_in(lane.name, port, index)] = register(bel, {"CLK": clock, way: bit})
        bel = next(bel for bel in free if bel not in used)
        used.add(bel)
        cells[stand_in(lane.name, clock_port, 0)] = register(bel, {"CLK": clock})
        rest = [bel for bels in grid.places.values() for bel in bels if bel.tile in lane.site]
        cells = {**dummies([bel for bel in rest if bel not in used], clock), **cells}
        # Also block the LUTs next to the stand-ins.
        luts = dummies([bel for bel in sorted(used) if bel.tile in lane.site and ".FF" in bel.name])
        cells |= {name: cell for name, cell in luts.items() if cell["type"] == "LUT4"}
    return cells


def _shared(top: Mapping[str, Any], lanes: Sequence[Lane]) -> set[Bit]:
    """Return the constants, and the nets at the design's ports and at cells other than lanes."""
    names = {lane.name for lane in lanes}
    others: set[Bit] = {"0", "1"}
    others.update(bit for port in top["ports"].values() for bit in port["bits"])
    others.update(
        bit
        for name, cell in top["cells"].items()
        if name not in names
        for bits in cell["connections"].values()
        for bit in bits
    )
    return others


def _ports(lane: Lane) -> Iterator[tuple[str, int, Bit, tuple[int, int]]]:
    """Yield the bits of a lane's ports: name, index, outside net, and a tile of the lane on that net."""
    packed = lane.original.module
    tiles: dict[Bit, tuple[int, int]] = {}
    for cell in packed["cells"].values():
        tile = parse(cell["attributes"]["NEXTPNR_BEL"]).tile
        for bits in cell["connections"].values():
            for bit in bits:
                tiles.setdefault(bit, tile)
    for port, described in packed["ports"].items():
        for index, inside in enumerate(described["bits"]):
            outside = lane.ports.get(port, [])
            # An unused input and an unconnected output need no stand-in.
            if inside in tiles and index < len(outside):  # pragma: no branch: see copies.py
                yield port, index, outside[index], tiles[inside]


def _unwired(cell: Mapping[str, Any], bel: Bel, net: Bit) -> dict[str, Any]:
    """Return a cell with its constants, and one net at all other inputs, so that they count as used."""
    ways = cell["port_directions"]
    wires = {
        port: [net if isinstance(bit, int) else bit for bit in bits]
        for port, bits in cell["connections"].items()
        if ways[port] == "input"
    }
    return {**cell, "attributes": {**cell["attributes"], "BEL": str(bel)}, "connections": wires}
