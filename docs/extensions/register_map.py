"""Reference pages from the SystemRDL descriptions of registers.

The directive ``register-map`` takes the name of a description, such as ``qs_lane_regs``, and makes a
table of its registers and their fields.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from systemrdl.node import FieldNode, RegNode

from qstep_rtl.bus.registers import compiled

__all__ = ["rows", "setup"]

COLUMNS = ("Address", "Register", "Bits", "Access", "Reset", "What it is")


def rows(block: str) -> list[tuple[str, ...]]:
    """Return the rows of the table under `COLUMNS`: one for each register, and one for each field."""
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


class RegisterMap(SphinxDirective):
    """``{register-map}``: the registers of a description as a table."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        group = nodes.tgroup(cols=len(COLUMNS))
        group += [nodes.colspec(colwidth=width) for width in (8, 16, 6, 6, 10, 54)]
        group += nodes.thead("", _row(COLUMNS))
        group += nodes.tbody("", *(_row(row) for row in rows(self.arguments[0])))
        return [nodes.table("", group)]


def _row(cells: tuple[str, ...]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph(cell, cell)) for cell in cells))


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("register-map", RegisterMap)
    return {"parallel_read_safe": True}
