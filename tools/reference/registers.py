"""Generates docs/registers.md, which documents a bus device's registers, from SystemRDL descriptions."""

from __future__ import annotations

from systemrdl.node import FieldNode, RegNode

from qstep_rtl.bus.registers import AGENTS, LANE, compiled

__all__ = ["page", "rows"]

_HEAD = """# Registers on a bus

This page lists the registers of a device on AXI4-Lite; [buses](buses.md) has the rest of its
interface. A name that begins with a dot is a field of the register above it.

<!-- python -m tools.generated writes this page from rtl/bus/*.rdl -->
"""
_COLUMNS = "| Address | Register | Bits | Access | Reset | Meaning |\n|---|---|---|---|---|---|\n"


def page() -> str:
    """Return the page."""
    blocks = (("The lane", LANE), ("Agents", AGENTS))
    return _HEAD + "".join(
        f"\n## {title}\n\n{_COLUMNS}{''.join(map(_row, rows(block)))}" for title, block in blocks
    )


def _row(cells: tuple[str, ...]) -> str:
    address, name, bits, access, reset, what = (cell.replace("|", "\\|") for cell in cells)
    return f"| {address} | `{name}` | {bits} | {access} | {reset} | {what} |\n"


def rows(block: str) -> list[tuple[str, ...]]:
    """Return the rows of a block's table: one for each register, and one for each field."""
    found: list[tuple[str, ...]] = []
    for register in compiled(block).top.children():
        if isinstance(register, RegNode):
            what = ". ".join(filter(None, [register.get_property("name"), _said(register)]))
            name = register.inst_name
            found.append((f"0x{register.absolute_address:03X}", name, "", "", "", what))
            found += [_field(field) for field in register.fields()]
    return found


def _field(field: FieldNode) -> tuple[str, ...]:
    bits = f"{field.msb}:{field.lsb}" if field.width > 1 else str(field.lsb)
    reset = field.get_property("reset")
    access = field.get_property("sw").name
    return (
        "",
        f".{field.inst_name}",
        bits,
        access,
        "" if reset is None else f"{reset:#x}",
        _said(field),
    )


def _said(node: RegNode | FieldNode) -> str:
    return " ".join((node.get_property("desc") or "").split())
