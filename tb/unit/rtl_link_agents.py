"""cocotb test: a device with agents, controlled over the link, takes the same steps as the model.

Plusarg: ``+config=FILE`` names the device's configuration.
"""

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.task import bridge, resume
from cocotb.triggers import FallingEdge
from tb.unit.checked_driver import check_agents

from qstep import Config

_CHUNK_CLOCKS = 1000
_TX_VALID, _TAKEN = 1 << 10, 3 << 8


class _Port:
    """The byte streams of a device, for a driver in its own thread; time advances in :meth:`read`."""

    def __init__(self, dut: Any) -> None:
        self._dut, self._edge = dut, FallingEdge(dut.clk_i)
        self._pending = bytearray()

    async def start(self) -> None:
        Clock(self._dut.clk_i, 10, unit="ns").start()
        self._dut.rx_i.value, self._dut.tx_ready_i.value = 0, 1
        await self._reset()

    async def _reset(self) -> None:
        self._dut.rst_i.value = 1
        for _ in range(4):
            await self._edge
        self._dut.rst_i.value = 0
        await self._edge

    reset = resume(_reset)

    def write(self, data: bytes) -> None:
        self._pending += data

    @resume
    async def read(self, timeout: float) -> bytes:
        """Return the bytes up to the end of a frame or a time limit; the driver then reads again."""
        received = bytearray()
        for _ in range(_CHUNK_CLOCKS):
            self._dut.rx_i.value = 1 << 8 | self._pending[0] if self._pending else 0
            await self._edge
            seen = int(self._dut.seen_o.value)
            if seen & _TAKEN == _TAKEN:
                del self._pending[0]
            if seen & _TX_VALID:
                received.append(seen >> 16 & 0xFF)
                if received.endswith(b"\0"):
                    break
        return bytes(received)

    def close(self) -> None:
        """Do nothing, because nothing has to be released."""


@cocotb.test()
async def a_driver_finds_agents_that_make_the_models_steps(dut: Any) -> None:
    config = Config.from_toml(cocotb.plusargs["config"])
    port = _Port(dut)
    await port.start()
    await bridge(check_agents)(port, config)
