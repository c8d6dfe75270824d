"""Lanes in lockstep at their ports, with a model of each lane beside them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from cocotb.utils import get_sim_time
from tb.unit.acting_port import CLOCK_NS, ActingPort
from tb.unit.lockstep_bins import AGENTS, ALL, PHASES, LockstepBins, field_of

from qstep import Config, Rounding
from qstep.acting import registers
from qstep.acting.agent import AgentCounters
from qstep.acting.config import Acting
from qstep.acting.model import ActingModel
from qstep.protocol import Region

__all__ = ["Counted", "LockstepFarm"]

Counted = tuple[int, int]
"""An agent whose counters the host has written: lane, and number in it."""


class LockstepFarm(ActingPort):
    """The lanes, their models, and the bins that all tests share.

    Parameters
    ----------
    dut : Any
        ``qs_lockstep``.
    bins : LockstepBins
    """

    def __init__(self, dut: Any, bins: LockstepBins) -> None:
        super().__init__(dut)
        self.bins, self.lanes = bins, int(dut.Lanes.value)
        # What the lanes share need not be the same in a model of each, which has its own world.
        acting = Acting(AGENTS, schedules=False, step_limit=False)
        rounding = list(Rounding)[int(dut.Rounding.value)]
        self.config = Config(int(dut.States.value), 4, "Q4.4", rounding=rounding, acting=acting)
        self.models: list[ActingModel] = []
        self._begins: dict[Counted, AgentCounters] = {}

    @property
    def phase(self) -> tuple[str, int]:
        """The phase of a run, and the slot in stage 0."""
        control = self.dut.u_run
        return PHASES[int(control.state_q.value)], int(control.slot_q.value)

    async def reach(self, phase: str, slot: int) -> int:
        """Wait for a slot in a phase of a run; return what was left in the rotation before."""
        left = None
        for _ in range(4 * AGENTS * self.bins.sweep):
            if left is not None and self.phase == (phase, slot):
                return left
            if self.phase[1] == AGENTS - 1:
                left = int(self.dut.u_run.left_q.value)
            await self.clock()
        raise AssertionError(f"no run {phase} in slot {slot}")

    def select(self, lane: int | str) -> None:
        """Name the lane of the next access."""
        self.dut.bus_all_i.value = lane == ALL
        self.dut.bus_lane_i.value = random.randrange(8) if lane == ALL else lane

    async def begin(self, steps: int) -> None:
        """Begin a run, whose number of steps stays for a clock more."""
        self.dut.run_i.value, self.dut.run_steps_i.value = 1, steps
        await self.clock()
        self.dut.run_i.value = 0
        await self.clock()
        self.dut.run_steps_i.value = 0

    async def write(self, lane: int | str, region: int, index: int, word: int) -> None:
        self.select(lane)
        await self.access(region, index, word)
        self.bins.group.hit("write", (field_of(region, index), lane))
        await self.clock(random.randrange(3))

    async def read(self, lane: int, region: int, index: int) -> int:
        field, (phase, _) = field_of(region, index), self.phase
        self.select(lane)
        seen = await self.access(region, index)
        self.bins.group.hit("read", (field, lane))
        if region == Region.COUNTERS and not index & 15:
            self.bins.group.hit("copy", phase)
        await self.clock(random.randrange(3))
        return seen

    async def load(self, models: list[ActingModel]) -> None:
        """Make worlds, settings, states and tables those of a model for each lane.

        Where models share a world, all that they share is written to all lanes at once. Settings are
        those of all lanes, whichever is written.
        """
        self.models, self._begins = models, {}
        self.bins.forget()
        self.bins.settings(models[0])
        # The settings that are written last are those of all lanes.
        lanes = random.sample([ALL, *range(self.lanes)], self.lanes + 1)
        for access in registers.settings_writes(random.randrange(AGENTS), models[0].settings[0]):
            for lane in lanes:
                last = lane == lanes[-1]
                await self.write(lane, *access[:2], access.data if last else random.getrandbits(32))
        shared = models[0].world is models[-1].world
        for lane, model in [(ALL, models[0])] if shared else enumerate(models):
            for access in registers.world_writes(self.config, model.world):
                await self.write(lane, *access)
            for number, state in enumerate(model.states):
                for access in registers.state_writes(number, state)[2:]:
                    await self.write(lane, *access)
            for index, value in zip(self.entries, model.table.ravel().tolist(), strict=True):
                await self.write(lane, Region.TABLE, index, value)
        for lane, model in enumerate(models):
            for number, state in enumerate(model.states):
                for access in registers.state_writes(number, state)[:2]:
                    await self.write(lane, *access)

    @property
    def entries(self) -> list[int]:
        shape = (AGENTS, self.config.states, self.config.actions)
        return [registers.table_index(agent, 0, *pair) for agent, *pair in np.ndindex(*shape)]

    async def load_counters(self, who: Counted, counters: AgentCounters) -> None:
        """Give counters to an agent of lanes and model."""
        lane, agent = who
        for access in registers.counters_writes(agent, counters):
            await self.write(lane, *access)
        self.models[lane].counters[agent] = counters
        self._begins[who] = replace(counters)

    async def read_counter(self, who: Counted, word: int) -> int:
        """Return a word of an agent's counters."""
        lane, agent = who
        return await self.read(lane, Region.COUNTERS, agent << 4 | word)

    async def counters(self, who: Counted, words: Sequence[int] = ()) -> AgentCounters:
        """Return the counters of an agent, the first words of which may have been read already."""
        every = [*words, *[await self.read_counter(who, n) for n in range(len(words), 16)]]
        return registers.counters_from(who[1], lambda _, index: every[index & 15])

    async def run(self, steps: int) -> None:
        """Make a run in lanes and models."""
        self.bins.run(steps, begun=self.models[0].states[0].begun)
        since = get_sim_time("ns")
        await self.begin(steps)
        await self.clock(2)
        await self.idle()
        clocks = (get_sim_time("ns") - since) / CLOCK_NS
        least = AGENTS * steps
        most = least + 3 * AGENTS * self.bins.sweep
        assert least <= clocks <= most, f"{steps} steps take {clocks:.0f} clocks"
        self.follow(steps)

    def follow(self, steps: int, goes_on: bool = False) -> None:
        """Make the steps of a run in the models, or further ones of it."""
        for rotation in range(steps):
            for lane, model in enumerate(self.models):
                self.bins.rotation(lane, model, is_first=not (rotation or goes_on))

    async def compare_states(self) -> None:
        """Read the states of all agents: they are those of the models."""
        for lane, model in enumerate(self.models):
            for agent, right in enumerate(model.states):
                index = agent << 3
                words = [await self.read(lane, Region.CONTEXT, index | n) for n in range(5)]
                found = registers.state_from(agent, lambda _, index, own=words: own[index & 7])
                assert found == right, f"agent {agent} of lane {lane} is at {found}, not {right}"

    async def compare_tables(self) -> None:
        """Read all tables: they are those of the models."""
        for lane, model in enumerate(self.models):
            words = [await self.read(lane, Region.TABLE, place) for place in self.entries]
            found = np.array(words, np.uint32).view(np.int32).reshape(self.config.table_shape)
            wrong = np.argwhere(found != model.table).tolist()
            assert not wrong, f"tables of lane {lane} differ in {wrong[:5]}"

    async def compare_counters(self) -> None:
        """Read the counters that the host has written: they are those of the models."""
        for who, before in self._begins.items():
            lane, agent = who
            found, right = await self.counters(who), self.models[lane].counters[agent]
            assert found == right, f"counters of agent {agent}, lane {lane}: {found}, not {right}"
            self.bins.counters(before, found)
