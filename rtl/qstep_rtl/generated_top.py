"""The top module of a generated file: adds clock and reset ports to a design.

Function    Has the wrapped design's ports, plus `clk` and `rst` for its domain.
Latency     The reset arrives one clock late: it is registered, to keep a late or heavily loaded
            input out of every register's logic.
Throughput  See the design.
Reset       Also active for one clock after power-up, even without `rst`.
Hazards     none
Invariants  none
"""

from __future__ import annotations

from amaranth.hdl import ClockDomain, Module, Signal
from amaranth.lib.wiring import Component, In

__all__ = ["GeneratedTop"]


class GeneratedTop(Component):
    """The top module of a generated file: a design with its clock and reset as ports.

    Parameters
    ----------
    design : Component
        The design to wrap; it uses the domain ``sync``.
    """

    def __init__(self, design: Component) -> None:
        self._design = design
        super().__init__({"clk": In(1), "rst": In(1), **design.signature.members})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = sync = ClockDomain()
        sync.clk = self.clk
        sync.rst = Signal(init=1, reset_less=True)
        m.d.sync += sync.rst.eq(self.rst)
        m.submodules.design = self._design
        for name, member in self._design.signature.members.items():
            inner, outer = getattr(self._design, name), getattr(self, name)
            m.d.comb += inner.eq(outer) if member.flow == In else outer.eq(inner)
        return m
