"""Read the hardware of a simulation into yosys with the simulation's parameters."""

import re
import shutil
from pathlib import Path

from tb.bench import Run

from qstep_fpga.netlist import parameter_options

__all__ = ["default_parameters", "is_verilog", "read_run"]

_PARAMETER = re.compile(r"^ *parameter +(?:int unsigned|bit) +(\w+) += (\d+)\b", re.MULTILINE)


def default_parameters(module: Path) -> dict[str, int]:
    """Return the parameters of a module whose default value is a plain number.

    A netlist has no parameters, but benches also read parameters that the run leaves at their defaults.
    """
    return {name: int(value) for name, value in _PARAMETER.findall(module.read_text("utf-8"))}


def is_verilog(run: Run) -> bool:
    """Return whether the only source of a run is generated Verilog."""
    return len(run.sources) == 1 and run.sources[0].suffix == ".v"


def read_run(run: Run, folder: Path) -> str:
    """Copy the sources of a run to a folder, and return the yosys command that reads them there.

    The command also reads simulation-only code.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in (*run.rtl.rglob("*.sv*"), *run.files):
        shutil.copy(path, folder)
    if is_verilog(run):  # slang rejects some names in Verilog written by yosys
        return f"read_verilog {run.sources[0].name}"
    given = [path.name for path in run.files]
    modules = [path.name for path in run.rtl.rglob("qs_*.sv") if path.name not in given]
    packages = [name for name in (*given, *modules) if name.endswith("_pkg.sv")]
    files = [*packages, *(name for name in (*given, *modules) if name not in packages)]
    parameters = parameter_options(run.parameters)
    sources = " ".join(name for name in files if name.endswith((".sv", ".v")))
    return f"read_slang --threads 1 -U SYNTHESIS --top {run.top} {parameters} -I. {sources}"
