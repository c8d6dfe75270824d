"""The result of a sweep has the right Pareto front, table and plot."""

from functools import partial
from pathlib import Path

import matplotlib.image
import pytest
from rich.console import Console

from qstep._io.pictures import write_pictures
from qstep_fpga.board import load
from qstep_fpga.explore.grid import Point, grid
from qstep_fpga.explore.plot import draw
from qstep_fpga.explore.result import Exploration, Result
from qstep_fpga.explore.table import render


def result(board: str, states: int, depth: int, clock: float, luts: int) -> Result:
    (point,) = grid([load(board)], states=[states], loop_depths=[depth])
    assert isinstance(point, Point)
    logic = "logic cells" if point.board.family == "ice40" else "LUT4"
    return Result(
        point=str(point),
        board=board,
        family=point.board.family,
        part=point.board.part,
        config=point.config.to_dict(),
        width=16,
        fmax_mhz={"1": clock - 1, "2": clock, "3": clock + 2},
        resources={logic: (luts, 5280), "block RAM": (3, 30)},
        critical_path="",
        independent=1.0,
        walker=0.5,
    )


LANES = [(64, 1, 70.0, 1000), (64, 2, 120.0, 1100), (64, 3, 110.0, 1200), (256, 2, 120.0, 1150)]
SWEEP = Exploration("lane", [result("ulx3s-12f", *lane) for lane in LANES], [])
MIXED = Exploration("lane", [*SWEEP.results, result("icebreaker", 64, 1, 25.0, 528)], [])


def test_front_is_what_no_other_beats_in_both() -> None:
    assert SWEEP.front() == [0, 1]
    assert Exploration("lane", [SWEEP.results[1]] * 2, []).front() == [0, 1]


def test_area_is_logic_or_where_families_are_mixed_a_share_of_the_chip() -> None:
    assert SWEEP.area() == ("LUT4", [1000, 1100, 1200, 1150])
    name, areas = MIXED.area()
    assert name == "share of the chip's fullest resource, %"
    assert areas[-1] == 10.0


def test_table_has_every_result_and_fits_a_terminal() -> None:
    console = Console(width=80)
    with console.capture() as capture:
        console.print(render(MIXED))
    rows = [" ".join(line.split()) for line in capture.get().splitlines()]
    second = rows.index("64 x 4 2 120.0 1,100 3 1.000 120.0 *")
    assert rows[second + 1] == "16 bit 119.0..122.0 0.500 60.0"
    assert "64 x 4 3 110.0 1,200 3 1.000 110.0" in rows
    boards = [rows.index("ulx3s-12f"), rows.index("icebreaker")]
    assert boards[0] < second < boards[1] < rows.index("64 x 4 1 25.0 528 3 1.000 25.0 *")


@pytest.mark.slow
@pytest.mark.parametrize("exploration", [SWEEP, MIXED], ids=["one-board", "two-boards"])
def test_picture_is_written(exploration: Exploration, tmp_path: Path) -> None:
    write_pictures({tmp_path / "new" / "front.png": partial(draw, exploration)})
    image = matplotlib.image.imread(tmp_path / "new" / "front.png")
    colours = {tuple(row) for row in (image[..., :3] * 255).round().astype(int).reshape(-1, 3)}
    assert (0x00, 0x72, 0xB2) in colours
    assert ((0xD5, 0x5E, 0x00) in colours) == (exploration is MIXED)
