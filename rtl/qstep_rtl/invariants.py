"""Assertions inside the blocks: checked in Amaranth's simulation, absent from generated Verilog."""

from __future__ import annotations

from collections.abc import Iterable

from amaranth.back import verilog
from amaranth.hdl import Assert, Module, ValueLike
from amaranth.lib.wiring import Component

__all__ = ["GENERATED", "as_verilog", "invariant", "unlinted"]


class _Generated:
    """The type of the platform that stands for generated Verilog."""


GENERATED = _Generated()
"""The platform of :func:`as_verilog`; a simulation elaborates without a platform."""


def as_verilog(block: Component, name: str) -> str:
    """Return a block as a Verilog module called `name`, without its invariants."""
    text: str = verilog.convert(
        block, name=name, platform=GENERATED, emit_src=False, strip_internal_attrs=True
    )
    return text


def invariant(m: Module, platform: object, holds: ValueLike, text: str) -> None:
    """Assert in every clock that `holds` is not 0.

    Parameters
    ----------
    m : Module
        The module of the assertion; inside ``m.If`` it is checked only under that condition.
    platform : object
        The argument of ``elaborate``.
    holds : ValueLike
        The condition.
    text : str
        The failure message.
    """
    if platform is not GENERATED:
        m.d.sync += Assert(holds, text)


def unlinted(text: str, rules: Iterable[str]) -> str:
    """Return Verilog between comments that turn off lint rules of Verilator."""
    off, on = (
        "".join(f"// verilator lint_{way} {rule}\n" for rule in rules) for way in ("off", "on")
    )
    return off + text + on
