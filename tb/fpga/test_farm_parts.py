"""What copying lanes is made of: sites, limits of the clock, and the ties of unused inputs."""

from __future__ import annotations

from typing import Any

import pytest

from qstep.errors import BuildError
from qstep_fpga.farm.bundles import BUNDLE, bundled
from qstep_fpga.farm.grid import Bel, Grid, parse
from qstep_fpga.farm.layout import layout
from qstep_fpga.farm.limits import highest_clocks, quiet_ports
from qstep_fpga.farm.sites import Rectangle
from qstep_fpga.farm.ties import tied

pytestmark = pytest.mark.unit

MEMORY, DSP = "block RAM", "DSP"
LANE = {"LUT4": 30, "FF": 30, MEMORY: 2, DSP: 1}
REST = {"LUT4": 20, "FF": 20}


def grid(columns: tuple[int, ...] = (1, 5, 9, 14)) -> Grid:
    """Return a chip of 12 rows: rows 3 and 9 of block RAMs, row 6 of multipliers, the rest logic.

    Groups of two block RAMs and a multiplier begin at these columns, four tiles apart but for one.
    """
    special = {3, 6, 9}
    rest = [(x, y) for x in range(18) for y in range(12) if y not in special]
    memories = [Bel(x + 2 * n, y, f"EBR{n}") for x in columns for y in (3, 9) for n in (0, 1)]
    logic = [Bel(x, y, f"SLICEA.FF{n}") for x, y in rest for n in (0, 1)]
    multipliers = [Bel(x, 6, "MULT18_0") for x in columns]
    return Grid({"FF": tuple(logic), MEMORY: tuple(memories), DSP: tuple(multipliers)})


def test_sites_are_equal_disjoint_and_in_a_snake() -> None:
    found = layout(grid(), LANE, REST, 3, "a chip").sites
    assert len({(site.width, site.height) for site in found}) == 1
    assert not any(one.overlaps(other) for one in found for other in found if one is not other)
    places = grid().places
    contents = {
        frozenset(
            (bel.column - site.column, bel.row - site.row, bel.name)
            for bels in places.values()
            for bel in bels
            if bel.tile in site
        )
        for site in found
    }
    assert len(contents) == 1
    assert [site.column for site in found] == [1, 5, 9]


# A site of 4 x 12 tiles has 72 flip-flops, 54 of which may be taken, 4 block RAMs and a multiplier.
@pytest.mark.parametrize(
    ("lane", "lanes", "together", "tiles"),
    [
        ({"FF": 50, MEMORY: 2, DSP: 1}, 2, 1, {(4, 12)}),
        ({"FF": 25, MEMORY: 1}, 4, 1, {(4, 6)}),
        ({"FF": 25, MEMORY: 1}, 6, 2, {(4, 12)}),
    ],
)
def test_lanes_are_together_where_there_are_too_few_sites(
    lane: dict[str, int], lanes: int, together: int, tiles: set[tuple[int, int]]
) -> None:
    found = layout(grid(), lane, {}, lanes, "a chip")
    assert found.together == together
    assert len(found.sites) == lanes / together
    assert {(site.width, site.height) for site in found.sites} == tiles


@pytest.mark.parametrize(
    ("lane", "rest", "lanes", "message"),
    [
        (LANE, REST, 7, "no number of its equal sites divides them. Farms that fit: 1 to 4$"),
        (
            LANE,
            REST,
            6,
            "with 3 in each of 2 equal sites a lane needs 30 LUT4, 14 more than the 16",
        ),
        ({**LANE, DSP: 9}, REST, 1, "a lane needs 9 DSP, .* more than .* Farms that fit: none"),
        ({**LANE, "FF": 900}, REST, 1, r"a lane needs 900 FF, \d+ more than the \d+ that it can"),
        (
            LANE,
            {"LUT4": 999},
            2,
            r"the rest needs 999 LUT4, \d+ more than the \d+ that it can have",
        ),
    ],
)
def test_a_farm_that_does_not_fit_says_what_is_short(
    lane: dict[str, int], rest: dict[str, int], lanes: int, message: str
) -> None:
    with pytest.raises(BuildError, match=message):
        layout(grid(), lane, rest, lanes, "a chip")


def test_rectangles_know_what_they_share() -> None:
    one = Rectangle(2, 2, 3, 4)
    assert (4, 5) in one
    assert (5, 5) not in one
    assert (4, 6) not in one
    assert one.overlaps(Rectangle(4, 5, 1, 1))
    assert not one.overlaps(Rectangle(5, 2, 9, 9))
    assert Rectangle(7, 1, 3, 4).beyond(one) == (5, -1)


def test_what_is_no_place_is_refused() -> None:
    assert parse("X4/Y22/EBR0").moved((9, -1)) == Bel(13, 21, "EBR0")
    with pytest.raises(ValueError, match=r"'R2C3' is no place on an ECP5"):
        parse("R2C3")


