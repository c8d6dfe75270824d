"""Lint the RTL with Verilator, with all warnings enabled, at the limits of its parameters.

Verible checks style and formatting (``python -m tools.lint_rtl --format`` formats the files).
"""

import argparse
import itertools
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep_fpga import tools
from qstep_fpga.board import Board, load
from qstep_fpga.pin_wrapper import WRAPPER, around_device, generated_top
from qstep_rtl.bus.generate import generate_axi
from qstep_rtl.bus.registers import LANE, write_block
from qstep_rtl.generate import generate, generated_files
from qstep_rtl.sources import folders, source
from qstep_sim import verilator
from qstep_sim.top import CLOCKS

__all__ = [
    "ACTING_CORNERS",
    "AXI_AGENTS_CORNERS",
    "AXI_CORNERS",
    "CORNERS",
    "LANE_WRAPPER",
    "LEARNER_CORNERS",
    "NODE_CORNERS",
    "RTL",
    "WORLD_CORNERS",
    "format_files",
    "lint",
    "lint_acting",
    "lint_axi_agents",
    "lint_axi_lane",
    "lint_board",
    "lint_clocks",
    "lint_lane_wrapper",
    "lint_learner",
    "lint_pins",
    "lint_style",
    "lint_tile",
    "lint_world",
    "main",
    "written_by_hand",
]

RTL = Path(__file__).resolve().parents[1] / "rtl"
_FPGA = RTL.parent / "fpga/qstep_fpga"
WORLD = RTL / "worlds/gridworld.sv"
LANE_WRAPPER = _FPGA / "qs_lane_wrapper.sv"

CORNERS = [
    {"States": states, "Actions": actions, "Width": width, "LoopDepth": depth}
    for (states, actions), width, depth in itertools.product(
        [(2, 2), (25, 3), (65536, 4), (64, 64)], [8, 32], [1, 2, 3]
    )
] + [
    {"Width": width, "CoeffFraction": 24, "LoopDepth": depth} for width, depth in ((8, 1), (32, 3))
]
"""Parameters of `qs_lane`: each at its limits, with sizes that are powers of two and others."""

ACTING_CORNERS = [
    {
        "Agents": agents,
        "Actions": actions,
        "Algorithm": algorithm,
        "Rounding": (algorithm + agents) % 3,
        "SharedTable": int(agents > 1 and actions == 2),
        "Schedules": int(algorithm != 1),
        "StepLimit": int(algorithm not in (1, 2)),
        "Width": 8 if agents == 1 else 32,
        "Outcomes": outcomes,
        "Starts": 5 - outcomes,
        "States": 2 if outcomes == 1 else 100,
    }
    for algorithm, actions, (agents, outcomes) in itertools.product(
        range(4), [2, 64], [(1, 1), (16, 4)]
    )
] + [
    {"Agents": 1, "States": 65536, "Outcomes": 64, "Starts": 65536},
    {"Agents": 3, "States": 7, "Actions": 6, "Rounding": 2, "Starts": 8},
    {"Agents": 3, "Width": 32, "CoeffFraction": 24, "Rounding": 2},
]
"""Parameters of `qs_acting`: each at its limits, with every algorithm and every rounding."""

NODE_CORNERS = [{"IndexMask": 0xFFFF}, {"IndexMask": (1 << 30) - 1}]
"""Parameters of `qs_chain_node`."""

AXI_CORNERS = [
    {"States": 2, "Actions": 2, "Width": 8, "StreamBytes": 4},
    {
        "States": 25,
        "Actions": 3,
        "Width": 20,
        "CoeffFraction": 22,
        "LoopDepth": 2,
        "StreamBytes": 8,
    },
    {"States": 65536, "Actions": 64, "Width": 32, "LoopDepth": 3, "StreamBytes": 16},
]
"""Parameters of `qs_axi_lane`: each at its limits."""

AXI_AGENTS_CORNERS = [
    (4, Config(2, 2, "Q4.4", acting=Acting(world="pins"))),
    (8, Config(65536, 3, acting=Acting(world="pins"), planes=10)),
    (16, Config(100, 5, "Q16.16", acting=Acting(agents=16, outcomes=4, starts=2))),
]
"""Bytes per beat of `qs_axi_agents`, and its configuration, with external and internal worlds."""

