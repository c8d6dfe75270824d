"""Everything that PeakRDL generates from the register descriptions, ``rtl/bus/qs_*_regs.rdl``.

The register block, the C header, the HTML page and the test bench's register map are generated here;
none of them is hand-written or kept in the repository.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peakrdl_cheader.exporter import CHeaderExporter
from peakrdl_html import HTMLExporter
from peakrdl_regblock import RegblockExporter
from peakrdl_regblock.cpuif.axi4lite import AXI4Lite_Cpuif_flattened
from peakrdl_regblock.udps import ALL_UDPS
from systemrdl import RDLCompiler
from systemrdl.node import RegNode

from qstep_rtl.invariants import unlinted
from qstep_rtl.sources import source

__all__ = [
    "ADDRESS_BITS",
    "AGENTS",
    "LANE",
    "Register",
    "compiled",
    "header_name",
    "page_name",
    "registers",
    "write_block",
    "write_documents",
]

LANE, AGENTS = "qs_lane_regs", "qs_agents_regs"
"""Names of the descriptions, and of the generated modules."""

_COMMON = "qs_bus_regs"
"""Name of the description that both include."""

ADDRESS_BITS = 12
"""Address bits of the bus: more than the map needs, so its last word is unused (``qs_bus_guard``)."""

_WAIVERS = ("MULTIDRIVEN", "UNUSEDSIGNAL", "UNUSEDPARAM")
"""Waived lint rules: PeakRDL drives structure members in separate processes, and leaves some unread."""


@dataclass(frozen=True, slots=True)
class Register:
    """Address and fields of a register.

    Attributes
    ----------
    address : int
        Address of its first byte.
    size : int
        Size in bytes, 4 or 8.
    fields : dict of str to (int, int)
        Lowest bit and width of each field.
    readable, writable : bool
        Whether software can read or write it.
    """

    address: int
    size: int
    fields: dict[str, tuple[int, int]]
    readable: bool
    writable: bool


def header_name(block: str) -> str:
    """Return the name of a description's C header."""
    return f"{block}.h"


def page_name(block: str) -> str:
    """Return the start page of a description's HTML folder."""
    return f"{block}_html/index.html"


def compiled(block: str) -> Any:
    """Compile a description, and return systemrdl-compiler's root node."""
    compiler = RDLCompiler()
    for kind in ALL_UDPS:
        compiler.register_udp(kind, soft=False)
    for name in (_COMMON, block):
        compiler.compile_file(str(source(f"{name}.rdl")))
    return compiler.elaborate(block)


def registers(block: str) -> dict[str, Register]:
    """Return a description's registers by name, in address order."""
    return {
        node.inst_name: Register(
            node.absolute_address,
            node.size,
            {field.inst_name: (field.lsb, field.width) for field in node.fields()},
            node.has_sw_readable,
            node.has_sw_writable,
        )
        for node in compiled(block).top.children()
        if isinstance(node, RegNode)
    }


def write_block(block: str, folder: Path) -> list[Path]:
    """Write a register block in SystemVerilog; return its files in compile order."""
    RegblockExporter().export(
        compiled(block),
        str(folder),
        cpuif_cls=AXI4Lite_Cpuif_flattened,
        address_width=ADDRESS_BITS,
        err_if_bad_addr=True,
        err_if_bad_rw=True,
    )
    paths = [folder / f"{block}_pkg.sv", folder / f"{block}.sv"]
    for path in paths:
        path.write_text(unlinted(path.read_text(encoding="utf-8"), _WAIVERS), encoding="utf-8")
    return paths


def write_documents(block: str, folder: Path) -> None:
    """Write a description's C header and HTML page."""
    root = compiled(block)
    CHeaderExporter().export(root, str(folder / header_name(block)))
    HTMLExporter().export(root, str((folder / page_name(block)).parent))
