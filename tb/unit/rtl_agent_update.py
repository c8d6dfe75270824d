"""cocotb tests of ``qs_agent_update`` against ``qstep.golden.lane.updated_value``."""

import random
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from qstep.golden.lane import exact_value, updated_value
from qstep.spec.fixed import Coefficients, QFormat, greatest_coefficient

_STAGES = {
    **dict.fromkeys(("entry_reward_i", "entry_value_i", "entry_keep_i"), 0),
    "alpha_coeff_i": 2,
    **dict.fromkeys(("target_value_i", "target_kappa_i"), 3),
    **dict.fromkeys(("again_zero_i", "again_value_i", "again_bias_i"), 5),
}
"""The clock in which each input is taken."""

_LATENCY = 8


class _Given(NamedTuple):
    entry_reward_i: int
    entry_value_i: int
    entry_keep_i: bool
    alpha_coeff_i: int
    target_value_i: int
    target_kappa_i: int
    again_zero_i: bool
    again_value_i: int
    again_bias_i: int


def _given(
    c: Coefficients,
    reward: int,
    entry: int,
    target: int,
    bias: int,
    zero: bool = False,
    keep: bool = False,
) -> _Given:
    return _Given(reward, entry, keep, c.alpha, target, c.kappa, zero or keep, entry, bias)


def _right(number_format: QFormat, bits: int, given: _Given) -> tuple[int, bool]:
    """Return the value, and whether its sum did not fit."""
    if given.entry_keep_i:
        return given.entry_value_i, False
    c = Coefficients(given.alpha_coeff_i, given.target_kappa_i, bits)
    target = 0 if given.again_zero_i else given.target_value_i
    rest = given.entry_reward_i, target, given.again_bias_i
    value = updated_value(number_format, c, given.entry_value_i, *rest)
    return value, exact_value(c, given.entry_value_i, *rest) != value


def _bits(dut: Any) -> int:
    return int(dut.CoeffFraction.value)


async def _check(dut: Any, stimuli: Iterable[_Given]) -> None:
    number_format = QFormat(int(dut.Width.value), 0)
    Clock(dut.clk_i, 10, unit="ns").start()
    past: list[_Given] = []
    for given in stimuli:
        past.append(given)
        for name, stage in _STAGES.items():
            if len(past) > stage:
                getattr(dut, name).value = getattr(past[-1 - stage], name)
        await FallingEdge(dut.clk_i)
        if len(past) < _LATENCY:
            continue
        then = past[-_LATENCY]
        seen = dut.value_o.value.to_signed(), bool(dut.saturated_o.value)
        right = _right(number_format, _bits(dut), then)
        assert seen == right, f"value and saturated are {seen}, not {right}, of {then}"
    assert len(past) > 100


@cocotb.test()
async def corners_of_operands_coefficients_and_biases_match(dut: Any) -> None:
    width = int(dut.Width.value)
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    values = (low, -1, 0, high)
    most, bits = greatest_coefficient(_bits(dut)), _bits(dut)
    pairs = ((0, 0), (1, 1), (most, most), (most // 2, 0), (most - 1, 3))
    coefficients = [Coefficients(*pair, bits) for pair in pairs]
    biases = (1 << bits - 1, 0, (1 << bits) - 1)

    def stimuli() -> Iterator[_Given]:
        for parts in product(coefficients, values, values, values, biases):
            yield _given(*parts)

    await _check(dut, stimuli())


@cocotb.test()
async def random_operands_match_and_what_is_kept_is_the_entry(dut: Any) -> None:
    width = int(dut.Width.value)
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    bits = _bits(dut)
    one = 1 << bits

    def stimuli() -> Iterator[_Given]:
        for _ in range(3000):
            alpha = random.randint(0, greatest_coefficient(bits))
            c = Coefficients(alpha, random.randint(0, alpha), bits)
            reward, entry, target = (random.randint(low, high) for _ in range(3))
            # With the third and fourth bias, the last bit of the exact sum decides.
            short = -(c.alpha * (reward - entry) + c.kappa * target) % one
            edges = short, (short - 1) % one
            bias = random.choice([0, one - 1, *edges, random.getrandbits(bits)])
            zero, keep = random.random() < 0.2, random.random() < 0.1
            yield _given(c, reward, entry, target, bias, zero, keep)

    await _check(dut, stimuli())
