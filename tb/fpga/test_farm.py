"""One lane is placed and copied on a small chip, and the check finds faults planted in the result."""

import copy
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from qstep._io.workers import Here
from qstep.errors import BuildError
from qstep_fpga import tools
from qstep_fpga.board import Board, load
from qstep_fpga.families.base import PLACED
from qstep_fpga.families.ecp5.islands import __main__ as command
from qstep_fpga.families.ecp5.islands import build
from qstep_fpga.families.ecp5.islands.around import Around, Lane
from qstep_fpga.families.ecp5.islands.bands import Band
from qstep_fpga.families.ecp5.islands.build import Farm, copy_lanes
from qstep_fpga.families.ecp5.islands.check import check_farm, problems
from qstep_fpga.families.ecp5.islands.island import outside
from qstep_fpga.families.ecp5.islands.layout import Layout, layout
from qstep_fpga.families.ecp5.islands.ties import tied
from qstep_fpga.families.ecp5.ports import quiet_ports
from qstep_fpga.placement import pack

pytestmark = [pytest.mark.synth, pytest.mark.slow]

BOARD = "ulx3s-12f"
CLOCK_HZ = 150_000_000
LANES = 5
# A lane with each kind of cell: block RAM, multiplier, distributed RAM, carry chain, LUT,
# flip-flop. An input of the first lane is constant; one of its outputs goes to the second lane and
# elsewhere.
DESIGN = """
module lane (input clk_i, input [1:0] data_i, input plus_i, output reg [1:0] data_o);
  reg [3:0] turn_q; reg [7:0] in_q, sum_q, ram_q, table_q; reg [15:0] product_q;
  reg [7:0] ram [0:15]; reg [7:0] table [0:1023];
  always @(posedge clk_i) begin
    in_q <= {in_q[5:0], data_i};
    turn_q <= turn_q + 1'b1;
    ram[turn_q] <= in_q;
    ram_q <= ram[~turn_q];
    table[{ram_q, 2'b0}] <= sum_q;
    table_q <= table[{in_q, 2'b0}];
    product_q <= table_q * ram_q;
    sum_q <= sum_q + product_q[15:8] + plus_i;
    data_o <= {^sum_q, product_q[0]};
  end
endmodule
module board (input clock, input rx, input button, output reg tx, output led);
  wire [LAST:0] data;
  reg [1:0] first_q;
  assign led = 1'b0;
  assign data[1:0] = first_q;
  always @(posedge clock) begin first_q <= {rx, button}; tx <= data[2] ^ data[LAST]; end
  lane \\farm.lane_0 (.clk_i(clock), .data_i(data[1:0]), .plus_i(1'b1), .data_o(data[3:2]));
  ...
endmodule
"""


@dataclass
class Made:
    """A farm, and the arguments of its check."""

    farm: Farm
    routed: dict[str, Any]
    around: Around
    lanes: tuple[Lane, ...]

    def problems(self) -> list[str]:
        return list(problems(self.routed, self.around, self.lanes))


@pytest.fixture(scope="module")
def netlist(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("toy")
    lanes = "".join(
        f"lane \\farm.lane_{n} (.clk_i(clock), .data_i(data[{2 * n + 1}:{2 * n}]), "
        f".plus_i(data[0]), .data_o(data[{2 * n + 3}:{2 * n + 2}]));\n"
        for n in range(1, LANES)
    )
    (folder / "toy.v").write_text(
        DESIGN.replace("  ...\n", lanes).replace("LAST", str(2 * LANES + 1))
    )
    script = "read_verilog toy.v; setattr -mod -set keep_hierarchy 1 lane; "
    script += "synth_ecp5 -nowidelut -top board -json toy.json"
    tools.yosys(script, folder)
    modules = json.loads((folder / "toy.json").read_text())["modules"]
    made = {name: modules[name] for name in ("board", "lane")}
    for module in made.values():
        quiet_ports(module)
    return made


@pytest.fixture(scope="module")
def made(netlist: dict[str, Any]) -> Made:
    """Return a farm of two bands, and the arguments of its check."""
    given: list[Any] = []

    def check(*parts: Any) -> None:
        given.extend(parts)
        check_farm(*parts)

    def two_bands(*words: Any) -> Layout:
        found = layout(*words)
        (band,) = found.bands  # the chip has one row of multipliers
        halves = band.sites[:4], band.sites[4:]
        return Layout(tuple(Band(sites, band.room) for sites in halves), found.beside)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "check_farm", check)
        patch.setattr(build, "layout", two_bands)
        modules = copy.deepcopy(netlist)
        farm = copy_lanes(
            load(BOARD), modules, "board", "lane", CLOCK_HZ, [1], [1], Here(), lambda done: None
        )
    return Made(farm, *given)


