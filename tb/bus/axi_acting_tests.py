"""cocotb test of ``qs_axi_agents`` with the world on chip: agents on AXI match the model."""

from typing import Any

import cocotb
from tb.bus.axi_agents_tests import AgentsPort

from qstep.device import registers


@cocotb.test()
async def agents_in_a_table_learn_what_the_model_does_and_the_streams_are_idle(dut: Any) -> None:
    port = await AgentsPort.started(dut)
    model = port.model()
    assert await port.field("format", "stream_bytes") == 0
    await port.store(registers.world_writes(model.config, model.world))
    await port.source.send(bytes(64))
    for steps in (1, 40):
        await port.run(steps)
        model.run(steps)
        await port.check(model)
    counts = [await port.read(name) for name in ("answers", "actions", "refused", "cut", "errors")]
    assert counts == [0] * 5
    assert port.source.idle(), "what nobody waits for is not taken"
    assert port.sink.empty()
