"""cocotb test of ``qs_axi_agents`` with a shared table: a one-clock reset ends all activity."""

from typing import Any

import cocotb
from tb.bus.axi_agents_tests import AgentsPort

from qstep.device import registers
from qstep.spec.memory_map import PLACE, Region

_CLOCKS = 48
"""A reset is tried in each of this many consecutive clocks of a run, at least two rotations."""


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_reset_of_one_clock_leaves_nobody_begun_or_drawn(dut: Any) -> None:
    port = await AgentsPort.started(dut)
    model = port.model()
    await port.store(registers.world_writes(model.config, model.world))
    for clock in range(_CLOCKS):
        await port.begin(1 << 30)
        await port.clocks(100 + clock)
        await port.reset(1)
        await port.idle()
        places = [
            await port.fetch(Region.CONTEXT, n << 3 | PLACE.number) for n in range(port.agents)
        ]
        going = [n for n, place in enumerate(places) if place >> PLACE.offsets["begun"]]
        assert not going, f"agents go on after a reset in clock {clock}: {going}"
    await port.begin(1 << 30)
    await port.write("control", stop=1)
    await port.idle()
    assert await port.read("errors") == 0
