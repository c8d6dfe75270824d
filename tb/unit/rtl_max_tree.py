"""cocotb tests of ``qs_max_tree`` (bench ``qs_max_tree_bench``)."""

import random
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

_ACTIONS = (2, 3, 4, 5, 6, 7, 8, 16, 64)
_ALL = 64


async def _check(dut: Any, stimuli: Iterable[tuple[list[int], int]]) -> None:
    """Offer a row in most clocks; check each tree's output after that tree's latency."""
    width = int(dut.Width.value)
    least = -(1 << (width - 1))
    Clock(dut.clk_i, 10, unit="ns").start()
    dut.rst_i.value = 0
    waiting = [deque[tuple[int, int] | None]() for _ in _ACTIONS]
    checked = 0
    for values, mask in _with_bubbles(stimuli):
        valid = bool(values)
        values = values or [random.randint(least, -least - 1) for _ in range(_ALL)]
        dut.valid_i.value = valid
        word = sum((value & ((1 << width) - 1)) << (width * a) for a, value in enumerate(values))
        dut.values_i.value = word
        dut.mask_i.value = mask
        await FallingEdge(dut.clk_i)
        value_word, index_word = int(dut.value_o.value), int(dut.index_o.value)
        for k, actions in enumerate(_ACTIONS):
            row = [least if mask >> a & 1 else values[a] for a in range(actions)]
            right = max(row) & ((1 << width) - 1), row.index(max(row))
            waiting[k].append(right if valid else None)
            if len(waiting[k]) < 1 + (actions - 1).bit_length():  # mask and tree levels
                continue
            value = value_word >> (width * k) & ((1 << width) - 1)
            index = index_word >> (6 * k) & 63
            expected = waiting[k].popleft()
            if expected is not None:
                assert (value, index) == expected, (
                    f"{actions} actions: {(value, index)}, not {expected}"
                )
                checked += 1
    assert checked


def _with_bubbles(stimuli: Iterable[tuple[list[int], int]]) -> Iterator[tuple[list[int], int]]:
    """Insert empty rows (clocks without a row) between rows, and append more to drain the trees."""
    for stimulus in stimuli:
        while random.random() < 0.15:
            yield [], 0
        yield stimulus
    yield from [([], 0)] * (1 + max(_ACTIONS).bit_length())


def _padded(row: list[int]) -> list[int]:
    return row + [0] * (_ALL - len(row))


@cocotb.test()
async def the_two_that_lead_are_compared_to_the_last_bit_in_every_node(dut: Any) -> None:
    """Two values exceed all others and differ by at most one; each node compares many such pairs."""
    width = int(dut.Width.value)
    least = -(1 << (width - 1))

    def stimuli() -> Iterable[tuple[list[int], int]]:
        for _ in range(2500):
            actions = random.choice((8, _ALL, _ALL, _ALL))
            level = random.randrange((actions - 1).bit_length())
            one = random.randrange(actions)
            other = one ^ 1 << level ^ random.getrandbits(level)
            lead = random.randint(least + 1, -least - 2)
            row = [random.randint(least, lead - 1) for _ in range(_ALL)]
            row[one] = lead
            row[other] = lead + random.choice((-1, 0, 1))
            yield row, 0

    await _check(dut, stimuli())


@cocotb.test()
async def every_tie_of_up_to_eight_actions_returns_the_lowest(dut: Any) -> None:
    """Every subset of eight actions attains the maximum; this includes all subsets of smaller trees."""
    await _check(dut, ((_padded([subset >> a & 1 for a in range(8)]), 0) for subset in range(256)))


@cocotb.test()
async def every_order_of_the_extremes_is_compared_as_signed(dut: Any) -> None:
    width = int(dut.Width.value)
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    corners = [low, low + 1, -1, 0, 1, high]
    await _check(
        dut,
        (
            (_padded([a, b, c, low, low, low, low, low]), 0)
            for a in corners
            for b in corners
            for c in corners
        ),
    )


@cocotb.test()
async def every_mask_leaves_its_actions_out(dut: Any) -> None:
    rows = [_padded([3, 3, 5, 5, 1, 5, 7, 7]), _padded([-8, -7, -6, -5, -4, -3, -2, -1])]
    of_eight = ((row, mask) for row in rows for mask in range(256))
    leaders = (([int(a == b) for b in range(_ALL)], 1 << a) for a in range(_ALL))
    await _check(dut, chain(of_eight, leaders))


@cocotb.test()
async def random_rows_with_many_ties_match(dut: Any) -> None:
    width = int(dut.Width.value)
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1

    def stimuli() -> Iterable[tuple[list[int], int]]:
        for _ in range(1000):
            least, most = random.choice([(low, high), (-1, 1), (low, low + 1), (high - 1, high)])
            mask = random.getrandbits(64) & random.choice([0, random.getrandbits(64), 2**64 - 1])
            yield [random.randint(least, most) for _ in range(_ALL)], mask

    await _check(dut, stimuli())
