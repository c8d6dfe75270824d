"""cocotb tests of ``qs_noise``."""

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from qstep.spec.random import NoiseState


async def _start(dut: Any) -> None:
    Clock(dut.clk_i, 10, unit="ns").start()
    dut.load_i.value = dut.advance_i.value = dut.x_i.value = dut.w_i.value = 0
    dut.rst_i.value = 1
    await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0


def _bits(dut: Any) -> int:
    return int(dut.CoeffFraction.value)


def _state(dut: Any) -> NoiseState:
    return NoiseState(int(dut.x_o.value), int(dut.w_o.value))


@cocotb.test()
async def reset_gives_the_documented_state(dut: Any) -> None:
    await _start(dut)
    assert _state(dut) == NoiseState(1, 0)


@cocotb.test()
async def draws_follow_the_model_and_stand_still_without_advance(dut: Any) -> None:
    await _start(dut)
    for _ in range(20):
        state = NoiseState.from_seed(random.getrandbits(64))
        dut.load_i.value = 1
        dut.advance_i.value = random.getrandbits(1)  # load has priority
        dut.x_i.value, dut.w_i.value = state.x, state.w
        await FallingEdge(dut.clk_i)
        dut.load_i.value = 0
        draw = int(dut.draw_o.value)
        for _ in range(1000):
            assert (_state(dut), dut.draw_o.value) == (state, draw)
            advance = random.random() < 0.7
            dut.advance_i.value = advance
            await FallingEdge(dut.clk_i)
            if advance:
                draw, state = state.draw(_bits(dut)), state.advance()


@cocotb.test()
async def ends_of_the_registers_carry_and_wrap(dut: Any) -> None:
    await _start(dut)
    top = (1 << 32) - 1
    for x in (1, 2, 1 << 31, top - 1, top):
        for w in (0, 1, 1 << 31, top):
            state = NoiseState(x, w)
            dut.load_i.value = 1
            dut.x_i.value, dut.w_i.value = x, w
            await FallingEdge(dut.clk_i)
            dut.load_i.value = 0
            dut.advance_i.value = 1
            for _ in range(3):
                assert _state(dut) == state
                await FallingEdge(dut.clk_i)
                assert dut.draw_o.value == state.draw(_bits(dut))
                state = state.advance()
