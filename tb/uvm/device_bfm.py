"""BFM and driver of the device, which send bytes with idle clocks and receive bytes with stalls."""

import random
from collections import deque
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.queue import Queue
from cocotb.triggers import FallingEdge
from pyuvm import uvm_tlm_analysis_fifo
from tb.uvm.components import Agent, Driver
from tb.uvm.device_items import Bytes, Given, Reset, Taken

from qstep import Config

__all__ = ["DeviceAgent", "DeviceBfm", "DeviceDriver"]

_RX_VALID, _RX_READY, _TX_VALID, _TX_READY, _RESET = (1 << bit for bit in range(8, 13))
_TX_DATA = 0xFF << 16
_BUSY = _RX_VALID | _TX_VALID | _RESET
"""Bits of ``seen_o`` that show activity."""


class DeviceBfm:
    """Drives and samples the pins of ``qs_device_bench``, which contains Verilog or a netlist.

    It checks that no clock is missing, and that the handshakes follow their rules.

    Attributes
    ----------
    clocks : int
        Number of clocks watched.
    seen : Queue of Taken, Given or Reset
        Frames and resets at the pins.
    stall : float
        Probability that a byte of an answer is not accepted in a given clock.
    """

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.random = dut, random.Random(seed)
        self.clock = FallingEdge(dut.clk_i)
        self.stall, self.clocks = 0.0, 0
        self.events: Queue[None] = Queue()
        self.seen: Queue[Taken | Given | Reset] = Queue()
        self._taken, self._given = bytearray(), bytearray()
        self._in_reset, self._idle, self._stalled = True, False, False

    async def start(self) -> None:
        """Start the clock, and reset the device."""
        self.dut.rx_i.value = 0
        self.dut.tx_ready_i.value = 1
        Clock(self.dut.clk_i, 10, unit="ns").start()
        cocotb.start_soon(self._watch())
        await self.reset()
        cocotb.start_soon(self._take_answers())

    async def reset(self) -> None:
        self.dut.rst_i.value = 1
        for _ in range(3):
            await self.clock
        self.dut.rst_i.value = 0
        await self.clock

    async def _take_answers(self) -> None:
        ready = True
        while True:
            await self.clock
            now = self.stall == 0 or self.random.random() >= self.stall
            if now != ready:
                ready = now
                self.dut.tx_ready_i.value = ready

    async def send(self, data: bytes, idle: float) -> None:
        """Send bytes; before each one, every further idle clock has the probability `idle`."""
        clock, rx = self.clock, self.dut.rx_i
        for byte in data:
            while idle and self.random.random() < idle:
                rx.value = self.random.getrandbits(8)
                await clock
            rx.value = 1 << 8 | byte
            await clock
        rx.value = 0

    async def _watch(self) -> None:
        clock, seen = self.clock, self.dut.seen_o
        await clock
        word = int(seen.value)
        while True:
            await clock
            before, word = word, int(seen.value)
            assert word >> 24 == (before >> 24) + 1 & 0xFF, "the monitor missed a clock"
            self.clocks += 1
            if (before | word) & _BUSY:
                self._follow(before, word)

    def _follow(self, before: int, word: int) -> None:
        """Check the handshakes, and collect bytes until a frame or a reset is complete."""
        if word & _RESET:
            if not self._in_reset:
                self.seen.put_nowait(Reset(bool(self._taken)))
                self._taken.clear()
                self._given.clear()
            self._in_reset = True
            return
        self._in_reset = False
        if not before & _RESET:
            assert word & _RX_READY or not word & _RX_VALID, "a byte was not taken"
            if before & _TX_VALID and not before & _TX_READY:
                assert word & _TX_VALID, "an offered byte was withdrawn"
                assert not (word ^ before) & _TX_DATA, "an offered byte changed"
        if word & _RX_VALID and word & _RX_READY:
            self._taken.append(word & 0xFF)
            if not word & 0xFF:
                self.seen.put_nowait(Taken(bytes(self._taken), self._idle))
                self._taken.clear()
                self._idle = False
        elif self._taken and not word & _RX_VALID:
            self._idle = True
        if word & _TX_VALID and word & _TX_READY:
            self._given.append(word >> 16 & 0xFF)
            if not word & _TX_DATA:
                self.seen.put_nowait(Given(bytes(self._given), self._stalled))
                self._given.clear()
                self._stalled = False
        elif word & _TX_VALID:
            self._stalled = True

    def flush(self) -> None:
        """Check that no frame is incomplete at the end."""
        assert not self._given, f"bytes after the last answer: {bytes(self._given)!r}"

    @property
    def divisor(self) -> int:
        """The serial line's divisor, as set by the device."""
        return int(self.dut.divisor_o.value)


class DeviceDriver(Driver):
    """Sends bytes within the credit that unanswered requests leave."""

    def build_phase(self) -> None:
        super().build_phase()
        self.seen = uvm_tlm_analysis_fifo("seen", self)
        config: Config = self.cdb_get("CONFIG")
        # The longest request clears or reads the whole table, and its answer may be stalled
        # throughout.
        self._patience = 8 * config.states * config.actions + 20 * config.link.buffer_bytes
        self._credit = config.link.buffer_bytes
        self._outstanding = deque([1])  # the delimiter after a reset

    async def drive(self, item: Bytes) -> None:
        self.bfm.stall = item.stall
        # A request is longer when encoded than in the buffer, so this never exceeds the credit.
        await self._wait_for(0 if item.alone else max(0, self._credit - len(item.data)))
        await self.bfm.send(item.data, item.idle)
        self._outstanding.extend([len(item.data)] * item.answers)
        if item.reset:
            await self.bfm.reset()
            self._outstanding.append(1)
        if item.alone:
            await self._wait_for(0)

    async def _wait_for(self, most: int) -> None:
        """Wait until at most `most` bytes of requests are unanswered."""
        for _ in range(self._patience):
            await self.bfm.clock
            while not self.seen.is_empty():
                if isinstance(self.seen.try_get()[1], Given):
                    self._outstanding.popleft()
            if sum(self._outstanding) <= most:
                return
        raise AssertionError(f"no answer for {self._patience} clocks")


class DeviceAgent(Agent):
    """An agent whose monitor reports the answers to its driver."""

    def connect_phase(self) -> None:
        super().connect_phase()
        self.monitor.ap.connect(self.driver.seen.analysis_export)
