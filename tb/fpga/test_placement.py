"""A placement is cached, constrained by its board's clocks, and never rated faster than the chip."""

import json
import zipfile
from pathlib import Path

import pytest
from tb.fpga.placements import BOARD, netlist, placement

from qstep._io.workers import Here
from qstep.errors import BuildError
from qstep_fpga import tools
from qstep_fpga.board import load
from qstep_fpga.families.base import CONSTRAINTS, PLACED, REPORT
from qstep_fpga.pin_wrapper import WRAPPER
from qstep_fpga.placement import Design, Placement, place, place_all


@pytest.fixture
def placer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """Replace place and route with a stand-in, and use an empty cache; return the seeds of its runs."""
    seeds: list[int] = []

    def run(command: list[str], folder: Path) -> None:
        seeds.append(int(command[command.index("--seed") + 1]))
        (folder / PLACED).write_text("cells at places", encoding="utf-8")
        text = json.dumps(placement(seeds[-1], 20.0 + seeds[-1]).report)
        (folder / REPORT).write_text(text, encoding="utf-8")

    monkeypatch.setenv("QSTEP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tools, "run", run)
    return seeds


def test_a_finished_placement_is_not_made_again(placer: list[int], tmp_path: Path) -> None:
    design = Design(BOARD, netlist(tmp_path, SB_LUT4=1), 24_000_000)
    first = place(design, 1)
    assert place(design, 1) == first
    assert place(design, 2).fmax_mhz == 22.0
    assert placer == [1, 2]


def test_the_error_of_a_placement_names_its_seed(
    placer: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(command: list[str], folder: Path) -> None:
        raise BuildError("nextpnr failed with status 1:\nERROR: no way")

    monkeypatch.setattr(tools, "run", fail)
    design = Design(BOARD, netlist(tmp_path, SB_LUT4=1), 24_000_000)
    with pytest.raises(BuildError, match=r"^seed 7: nextpnr failed with status 1:\nERROR: no way$"):
        place(design, 7)


@pytest.mark.parametrize("damage", ["shortened", "changed"])
def test_a_damaged_placement_is_made_again_and_said_so(
    placer: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    design = Design(BOARD, netlist(tmp_path, SB_LUT4=1), 24_000_000)
    first = place(design, 1)
    whole = first.file.read_bytes()
    middle = len(whole) // 2
    changed = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    first.file.write_bytes(whole[:middle] if damage == "shortened" else changed)
    again = place(design, 1)
    said = f"qstep: {first.file} is damaged or writable by others; building it again\n"
    assert capsys.readouterr().err == said
    assert placer == [1, 1]
    assert (again.fmax_mhz, again.report) == (first.fmax_mhz, first.report)


@pytest.mark.parametrize(("board_name", "told"), [("ulx3s-85f-agents", True), ("ulx3s-85f", False)])
def test_input_clock_is_told_where_the_lanes_have_one_of_their_own(
    placer: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, board_name: str, told: bool
) -> None:
    made = tools.run
    written: list[str] = []

    def run(command: list[str], folder: Path) -> None:
        written.append((folder / CONSTRAINTS).read_text(encoding="utf-8"))
        made(command, folder)

    monkeypatch.setattr(tools, "run", run)
    board = load(board_name)
    place(Design.of_device(board, board.config, netlist(tmp_path)), 1)
    assert ['FREQUENCY PORT "clock" 25 MHZ;' in text for text in written] == [told]


@pytest.mark.parametrize(
    ("mode", "limit"), [("READBEFOREWRITE", 154.6), ("NORMAL", 212.0)], ids=["slow", "quiet"]
)
def test_no_clock_is_higher_than_the_limit_of_the_block_rams(
    placer: list[int], tmp_path: Path, mode: str, limit: float
) -> None:
    ram = {"type": "DP16KD", "parameters": {"WRITEMODE_A": "NORMAL", "WRITEMODE_B": mode}}
    file = tmp_path / "netlist.json"
    file.write_text(json.dumps({"modules": {WRAPPER: {"cells": {"ram": ram}}}}), encoding="utf-8")
    board = load("ulx3s-85f")
    design = Design.of_device(board, board.config, file)
    assert [place(design, seed).fmax_mhz for seed in (100, 300)] == [120.0, limit]


def test_all_seeds_are_placed_in_their_order(placer: list[int], tmp_path: Path) -> None:
    design = Design(BOARD, netlist(tmp_path, SB_LUT4=1), 24_000_000)
    place(design, 3)
    told: list[int] = []
    made = place_all(design, [4, 3], Here(), lambda placement: told.append(placement.seed))
    assert [placement.seed for placement in made] == [4, 3]
    assert placer == [3, 4]  # seed 3 was cached already
    assert sorted(told) == [3, 4]


@pytest.mark.parametrize("lanes", ["x.lanes_clk", "pll.lanes_out"])
def test_clock_of_the_link_is_no_faster_than_the_chip(lanes: str, tmp_path: Path) -> None:
    clocks = {f"$glbnet${lanes}": {"achieved": 250.0}, "$glbnet$clk": {"achieved": 230.0}}
    report = {**placement(1, 1.0).report, "fmax": clocks, "critical_paths": []}
    with zipfile.ZipFile(tmp_path / "placed.zip", "w") as archive:
        archive.writestr(REPORT, json.dumps(report))
    read = Placement.read(1, tmp_path / "placed.zip", 212.0)
    assert (read.fmax_mhz, read.link_fmax_mhz) == (212.0, 212.0)
