"""cocotb tests of ``qs_agent_choice`` and ``qs_expectation`` (bench ``qs_agent_choice_bench``)."""

import random
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from qstep.golden.agents import expected
from qstep.spec.agents import Algorithm

_THRESHOLD_SHIFT = 8  # from a threshold to an epsilon of 25 bits
_MORE = 100
"""Number of rows compared after the first mismatch."""

_FLUSH = 40
"""Number of rows of zeros after the last row, so that its outputs become valid."""


class _Given(NamedTuple):
    rows: list[list[int]]
    pick: bool
    action: int
    number: int
    threshold: int


def _right(given: _Given, algorithm: Algorithm) -> tuple[int, list[int], int]:
    """Return the expected action, its value in each table, and the expected target."""
    double = algorithm is Algorithm.DOUBLE_Q_LEARNING
    tables = given.rows if double else given.rows[:1]
    sums = [sum(values) for values in zip(*tables, strict=True)]
    action = given.action if given.pick else sums.index(max(sums))
    row = tables[given.number if double else 0]
    target = {
        Algorithm.Q_LEARNING: lambda: max(row),
        Algorithm.SARSA: lambda: row[action],
        Algorithm.EXPECTED_SARSA: lambda: expected(row, given.threshold << _THRESHOLD_SHIFT),
        Algorithm.DOUBLE_Q_LEARNING: lambda: tables[1 - given.number][row.index(max(row))],
    }[algorithm]()
    return action, [table[action] for table in tables], target


def _field(handle: Any, bits: int, number: int) -> int:
    return int(handle.value) >> bits * number & ((1 << bits) - 1)


async def _check(dut: Any, stimuli: Iterable[_Given]) -> None:
    """Apply one row per clock; check each algorithm's action, values and target when they are valid.

    After the first mismatch, a few more rows are applied to find out whether other algorithms fail too.
    """
    actions, width = int(dut.Actions.value), int(dut.Width.value)
    mask, action_bits = (1 << width) - 1, (actions - 1).bit_length()
    Clock(dut.clk_i, 10, unit="ns").start()
    dut.rst_i.value = 0
    await FallingEdge(dut.clk_i)
    selects = [_field(dut.select_o, 8, k) for k in range(4)]
    targets = [_field(dut.target_stage_o, 8, k) for k in range(4)]
    late = int(dut.threshold_o.value)
    past: list[_Given] = []
    wrong: dict[Algorithm, str] = {}
    checked, more = 0, _MORE
    flush = [_drawn(actions, [[0] * actions] * 2) for _ in range(_FLUSH)]
    for given in chain(stimuli, flush):
        past.append(given)
        words = [sum((v & mask) << width * a for a, v in enumerate(row)) for row in given.rows]
        dut.rows_i.value = words[1] << width * actions | words[0]
        dut.pick_i.value, dut.pick_action_i.value = given.pick, given.action
        dut.number_i.value = given.number
        if len(past) > late:
            dut.threshold_i.value = past[-1 - late].threshold
        await FallingEdge(dut.clk_i)
        if len(past) <= max(targets):
            continue
        for k, algorithm in enumerate(Algorithm):
            then = past[-selects[k]]
            action, values, _ = _right(then, algorithm)
            seen = [_field(dut.action_o, action_bits, k)]
            seen += [_field(dut.values_o, width, 2 * k + table) for table in range(len(values))]
            right = [action, *(value & mask for value in values)]
            if seen != right:
                wrong[algorithm] = f"action and values are {seen}, not {right}, of {then}"
            then = past[-targets[k]]
            *_, target = _right(then, algorithm)
            aim = _field(dut.target_o, width + 1, k)
            right_aim = target & ((2 << width) - 1)
            if aim != right_aim:
                wrong[algorithm] = f"target is {aim}, not {right_aim}, of {then}"
        checked += 1
        more -= bool(wrong)
        if not more:
            break
    assert checked
    assert not wrong, "\n".join(f"{algorithm.value}: {what}" for algorithm, what in wrong.items())


def _drawn(actions: int, rows: list[list[int]], threshold: int | None = None) -> _Given:
    return _Given(
        rows,
        random.random() < 0.3,
        random.randrange(actions),
        random.getrandbits(1),
        random.choice([0, 1, 1 << 16, random.randrange((1 << 16) + 1)])
        if threshold is None
        else threshold,
    )


@cocotb.test()
async def any_rows_with_many_ties_match_in_every_algorithm(dut: Any) -> None:
    actions, width = int(dut.Actions.value), int(dut.Width.value)
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1

    def stimuli() -> Iterator[_Given]:
        for _ in range(1500):
            least, most = random.choice([(low, high), (-1, 1), (low, low + 1), (high - 1, high)])
            rows = [[random.randint(least, most) for _ in range(actions)] for _ in range(2)]
            yield _drawn(actions, rows)

    await _check(dut, stimuli())


@cocotb.test()
async def rows_of_extremes_and_thresholds_at_their_ends_match(dut: Any) -> None:
    actions, width = int(dut.Actions.value), int(dut.Width.value)
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1

    def stimuli() -> Iterator[_Given]:
        for threshold in (0, 1, (1 << 16) - 1, 1 << 16):
            for one in (0, actions - 1):
                for most, least in ((high, low), (high, high - 1), (low + 1, low), (0, -1)):
                    row = [least] * actions
                    row[one] = most
                    other = [most] * actions
                    other[one] = least
                    yield _drawn(actions, [row, other], threshold)
                    yield _drawn(actions, [other, row], threshold)

    await _check(dut, stimuli())


@cocotb.test()
async def products_at_and_just_below_a_half_round_to_the_nearest(dut: Any) -> None:
    """The product of share and row, modulo 2^16, is 2^15 or 2^15 - 1."""
    actions, width = int(dut.Actions.value), int(dut.Width.value)
    high, others = (1 << (width - 1)) - 1, actions - 1

    def stimuli() -> Iterator[_Given]:
        for _ in range(400):
            threshold = random.randrange((1 << 16) + 1)
            share = threshold * ((2 * (1 << 16) + actions) // (2 * actions)) >> 16
            product = (1 << 15) - random.getrandbits(1)
            below = product * pow(share, -1, 1 << 16) % (1 << 16) if share % 2 else 0
            if below <= others * ((1 << width) - 1):
                row = [high, *(high - (below + n) // others for n in range(others))]
                yield _drawn(actions, [row, row], threshold)

    await _check(dut, stimuli())
