"""The top module of a simulated device, whose idle blocks are not clocked.

Function    Has the wrapped device's ports, `rst`, and `tick`; each change of `tick` is one clock. The
            domain ``link`` is clocked only while the device is awake.
Latency     The reset arrives one clock late, as in a generated file. Inputs that a simulation never
            changes are registered, because a Verilated model evaluates logic that depends on inputs
            twice.
Throughput  See the device.
Reset       Also active for one clock after power-up, even without `rst`.
Hazards     Outputs must be sampled before `tick` changes, and must not depend combinationally on
            inputs.
Invariants  none
"""

from __future__ import annotations

from pathlib import Path

from amaranth.hdl import ClockDomain, Instance, Module, Signal
from amaranth.lib.wiring import Component, In, Out

from qstep.spec.config import Config
from qstep_rtl.agents import check_room
from qstep_rtl.device import LINK, ByteDevice, UartDevice
from qstep_rtl.invariants import as_verilog
from qstep_rtl.island import island_files

__all__ = ["CLOCKS", "SimulatedTop", "simulated"]

CLOCKS = Path(__file__).with_name("qs_clocks.sv")
"""The SystemVerilog file that generates the clocks, a source of each simulated device."""

_CHANGING = ("rx", "rx_valid", "rx_data")
_LANES_CLOCK = "lanes_clk"


class SimulatedTop(Component):
    """The top module of a simulated device.

    Parameters
    ----------
    device : ByteDevice or UartDevice
        A device built with ``sleeps=True``.
    """

    def __init__(self, device: ByteDevice | UartDevice) -> None:
        self._device = device
        self._ports = dict(device.signature.members)
        del self._ports["awake"]
        # Lanes with a separate clock use the main clock here: the results do not depend on it.
        self._has_lanes_clock = self._ports.pop(_LANES_CLOCK, None) is not None
        super().__init__({"tick": In(1), "rst": In(1), **self._ports})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = sync = ClockDomain()
        m.domains.link = link = ClockDomain(LINK)
        # Two registers with the same value, so that no logic of one domain depends on the other's clock.
        sync.rst = Signal(name="rst_sync", init=1, reset_less=True)
        link.rst = Signal(name="rst_link", init=1, reset_less=True)
        m.d.sync += sync.rst.eq(self.rst)
        m.d.link += link.rst.eq(self.rst)

        m.submodules.clocks = Instance(
            "qs_clocks",
            i_tick_i=self.tick,
            i_awake_i=self._device.awake | self.rst | sync.rst,
            o_clk_o=sync.clk,
            o_link_clk_o=link.clk,
        )
        m.submodules.design = self._device
        if self._has_lanes_clock:
            m.d.comb += getattr(self._device, _LANES_CLOCK).eq(sync.clk)
        for name, member in self._ports.items():
            inner, outer = getattr(self._device, name), getattr(self, name)
            if member.flow == Out:
                m.d.comb += outer.eq(inner)
            elif name in _CHANGING:
                m.d.comb += inner.eq(outer)
            else:
                m.d.link += inner.eq(outer)
        return m


def simulated(config: Config, *, uart: bool = False) -> str:
    """Return the Verilog of a simulated device, ``qstep_device`` or ``qstep_top``, and of its islands.

    Parameters
    ----------
    config : Config
        What to build.
    uart : bool
        Build ``qstep_top``, with serial lines.

    Raises
    ------
    ConfigError
        As for :func:`qstep_rtl.generate.generate`.
    """
    check_room(config)
    device = (UartDevice if uart else ByteDevice)(config, sleeps=True)
    text = as_verilog(SimulatedTop(device), "qstep_top" if uart else "qstep_device")
    return "".join([text, *island_files(config).values()])
