"""The lane as a module of a LiteX SoC."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from litex.gen import LiteXModule
from litex.soc.interconnect import axi, stream
from litex.soc.interconnect.csr import CSRStorage
from migen import ClockSignal, Instance, ResetSignal

from qstep.spec.config import Config
from qstep_rtl.bus.generate import TOP, generate_axi
from qstep_rtl.bus.registers import ADDRESS_BITS

__all__ = ["LiteXLane"]

_BEAT = 4


class LiteXLane(LiteXModule):  # pragma: no cover: simulated by make flows
    """The lane on AXI, with a register to which a CPU writes transitions.

    ``docs/buses.md`` describes the registers on `bus` and the four words of a transition. Results are
    discarded; the CPU reads the table instead.

    Parameters
    ----------
    platform : litex.build.generic_platform.GenericPlatform
        Receives the sources.
    config : Config
        The lane.
    folder : Path
        The folder for the generated sources.

    Attributes
    ----------
    bus : AXILiteInterface
        The registers, for ``soc.bus.add_slave``.
    word : CSRStorage
        The next word of a transition. A write never waits: a FIFO buffers 16 words, and the lane accepts
        one word per clock unless settings or a table access stall it.
    """

    def __init__(self, platform: Any, config: Config, folder: Path) -> None:
        manifest = generate_axi(config, folder, _BEAT)
        for name in (*manifest.sources, f"{TOP}.sv"):
            platform.add_source(str(folder / name))
        platform.add_verilog_include_path(str(folder))

        self.bus = bus = axi.AXILiteInterface(data_width=32, address_width=32)
        self.word = CSRStorage(32, description="Next word of a transition.")
        self.fifo = fifo = stream.SyncFIFO([("data", 32)], 16)
        self.comb += [fifo.sink.valid.eq(self.word.re), fifo.sink.data.eq(self.word.storage)]

        ports = {"i_aclk": ClockSignal(), "i_aresetn": ~ResetSignal()}
        for name in ("aw", "w", "b", "ar", "r"):
            channel = getattr(bus, name)
            to_lane = name in ("aw", "w", "ar")
            ways = ("i", "o") if to_lane else ("o", "i")
            prefix = f"s_axil_{name}"
            ports[f"{ways[0]}_{prefix}valid"] = channel.valid
            ports[f"{ways[1]}_{prefix}ready"] = channel.ready
            for field, *_ in channel.description.payload_layout:
                signal = getattr(channel, field)
                ports[f"{ways[0]}_{prefix}{field}"] = (
                    signal[:ADDRESS_BITS] if field == "addr" else signal
                )
        self.specials += Instance(
            TOP,
            **ports,
            i_s_axis_tvalid=fifo.source.valid,
            o_s_axis_tready=fifo.source.ready,
            i_s_axis_tdata=fifo.source.data,
            i_s_axis_tlast=0,
            i_m_axis_tready=1,
        )
