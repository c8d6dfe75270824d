"""cocotb tests of ``qs_axi_agents`` with several planes; the test acts as the agents' world."""

import random
import struct
from dataclasses import replace
from typing import Any, NamedTuple

import cocotb
from tb.bus.axi_agents_tests import AgentsPort
from tb.bus.axi_runs import axi_planes
from tb.bus.first_in_c import first_in_c

from qstep import Config
from qstep.device import registers
from qstep.device.live import LiveModel
from qstep.spec.memory_map import PLACE
from qstep.spec.settings import AgentState
from qstep_rtl.bus.agents_core import record_bytes
from qstep_rtl.bus.registers import AGENTS

Rows = tuple[int, ...]

_LATENCY = {2: (22, 37), 10: (24, 41), 16: (24, 41)}
"""Minimum and maximum clocks from an answer's last beat to its agent's next action, by plane count."""


class Answer(NamedTuple):
    """An answer with a raw reward; `seen` is one row per plane, or the numbers of an observation."""

    agent: int
    seen: Rows
    reward: int
    reserved: int = 0
    terminated: int = 0


class PlanesPort(AgentsPort):
    """The ports, the world, and a model that receives the same answers."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.config = self.built(dut)
        self.record = record_bytes(self.config)
        acting = self.config.acting
        assert acting is not None
        live = replace(self.config, acting=replace(acting, world="live"))
        self.live = LiveModel(live, self.settings)
        self.start_rows: Rows = ()

    @staticmethod
    def built(dut: Any) -> Config:
        """Return the configuration of the simulated design."""
        return axi_planes(int(dut.Planes.value))

    def seen(self) -> Rows:
        """Return a random row for each plane."""
        return tuple(random.randrange(self.config.states) for _ in range(self.config.planes))

    def rows(self, seen: Rows, ends: bool) -> Rows:
        """Return the rows from which an agent continues after an answer."""
        return self.start_rows if ends else seen

    async def start_in(self, seen: Rows) -> None:
        """Make episodes start in these rows."""
        for plane, row in enumerate(seen):
            await self.write("start_state", value=row, plane=plane)
            assert await self.field("start_state", "plane") == plane
        self.start_rows = seen

    async def begin_with_model(self) -> None:
        """Choose the start rows, and start every agent of the model there."""
        await self.start_in(self.seen())
        for agent in range(self.agents):
            self.live.begin(self.start_rows, agent)

    async def acted(self) -> int:
        """Return the agent of the next action, after checking the action against the model."""
        data = bytes((await self.sink.recv()).tdata)
        assert len(data) == self.record
        agent, row, action, zero = struct.unpack_from("<IIII", data)
        rest = struct.unpack_from(f"<{(self.record - 16) // 2}H", data, 16)
        others = self.config.planes - 1
        own = self.live.states[agent]
        assert ((row, *rest[:others]), action) == (own.state, own.action)
        assert not any((zero, *rest[others:]))
        return int(agent)

    def packed(self, answer: Answer, padding: int = 0) -> bytes:
        """Return the bytes of an answer, with `padding` as the last two bytes."""
        agent, (row, *others), reward, reserved, terminated = answer
        head = struct.pack("<IIiHH", agent, row, reward, reserved, terminated)
        rest = struct.pack(f"<{len(others)}H", *others)
        return (head + rest).ljust(self.record - 2, b"\0") + struct.pack("<H", padding)

    async def reply(self, agent: int) -> None:
        """Send an agent a random answer, and apply it to the model."""
        reward = random.randint(self.config.format.minimum, self.config.format.maximum)
        ends, seen = random.random() < 0.15, self.seen()
        await self.source.send(self.packed(Answer(agent, seen, reward, terminated=int(ends))))
        resolution = self.config.format.resolution
        self.live.act(reward * resolution, self.rows(seen, ends), ends, agent)

    async def world(self) -> None:
        waiting: list[int] = []
        while True:
            if not waiting or not self.sink.empty():
                waiting.append(await self.acted())
            if self.wait:
                await self.clocks(random.randrange(self.wait))
            if self.sink.empty():
                await self.reply(waiting.pop(random.randrange(len(waiting))))

    async def everything(self) -> dict[tuple[int, int], int]:
        """Return the words of the base class, and each agent's row in each plane."""
        found = await super().everything()
        for agent in range(self.agents):
            for index in registers.row_indexes(agent, self.config.planes):
                found[PLACE.region, index] = await self.fetch(PLACE.region, index)
        return found

    def state(self, agent: int, read: registers.Read) -> AgentState:
        indexes = registers.row_indexes(agent, self.config.planes)
        rows = tuple(PLACE.unpack(read(PLACE.region, index))["state"] for index in indexes)
        return replace(super().state(agent, read), state=rows)

    async def learn(self) -> None:
        """Run jobs with stalls on every channel, and compare everything with the model."""
        await self.begin_with_model()
        async for _ in self.jobs_with_stalls():
            await self.start_in(self.seen())
        await self.check(self.live)

    async def latency(self) -> tuple[int, int]:
        """Return the minimum and maximum clocks from an answer to its agent's next action."""
        await self.begin_with_model()

        async def one_after_the_other() -> None:
            waiting = [await self.acted() for _ in range(self.agents)]
            while True:
                await self.clocks(random.randrange(40))
                await self.reply(waiting.pop(0))
                waiting.append(await self.acted())

        cocotb.start_soon(one_after_the_other())
        await self.begin(300)
        said = await self.latencies(200)
        return min(said), max(said)

    async def drop(self, good: Answer, bad: list[Answer]) -> None:
        """Send invalid answers and parts of a good one; check that the agents still match the model."""
        await self.begin_with_model()
        await self.begin(20)
        waiting = [await self.acted() for _ in range(self.agents)]
        for answer in bad:
            await self.source.send(self.packed(answer))
        await self.source.send(self.packed(good, padding=1))
        ends = range(size := int(self.dut.StreamBytes.value), self.record, size)
        for end in ends:
            await self.source.send(self.packed(good)[:end])
        for agent in waiting:
            await self.reply(agent)
        cocotb.start_soon(self.world())
        await self.idle()
        await self.check(self.live)
        assert await self.read("refused") == len(bad) + 1
        assert await self.read("cut") == len(ends)


