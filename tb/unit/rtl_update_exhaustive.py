"""All 2^24 operands of an 8-bit update through ``qs_update`` and through the compiled golden model."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from numpy.typing import NDArray

from qstep import Config, Hyperparameters, QFormat, Rounding, Transitions
from qstep.fast_model import FastModel

_FACTOR = 0x9E3779B1
_INSTANCES = 32
_PASSES = 256 // _INSTANCES
_COUNT = 1 << 16
_CLOCK_NS = 10
_ENTRY = (np.arange(_COUNT) & 0xFF).astype(np.uint8).view(np.int8).astype(np.int32)
_REWARD = (np.arange(_COUNT) >> 8).astype(np.uint8).view(np.int8).astype(np.int32)


def _values(model: FastModel, maximum: int) -> NDArray[np.uint8]:
    """Return the new values for all entries and rewards with one maximum, as bytes.

    The lower half of the states holds the entries, the upper half the rows with the maximum, so that no
    update sees another's result.
    """
    half = _COUNT // 2
    state = np.arange(half, dtype=np.int32)
    table = np.full((_COUNT, 2), maximum, np.int32)
    values = np.empty(_COUNT, np.int32)
    for part in (slice(0, half), slice(half, _COUNT)):
        table[:half, 0] = _ENTRY[part]
        model.load(table)
        model.apply(
            Transitions.from_arrays(
                model.config,
                state=state,
                action=np.zeros(half, np.int32),
                reward=_REWARD[part],
                next_state=state + half,
                terminated=np.zeros(half, np.bool_),
            )
        )
        values[part] = model.table[:half, 0]
    return values.astype(np.uint8)


def _model_hashes(hyper: Hyperparameters) -> list[int]:
    """Return for each instance the hash over its maxima, and all entries and rewards."""
    model = FastModel(Config(states=_COUNT, actions=2, format=QFormat(8, 0)))
    model.configure(hyper)
    factors = np.full(_COUNT * _PASSES, _FACTOR, np.uint32)
    factors[0] = 1
    powers = np.multiply.accumulate(factors, dtype=np.uint32)[::-1]
    hashes = []
    for instance in range(_INSTANCES):
        maxima = np.array([instance + _INSTANCES * k for k in range(_PASSES)], np.uint8).view(
            np.int8
        )
        values = np.concatenate([_values(model, int(maximum)) for maximum in maxima])
        hashes.append(int(np.sum(values * powers, dtype=np.uint32)))
    return hashes


@cocotb.test()
async def every_operand_of_eight_bits_matches_the_compiled_model(dut: Any) -> None:
    Clock(dut.clk_i, _CLOCK_NS, unit="ns").start()
    settings = [
        (Hyperparameters(0.5, 0.9, Rounding.NEAREST), 1 << 14),
        (Hyperparameters(1.0, 1.0, Rounding.FLOOR), 0),
        (Hyperparameters(0.1, 1.0, Rounding.NEAREST), 1 << 14),
        (Hyperparameters(0.93, 0.37, Rounding.FLOOR), 0),
    ]
    for hyper, bias in settings:
        dut.alpha_i.value, dut.kappa_i.value = hyper.coefficients.alpha, hyper.coefficients.kappa
        dut.bias_i.value = bias
        dut.rst_i.value = 1
        await FallingEdge(dut.clk_i)
        await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        # Nothing to do in Python for so many clocks: sleep.
        await Timer((_COUNT * _PASSES + 8) * _CLOCK_NS, unit="ns")
        await FallingEdge(dut.clk_i)
        assert dut.done_o.value
        expected = _model_hashes(hyper)
        for instance in range(_INSTANCES):
            dut.select_i.value = instance
            await FallingEdge(dut.clk_i)
            assert int(dut.hash_o.value) == expected[instance], f"{hyper}, instance {instance}"
