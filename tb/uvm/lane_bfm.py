"""BFM and driver of the lane, which drive and sample its pins at each falling edge.

Sampled values have settled since the last rising edge; driven values settle before the next one.
"""

import random
from collections.abc import Iterator
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.queue import Queue
from cocotb.triggers import FallingEdge
from numpy.typing import NDArray
from tb.uvm.components import Driver
from tb.uvm.lane_items import Batch, Readback, Setting
from tb.uvm.lane_pins import IDLE_MASK, clocks_from_text, entry_words, offer_words

from qstep import Config
from qstep.spec.random import NoiseState

__all__ = ["LaneBfm", "LaneDriver"]

_CHUNK = 4096
_DRAIN_CLOCKS = 64
"""Maximum number of clocks from the last offer until all accepted transitions have left the lane."""


class LaneBfm:
    """Drives and samples the pins of ``qs_lane_bench``, which contains RTL or a netlist.

    Attributes
    ----------
    events : Queue of Setting or Readback
        The host's actions.
    seen : Queue of ndarray of CLOCK
        Records of all clocks, in chunks.
    """

    def __init__(self, dut: Any, config: Config, seed: int) -> None:
        self.dut, self.config = dut, config
        self.random = random.Random(seed)
        self.clock = FallingEdge(dut.clk_i)
        self.events: Queue[Setting | Readback] = Queue()
        self.seen: Queue[NDArray[np.void]] = Queue()
        self._texts: list[str] = []

    async def start(self) -> None:
        """Start the clock, and reset the lane."""
        dut = self.dut
        for name in ("alpha_i", "kappa_i", "rounding_i", "noise_load_i", "noise_x_i", "noise_w_i"):
            getattr(dut, name).value = 0
        dut.offer_i.value = dut.host_i.value = 0
        Clock(dut.clk_i, 10, unit="ns").start()
        cocotb.start_soon(self._watch())
        await self.reset()

    async def _watch(self) -> None:
        clock, seen, texts = self.clock, self.dut.seen_o, self._texts
        while True:
            await clock
            texts.append(str(seen.value))
            if len(texts) == _CHUNK:
                self.flush()

    def flush(self) -> None:
        """Put the clocks seen so far into the queue."""
        if self._texts:
            self.seen.put_nowait(clocks_from_text("".join(self._texts)))
            self._texts.clear()

    @property
    def edge(self) -> int:
        """The number of the last clock seen."""
        return int(self.dut.seen_o.value) & 0xFFFFFFFF

    async def reset(self) -> None:
        self.dut.rst_i.value = 1
        await self.clock
        self.dut.rst_i.value = 0

    async def prepare(self, batch: Batch) -> None:
        """Write the settings and the table that a batch needs."""
        dut, hyper = self.dut, batch.hyper
        await self.clock
        if hyper is not None:
            assert hyper.rounding is not None
            c = hyper.coefficients_for(self.config)
            dut.alpha_i.value, dut.kappa_i.value = c.alpha, c.kappa
            dut.rounding_i.value = hyper.rounding.code
            dut.noise_x_i.value = hyper.noise.x
            dut.noise_w_i.value = hyper.noise.w
            dut.noise_load_i.value = 1
            await self.clock
            dut.noise_load_i.value = 0
        if batch.table is not None:
            for word in entry_words(batch.table):
                dut.host_i.value = word
                await self.clock
            dut.host_i.value = 0
        self.events.put_nowait(Setting(self.edge, batch.get_name(), hyper, batch.table))

    async def offer(self, batch: Batch) -> None:
        """After its gap, offer each transition of a batch until it is accepted."""
        clock, offer, refused = self.clock, self.dut.offer_i, self.dut.refused_o
        for word, gap in zip(offer_words(batch.transitions), batch.gaps.tolist(), strict=True):
            for _ in range(gap):
                # While valid is 0, the other wires may have any values.
                offer.value = self.random.getrandbits(72) & IDLE_MASK
                await clock
            offer.value = word
            await clock
            while refused.value:
                await clock
        offer.value = self.random.getrandbits(72) & IDLE_MASK

    async def offer_for(self, clocks: int, words: Iterator[int]) -> None:
        """Offer transitions without gaps for this many clocks, then reset the lane."""
        self.dut.offer_i.value = next(words)
        for _ in range(clocks):
            await self.clock
            if not self.dut.refused_o.value:
                self.dut.offer_i.value = next(words)
        await self.reset()
        self.dut.offer_i.value = 0

    async def drain(self, name: str) -> None:
        """Wait until the lane is idle."""
        for _ in range(_DRAIN_CLOCKS):
            await self.clock
            if not self.dut.busy_o.value:
                return
        raise AssertionError(f"batch {name}: busy {_DRAIN_CLOCKS} clocks after the last offer")

    async def read_back(self) -> None:
        """Read the noise registers, and read the table through the host port.

        One address is written in each clock, and its data follows two clocks later.
        """
        config, dut = self.config, self.dut
        values = []
        for entry in range(config.states * config.actions + 1):
            state, action = divmod(entry, config.actions)
            if state < config.states:
                dut.host_i.value = action << 48 | state << 32
            await self.clock
            values.append(dut.host_data_o.value)
        dut.host_i.value = 0
        # An address written before an edge is sampled at it; its data is valid one edge later.
        raw = np.array([value.to_signed() for value in values[1:]], np.int32)
        noise = NoiseState(int(dut.noise_x_o.value), int(dut.noise_w_o.value))
        table = raw.reshape(config.states, config.actions)
        self.events.put_nowait(Readback(self.edge, table, noise))


class LaneDriver(Driver):
    """Offers the transitions of a batch, then reads the table back if the batch requests it."""

    async def drive(self, item: Batch) -> None:
        bfm = self.bfm
        await bfm.prepare(item)
        if item.reset_after is None:
            await bfm.offer(item)
        else:
            await bfm.offer_for(item.reset_after, iter(offer_words(item.transitions)))
        await bfm.drain(item.get_name())
        if item.read_back:
            await bfm.read_back()