LEARNER_CORNERS = [
    {"Entries": 2, "KeyBits": 1, "Rows": 2, "Actions": 2, "Width": 8, "Groups": 1, "Planes": 1},
    {"Groups": 1, "Planes": 16, "SharedError": 1, "Width": 32, "CoeffFraction": 24, "Actions": 64},
    {"Groups": 16, "Planes": 1, "Rows": 65536, "Entries": 1024, "KeyBits": 64, "Floor": 1},
    {"Groups": 3, "Planes": 5, "Actions": 5, "Start": -32768},
]
"""Parameters of `qs_learner`: each at its limits, with shared and separate errors."""

WORLD_CORNERS = [{}, {"States": 32, "Width": 8, "Fraction": 4}, {"States": 65536, "Width": 32}]
"""Parameters of the example world."""

_PLL = """module pll (
    input  logic clock_in,
    output logic clock_out,
    output logic locked
);
  assign clock_out = clock_in;
  assign locked = 1'b1;
endmodule
"""

_PACKAGES = ("map", "agents", "chain")

_STYLE = "--rules=parameter-name-style=localparam_style:CamelCase|ALL_CAPS"
"""Verible's default rules, but constants such as ``WEYL`` are allowed."""


def lint(
    top: str,
    parameters: Mapping[str, int],
    rtl: Path = RTL,
    sources: Sequence[Path] = (),
    options: Sequence[str] = (),
) -> str:
    """Return Verilator's warnings for a module and its submodules; empty if there are none.

    Parameters
    ----------
    top : str
        Name of the module; its file is ``rtl/TOP.sv`` unless `sources` are given.
    parameters : mapping of str to int
    rtl : Path
        Folder in which modules are found by name.
    sources : sequence of Path
        Files of the module, and of its submodules that are not in `rtl`.
    options : sequence of str
        Further Verilator options, such as waivers.
    """
    settings = [f"-G{name}={value}" for name, value in parameters.items()]
    answer = subprocess.run(
        [
            str(verilator.find()),
            *(
                "--lint-only",
                "-Wall",
                "--assert",
                *(f"-I{path}" for path in folders(rtl)),
                "--top-module",
                top,
            ),
            *settings,
            *options,
            *map(str, (source("qs_pkg.sv", rtl), *(sources or [source(f"{top}.sv", rtl)]))),
        ],
        env=verilator.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode and not answer.stderr:
        return f"verilator ended with status {answer.returncode}"
    return answer.stderr


def lint_acting(parameters: Mapping[str, int], rtl: Path = RTL, top: str = "qs_acting") -> str:
    """Lint ``qs_acting`` or another module with agents; these use only some constants of ``qs_pkg``."""
    files = [*(source(f"qs_{name}_pkg.sv", rtl) for name in _PACKAGES), source(f"{top}.sv", rtl)]
    return lint(top, parameters, rtl, files, ["-Wno-UNUSEDPARAM"])


def lint_learner(parameters: Mapping[str, int]) -> str:
    """Lint ``qs_learner`` and its submodules, which use only some constants of ``qs_pkg``."""
    packages = [source("qs_planes_pkg.sv"), source("qs_learner.sv")]
    return lint("qs_learner", parameters, sources=packages, options=["-Wno-UNUSEDPARAM"])


def lint_lane_wrapper() -> str:
    """Lint ``qs_lane_wrapper`` and its lane, both with their default parameters."""
    return lint("qs_lane_wrapper", {}, sources=[LANE_WRAPPER])


def lint_axi_lane(parameters: Mapping[str, int], rtl: Path = RTL) -> str:
    """Lint ``qs_axi_lane`` with its generated registers, as :func:`lint` does."""
    with tempfile.TemporaryDirectory() as name:
        block = write_block(LANE, Path(name))
        return lint("qs_axi_lane", parameters, rtl, [*block, source("qs_axi_lane.sv", rtl)])


def lint_tile() -> str:
    """Lint ``tt_um_qstep`` and its lane."""
    return lint("tt_um_qstep", {}, sources=[_FPGA / "tt_um_qstep.sv"])


def lint_axi_agents(stream_bytes: int, config: Config) -> str:
    """Lint ``qs_axi_agents`` with its generated registers and agents, as :func:`lint` does."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        manifest = generate_axi(config, folder, stream_bytes)
        files = [folder / source for source in (*manifest.sources, "qstep_axi.sv")]
        return lint("qstep_axi", {}, folder, files[1:], ["-Wno-UNUSEDPARAM"])


def lint_board(board: Board) -> str:
    """Lint the wrapper around a board's device, including the device and an ideal PLL."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(board.config, folder)
        (folder / f"{WRAPPER}.il").write_text(around_device(board, board.config), encoding="utf-8")
        script = f"read_rtlil {WRAPPER}.il; proc; write_verilog -noattr qstep_{WRAPPER}.v"
        tools.yosys(script, folder)
        (folder / "pll.sv").write_text(_PLL, encoding="utf-8")
        generated = generated_files(board.config, generated_top(board))
        files = ("pll.sv", *generated, f"qstep_{WRAPPER}.v")
        waiver = RTL / "qstep_generated.vlt"
        return lint(WRAPPER, {}, sources=[waiver, *(folder / file for file in files)])


def lint_pins() -> str:
    """Lint ``qs_pins``, which does not use ``qs_pkg``."""
    return lint("qs_pins", {}, sources=[_FPGA / "qs_pins.sv"], options=["-Wno-UNUSEDPARAM"])


def lint_clocks() -> str:
    """Lint ``qs_clocks``, the clocks of a simulated device, which does not use ``qs_pkg``."""
    return lint("qs_clocks", {}, sources=[CLOCKS], options=["-Wno-UNUSEDPARAM"])


def lint_world(parameters: Mapping[str, int]) -> str:
    """Lint the example of a circuit world, with ``qs_pkg`` included but unused."""
    return lint(WORLD.stem, parameters, sources=[WORLD], options=["-Wno-UNUSEDPARAM"])


def written_by_hand() -> list[Path]:
    """Return every hand-written SystemVerilog file in the repository."""
    folders = (
        *(path for path in RTL.iterdir() if path.is_dir()),
        _FPGA,
        CLOCKS.parent,
        *(RTL.parent / "tb" / name for name in ("unit", "uvm", "formal", "formal/any")),
    )
    return [path for folder in folders for path in sorted(folder.glob("*.sv*"))]


def _verible(tool: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = Path(sysconfig.get_path("scripts")) / f"verible-verilog-{tool}"
    return subprocess.run([command, *words], capture_output=True, text=True, check=False)


def lint_style(path: Path) -> str:
    """Return Verible's findings for a file, plus a line if it is unformatted; empty if all is well."""
    answer = _verible("lint", _STYLE, path)
    formatted = _verible("format", path)
    text = answer.stdout + answer.stderr + formatted.stderr
    if formatted.stdout != path.read_text(encoding="utf-8"):
        text += f"{path}: not formatted; python -m tools.lint_rtl --format does it\n"
    return text


def format_files() -> None:
    """Format every hand-written SystemVerilog file in the repository."""
    _verible("format", "--inplace", *written_by_hand())


def main() -> int:
    parser = argparse.ArgumentParser(description="Lint the RTL.")
    parser.add_argument("--format", action="store_true", help="format it instead")
    if parser.parse_args().format:
        format_files()
        return 0
    runs: list[tuple[str, Callable[[], str]]] = [
        (f"qs_lane with {corner}", partial(lint, "qs_lane", corner)) for corner in CORNERS
    ]
    runs += [(f"qs_acting with {c}", partial(lint_acting, c)) for c in ACTING_CORNERS]
    runs += [
        (f"qs_chain_node with {c}", partial(lint_acting, c, top="qs_chain_node"))
        for c in NODE_CORNERS
    ]
    runs += [(f"qs_learner with {c}", partial(lint_learner, c)) for c in LEARNER_CORNERS]
    runs += [(f"qs_axi_lane with {c}", partial(lint_axi_lane, c)) for c in AXI_CORNERS]
    runs += [
        (f"qs_axi_agents with {given}", partial(lint_axi_agents, *given))
        for given in AXI_AGENTS_CORNERS
    ]
    runs += [
        ("qs_lane_wrapper", lint_lane_wrapper),
        ("qs_pins", lint_pins),
        ("the icebreaker's board", partial(lint_board, load("icebreaker"))),
        ("qs_clocks", lint_clocks),
        ("tt_um_qstep", lint_tile),
    ]
    runs += [(f"{WORLD.stem} with {c}", partial(lint_world, c)) for c in WORLD_CORNERS]
    files = written_by_hand()
    runs += [(path.name, partial(lint_style, path)) for path in files]
    for name, complaint in ((name, check()) for name, check in runs):
        if complaint:
            print(f"{name}:\n{complaint}", file=sys.stderr)
            return 1
    checked = len(runs) - len(files)
    print(
        f"RTL: no warnings in {checked} modules and sets of parameters, {len(files)} files formatted"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
