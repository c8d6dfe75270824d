"""Assertions inside the blocks: checked in Amaranth's simulation, absent from generated Verilog."""

from __future__ import annotations

from amaranth.hdl import Assert, Module, ValueLike

__all__ = ["GENERATED", "invariant"]


class _Generated:
    """The platform for which Verilog is generated; it adds nothing."""


GENERATED = _Generated()
"""The platform of :func:`qstep_rtl.generate.generate`; a simulation elaborates without a platform."""


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
        The message of a failure.
    """
    if platform is not GENERATED:
        m.d.sync += Assert(holds, text)