def test_copies_are_as_fast_as_the_lane_alone(made: Made) -> None:
    """Copies have the lane's BELs and routes, and so its paths; the surrounding logic has space."""
    assert len(made.lanes) == LANES
    assert len(made.farm.lanes) == 2
    assert not made.problems()
    first, second = (lane.site for lane in made.lanes[:2])
    assert first != second
    assert not set(first).intersection(second)
    clocks = made.farm.placements[0].report["fmax"].values()
    (clock,) = [entry["achieved"] for entry in clocks]
    slowest = min(lane.fmax_mhz for lane in made.farm.lanes)
    assert clock <= slowest * (1 + 1e-6)  # delays are rounded
    assert clock >= 0.97 * slowest
    assert made.farm.limits["block RAM"] == 212.0  # because no port reads during its writes
    assert made.farm.placements[0].fmax_mhz == min(clock, *made.farm.limits.values())


def test_the_bitstream_has_the_ties_of_all_lanes(made: Made, tmp_path: Path) -> None:
    pack(load(BOARD), made.farm.placements[0], tmp_path / "farm.bit")
    assert (tmp_path / "farm.bit").stat().st_size > 100_000
    with zipfile.ZipFile(made.farm.placements[0].file) as archive:
        text = archive.read(PLACED).decode()
    assert tied(text, made.around.text) == text
    tiles = dict(part.split("\n", 1) for part in text.split("\n\n") if "\n" in part)
    copied = next(lane for lane in made.lanes if lane.by != (0, 0))
    by, place = copied.by, copied.original.module["cells"]
    ram = next(cell for cell in place.values() if cell["type"] == "DP16KD")
    column, row = (int(part[1:]) for part in ram["attributes"]["NEXTPNR_BEL"].split("/")[:2])
    ties = [
        {line for line in tiles[f".tile CIB_R{y}C{x}:CIB_EBR"].splitlines() if "enum: CIB" in line}
        for x, y in ((column, row), (column + by[0], row + by[1]))
    ]
    assert ties[0]
    assert ties[0] == ties[1]


def test_a_lane_has_no_cell_and_no_wire_outside_its_site(made: Made) -> None:
    """All routes of a copy are inside its site, and lanes share no resources."""
    original = made.lanes[0].original
    assert not list(outside(original.module, original.site))
    module = copy.deepcopy(dict(original.module))
    place = f"X{original.site.column - 1}/Y{original.site.row}"
    next(iter(module["cells"].values()))["attributes"]["NEXTPNR_BEL"] = f"{place}/SLICEA.FF0"
    net = next(net for net in module["netnames"].values() if "->" in net["attributes"]["ROUTING"])
    net["attributes"]["ROUTING"] += f";{place}/H02E0001;;1"
    assert list(outside(module, original.site)) == [f"{place}/SLICEA.FF0", f"{place}/H02E0001"]


Fault = Callable[[dict[str, Any]], object]


def moved(farm: dict[str, Any]) -> None:
    cells = [cell for cell in farm["cells"].values() if cell["type"] == "TRELLIS_FF"]
    cells[0]["attributes"]["NEXTPNR_BEL"] = cells[1]["attributes"]["NEXTPNR_BEL"]


