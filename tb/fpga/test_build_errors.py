"""The build flow reports designs that are too large or too slow, and files that cannot be written."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tb.fpga.placements import BOARD, netlist, placement
from tb.sw.command_line import invoke

from qstep._io.workers import Threads
from qstep.errors import BuildError, FileFormatError
from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep.spec.fixed import QFormat
from qstep_fpga import fit, flow
from qstep_fpga.board import Board, load
from qstep_fpga.clocks import check_crossing, highest_clocks
from qstep_fpga.families.ecp5.islands.build import Farm
from qstep_fpga.families.ecp5.islands.island import PlacedIsland
from qstep_fpga.fit import check_fit, check_table
from qstep_fpga.pins import led_out, pins_text
from qstep_fpga.placement import Placement
from qstep_fpga.report import BuildReport

# Designs that do not fit


def test_a_design_that_fits_exactly_is_accepted(tmp_path: Path) -> None:
    check_fit(
        BOARD,
        BOARD.config,
        netlist(tmp_path, SB_LUT4=5280, SB_DFF=5280, SB_RAM40_4K=30, SB_MAC16=8),
    )


_EACH = "about 22 actions, as each takes at least one block"
_LOGIC = {"SB_LUT4": 100, "SB_DFFE": 3000, "SB_DFFSR": 2300, "SB_MAC16": 9}
_SHORT = (
    "logic cells: needs 5300, 20 more than the 5280 available; DSP: needs 9, 1 more than the 8 "
    "available. Logic grows with the number of actions and the width"
)


@pytest.mark.parametrize(
    ("config", "cells", "message"),
    [
        (
            Config(1024, 4),
            {"SB_RAM40_4K": 31},
            "1024 x 4 in Q8.8 does not fit iCEBreaker (iCE40UP5K-SG48). block RAM: needs 31, 1 "
            "more than the 30 available. There is block RAM for about 512 states",
        ),
        (Config(2, 64), {"SB_RAM40_4K": 72}, _EACH),  # the link uses 7 blocks
        (Config(256, 28), {"SB_RAM40_4K": 63}, _EACH),
        (Config(256, 16), {"SB_RAM40_4K": 39}, "about 64 states"),
        (
            Config(1024, 4),
            {"SB_RAM40_4K": 61},
            "The link leaves no block RAM for a table; lower link.buffer_bytes",
        ),
        (Config(64, 4), _LOGIC, f"{_SHORT}. DSP use depends only on the width"),
        (
            Config(16, 2, "Q4.4"),
            _LOGIC,
            f"{_SHORT}, which are already at their minimum. DSP use depends only on the width",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_what_is_short_and_what_would_fit(
    config: Config, cells: dict[str, int], message: str, tmp_path: Path
) -> None:
    with pytest.raises(BuildError) as caught:
        check_fit(BOARD, config, netlist(tmp_path, **cells))
    assert str(caught.value).endswith(message)


def test_a_table_that_is_far_too_large_is_refused_before_it_is_synthesised() -> None:
    check_table(BOARD, Config(1920, 4))  # exactly twice the block RAM: may still fit
    with pytest.raises(BuildError, match=r"block RAM: needs 61, 31 more .* about 512 states"):
        check_table(BOARD, Config(1921, 4))


def test_the_tables_of_all_planes_and_agents_count() -> None:
    acting = Acting(agents=16, world="CartPole-v1")
    config = Config(81, 2, acting=acting, planes=8)
    check_table(BOARD, replace(config, acting=replace(acting, agents=11)))
    said = (
        r"8 planes of 81 x 2 in Q8\.8 does not fit .* block RAM: needs 81, 51 more than the 30 "
        "available. There is block RAM for about 16 states"
    )
    with pytest.raises(BuildError, match=said):
        check_table(BOARD, config)


@pytest.mark.parametrize(
    ("board", "config", "message"),
    [
        (
            "icebreaker",
            Config(8, 4, acting=Acting(world="pins")),
            r"8 x 4 in Q8\.8 needs 30 pins for its world; the board file of iCEBreaker lists 24 under "
            "header",
        ),
        (
            "tang-nano-9k-agents",
            Config(8, 4, "Q4.4", acting=Acting(world="pins")),
            "needs 22 pins for its world; the board file of Tang Nano 9K lists 0 under",
        ),
        (
            "ulx3s-85f",
            Config(8, 4, acting=Acting(4, world="pins")),
            r"acting\.agents is 4; a board with acting\.world 'pins' supports 1 agent",
        ),
    ],
    ids=["too-few-pins", "no-pins", "several-agents"],
)
def test_a_world_that_cannot_be_led_out_is_refused_before_anything_is_built(
    board: str, config: Config, message: str, tmp_path: Path
) -> None:
    with pytest.raises(BuildError, match=message):
        flow.build(load(board), config, [1], Threads(1), tmp_path, lambda *_: None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("lanes", "most"), [(8, 6), (3, 2), (2, 1)])
def test_too_many_lanes_are_refused_with_the_number_that_fits(
    lanes: int, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Outside the lanes, 100 tiles of 6 flip-flops each are left; a distributed RAM occupies a tile.
    board = load("tang-nano-20k")
    least = netlist(tmp_path, DFF=15552 - 6 * 100 - (most - 2) * 60, RAM16SDP4=100)
    (two := tmp_path / "two.json").write_bytes(least.read_bytes())
    seen: list[Config] = []
    monkeypatch.setattr(fit, "synthesise", lambda board, config: seen.append(config) or two)
    config = Config(32, 4, acting=Acting(agents=16 * lanes), lanes=lanes)
    cells = {"DFF": 15552 - 6 * 100 + (lanes - most) * 60, "RAM16SDP4": 100}
    with pytest.raises(BuildError) as caught:
        check_fit(board, config, netlist(tmp_path, **cells))
    needed = 15552 + (lanes - most) * 60
    assert str(caught.value) == (
        f"32 x 4 in Q8.8 does not fit Tang Nano 20K (GW2AR-LV18QN88C8/I7). FF: needs {needed}, "
        f"{needed - 15552} more than the 15552 available. By resource count, at most {most} of "
        f"{lanes} lanes fit"
    )
    assert [(one.lanes, one.acting.agents) for one in seen if one.acting] == [(2, 32)]


# Clocks and written files


@pytest.fixture
def placed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Placement]:
    """Replace the tools with stand-ins that produce the returned placements, and a seed as bitstream."""
    found: list[Placement] = []
    monkeypatch.setattr(flow, "synthesise", lambda board, config: netlist(tmp_path))
    monkeypatch.setattr(flow, "place_all", lambda *a: [a[3](p) or p for p in found])
    monkeypatch.setattr(flow, "pack", lambda board, p, out: out.write_text(str(p.seed)))
    return found


def run(folder: Path, accept: bool = False) -> tuple[BuildReport, Path]:
    return flow.build(BOARD, BOARD.config, [1, 2, 3], Threads(1), folder, lambda *a: None, accept)


def test_bitstream_comes_from_the_fastest_seed(placed: list[Placement], tmp_path: Path) -> None:
    placed += [placement(1, 25.0), placement(2, 31.0), placement(3, 24.5)]
    report, bitstream = run(tmp_path / "out")
    assert bitstream == tmp_path / "out/icebreaker.bin"
    assert bitstream.read_text() == "2"
    assert report.spread == (24.5, 25.0, 31.0)
    assert BuildReport.read(tmp_path / "out/icebreaker.json") == report
    assert Config.from_toml(tmp_path / "out/icebreaker.toml").digest == report.digest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lanes_hz", "rates"), [(None, (80_000_000, None)), (90_000_000, (90_000_000, 80_000_000))]
)
def test_lanes_on_ecp5_are_copied_and_not_placed_freely(
    placed: list[Placement],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    lanes_hz: int | None,
    rates: tuple[int, int | None],
) -> None:
    board = load("ulx3s-85f-agents")
    assert board.config.acting is not None
    acting = replace(board.config.acting, agents=32)
    link = replace(board.config.link, clock_hz=80_000_000)
    config = replace(board.config, link=link, lanes=2, acting=replace(acting, clock_hz=lanes_hz))
    (tmp_path / "farm.json").write_text('{"modules": {"board": {}, "qs_island": {}}}')
    seen: list[object] = []

    def copies(*given: Any, link_hz: int | None) -> Farm:
        seen.extend([*given[1:7], link_hz])
        lane = PlacedIsland(1, 200.0, [], Path("unused"))
        given[8]("band 1, seed 4: 200.0 MHz")
        return Farm((lane,), {}, (placement(4, 91.0), placement(5, 93.0)))

    monkeypatch.setattr(flow, "synthesise_farm", lambda *given: tmp_path / "farm.json")
    monkeypatch.setattr(flow, "copy_lanes", copies)
    monkeypatch.setattr(flow, "place_all", lambda *given: pytest.fail("placed freely"))
    told: list[str] = []
    report, bitstream = flow.build(
        board, config, [4, 5], Threads(1), tmp_path / "out", lambda what, *_: told.append(what)
    )
    modules: dict[str, dict[str, int]] = {"board": {}, "qs_island": {}}
    assert seen == [modules, "board", "qs_island", rates[0], range(1, 17), [4, 5], rates[1]]
    assert (report.seed, bitstream.read_text()) == (5, "5")
    assert {"band 1, seed 4: 200.0 MHz", "seed 5: 93.0 MHz"} <= set(told)


def test_the_command_prints_the_report_and_where_the_bitstream_is(
    placed: list[Placement], tmp_path: Path
) -> None:
    placed.append(placement(3, 43.0))
    words = ["icebreaker", "--out", str(tmp_path), "--jobs", "1"]
    told = invoke("build", *words)
    assert told.exit_code == 0, told.output
    assert "icebreaker (iCE40UP5K" in told.output
    assert told.output.endswith(f"{tmp_path / 'icebreaker.bin'}  1 bytes, from seed 3\n")
    json_alone = invoke("build", *words, "--json")
    assert json.loads(json_alone.stdout)["seed"] == 3


def test_unmet_clock_is_refused_and_an_older_bitstream_removed(
    placed: list[Placement], tmp_path: Path
) -> None:
    placed += [placement(1, 23.0), placement(2, 23.9)]
    (tmp_path / "icebreaker.bin").write_text("of another design")
    with pytest.raises(
        BuildError, match=r"24 MHz is not met: the best of 3 seeds allows 23\.9 MHz"
    ):
        run(tmp_path)
    assert not (tmp_path / "icebreaker.bin").exists()
    assert not BuildReport.read(tmp_path / "icebreaker.json").is_met


def two_clocks(seed: int, lanes: float, link: float) -> Placement:
    """Return a placement of a device with a separate clock for the lanes."""
    lanes_clock, link_clock = "$glbnet$x.lanes_clk", "$glbnet$clk"
    step = {"from": {"cell": "lane"}, "to": {"cell": "lane"}, "type": "routing"}
    ends = {link_clock: (link_clock, 12.0), lanes_clock: (lanes_clock, 5.0)}
    paths = [
        {"from": f"posedge {a}", "to": f"posedge {b}", "path": [{**step, "delay": delay}]}
        for a, (b, delay) in [*ends.items(), (link_clock, (lanes_clock, 14.0))]
    ]
    made = placement(seed, lanes)
    reached = {lanes_clock: {"achieved": lanes}, link_clock: {"achieved": link}}
    report = {**made.report, "fmax": reached, "critical_paths": paths}
    return replace(made, report=report, link_fmax_mhz=link)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clocks", "message"),
    [
        (
            [(181.0, 89.0), (181.5, 89.5)],
            r"clock of 90 MHz .* allows 89\.5 MHz. Lower link.clock_hz",
        ),
        (
            [(179.0, 91.0), (178.0, 91.0)],
            r"of 180 MHz .* allows 179\.0 MHz. Lower acting.clock_hz",
        ),
    ],
)
def test_of_two_clocks_both_must_be_met(
    placed: list[Placement], tmp_path: Path, clocks: list[tuple[float, float]], message: str
) -> None:
    board, config = with_two_clocks()
    build = (board, config, [1, 2], Threads(1), tmp_path, lambda *a: None)
    placed += [two_clocks(seed, *pair) for seed, pair in enumerate(clocks, 1)]
    with pytest.raises(BuildError, match=message):
        flow.build(*build)
    # Among placements that meet the link's clock, the one with the fastest lanes is chosen.
    placed.append(two_clocks(3, 180.5, 90.5))
    report, bitstream = flow.build(*build)
    assert (report.seed, report.clock_mhz, bitstream.read_text()) == (3, 180.0, "3")
    assert report.link is not None
    assert (report.link.clock_mhz, report.link.fmax_mhz["3"]) == (90.0, 90.5)
    assert report.core_rate == 180.0
    assert report.critical_path.startswith("5.0 ns")
    assert BuildReport.read(tmp_path / "ulx3s-85f-agents.json") == report


def with_two_clocks() -> tuple[Board, Config]:
    board = load("ulx3s-85f-agents")
    assert board.config.acting is not None
    acting = replace(board.config.acting, clock_hz=180_000_000)
    return board, replace(board.config, acting=acting)


def test_data_that_are_late_between_two_clocks_are_refused() -> None:
    report = two_clocks(1, 180.0, 90.0).report
    assert highest_clocks(report) == (180.0, 90.0)
    check_crossing(report)
    late = two_clocks(1, 220.0, 90.0).report
    with pytest.raises(
        BuildError,
        match=r"the path from \S+clk to .* takes 14\.0 ns; .*at most 13\.6 ns. Try another",
    ):
        check_crossing(late)


@pytest.mark.slow
def test_pins_of_a_world_are_written_beside_the_bitstream(
    placed: list[Placement], tmp_path: Path
) -> None:
    placed.append(placement(1, 31.0))
    config = replace(BOARD.config, states=8, format=QFormat(4, 4), acting=Acting(world="pins"))
    flow.build(BOARD, config, [1], Threads(1), tmp_path, lambda *a: None)
    text = pins_text(led_out(BOARD, config), config)
    assert (tmp_path / "icebreaker.pins").read_text() == text
    assert text.startswith("action_valid0 ")


@pytest.mark.slow
def test_unmet_clock_can_be_accepted_by_name(placed: list[Placement], tmp_path: Path) -> None:
    placed.append(placement(1, 23.0))
    report, bitstream = run(tmp_path, accept=True)
    assert bitstream.read_text() == "1"
    assert not report.is_met


def test_folder_that_cannot_be_made_is_named_before_the_tools_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow, "synthesise", lambda *a: pytest.fail("synthesised first"))
    (tmp_path / "file").write_text("")
    with pytest.raises(FileFormatError, match="file: cannot be created"):
        run(tmp_path / "file")


@pytest.mark.slow
def test_full_disk_leaves_the_old_report(
    placed: list[Placement], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed.append(placement(1, 30.0))
    report, _ = run(tmp_path)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileFormatError, match=r"json: cannot be written: No space left"):
        report.write(tmp_path / "icebreaker.json")
    assert BuildReport.read(tmp_path / "icebreaker.json") == report
