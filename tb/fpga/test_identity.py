"""Identity of a build: what it depends on, and that a device reports it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tb.generated import generated

from qstep.config import Config, Link
from qstep.devices.link_device import LinkDevice
from qstep.errors import BuildError
from qstep_fpga import netlist
from qstep_fpga.board import load
from qstep_fpga.families.gowin import Gowin
from qstep_fpga.families.ice40 import ICE40
from qstep_rtl import sources
from qstep_rtl.generate import generate
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort

BUILD = "0123456789abcdef"

BENCH = f"""
module bench (input logic clk, rst, rx, output logic tx);
  qs_board #(.Build(64'h{bytes.fromhex(BUILD)[::-1].hex()})) u_board (
      .clk_i(clk), .locked_i(1'b1), .button_i(rst), .rx_i(rx), .tx_o(tx), .led_o()
  );
endmodule
"""


def write_top(config: Config, folder: Path, more: str = "") -> None:
    """Write the generated top, which is made only once, with `more` appended."""
    (folder / "qstep_top.v").write_text(generated(config)["qstep_top"] + more, encoding="utf-8")


@pytest.mark.unit
@pytest.mark.parametrize(
    ("name", "before", "after", "same"),
    [
        ("a.sv", "assign a = b; // sum", "assign a /* now */ = b;\n", True),
        ("a.sv", "assign a = b;", "assign a = c;", False),
        ("a.py", '"""One."""\na = 1  # first\n', '"""Two."""\n\na = 1\n', True),
        ("a.py", 'def f():\n    """One."""\n    return 1\n', "def f():\n    return 1\n", True),
        ("a.py", "def f():\n    return 1\n", "def f():\n    return 2\n", False),
    ],
)
def test_only_what_makes_other_hardware_counts(
    name: str, before: str, after: str, same: bool, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(before, encoding="utf-8")
    first = sources.substance(path)
    path.write_text(after, encoding="utf-8")
    assert (sources.substance(path) == first) == same


@pytest.mark.unit
def test_identity_with_agents_is_of_what_refines_these_too(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(netlist, "generate", lambda *given: None)
    monkeypatch.setattr(sources, "substance", lambda path: read.append(path.name) or "")
    board, without = load("ulx3s-85f-agents"), load("ulx3s-85f").config
    assert board.config.acting is not None
    farm = replace(board.config, lanes=2, acting=replace(board.config.acting, agents=32))
    refining = {"ecp5_multipliers.py", "ecp5_carries.py", "ecp5_ports.py"}
    for config, expected in (
        (without, {*()}),
        (board.config, refining),
        (farm, {*refining, "synthesis.py"}),
    ):
        read.clear()
        netlist.identity(board, config)
        assert {"ecp5_registers.py"} < {*read}
        assert {*read} & {*refining, "synthesis.py"} == expected


@pytest.mark.unit
def test_identity_tells_boards_configurations_and_sources_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(netlist, "generate", write_top)
    small, large = load("ulx3s-12f"), load("ulx3s-85f")
    config = small.config
    assert netlist.identity(small, config) == netlist.identity(small, config)
    builds = [
        netlist.identity(small, config),
        netlist.identity(large, config),
        netlist.identity(small, replace(config, loop_depth=1 + config.loop_depth % 3)),
    ]
    with monkeypatch.context() as patched:
        patched.setattr(sources, "substance", lambda path: path.name)
        builds.append(netlist.identity(small, config))
    with_a_wire = partial(write_top, more="module other; endmodule\n")
    monkeypatch.setattr(netlist, "generate", with_a_wire)
    builds.append(netlist.identity(small, config))
    assert len(set(builds)) == 5
    assert all(len(bytes.fromhex(build)) == 8 for build in builds)


@pytest.mark.unit
def test_verilog_that_is_synthesised_is_what_the_identity_is_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []

    def another_each_time(config: Config, folder: Path) -> None:
        written.append(folder)
        write_top(config, folder, f"module other_{len(written)}; endmodule\n")

    def mapped(top: str, synthesis: str, reading: Any, depends: Any, prepare: Any, _: Any) -> Path:
        prepare(tmp_path)
        return tmp_path

    monkeypatch.setattr(netlist, "generate", another_each_time)
    monkeypatch.setattr(netlist, "_mapped", mapped)
    monkeypatch.setattr(netlist.pll, "make", lambda *arguments: None)
    board = load("ulx3s-12f")
    netlist.synthesise(board, board.config)
    assert len(written) == 1
    assert "module other_1;" in (tmp_path / "qstep_top.v").read_text(encoding="utf-8")


@pytest.mark.unit
def test_lanes_that_are_placed_freely_are_synthesised_as_their_family_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(netlist, "_mapped", lambda top, synthesis, *_: seen.append(synthesis))
    board, farm = load("tang-nano-20k-agents"), load("tang-nano-20k-farm")
    for one in (board, farm):
        netlist.synthesise(one, one.config)
    assert seen == ["synth_gowin", "synth_gowin -nowidelut"]
    before = netlist.identity(farm, farm.config), netlist.identity(board, board.config)
    monkeypatch.setattr(Gowin, "free_lanes", "")
    after = netlist.identity(farm, farm.config), netlist.identity(board, board.config)
    assert [one == other for one, other in zip(before, after, strict=True)] == [False, True]


@pytest.mark.unit
def test_lanes_in_lockstep_have_a_command_of_their_own_and_need_an_ice40() -> None:
    farm = load("icebreaker-farm")
    assert netlist._synthesis(farm, farm.config) == ICE40.lockstep
    for other in ("ulx3s-12f", "tang-nano-20k"):
        assert not netlist.copies_lanes(load(other), farm.config)
        with pytest.raises(
            BuildError, match=r"acting\.lockstep is true; .* must be a board with an iC"
        ):
            netlist.identity(load(other), farm.config)


@pytest.mark.rtl
@pytest.mark.slow
def test_board_says_its_build_over_the_line(tmp_path: Path) -> None:
    config = Config(25, 4, link=Link(clock_hz=12_000_000, baud=1_000_000))
    generate(config, tmp_path)
    shutil.copy(Path(netlist.__file__).with_name("qs_board.sv"), tmp_path)
    (tmp_path / "bench.sv").write_text(BENCH, encoding="utf-8")
    own = [tmp_path / name for name in ("qstep_top.v", "qs_board.sv", "bench.sv")]
    library = compile_library([*sources.rtl_files(), *own], "bench", uart=True, optimise=False)
    with LinkDevice(SimPort(config, uart=True, library=library), config) as device:
        assert device.build == BUILD
