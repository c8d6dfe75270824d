"""cocotb tests of a board's reset and LED."""

import random
from itertools import pairwise
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

HERTZ = (
    40 * 128
)  # the LED's shortest flicker, a fortieth of a second, is a whole number of its ticks
_REGISTERS = 2  # registers that an input passes through
_WAIT = 16  # clocks from the last cause of a reset to its end
_LATENCY = 4  # clocks from a pin to the reset or the LED: synchroniser, register, output


class _Board:
    """The ports of the module, and a counter of its clocks."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.clocks = 0

    async def start(self, *, locked: bool = True) -> None:
        dut = self.dut
        dut.locked.value, dut.button.value, dut.receives.value = locked, 0, 0
        Clock(dut.clk, 10, unit="ns").start(start_high=False)

    async def wait(self, clocks: int = 1) -> None:
        for _ in range(clocks):
            await FallingEdge(self.dut.clk)
        self.clocks += clocks

    @property
    def in_reset(self) -> bool:
        return bool(self.dut.reset.value)

    @property
    def lit(self) -> bool:
        return bool(self.dut.led.value)

    async def stays_in_reset(self, clocks: int) -> None:
        for clock in range(clocks):
            await self.wait()
            assert self.in_reset, f"the device left reset {clock + 1} clocks later, not in {clocks}"

    async def leaves_reset(self) -> None:
        """Check that the reset ends at the specified time after its last cause has ended."""
        await self.stays_in_reset(_REGISTERS + _WAIT - 1)
        await self.wait()
        assert not self.in_reset, "the device should have left reset"

    async def goes_into_reset(self) -> None:
        await self.wait(_LATENCY)
        assert self.in_reset, "the device should be in reset"


@cocotb.test()
async def reset_holds_until_the_pll_has_locked_and_sixteen_clocks_more(dut: Any) -> None:
    board = _Board(dut)
    await board.start(locked=False)
    await Timer(1, "ns")
    assert board.in_reset, "the device should be in reset before the first clock"
    await board.stays_in_reset(100)
    for _ in range(20):  # a PLL that is about to lock
        dut.locked.value = 1
        await board.stays_in_reset(random.randint(1, _WAIT - 1))
        dut.locked.value = 0
        await board.stays_in_reset(random.randint(1, _WAIT))
    dut.locked.value = 1
    await board.leaves_reset()
    for _ in range(1000):
        await board.wait()
        assert not board.in_reset


@cocotb.test()
async def button_and_loss_of_lock_reset_the_device_however_short(dut: Any) -> None:
    board = _Board(dut)
    await board.start()
    await board.wait(50)
    for pin, cause in ((dut.button, 1), (dut.locked, 0)):
        for clocks in (_LATENCY, 100):
            pin.value = cause
            await board.goes_into_reset()
            await board.stays_in_reset(clocks - _LATENCY)
            pin.value = not cause
            await board.leaves_reset()
        pin.value = cause
        await board.wait()
        pin.value = not cause
        await board.wait(_LATENCY - 1)
        assert board.in_reset, "a cause of one clock should reset the device"
        await board.stays_in_reset(_REGISTERS + _WAIT - _LATENCY)
        await board.wait()
        assert not board.in_reset


@cocotb.test()
async def led_blinks_once_a_second_in_reset_too(dut: Any) -> None:
    board = _Board(dut)
    await board.start()
    flips = await _flips(board, 4)
    dut.button.value = 1
    flips += await _flips(board, 4)
    halves = [later - earlier for earlier, later in pairwise(flips)]
    assert halves == [HERTZ // 2] * 7, f"the LED flips after {halves} clocks"


@cocotb.test()
async def led_is_inverted_for_25_to_100_ms_after_a_start_bit(dut: Any) -> None:
    board = _Board(dut)
    await board.start()
    (first,) = await _flips(board, 1)
    after_first = board.lit

    def inverted() -> bool:
        at_rest = after_first ^ bool((board.clocks - first) // (HERTZ // 2) % 2)
        return board.lit != at_rest

    shortest, longest = HERTZ // 40, HERTZ // 10
    for bits in (1,) * 30 + (HERTZ // 2,):
        for _ in range(longest + random.randrange(HERTZ // 2)):
            await board.wait()
            assert not inverted(), "the LED is inverted without traffic"
        for bit in range(bits):  # a start bit in every other clock
            dut.receives.value = 1 - bit % 2
            await board.wait()
            assert bit < _LATENCY or inverted(), "the LED should stay inverted while bytes arrive"
        dut.receives.value = 0
        await board.wait(max(0, _LATENCY - bits))
        clocks = 0
        while inverted() and clocks <= longest:
            await board.wait()
            clocks += 1
        assert shortest <= clocks <= longest, f"the LED is inverted for {clocks} clocks"


async def _flips(board: _Board, count: int) -> list[int]:
    """Return the clocks of the LED's next `count` flips."""
    found: list[int] = []
    while len(found) < count:
        before = board.lit
        for _ in range(HERTZ):
            await board.wait()
            if board.lit != before:
                break
        else:
            raise AssertionError("the LED stands still")
        found.append(board.clocks)
    return found
