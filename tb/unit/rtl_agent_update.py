"""cocotb tests of ``qs_agent_update`` against ``qstep.golden.lane.updated_value``."""

import random
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from qstep.golden.lane import exact_value, updated_value
from qstep.spec.fixed import COEFFICIENT_BITS, COEFFICIENT_ONE, Coefficients, QFormat

_BIASES = (1 << (COEFFICIENT_BITS - 1), 0, (1 << COEFFICIENT_BITS) - 1)
_STAGES = {"s0_reward_i": 0, "s0_entry_i": 0, "s0_keep_i": 0, "s2_alpha_i": 2, "s3_target_i": 3}
_STAGES |= {"s3_kappa_i": 3, "s5_zero_i": 5, "s5_entry_i": 5, "s5_bias_i": 5}
_LATENCY = 8


class _Given(NamedTuple):
    s0_reward_i: int
    s0_entry_i: int
    s0_keep_i: bool
    s2_alpha_i: int
    s3_target_i: int
    s3_kappa_i: int
    s5_zero_i: bool
    s5_entry_i: int
    s5_bias_i: int


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


def _right(number_format: QFormat, given: _Given) -> tuple[int, bool]:
    """Return the value, and whether its sum did not fit."""
    if given.s0_keep_i:
        return given.s0_entry_i, False
    c = Coefficients(given.s2_alpha_i, given.s3_kappa_i)
    target = 0 if given.s5_zero_i else given.s3_target_i
    rest = given.s0_reward_i, target, given.s5_bias_i
    value = updated_value(number_format, c, given.s0_entry_i, *rest)
    return value, exact_value(c, given.s0_entry_i, *rest) != value


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
        right = _right(number_format, then)
        assert seen == right, f"value and saturated are {seen}, not {right}, of {then}"
    assert len(past) > 100


@cocotb.test()
async def corners_of_operands_coefficients_and_biases_match(dut: Any) -> None:
    width = int(dut.Width.value)
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    values = (low, -1, 0, high)
    coefficients = (
        Coefficients(0, 0),
        Coefficients(1, 1),
        Coefficients(COEFFICIENT_ONE, COEFFICIENT_ONE),
        Coefficients(COEFFICIENT_ONE // 2, 0),
        Coefficients(COEFFICIENT_ONE - 1, 3),
    )

    def stimuli() -> Iterator[_Given]:
        for parts in product(coefficients, values, values, values, _BIASES):
            yield _given(*parts)

    await _check(dut, stimuli())


@cocotb.test()
async def random_operands_match_and_what_is_kept_is_the_entry(dut: Any) -> None:
    width = int(dut.Width.value)
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1

    def stimuli() -> Iterator[_Given]:
        for _ in range(3000):
            alpha = random.randint(0, COEFFICIENT_ONE)
            c = Coefficients(alpha, random.randint(0, alpha))
            reward, entry, target = (random.randint(low, high) for _ in range(3))
            # With the third and fourth bias, the last bit of the exact sum decides.
            short = -(c.alpha * (reward - entry) + c.kappa * target) % COEFFICIENT_ONE
            edges = short, (short - 1) % COEFFICIENT_ONE
            bias = random.choice([*_BIASES[1:], *edges, random.getrandbits(COEFFICIENT_BITS)])
            zero, keep = random.random() < 0.2, random.random() < 0.1
            yield _given(c, reward, entry, target, bias, zero, keep)

    await _check(dut, stimuli())
