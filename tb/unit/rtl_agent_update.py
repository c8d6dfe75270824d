"""cocotb tests of ``qs_agent_update`` against ``qstep.golden.lane.exact_value``."""

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from qstep.golden.lane import exact_value
from qstep.spec.fixed import Coefficients, QFormat, greatest_coefficient

_STAGES = {
    **dict.fromkeys(("entry_reward_i", "entry_value_i", "entry_keep_i"), 0),
    "alpha_coeff_i": 2,
    **dict.fromkeys(("target_value_i", "target_kappa_i"), 3),
    **dict.fromkeys(("again_zero_i", "again_value_i", "again_bias_i"), 5),
    "increment_weights_i": 8,
}
"""Clock in which each input is sampled."""


class _Given(NamedTuple):
    weights: Sequence[int]
    entry_reward_i: int
    entry_value_i: int
    entry_keep_i: bool
    alpha_coeff_i: int
    target_value_i: int
    target_kappa_i: int
    again_zero_i: bool
    again_value_i: int
    again_bias_i: int
    increment_weights_i: int


class _Update:
    """The update block under test, with its format and its number of planes."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.format = QFormat(int(dut.Width.value), 0)
        self.bits, self.planes = int(dut.CoeffFraction.value), int(dut.Planes.value)
        self.latency = 8 if self.planes == 1 else 10

    def _packed(self, weights: Sequence[int]) -> int:
        width = self.format.width
        return sum(weight % (1 << width) << width * t for t, weight in enumerate(weights))

    def given(
        self,
        c: Coefficients,
        reward: int,
        weights: Sequence[int],
        target: int,
        bias: int,
        zero: bool = False,
        keep: bool = False,
    ) -> _Given:
        entry = reward, sum(weights), keep
        again = zero or keep, weights[0], bias
        return _Given(weights, *entry, c.alpha, target, c.kappa, *again, self._packed(weights))

    def _right(self, given: _Given) -> tuple[int, bool]:
        """Return the expected packed values, and whether any of them saturated."""
        entry, increment = given.entry_value_i, 0
        if not given.entry_keep_i:
            c = Coefficients(given.alpha_coeff_i, given.target_kappa_i, self.bits)
            target = 0 if given.again_zero_i else given.target_value_i
            exact = exact_value(c, entry, given.entry_reward_i, target, given.again_bias_i)
            increment = exact - entry
        learned = [weight + increment for weight in given.weights]
        low, high = self.format.minimum, self.format.maximum
        values = [max(low, min(high, value)) for value in learned]
        return self._packed(values), values != learned

    async def check(self, stimuli: Iterable[_Given]) -> None:
        dut = self.dut
        Clock(dut.clk_i, 10, unit="ns").start()
        past: list[_Given] = []
        for given in stimuli:
            past.append(given)
            for name, stage in _STAGES.items():
                if len(past) > stage:
                    getattr(dut, name).value = getattr(past[-1 - stage], name)
            await FallingEdge(dut.clk_i)
            if len(past) < self.latency:
                continue
            then = past[-self.latency]
            seen = int(dut.value_o.value), bool(dut.saturated_o.value)
            right = self._right(then)
            assert seen == right, f"value and saturated are {seen}, not {right}, of {then}"
        assert len(past) > 100


@cocotb.test()
async def corners_of_operands_coefficients_and_biases_match(dut: Any) -> None:
    update = _Update(dut)
    bits, planes = update.bits, update.planes
    values = (update.format.minimum, -1, 0, update.format.maximum)
    most = greatest_coefficient(bits)
    pairs = ((0, 0), (1, 1), (most, most), (most // 2, 0), (most - 1, 3))
    coefficients = [Coefficients(*pair, bits) for pair in pairs]
    biases = (1 << bits - 1, 0, (1 << bits) - 1)

    def stimuli() -> Iterator[_Given]:
        for c, reward, weight, next_weight, bias in product(
            coefficients, values, values, values, biases
        ):
            yield update.given(c, reward, [weight] * planes, next_weight * planes, bias)

    await update.check(stimuli())


@cocotb.test()
async def random_operands_match_and_what_is_kept_is_the_entry(dut: Any) -> None:
    update = _Update(dut)
    low, high = update.format.minimum, update.format.maximum
    bits, planes = update.bits, update.planes
    one = 1 << bits

    def stimuli() -> Iterator[_Given]:
        for _ in range(3000):
            alpha = random.randint(0, greatest_coefficient(bits))
            c = Coefficients(alpha, random.randint(0, alpha), bits)
            reward, *weights = (random.randint(low, high) for _ in range(1 + planes))
            target = random.randint(planes * low, planes * high)
            # With the third and fourth bias, the rounding depends on the last bit of the exact sum.
            short = -(c.alpha * (reward - sum(weights)) + c.kappa * target) % one
            edges = short, (short - 1) % one
            bias = random.choice([0, one - 1, *edges, random.getrandbits(bits)])
            zero, keep = random.random() < 0.2, random.random() < 0.1
            yield update.given(c, reward, weights, target, bias, zero, keep)

    await update.check(stimuli())
