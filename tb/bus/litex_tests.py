"""cocotb test of the SoC in ``examples/litex_soc.py``: its processor learns the model's table."""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, with_timeout
from examples.litex_soc import CONFIG, STEPS

from qstep import Hyperparameters, Transitions
from qstep.golden.lane import Model

HYPER = Hyperparameters(alpha=0.5, gamma=0.875)
"""Hyperparameters that the program sets."""


def learnt() -> list[int]:
    """Return the golden model's table after the program's walk, row by row."""
    draw, state, columns = 1, 0, []
    for _ in range(STEPS):
        draw ^= draw << 13 & 0xFFFFFFFF
        draw ^= draw >> 17
        draw ^= draw << 5 & 0xFFFFFFFF
        action = draw & 1
        following = max(0, state + 2 * action - 1)
        end = following == CONFIG.states - 1
        columns.append((state, action, 4.0 if end else -1.0, following, end))
        state = 0 if end else following
    model = Model(CONFIG)
    model.configure(HYPER)
    model.apply(Transitions.from_arrays(CONFIG, *map(list, zip(*columns, strict=True))))
    assert model.table.max() > 0, "the walk never came to the end"
    return list(map(int, model.table.ravel()))


@cocotb.test()
async def the_processor_learns_the_models_table_and_walks_the_shortest_way(dut):
    dut.rst.value = 1
    Clock(dut.clk, 10, unit="ns").start()
    for _ in range(10):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    sent = []
    for _ in range(CONFIG.states * CONFIG.actions + 1):
        await with_timeout(RisingEdge(dut.sends), 10, "ms")
        sent.append(dut.sent.value.to_signed())
    *table, steps = sent
    assert table == learnt()
    assert steps == CONFIG.states - 1
