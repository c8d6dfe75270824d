"""The cocotb test of exercise 2: my_update against the golden model."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import Timer
from docs.exercises.golden import golden, random_cases


@cocotb.test()
async def update_equals_the_model(dut: Any) -> None:
    """Drive random cases into the inputs one by one, and compare each output with the model's."""
    inputs = (dut.q_i, dut.reward_i, dut.maximum_i, dut.terminated_i, dut.alpha_i, dut.kappa_i)
    for case in random_cases(2000):
        for port, value in zip(inputs, case, strict=True):
            port.value = value
        await Timer(1, "ns")
        found, expected = dut.q_o.value.to_signed(), golden(*case)
        assert found == expected, f"{case}: q_o is {found}, the model has {expected}"
