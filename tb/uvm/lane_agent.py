"""The agent of the lane: a driver that offers batches, a monitor that sees every clock.

Both work at the falling edge: what they read has settled since the last rising edge, what they write
settles before the next one.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from cocotb.triggers import FallingEdge
from numpy.typing import NDArray
from pyuvm import (
    ConfigDB,
    uvm_agent,
    uvm_analysis_port,
    uvm_component,
    uvm_driver,
    uvm_monitor,
    uvm_sequencer,
)
from tb.uvm.lane_items import Batch, Readback, Setting
from tb.uvm.lane_pins import IDLE_MASK, clocks_from_text, entry_words, offer_words

from qstep.noise import NoiseState

__all__ = ["LaneAgent"]

_CHUNK = 4096
_DRAIN_CLOCKS = 64
"""An accepted transition must have left the lane after this many clocks without an offer."""


class LaneDriver(uvm_driver):
    """Offers the transitions of a batch, then reads the table back."""

    def build_phase(self) -> None:
        self.ap = uvm_analysis_port("ap", self)
        self.dut = ConfigDB().get(self, "", "DUT")
        self.config = ConfigDB().get(self, "", "CONFIG")
        self.random = random.Random(ConfigDB().get(self, "", "SEED"))

    async def run_phase(self) -> None:
        dut = self.dut
        self.clock = FallingEdge(dut.clk_i)
        for name in ("alpha_i", "kappa_i", "rounding_i", "noise_load_i", "noise_x_i", "noise_w_i"):
            getattr(dut, name).value = 0
        dut.offer_i.value = dut.host_i.value = 0
        await self._reset()
        while True:
            item = await self.seq_item_port.get_next_item()
            await self._drive(item)
            self.seq_item_port.item_done()

    async def _drive(self, item: Batch) -> None:
        await self._prepare(item)
        if item.reset_after is None:
            await self._offer(item)
        else:
            await self._offer_until_reset(item)
        await self._drain(item.get_name())
        if not item.read_back:
            return
        table = await self._read_table()
        noise = NoiseState(int(self.dut.noise_x_o.value), int(self.dut.noise_w_o.value))
        self.ap.write(Readback(self._edge, table, noise))

    @property
    def _edge(self) -> int:
        return int(self.dut.seen_o.value) & 0xFFFFFFFF

    async def _reset(self) -> None:
        self.dut.rst_i.value = 1
        await self.clock
        self.dut.rst_i.value = 0

    async def _prepare(self, item: Batch) -> None:
        dut = self.dut
        await self.clock
        if item.hyper is not None:
            dut.alpha_i.value = item.hyper.coefficients.alpha
            dut.kappa_i.value = item.hyper.coefficients.kappa
            dut.rounding_i.value = item.hyper.rounding.code
            dut.noise_x_i.value = item.hyper.noise.x
            dut.noise_w_i.value = item.hyper.noise.w
            dut.noise_load_i.value = 1
            await self.clock
            dut.noise_load_i.value = 0
        if item.table is not None:
            for word in entry_words(item.table):
                dut.host_i.value = word
                await self.clock
            dut.host_i.value = 0
        self.ap.write(Setting(self._edge, item.get_name(), item.hyper, item.table))

    async def _offer(self, item: Batch) -> None:
        clock, offer, refused = self.clock, self.dut.offer_i, self.dut.refused_o
        for word, gap in zip(offer_words(item.transitions), item.gaps.tolist(), strict=True):
            for _ in range(gap):
                # Without valid, the other wires may carry anything.
                offer.value = self.random.getrandbits(72) & IDLE_MASK
                await clock
            offer.value = word
            await clock
            while refused.value:
                await clock
        offer.value = self.random.getrandbits(72) & IDLE_MASK

    async def _offer_until_reset(self, item: Batch) -> None:
        words = iter(offer_words(item.transitions))
        self.dut.offer_i.value = next(words)
        for _ in range(item.reset_after):
            await self.clock
            if not self.dut.refused_o.value:
                self.dut.offer_i.value = next(words)
        await self._reset()
        self.dut.offer_i.value = 0

    async def _drain(self, name: str) -> None:
        for _ in range(_DRAIN_CLOCKS):
            await self.clock
            if not self.dut.busy_o.value:
                return
        raise AssertionError(f"batch {name}: busy {_DRAIN_CLOCKS} clocks after the last offer")

    async def _read_table(self) -> NDArray[np.int32]:
        """Read through the host port, one address a clock; data follows two clocks behind."""
        config, dut = self.config, self.dut
        values = []
        for entry in range(config.states * config.actions + 1):
            state, action = divmod(entry, config.actions)
            if state < config.states:
                dut.host_i.value = action << 48 | state << 32
            await self.clock
            values.append(dut.host_data_o.value)
        dut.host_i.value = 0
        # The address written before an edge is taken at it: its data is there one edge later.
        raw = np.array([value.to_signed() for value in values[1:]], np.int32)
        return raw.reshape(config.states, config.actions)


class LaneMonitor(uvm_monitor):
    """Publishes every clock of the lane, in chunks, and fails if it missed one."""

    def build_phase(self) -> None:
        self.ap = uvm_analysis_port("ap", self)
        self.dut = ConfigDB().get(self, "", "DUT")
        self._texts: list[str] = []
        self._next_edge: int | None = None

    async def run_phase(self) -> None:
        clock, seen, texts = FallingEdge(self.dut.clk_i), self.dut.seen_o, self._texts
        while True:
            await clock
            texts.append(str(seen.value))
            if len(texts) == _CHUNK:
                self.flush()

    def flush(self) -> None:
        """Publish what has been seen so far."""
        if not self._texts:
            return
        clocks = clocks_from_text("".join(self._texts))
        self._texts.clear()
        first = int(clocks["edge"][0]) if self._next_edge is None else self._next_edge
        missed = np.flatnonzero(clocks["edge"] != np.arange(first, first + len(clocks)))
        assert not len(missed), (
            f"the monitor missed the clock before edge {clocks['edge'][missed[0]]}"
        )
        self._next_edge = first + len(clocks)
        self.ap.write(clocks)

    def extract_phase(self) -> None:
        self.flush()


class LaneAgent(uvm_agent):
    """Driver, sequencer and monitor of one lane."""

    def __init__(self, name: str, parent: uvm_component) -> None:
        super().__init__(name, parent)
        self.sequencer: Any = None

    def build_phase(self) -> None:
        self.sequencer = uvm_sequencer("sequencer", self)
        self.driver = LaneDriver("driver", self)
        self.monitor = LaneMonitor("monitor", self)

    def connect_phase(self) -> None:
        self.driver.seq_item_port.connect(self.sequencer.seq_item_export)
