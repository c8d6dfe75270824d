"""All 2^24 operands of an 8-bit update through ``qs_update`` and through the compiled golden model."""

from __future__ import annotations


from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from numpy.typing import NDArray

from qstep import Config, Hyperparameters, QFormat, Rounding, Transitions
from qstep.fast_model import FastModel

_FACTOR = 0x9E3779B1
_COUNT = 1 << 16
_ENTRY = (np.arange(_COUNT) & 0xFF).astype(np.uint8).view(np.int8).astype(np.int32)
_REWARD = (np.arange(_COUNT) >> 8).astype(np.uint8).view(np.int8).astype(np.int32)


def _powers() -> NDArray[np.uint32]:
    factors = np.full(_COUNT, _FACTOR, np.uint32)
    factors[0] = 1
    return np.multiply.accumulate(factors, dtype=np.uint32)[::-1]


def _model_hashes(hyper: Hyperparameters) -> list[int]:
    """Return for each maximum the hash over all entries and rewards.

    Actions 0 and 1 of a state hold the entry and the maximum of the row of the state before; the
    chunks are half of the states, so that no update sees another's result.
    """
    half = _COUNT // 2
    config = Config(states=_COUNT, actions=2, format=QFormat(8, 0))
    model = FastModel(config)
    model.configure(hyper)
    powers, hashes = _powers(), []
    table = np.zeros((_COUNT, 2), np.int32)
    state = np.arange(half, dtype=np.int32)
    for maximum in range(256):
        values = np.empty(_COUNT, np.int32)
        for part in (slice(0, half), slice(half, _COUNT)):
            table[:half, 0] = _ENTRY[part]
            table[half:] = np.int8(maximum if maximum < 128 else maximum - 256)
            model.load(table)
            model.apply(
                Transitions(
                    state=state,
                    action=np.zeros(half, np.int32),
                    reward_raw=np.ascontiguousarray(_REWARD[part]),
                    next_state=state + half,
                    terminated=np.zeros(half, np.bool_),
                )
            )
            values[part] = model.table[:half, 0]
        bytes_seen = values.astype(np.uint8).astype(np.uint32)
        hashes.append(int(np.sum(bytes_seen * powers, dtype=np.uint32)))
    return hashes


@cocotb.test()
async def every_operand_of_eight_bits_matches_the_compiled_model(dut: Any) -> None:
    Clock(dut.clk_i, 10, unit="ns").start()
    clock, count = FallingEdge(dut.clk_i), dut.count_i
    settings = [
        (Hyperparameters(0.5, 0.9, Rounding.NEAREST), 1 << 14),
        (Hyperparameters(1.0, 1.0, Rounding.FLOOR), 0),
        (Hyperparameters(0.1, 1.0, Rounding.NEAREST), 1 << 14),
        (Hyperparameters(0.93, 0.37, Rounding.FLOOR), 0),
    ]
    for hyper, bias in settings:
        dut.alpha_i.value, dut.kappa_i.value = hyper.coefficients.alpha, hyper.coefficients.kappa
        dut.bias_i.value = bias
        dut.valid_i.value = 0
        dut.rst_i.value = 1
        await clock
        dut.rst_i.value = 0
        await clock
        dut.valid_i.value = 1
        for number in range(_COUNT):
            count.value = number
            await clock
        dut.valid_i.value = 0
        for _ in range(4):
            await clock
        expected = _model_hashes(hyper)
        for maximum in range(256):
            dut.select_i.value = maximum
            await clock
            assert int(dut.hash_o.value) == expected[maximum], f"{hyper}, maximum byte {maximum}"
