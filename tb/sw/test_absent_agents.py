"""A device answers accesses to the words of absent agents, and a STORE to them changes nothing."""

import pytest
from tb.equal_agents import differing
from tb.random_world import random_world
from tb.unit.device_pair import exchange

from qstep.device.agents import LinkAgents
from qstep.device.link.frames import decode_frame, encode_frame
from qstep.golden.agents_fast import FastActingModel
from qstep.spec.agents import Acting, Algorithm
from qstep.spec.config import Config, Link
from qstep.spec.epsilon import Epsilon
from qstep.spec.fixed import Rounding
from qstep.spec.memory_map import INDEX, Region
from qstep.spec.protocol import ALL_LANES, COMMON, WORD_BYTES, Request, StatusCode, arguments_of
from qstep.spec.settings import AgentSettings
from qstep_sim.port import SimPort

CONFIGS = {
    "a lane": Config(
        *(25, 3, "Q6.10"),
        rounding=Rounding.STOCHASTIC,
        acting=Acting(agents=3, algorithm=Algorithm.DOUBLE_Q_LEARNING, outcomes=2, starts=2),
        link=Link(buffer_bytes=512),
    ),
    "a farm": Config(
        *(7, 3, "Q6.10"),
        rounding=Rounding.STOCHASTIC,
        acting=Acting(agents=6, outcomes=2, starts=2),
        link=Link(buffer_bytes=512),
        lanes=3,
    ),
}


@pytest.mark.rtl
@pytest.mark.slow
@pytest.mark.parametrize("kind", CONFIGS)
def test_words_of_agents_that_do_not_exist_are_answered_and_change_nothing(kind: str) -> None:
    config = CONFIGS[kind]
    port, layouts, expected = SimPort(config), arguments_of(config), 0

    def ask(kind: Request, payload: bytes) -> bytes:
        nonlocal expected
        (answer,) = exchange(port, encode_frame(kind, expected, epoch, payload), 1)
        frame = decode_frame(answer)
        assert frame is not None
        status, expected, _ = COMMON.unpack(frame.payload[: COMMON.size])
        assert status == StatusCode.OK
        return frame.payload[COMMON.size :]

    assert config.acting is not None
    world = random_world(config, 20, 3)
    settings = [AgentSettings(0.5, 0.9, Epsilon(0.3), n) for n in range(config.acting.agents)]
    device = LinkAgents(port, config, world, settings, 0.05)
    model = FastActingModel(config, world, settings)
    device.run(100)
    hello = decode_frame(exchange(port, encode_frame(Request.HELLO, 0, 0, b"last"), 1)[0])
    assert hello is not None
    epoch = hello.epoch
    for region in (Region.SETTINGS, Region.CONTEXT, Region.COUNTERS, Region.TABLE):
        index = INDEX[region]
        for agent in range(config.lane_agents, 1 << index.widths["agent"]):
            for word in range(1 << min(index.offsets["agent"], 4)):
                lane = [config.lanes - 1] if config.lanes > 1 else []
                where = (region, index.pack(agent=agent) | word, 1, 0, 1)
                got = ask(Request.FETCH, layouts[Request.FETCH].pack(*where, *lane))
                assert len(got) == WORD_BYTES
                lanes = [ALL_LANES] if lane else []
                payload = layouts[Request.STORE].pack(*where, *lanes) + b"\x55" * WORD_BYTES
                assert ask(Request.STORE, payload) == b""
    device.reconnect()
    device.run(100)
    model.run(200)
    assert differing(device, model) == []
    port.close()