def cell(kind: str, **wires: int | str) -> dict[str, Any]:
    return {"type": kind, "connections": {port: [bit] for port, bit in wires.items()}}


def lane_module(**outputs: int) -> dict[str, Any]:
    """Return a lane of two cells, whose input leads to both and whose outputs are nets of its own."""
    bits = {"clk": 2, "in": 3, **outputs}
    ports = {
        port: {"direction": "output" if port in outputs else "input", "bits": [bit]}
        for port, bit in bits.items()
    }
    cells = {"a": cell("A", CLK=2, D=3, Q=4, K="1"), "b": cell("B", CLK=2, D=3, E=4, Q=5)}
    netnames = {"some": {"bits": [6]}}
    return {"ports": ports, "cells": cells, "netnames": netnames}


def chain(lanes: int) -> dict[str, Any]:
    """Return a chain of lanes, of which the second output leads to a cell too, at the third lane."""
    cells = {
        f"lane_{n}": cell("lane", clk=2, **{"in": 10 + n if n else "0"}, out=11 + n, side=30 + n)
        for n in range(lanes)
    }
    ports = {"clk": {"direction": "input", "bits": [2]}}
    return {"ports": ports, "cells": {**cells, "user": cell("U", D=32)}, "netnames": {}}


def pins(top: dict[str, Any], module: dict[str, Any], kind: str, size: int) -> dict[str, Any]:
    """Return what each pin of a flat netlist is connected to, in nets that know their place."""
    found: dict[str, Any] = {}
    for name, outer in top["cells"].items():
        number = int(name.rpartition("_")[2]) if outer["type"] == kind else 0
        bits = outer["connections"]
        if outer["type"] != kind:
            found |= {f"{name}.{port}": own[0] for port, own in bits.items()}
            continue
        ends = {p["bits"][0]: bits[port][0] for port, p in module["ports"].items() if bits[port]}
        for inner, leaf in module["cells"].items():
            lane, _, own = inner.rpartition(".")
            lane_number = number * size + int(lane.removeprefix("lane_") or 0)
            for port, (bit,) in leaf["connections"].items():
                net = ends.get(bit, bit if isinstance(bit, str) else (name, bit))
                found[f"lane_{lane_number}.{own}.{port}"] = net
    return found


def grouped(found: dict[str, Any]) -> set[frozenset[str]]:
    """Return the pins of each net, constants as pins of their nets."""
    nets: dict[Any, set[str]] = {}
    for pin, net in found.items():
        nets.setdefault(net, {net} if isinstance(net, str) else set()).add(pin)
    return {frozenset(net) for net in nets.values()}


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_a_bundle_is_the_lanes_that_it_was_made_of(size: int) -> None:
    top, lane = chain(6), lane_module(out=4, side=5)
    rest, bundle = bundled(top, "lane", lane, size)
    assert sum(cell["type"] == BUNDLE for cell in rest["cells"].values()) == 6 / size
    before = grouped(pins(top, lane, "lane", 1))
    assert grouped(pins(rest, bundle, BUNDLE, size)) == before
    # The clock and the first input come in; the last output and that of each third lane go out.
    sides = {2 % size} if size > 1 else {0}
    ends = {"lane_0.clk.0", "lane_0.in.0", *(f"lane_{n}.side.0" for n in sides)}
    assert set(bundle["ports"]) == ends | ({f"lane_{size - 1}.out.0"} if size < 6 else set())
    assert set(bundle["netnames"]) >= set(bundle["ports"])  # by which nextpnr finds their nets
    del rest["cells"]["bundle_0"]["connections"]["lane_0.in.0"][0]
    assert grouped(pins(rest, bundle, BUNDLE, size)) != before


@pytest.mark.parametrize("bit", [3, 4])
def test_a_lane_whose_ports_are_one_net_inside_is_refused(bit: int) -> None:
    with pytest.raises(BuildError, match=r"side\[0\] of a lane is no net of its own inside"):
        bundled(chain(2), "lane", lane_module(out=4, side=bit), 1)


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
    """Net 9 leaves the module; what drives net 7 is read by nobody."""
    ram = block_ram([5], [read])
    module = {"ports": {"out": {"direction": "output", "bits": [9]}}, "cells": {"ram": ram}}
    assert highest_clocks(MODEL, {"m": module}) == {MEMORY: 160.0}
    assert quiet_ports(module) == changed
    assert highest_clocks(MODEL, {"m": module}) == {MEMORY: clock}


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


def test_a_block_ram_with_other_settings_is_refused() -> None:
    with pytest.raises(BuildError, match=r"EBR0 in .*MIB_EBR0 has other settings.*WEBMUX WEB"):
        tied(BEFORE.replace("WEBMUX INV", "WEBMUX WEB"), BEFORE)
