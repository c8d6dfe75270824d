"""Bus coverage bins: what the tests of a top-level module must jointly exercise at its AXI ports."""

import json
from collections.abc import Hashable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiResp
from tb.uvm.covergroup import Covergroup

from qstep_rtl.bus.registers import LANE, Register, registers

__all__ = ["BusCoverage", "bus_bins", "coverage_of", "report"]

_CHANNELS = {name: f"s_axil_{name}" for name in ("aw", "w", "b", "ar", "r")} | {
    "in": "s_axis_t",
    "out": "m_axis_t",
}
"""Signal-name prefix of each channel, by the channel's name in the bins."""

_HOW = ("at once", "valid waited", "ready waited")
_REFUSED = ("not readable", "not writable", "read outside", "written outside", "half a word")
_ORDERS = ("address first", "data first", "together")
_WHOLE = 0b1111
_STROBES = (*(0b0001 << n for n in range(4)), *(0b0011 << n for n in range(3)), 0b0111, 0b1110)
"""Byte strobes of all writes of 1, 2 or 3 bytes."""


def bus_bins(block: str, beats: int) -> dict[str, list[Hashable]]:
    """Return the bins of a block whose records take `beats` beats.

    Parameters
    ----------
    block : str
        :data:`~qstep_rtl.bus.registers.LANE` or :data:`~qstep_rtl.bus.registers.AGENTS`.
    beats : int
        1, 2 or 4.

    Returns
    -------
    dict of str to list
        Bins that can be hit. A write's address and data are accepted together, one clock after both are
        valid (``qs_bus_guard``). A record is never stalled once its first beat has arrived
        (``qs_bus_collect``), and is sent without a gap (``qs_bus_spread``). Agents accept each answer
        immediately (``qs_bus_live``).
    """
    ways = {
        channel: [
            how
            for how in _HOW
            if not (how != "valid waited" and channel in ("aw", "w"))
            and not (how == "valid waited" and channel == "in" and block != LANE)
        ]
        for channel in _CHANNELS
    }
    known = registers(block)
    return {
        "handshake": [(channel, how) for channel, hows in ways.items() for how in hows],
        "write": list(_ORDERS),
        "strobes": [*_STROBES, _WHOLE],
        "register read": [name for name, register in known.items() if register.readable],
        "register written": [name for name, register in known.items() if register.writable],
        "slverr": list(_REFUSED),
        "beat in": [
            (beat, how)
            for beat, how in product(range(beats), ways["in"])
            if beat == 0 or how != "valid waited"
        ],
        "beat out": [
            (beat, how)
            for beat, how in product(range(beats), ways["out"])
            if beat == 0 or how != "ready waited"
        ],
        "packet ends": list(range(beats)),
    }


class BusCoverage:
    """Collects coverage at the ports of a top-level module in every test.

    Parameters
    ----------
    block : str
        As for :func:`bus_bins`.
    beats : int
    """

    def __init__(self, block: str, beats: int) -> None:
        self.group = Covergroup(bus_bins(block, beats))
        self._beats = beats
        self._registers = registers(block)

    async def watch(self, dut: Any) -> None:
        """Collect coverage until the test ends."""
        wires = {
            channel: (getattr(dut, f"{prefix}valid"), getattr(dut, f"{prefix}ready"))
            for channel, prefix in _CHANNELS.items()
        }
        while True:
            while not dut.aresetn.value:
                await RisingEdge(dut.aclk)
            await self._watch_until_reset(dut, wires)

    async def _watch_until_reset(self, dut: Any, wires: dict[str, tuple[Any, Any]]) -> None:
        hit = self.group.hit
        how = dict.fromkeys(_CHANNELS, "at once")
        order = "together"
        reads: list[int] = []
        writes: list[tuple[int, int]] = []
        beat = {"in": 0, "out": 0}
        while True:
            await RisingEdge(dut.aclk)
            if not dut.aresetn.value:
                return
            taken = set()
            for channel, (valid, ready) in wires.items():
                if valid.value and ready.value:
                    taken.add(channel)
                    hit("handshake", (channel, how[channel]))
                elif valid.value or ready.value:
                    how[channel] = "valid waited" if valid.value else "ready waited"
            if bool(wires["aw"][0].value) != bool(wires["w"][0].value):
                order = "address first" if wires["aw"][0].value else "data first"
            if "aw" in taken:
                hit("write", order)
                order = "together"
                writes.append((int(dut.s_axil_awaddr.value), int(dut.s_axil_wstrb.value)))
            if "ar" in taken:
                reads.append(int(dut.s_axil_araddr.value))
            if "b" in taken:
                self._written(*writes.pop(0), AxiResp(int(dut.s_axil_bresp.value)))
            if "r" in taken:
                self._read(reads.pop(0), AxiResp(int(dut.s_axil_rresp.value)))
            for channel in taken & beat.keys():
                hit(f"beat {channel}", (beat[channel], how[channel]))
                ends = channel == "in" and dut.s_axis_tlast.value
                if ends:
                    hit("packet ends", beat[channel])
                beat[channel] = 0 if ends else (beat[channel] + 1) % self._beats
            for channel in taken:
                how[channel] = "at once"

    def _named(self, address: int) -> tuple[str, Register | None]:
        for name, register in self._registers.items():
            if register.address <= address < register.address + register.size:
                return name, register
        return "", None

    def _read(self, address: int, answer: AxiResp) -> None:
        name, register = self._named(address)
        if answer == AxiResp.OKAY:
            self.group.hit("register read", name)
        else:
            self.group.hit("slverr", "not readable" if register else "read outside")

    def _written(self, address: int, strobes: int, answer: AxiResp) -> None:
        name, register = self._named(address)
        self.group.hit("strobes", strobes)
        if answer == AxiResp.OKAY:
            self.group.hit("register written", name)
        elif strobes != _WHOLE:
            self.group.hit("slverr", "half a word")
        else:
            self.group.hit("slverr", "not writable" if register else "written outside")


@cache
def coverage_of(block: str, beats: int) -> BusCoverage:
    """Return the coverage collector of a block, which all tests of a simulation share."""
    return BusCoverage(block, beats)


def report(group: Covergroup) -> None:
    """Write the hit bins to the file given by plusarg ``report``; fail if any bin was not hit."""
    holes = group.holes()
    if "report" in cocotb.plusargs:
        Path(cocotb.plusargs["report"]).write_text(json.dumps(group.report()), encoding="utf-8")
    assert not holes, f"{len(holes)} bins were never hit: {holes}"
