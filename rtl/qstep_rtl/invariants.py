"""Assertions inside the blocks: checked where Amaranth simulates one, absent from generated Verilog."""

from __future__ import annotations

from amaranth.hdl import Assert, Module, ValueLike

__all__ = ["GENERATED", "invariant"]


class _Generated:
    """The platform for which Verilog is generated; it has nothing of its own."""


GENERATED = _Generated()
"""What :func:`qstep_rtl.generate.generate` elaborates for; a simulation elaborates for no platform."""


def invariant(m: Module, platform: object, holds: ValueLike, text: str) -> None:
    """Assert in every clock that `holds` is not 0.

    Parameters
    ----------
    m : Module
        Where the assertion belongs; inside ``m.If`` it holds only there.
    platform : object
        What ``elaborate`` was given.
    holds : ValueLike
        The condition.
    text : str
        What the failure says.
    """
    if platform is not GENERATED:
        m.d.sync += Assert(holds, text)
