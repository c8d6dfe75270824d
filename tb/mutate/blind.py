"""Inadequate cocotb tests: one compares nothing, and the other one always fails."""

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge


@cocotb.test()
async def nothing_is_compared(dut: Any) -> None:
    Clock(dut.clk_i, 10, unit="ns").start()
    for _ in range(5):
        await FallingEdge(dut.clk_i)


@cocotb.test(skip="never" not in str(cocotb.plusargs.get("expect", "")))
async def nothing_is_right(dut: Any) -> None:
    raise AssertionError("nothing is right")
