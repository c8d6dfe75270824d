"""cocotb tests of ``qs_feature_hash`` against ``qstep.spec.tiles.hashed``."""

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from qstep.spec.tiles import hashed

_STAGES = 4


@cocotb.test()
async def rows_are_those_of_the_definition_whenever_enabled(dut: Any) -> None:
    constant, bits = int(dut.Constant.value), int(dut.RowBits.value)
    Clock(dut.clk_i, 10, unit="ns").start()
    corners = [0, (1 << 64) - 1, 1 << 63, 1 << 31, *(1 << k for k in range(64))]
    words: list[int] = []
    rest = corners + [random.getrandbits(64) for _ in range(500)]
    while rest:
        enabled = random.random() < 0.8
        dut.enable_i.value = enabled
        dut.word_i.value = rest[-1] if enabled else random.getrandbits(64)
        await FallingEdge(dut.clk_i)
        if enabled:
            words.append(rest.pop())
        if len(words) >= _STAGES:
            word = words[-_STAGES]
            seen = int(dut.row_o.value)
            assert seen == hashed(word, constant, 1 << bits), f"row of {word:#x} is {seen}"
