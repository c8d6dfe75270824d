"""The agent of the device: bytes in with idle clocks, bytes out with stalls, every clock watched."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge
from pyuvm import (
    ConfigDB,
    uvm_agent,
    uvm_analysis_port,
    uvm_driver,
    uvm_monitor,
    uvm_sequencer,
)
from tb.uvm.device_items import Bytes, Clock

__all__ = ["DeviceAgent"]


class DeviceDriver(uvm_driver):
    """Sends bytes within the credit that unanswered requests, counted by `answers`, leave."""

    def build_phase(self) -> None:
        self.dut = ConfigDB().get(self, "", "DUT")
        self.random = random.Random(ConfigDB().get(self, "", "SEED"))
        config = ConfigDB().get(self, "", "CONFIG")
        # The longest request clears or reads the whole table, and its answer may be stalled all the
        # time.
        self._patience = 8 * config.states * config.actions + 20 * config.link.buffer_bytes
        self._credit = config.link.buffer_bytes
        self._stall = 0.0
        self.answers: Any = None

    async def run_phase(self) -> None:
        self.clock = FallingEdge(self.dut.clk_i)
        self.dut.rx_i.value = 0
        self.dut.tx_ready_i.value = 1
        await self._reset()
        cocotb.start_soon(self._take_answers())
        while True:
            item = await self.seq_item_port.get_next_item()
            await self._send(item)
            self.seq_item_port.item_done()

    async def _reset(self) -> None:
        self.dut.rst_i.value = 1
        for _ in range(3):
            await self.clock
        self.dut.rst_i.value = 0
        await self.clock

    async def _take_answers(self) -> None:
        ready = True
        while True:
            await self.clock
            now = self._stall == 0 or self.random.random() >= self._stall
            if now != ready:
                ready = now
                self.dut.tx_ready_i.value = ready

    async def _send(self, item: Bytes) -> None:
        self._stall = item.stall
        # A request is longer encoded than in the buffer, so this never exceeds the credit.
        await self._wait_for(0 if item.alone else max(0, self._credit - len(item.data)))
        clock, rx = self.clock, self.dut.rx_i
        for byte in item.data:
            while item.idle and self.random.random() < item.idle:
                rx.value = self.random.getrandbits(8)
                await clock
            rx.value = 1 << 8 | byte
            await clock
        rx.value = 0
        if item.reset:
            await self._reset()
        if item.alone:
            await self._wait_for(0)

    async def _wait_for(self, outstanding: int) -> None:
        # The monitor sees the last byte one clock after it was written.
        await self.clock
        for _ in range(self._patience):
            await self.clock
            if self.answers.outstanding <= outstanding:
                return
        raise AssertionError(f"no answer for {self._patience} clocks")


class DeviceMonitor(uvm_monitor):
    """Publishes every clock; checks that none was missed and that the handshakes follow their rules."""

    def build_phase(self) -> None:
        self.ap = uvm_analysis_port("ap", self)
        self.dut = ConfigDB().get(self, "", "DUT")
        self.clocks = 0

    async def run_phase(self) -> None:
        clock, seen = FallingEdge(self.dut.clk_i), self.dut.seen_o
        await clock
        before = Clock.from_word(int(seen.value))
        while True:
            await clock
            now = Clock.from_word(int(seen.value))
            assert now.edge == (before.edge + 1) % 256, "the monitor missed a clock"
            assert now.rx_ready or now.reset or before.reset or not now.rx_valid, (
                "a byte was not taken"
            )
            if before.tx_valid and not before.tx_ready and not (before.reset or now.reset):
                assert now.tx_valid, "an offered byte was withdrawn"
                assert now.tx_data == before.tx_data, "an offered byte changed"
            self.clocks += 1
            self.ap.write(now)
            before = now


class DeviceAgent(uvm_agent):
    """Driver, sequencer and monitor of one device."""

    def build_phase(self) -> None:
        self.sequencer = uvm_sequencer("sequencer", self)
        self.driver = DeviceDriver("driver", self)
        self.monitor = DeviceMonitor("monitor", self)

    def connect_phase(self) -> None:
        self.driver.seq_item_port.connect(self.sequencer.seq_item_export)
