"""cocotb tests of ``qs_axi_agents`` with tile-coded agents and the test as their world."""

import random
import struct
from typing import Any

import cocotb
from tb.bus.axi_planes_tests import Answer, PlanesPort
from tb.bus.axi_runs import AXI_SENSORS
from tb.bus.first_in_c import first_in_c

from qstep import Config
from qstep.spec.tiles import Tiles
from qstep_rtl.bus.registers import AGENTS

Numbers = tuple[int, ...]

_LATENCY = (28, 43)
"""Minimum and maximum clocks from an answer's last beat to the same agent's next action."""

_FIRST = 2
"""Value of `terminated` that marks the observation with which agents start."""


class SensorsPort(PlanesPort):
    """The ports, the world, and a model that receives the rows of the same observations."""

    @staticmethod
    def built(dut: Any) -> Config:
        return AXI_SENSORS

    @property
    def tiles(self) -> Tiles:
        assert self.config.acting is not None
        assert self.config.acting.tiles is not None
        return self.config.acting.tiles

    def seen(self) -> Numbers:
        """Return random numbers, some of them outside their bounds."""

        def number(low: int, high: int) -> int:
            least, most = -(1 << 31), (1 << 31) - 1
            near = random.randint(max(least, low - 50), high + 50)
            return random.choice((near, near, near, random.randint(least, most), least, most))

        return tuple(number(own.low, own.high) for own in self.tiles.coordinates)

    def rows(self, seen: Numbers, ends: bool) -> Numbers:
        return self.tiles.of(seen)

    async def start_in(self, seen: Numbers) -> None:
        """Make agents start with this observation."""
        await self.source.send(self.packed(Answer(0, seen, 0, terminated=_FIRST)))
        await self.clocks(20)
        self.start_rows = self.tiles.of(seen)

    async def acted(self) -> int:
        """Return the agent of the next action, after checking the action against the model."""
        data = bytes((await self.sink.recv()).tdata)
        agent, state, action = struct.unpack_from("<III", data)
        assert action == self.live.states[agent].action
        assert state == 0
        assert data[12:] == bytes(self.record - 12)
        return int(agent)

    def packed(self, answer: Answer, padding: int = 0) -> bytes:
        """Return the bytes of an answer, with `padding` where other answers have a state."""
        agent, numbers, reward, reserved, terminated = answer
        head = struct.pack("<IIiHH", agent, padding, reward, reserved, terminated)
        return (head + struct.pack(f"<{len(numbers)}i", *numbers)).ljust(self.record, b"\0")


@cocotb.test()
async def first_job_in_c_passes(dut: Any) -> None:
    port = await SensorsPort.started(dut)
    assert await first_in_c(port, port.config, AGENTS) is None


@cocotb.test()
async def agents_learn_what_the_model_does_with_stalls_on_every_channel(dut: Any) -> None:
    await (await SensorsPort.started(dut)).learn()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def an_action_follows_its_answer_as_fast_as_the_page_says(dut: Any) -> None:
    assert await (await SensorsPort.started(dut)).latency() == _LATENCY


@cocotb.test()
async def agents_begin_with_the_first_observation_whatever_was_answered_before(dut: Any) -> None:
    port = await SensorsPort.started(dut)
    await port.begin_with_model()
    for bound in zip(*((own.low, own.high) for own in port.tiles.coordinates), strict=True):
        await port.source.send(port.packed(Answer(0, bound, 0)))  # no agent waits for it
    await port.clocks(20)
    cocotb.start_soon(port.world())
    await port.begin(20)
    for row in range(port.config.states):
        await port.write("start_state", value=row)  # has no effect
    await port.idle()
    await port.check(port.live)
    assert await port.read("refused") == 2


@cocotb.test()
async def answers_out_of_range_or_cut_off_are_dropped_and_counted(dut: Any) -> None:
    port = await SensorsPort.started(dut)
    good = Answer(0, port.seen(), 5)
    bad = [good._replace(reserved=1), good._replace(terminated=3), good._replace(agent=port.agents)]
    bad += [good._replace(seen=(*good.seen, number)) for number in (1, -1)]  # one too many
    bad += [answer._replace(terminated=_FIRST) for answer in bad if answer.terminated == 0]
    await port.drop(good, bad)
