"""cocotb tests of ``qs_update`` against ``qstep.golden.lane.updated_value``."""

import random
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from qstep.golden.lane import updated_value
from qstep.spec.fixed import Coefficients, QFormat, greatest_coefficient


class _Operands(NamedTuple):
    entry: int
    reward: int
    maximum: int
    terminated: bool
    bias: int


def _format(dut: Any) -> QFormat:
    return QFormat(int(dut.Width.value), 0)


def _bits(dut: Any) -> int:
    return int(dut.CoeffFraction.value)


def _biases(bits: int) -> list[int]:
    return [1 << bits - 1, 0, (1 << bits) - 1, 12345]


def _coefficients(bits: int) -> list[Coefficients]:
    most = greatest_coefficient(bits)
    pairs = [(0, 0), (1, 1), (1, 0), (most // 2, most // 2), (most, most), (most - 1, 3)]
    return [Coefficients(*pair, bits) for pair in [*pairs, (4096, 3686)]]


def _expected(number_format: QFormat, c: Coefficients, given: _Operands) -> tuple[int, bool]:
    maximum = 0 if given.terminated else given.maximum
    value = updated_value(number_format, c, given.entry, given.reward, maximum, given.bias)
    exact = c.beta * given.entry + c.alpha * given.reward + c.kappa * maximum + given.bias
    return value, exact >> c.bits != value


async def _check(dut: Any, c: Coefficients, stimuli: Iterable[_Operands]) -> None:
    """Start an update in most clocks; the reward is applied one clock before the other operands."""
    number_format = _format(dut)
    dut.alpha_i.value, dut.kappa_i.value = c.alpha, c.kappa
    for reach in ("far", "near"):
        for what in ("replaces_entry", "joins_max"):
            getattr(dut, f"{reach}_{what}_i").value = 0
    dut.rst_i.value = 0
    dut.greedy_i.value = dut.value_index_i.value = dut.valid_i.value = 0
    await FallingEdge(dut.clk_i)
    stages: list[_Operands | None] = [None] * (int(dut.LoopDepth.value) + 2)
    checked = 0
    for given in _with_bubbles(stimuli, len(stages)):
        stages = [given, *stages[:-1]]
        dut.valid_i.value = sum((stage is not None) << k for k, stage in enumerate(stages))
        if stages[0] is not None:
            dut.reward_i.value = stages[0].reward
        if stages[1] is not None:
            dut.entry_i.value, dut.max_i.value = stages[1].entry, stages[1].maximum
            dut.terminated_i.value, dut.bias_i.value = stages[1].terminated, stages[1].bias
        await FallingEdge(dut.clk_i)
        last = stages[-1]
        if last is not None:
            seen = dut.value_o.value.to_signed(), bool(dut.saturated_o.value)
            assert seen == _expected(number_format, c, last), f"{last} with {c}: {seen}"
            assert dut.max_o.value.to_signed() == last.maximum
            checked += 1
    assert checked


def _with_bubbles(stimuli: Iterable[_Operands], drain: int) -> Iterator[_Operands | None]:
    for given in stimuli:
        while random.random() < 0.15:
            yield None
        yield given
    yield from [None] * drain


def _corners(number_format: QFormat, bits: int) -> Iterator[_Operands]:
    low, high = number_format.minimum, number_format.maximum
    values = (low, low + 1, -2, -1, 0, 1, 2, high - 1, high)
    for entry, reward, maximum, bias in product(values, values, values, _biases(bits)):
        yield _Operands(entry, reward, maximum, (entry ^ reward) & 3 == 3, bias)


def _random(number_format: QFormat, bits: int, n: int) -> Iterator[_Operands]:
    low, high = number_format.minimum, number_format.maximum
    for _ in range(n):
        entry, reward, maximum = (random.randint(low, high) for _ in range(3))
        terminated = random.random() < 0.2
        bias = random.choice([*_biases(bits), random.getrandbits(bits)])
        yield _Operands(entry, reward, maximum, terminated, bias)


@cocotb.test()
async def corners_of_operands_coefficients_and_roundings_match(dut: Any) -> None:
    Clock(dut.clk_i, 10, unit="ns").start()
    for c in _coefficients(_bits(dut)):
        await _check(dut, c, _corners(_format(dut), c.bits))


@cocotb.test()
async def random_operands_match(dut: Any) -> None:
    Clock(dut.clk_i, 10, unit="ns").start()
    for _ in range(10):
        alpha = random.randint(0, greatest_coefficient(_bits(dut)))
        c = Coefficients(alpha, random.randint(0, alpha), _bits(dut))
        await _check(dut, c, _random(_format(dut), c.bits, 2000))