@cocotb.test()
async def first_job_in_c_passes(dut: Any) -> None:
    port = await PlanesPort.started(dut)
    assert await first_in_c(port, port.config, AGENTS) is None


@cocotb.test()
async def agents_learn_what_the_model_does_with_stalls_on_every_channel(dut: Any) -> None:
    await (await PlanesPort.started(dut)).learn()


@cocotb.test()
async def a_start_row_that_is_not_there_stands_for_0_and_a_plane_for_none(dut: Any) -> None:
    port = await PlanesPort.started(dut)
    last = port.config.states - 1
    await port.start_in((last,) * port.config.planes)
    await port.write("start_state", value=port.config.states, plane=1)
    if port.config.planes < 16:
        await port.write("start_state", value=2, plane=port.config.planes)
    port.start_rows = (last, 0, *port.start_rows[2:])
    for agent in range(port.agents):
        port.live.begin(port.start_rows, agent)
    cocotb.start_soon(port.world())
    await port.run(20)
    await port.check(port.live)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def an_action_follows_its_answer_as_fast_as_the_page_says(dut: Any) -> None:
    port = await PlanesPort.started(dut)
    assert await port.latency() == _LATENCY[port.config.planes]


@cocotb.test()
async def answers_out_of_range_or_cut_off_are_dropped_and_counted(dut: Any) -> None:
    port = await PlanesPort.started(dut)
    good = Answer(0, (1,) * port.config.planes, 5)
    bad = [good._replace(reserved=1), good._replace(terminated=2), good._replace(agent=port.agents)]
    for plane in range(port.config.planes):
        for row in (port.config.states, 1 << 15):
            rows = (*good.seen[:plane], row, *good.seen[plane + 1 :])
            bad.append(good._replace(seen=rows))
    await port.drop(good, bad)
