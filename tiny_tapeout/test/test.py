# SPDX-License-Identifier: Apache-2.0
"""The tile matches the update equation bit for bit, at one transition per clock."""

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

STATES, ACTIONS = 8, 2
ALPHA, KAPPA, ONE = 16384, 14336, 32768  # 1/2, 1/2 * 7/8 and 1, in units of 2^-15
RIGHT = 1


def updated(entry: int, reward: int, best: int) -> int:
    """Return the new value of an entry, in units of 2^-3."""
    total = (ONE - ALPHA) * entry + ALPHA * reward + KAPPA * best
    return max(-128, min(127, (total + ONE // 2) >> 15))


class Tile:
    """The project's pins, and the table that it should contain."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.table = [[0] * ACTIONS for _ in range(STATES)]

    async def clock(self, ui: int, uio: int) -> None:
        self.dut.ui_in.value = ui
        self.dut.uio_in.value = uio
        await FallingEdge(self.dut.clk)

    async def start(self) -> None:
        """Reset the tile and clear its table."""
        Clock(self.dut.clk, 20, unit="ns").start()
        self.dut.rst_n.value = 0
        for _ in range(3):
            await self.clock(0, 0x40)
        self.dut.rst_n.value = 1
        for state in range(STATES):
            for action in range(ACTIONS):
                await self.clock(action << 6 | state, 0x80)

    async def apply(
        self, state: int, action: int, reward: int, next_state: int, terminated: bool
    ) -> None:
        best = 0 if terminated else max(self.table[next_state])
        self.table[state][action] = updated(self.table[state][action], reward, best)
        ui = terminated << 7 | action << 6 | next_state << 3 | state
        await self.clock(ui, 0x40 | reward & 0x3F)

    async def check(self) -> None:
        """Compare all entries."""
        for _ in range(7):
            await self.clock(0, 0)
        for state in range(STATES):
            for action in range(ACTIONS):
                for _ in range(2):
                    await self.clock(action << 6 | state, 0)
                found = self.dut.uo_out.value.to_signed()
                assert found == self.table[state][action], f"Q[{state}, {action}] is {found}"


@cocotb.test()
async def learns_to_walk_to_the_end_of_a_corridor(dut: Any) -> None:
    tile = Tile(dut)
    await tile.start()
    await tile.check()
    goal = STATES - 1
    draws = random.Random(1)
    for _ in range(100):
        place = 0
        while place != goal:
            action = draws.randrange(ACTIONS)
            following = min(goal, place + 1) if action == RIGHT else max(0, place - 1)
            await tile.apply(
                place, action, 31 if following == goal else -1, following, following == goal
            )
            place = following
    await tile.check()
    assert all(row[RIGHT] > row[1 - RIGHT] for row in tile.table[:goal])


@cocotb.test()
async def equals_the_equation_on_a_random_stream_of_one_transition_a_clock(dut: Any) -> None:
    tile = Tile(dut)
    await tile.start()
    draws = random.Random(2)
    saturated = 0
    for _ in range(2000):
        good = draws.random() < 0.9
        await tile.apply(
            draws.randrange(STATES),
            draws.randrange(ACTIONS),
            31 if good else -32,
            draws.randrange(STATES),
            draws.random() < 0.05,
        )
        saturated += max(map(max, tile.table)) == 127
    await tile.check()
    assert saturated
