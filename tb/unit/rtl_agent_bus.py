"""cocotb tests of ``qs_agent_bus`` (bench ``qs_agent_blocks_bench``)."""

import random
from itertools import product
from typing import Any

import cocotb
from tb.unit.agent_slots import Slots

from qstep.device.registers import table_index
from qstep.spec.memory_map import LIMIT, Region


class _Bus:
    """Performs accesses, and records their effects in every clock."""

    def __init__(self, dut: Any) -> None:
        self.dut, self.slots = dut, Slots(dut)
        self.length = len(dut.bus_token_o) - 1

    async def access(
        self, region: Region, index: int, write: bool, counted: int = 3
    ) -> list[dict[str, int]]:
        """Perform an access; return the outputs in each of its clocks and in one more clock.

        The counters answer after `counted` clocks.
        """
        dut, seen = self.dut, []
        dut.bus_region_i.value, dut.bus_index_i.value = region, index
        dut.bus_write_i.value, dut.data_i.value = write, random.getrandbits(32)
        dut.bus_valid_i.value = 1
        asked = 0
        while True:
            await self.slots.clock()
            seen.append(self._outputs())
            assert len(seen) < self.length + self.slots.slots + 6, f"{region.name} takes too long"
            asked += seen[-1]["counter_read"] | seen[-1]["counter_write"]
            dut.bus_counted_i.value = asked == counted
            if seen[-1]["done"]:
                break
        assert (seen[-1]["index"], seen[-1]["data"]) == (index, int(dut.data_i.value))
        assert seen[-1]["write"] == write
        dut.bus_valid_i.value = 0
        await self.slots.clock()
        seen.append(self._outputs())
        assert not seen[-1]["done"], "an access is over twice"
        return seen

    def _outputs(self) -> dict[str, int]:
        names = ["index", "data", "write", "agent", "set", "field", "load", "entry"]
        names += ["counter_read", "counter_write", "token", "done"]
        found = {name: int(getattr(self.dut, f"bus_{name}_o").value) for name in names}
        now = self.slots.agent(0)
        found["in_stage_0"] = -1 if now is None else now
        return found


async def _start(dut: Any) -> _Bus:
    bus = _Bus(dut)
    await bus.slots.start()
    return bus


def _above(bits: int) -> int:
    """Return an index whose lowest bits are 0 and whose others, which its region ignores, are random."""
    return random.getrandbits(30 - bits) << bits


def _no(seen: list[dict[str, int]], *names: str) -> None:
    for name in names:
        assert not any(clock[name] for clock in seen), f"{name} comes uncalled for"


@cocotb.test()
async def a_setting_is_written_once_and_a_read_changes_nothing(dut: Any) -> None:
    bus = await _start(dut)
    for write in (True, False):
        for field in range(8):
            agent = random.randrange(bus.slots.agents)
            seen = await bus.access(Region.SETTINGS, _above(7) | agent << 3 | field, write)
            sets = [(clock["set"], clock["agent"]) for clock in seen if clock["set"]]
            wanted = [(1 << field, agent)] if write else []
            assert sets == wanted, f"field {field} sets {sets}"
            _no(seen, "token", "entry", "counter_read", "counter_write")


@cocotb.test()
async def a_token_goes_beside_the_slot_of_the_agent_that_is_accessed(dut: Any) -> None:
    bus = await _start(dut)
    agents = [*range(bus.slots.agents)] * (1 + 48 // bus.slots.agents)
    for agent, write, is_table in product(agents, (False, True), (False, True)):
        field = random.randrange(8)
        index = _above(7) | agent << 3 | field
        if is_table:
            index = table_index(
                agent, random.getrandbits(1), random.getrandbits(6), random.getrandbits(6)
            )
        await bus.slots.clock(random.randrange(1, bus.slots.slots))
        seen = await bus.access(Region.TABLE if is_table else Region.CONTEXT, index, write)
        first = [n for n, clock in enumerate(seen) if clock["token"] & 1]
        assert len(first) == 1, f"agent {agent} gets {len(first)} tokens"
        beside = seen[first[0]]["in_stage_0"]
        assert beside == agent, f"the token of agent {agent} is beside that of {beside}"
        passed = [clock["token"] for clock in seen[first[0] :]]
        assert passed[: bus.length + 1] == [1 << stage for stage in range(bus.length + 1)]
        assert seen[first[0] + bus.length + 1]["done"], (
            "the access is not over behind the last stage"
        )
        # All signals that identify the access stay stable while the token passes.
        named = 0 if is_table or field > 4 else 1 << field
        for clock in seen[first[0] : -1]:
            assert clock["entry"] == is_table, "an entry is taken for a context"
            assert clock["field"] == named
            assert clock["load"] == clock["field"] * write, "a read loads"
        _no(seen, "set", "counter_read", "counter_write")


@cocotb.test()
async def counters_are_asked_for_until_they_answer_and_worlds_not_at_all(dut: Any) -> None:
    bus = await _start(dut)
    for write in (True, False):
        for counted in (1, 2, 9):
            agent = random.randrange(bus.slots.agents)
            index = _above(8) | agent << 4 | random.randrange(16)
            seen = await bus.access(Region.COUNTERS, index, write, counted)
            asks, other = ("counter_write", "counter_read")[:: 1 if write else -1]
            agents = [clock["agent"] for clock in seen if clock[asks]]
            assert agents == [agent] * counted, f"agents {agents} are asked for {agent}"
            _no(seen, other, "set", "token", "entry")
    for region in (Region.WORLD, Region.STARTS):
        seen = await bus.access(region, random.getrandbits(30), True)
        _no(seen, "set", "token", "entry", "counter_read", "counter_write")


@cocotb.test()
async def a_reset_ends_an_access(dut: Any) -> None:
    bus = await _start(dut)
    regions = ((Region.CONTEXT, 0), (Region.SETTINGS, 0), (Region.SETTINGS, LIMIT.number))
    clocks = (1, 2, 3, *range(6, bus.slots.slots + bus.length, 5))
    for (region, index), before in product((*regions, (Region.COUNTERS, 0)), clocks):
        dut.bus_region_i.value, dut.bus_index_i.value = region, index
        dut.bus_write_i.value, dut.bus_valid_i.value, dut.bus_counted_i.value = 1, 1, 0
        await bus.slots.clock()
        for _ in range(before - 1):
            dut.bus_valid_i.value = dut.bus_valid_i.value & ~dut.bus_done_o.value
            await bus.slots.clock()
        dut.bus_valid_i.value, dut.rst_i.value = 0, 1
        await bus.slots.clock()
        dut.rst_i.value = 0
        for _ in range(bus.slots.slots + bus.length + 4):
            _no([bus._outputs()], "done", "token", "set", "counter_write")
            await bus.slots.clock()
