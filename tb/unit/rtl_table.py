"""cocotb tests of ``qs_table``."""

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge


class _Bench:
    """Drives a table, and predicts its output, which follows the address by two clocks."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.states, self.actions = int(dut.States.value), int(dut.Actions.value)
        self.width = int(dut.Width.value)
        self._ones = (1 << self.width) - 1
        self.table = [[0] * self.actions for _ in range(self.states)]
        self.pipe: list[tuple[list[int], int]] = []

    async def start(self) -> None:
        dut = self.dut
        Clock(dut.clk_i, 10, unit="ns").start()
        dut.rst_i.value = 0
        dut.row_state_i.value = dut.entry_state_i.value = dut.entry_action_i.value = 0
        # Every entry is written once, so that a later read reveals a copy that missed its write.
        for state in range(self.states):
            for action in range(self.actions):
                self._write(state, action, random.getrandbits(self.width))
                await FallingEdge(dut.clk_i)
        dut.write_i.value = 0

    def _write(self, state: int, action: int, value: int) -> None:
        dut = self.dut
        dut.write_i.value = 1
        dut.write_state_i.value, dut.write_action_i.value = state, action
        dut.write_data_i.value = value
        self.table[state][action] = value

    async def clock(self, row: int, entry: tuple[int, int], write: tuple[int, int] | None) -> None:
        """Read a row and an entry, and write one; a value read while it is written must be inverted."""
        dut = self.dut
        dut.row_state_i.value = row
        dut.entry_state_i.value, dut.entry_action_i.value = entry
        right = [
            value ^ self._ones * (write == (row, action))
            for action, value in enumerate(self.table[row])
        ]
        value = self.table[entry[0]][entry[1]]
        self.pipe.append((right, value ^ self._ones * (write == entry)))
        data = random.getrandbits(self.width)
        if write is not None:
            self._write(*write, data)
        else:
            dut.write_i.value, dut.write_data_i.value = 0, data
            dut.write_state_i.value, dut.write_action_i.value = self.any_entry()
        await FallingEdge(dut.clk_i)
        if len(self.pipe) == 2:
            word, value = int(dut.row_o.value), int(dut.entry_o.value)
            seen = [word >> (self.width * a) & self._ones for a in range(self.actions)]
            assert (seen, value) == self.pipe.pop(0)

    def any_entry(self) -> tuple[int, int]:
        return random.randrange(self.states), random.randrange(self.actions)


@cocotb.test()
async def both_copies_hold_what_was_written_everywhere(dut: Any) -> None:
    bench = _Bench(dut)
    await bench.start()
    for state in range(bench.states):
        for action in range(bench.actions):
            await bench.clock(state, (state, action), None)


@cocotb.test()
async def reads_and_writes_go_on_in_every_clock(dut: Any) -> None:
    """Reading an entry while it is written is undefined; the simulation returns the inverted value."""
    bench = _Bench(dut)
    await bench.start()
    for _ in range(3000):
        write = random.choice([None, bench.any_entry(), bench.any_entry()])
        row, entry = random.randrange(bench.states), bench.any_entry()
        if write is not None:
            row = random.choice([row, row, write[0]])
            entry = random.choice([entry, entry, write])
        await bench.clock(row, entry, write)
        if write is not None and random.random() < 0.2:  # a read returns the previous clock's write
            await bench.clock(write[0], write, None)