def route_of(farm: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a net in a lane that is routed through switches."""
    nets = farm["netnames"]
    name = next(
        n for n in nets if "farm.lane_1.in_q" in n and "->" in nets[n]["attributes"]["ROUTING"]
    )
    attributes: dict[str, Any] = nets[name]["attributes"]
    return attributes


def without_a_switch(farm: dict[str, Any]) -> None:
    words = route_of(farm)["ROUTING"].split(";")
    at = next(n for n in range(1, len(words), 3) if words[n])
    del words[at - 1 : at + 2]
    route_of(farm)["ROUTING"] = ";".join(words)


def with_a_broken_switch(farm: dict[str, Any]) -> None:
    words = route_of(farm)["ROUTING"].split(";")
    words[next(n for n in range(1, len(words), 3) if words[n])] = "X2/Y2/nothing"
    route_of(farm)["ROUTING"] = ";".join(words)


def with_a_foreign_wire(farm: dict[str, Any]) -> None:
    other = next(n for n in farm["netnames"] if "farm.lane_0.sum_q" in n)
    foreign = farm["netnames"][other]["attributes"]["ROUTING"].split(";")[:3]
    route_of(farm)["ROUTING"] += ";" + ";".join(foreign)


def lut_of(farm: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return next((n, c) for n, c in farm["cells"].items() if "farm.lane_1." in n and "_LUT4" in n)


def with_another_table(farm: dict[str, Any]) -> None:
    parameters = lut_of(farm)[1]["parameters"]
    parameters["INITVAL"] = parameters["INITVAL"][::-1].replace("1", "0", 1)


def with_swapped_drivers(farm: dict[str, Any]) -> None:
    cells = [c for n, c in farm["cells"].items() if "farm.lane_1.in_q" in n and "Q" in n]
    ports = cells[0]["connections"], cells[1]["connections"]
    ports[0]["Q"], ports[1]["Q"] = ports[1]["Q"], ports[0]["Q"]


def with_a_cell_more(farm: dict[str, Any]) -> None:
    name, cell = lut_of(farm)
    extra = copy.deepcopy(cell)
    extra["attributes"]["NEXTPNR_BEL"] = "X2/Y2/SLICEA.K0"
    farm["cells"][name + "_extra"] = extra


def with_the_same_contents(farm: dict[str, Any]) -> None:
    rams = [cell for cell in farm["cells"].values() if cell["type"] == "DP16KD"]
    rams[0]["attributes"]["WID"] = rams[1]["attributes"]["WID"]


FAULTS: dict[str, tuple[Fault, str]] = {
    "moved": (moved, r"are both at X\d+/Y\d+/SLICE"),
    "elsewhere": (lambda farm: lut_of(farm)[1]["attributes"].update(NEXTPNR_BEL="X2/Y2/SLICEA.K0"),
                  r"is at X2/Y2/SLICEA.K0, outside its site"),
    "without a place": (lambda farm: lut_of(farm)[1]["attributes"].pop("NEXTPNR_BEL"), r"has no place"),
    "unrouted": (lambda farm: route_of(farm).update(ROUTING=""), r"is not routed to .*lane_1"),
    "without a switch": (without_a_switch, r"has no way to X\d+/Y\d+/|is not routed to"),
    "broken switch": (with_a_broken_switch, r"has no way to X\d+/Y\d+/"),
    "another cell": (lambda farm: lut_of(farm)[1].update(type="TRELLIS_IO"),
                     r"_LUT4\w* is TRELLIS_IO and was TRELLIS_COMB"),
    "foreign wire": (with_a_foreign_wire, r"wire X\d+/Y\d+/\w+ belongs to .* and to"),
    "another route": (
        lambda farm: route_of(farm).update(ROUTING=f"{route_of(farm)['ROUTING']};X2/Y2/H02E0001;;1"),
        r"lane_1\.in_q\S* has another route than in the lane that was placed"),
    "another table": (with_another_table, r"INITVAL of .* is [01]{16} and was [01]{16}"),
    "swapped drivers": (with_swapped_drivers, r"Q is connected to something else than before"),
    "without a cell": (lambda farm: farm["cells"].pop(lut_of(farm)[0]), r"_LUT4\w* is missing"),
    "a cell more": (with_a_cell_more, r"_extra is new"),
    "same contents": (with_the_same_contents, r"has the contents of another block RAM"),
}  # fmt: skip


@pytest.mark.parametrize(("fault", "message"), FAULTS.values(), ids=FAULTS)
def test_each_fault_is_found(made: Made, fault: Fault, message: str) -> None:
    broken = Made(made.farm, copy.deepcopy(made.routed), made.around, made.lanes)
    fault(broken.routed)
    assert any(re.search(message, problem) for problem in broken.problems())
    with pytest.raises(BuildError, match="the copied lanes are wrong: "):
        check_farm(broken.routed, broken.around, broken.lanes)


def test_what_cannot_be_copied_is_refused(netlist: dict[str, Any]) -> None:
    def tried(board: str, lane: str = "lane", modules: dict[str, Any] = netlist) -> None:
        given = copy.deepcopy(modules)
        copy_lanes(load(board), given, "board", lane, CLOCK_HZ, [1], [1], Here(), lambda done: None)

    with pytest.raises(BuildError, match="lanes are copied on ECP5 only; iCEBreaker has iCE40UP5K"):
        tried("icebreaker")
    with pytest.raises(BuildError, match="module board has no instance of board"):
        tried(BOARD, "board")
    notes = {"$1": {"type": "$scopeinfo"}}  # annotations by yosys, which are ignored
    with pytest.raises(BuildError, match="module board has no instance of lane"):
        tried(BOARD, modules={"board": {"cells": notes}, "lane": {"cells": {}}})
    cell = netlist["board"]["cells"]["farm.lane_0"]
    many = {f"lane_{number}": cell for number in range(30)}
    with pytest.raises(BuildError, match=r"30 lanes do not fit ULX3S 12F .* At most \d+ fit"):
        tried(BOARD, modules={**netlist, "board": {**netlist["board"], "cells": many}})


def test_the_command_places_on_the_workers_that_are_asked_for(
    made: Made, netlist: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def workers(boards: list[Board], jobs: int, scheduler: str | None) -> Here:
        asked.append((boards[0].name, scheduler))
        return Here()

    monkeypatch.setattr(command, "workers", workers)
    (tmp_path / "toy.json").write_text(json.dumps({"modules": netlist}))
    words = [BOARD, str(tmp_path / "toy.json"), "--lane", "lane", "--top", "board", "--seeds", "1"]
    words += ["--clock", str(CLOCK_HZ / 1e6), "--scheduler", "tcp://somewhere:8786"]
    result = CliRunner().invoke(command.main, words)
    assert not result.exception, result.output
    assert asked == [(BOARD, "tcp://somewhere:8786")]
    assert f"{made.farm.lanes[0].fmax_mhz:.1f} MHz" in result.output
    assert "limits of the chip: block RAM 212 MHz" in result.output
    words = [*words, "--out", str(tmp_path / "toy.bit")]
    assert CliRunner().invoke(command.main, words).exit_code == 0
    assert (tmp_path / "toy.bit").stat().st_size > 10_000
    refused = CliRunner().invoke(command.main, ["icebreaker", *words[1:]])
    assert (refused.exit_code, "copied on ECP5 only" in refused.output) == (1, True)
