"""cocotb tests of ``qs_world`` and ``qs_alias`` (bench ``qs_world_bench``) against ``WorldTable``."""

import random
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from numpy.typing import NDArray
from tb.random_world import random_world

from qstep import Config
from qstep.device.registers import world_writes
from qstep.mdp.memory import WorldTable
from qstep.spec.agents import Acting
from qstep.spec.memory_map import Region

_DRAWS = 1 << 16
_ITEMS = 32
_CLOCK_NS = 10
_COLUMNS = {Region.WORLD: 2, Region.STARTS: 1}
"""Number of columns in the words of each region, in every geometry of this bench."""


def _config(dut: Any) -> Config:
    width = int(dut.Width.value)
    acting = Acting(outcomes=int(dut.Outcomes.value), starts=int(dut.Starts.value))
    return Config(int(dut.States.value), int(dut.Actions.value), f"Q{width - 2}.2", acting=acting)


async def _start(dut: Any, world: WorldTable) -> None:
    Clock(dut.clk_i, _CLOCK_NS, unit="ns").start()
    dut.world_write_i.value = dut.start_write_i.value = dut.restart_i.value = 0
    dut.state_i.value = dut.action_i.value = dut.first_i.value = 0
    await _idle(dut)
    writes = list(world_writes(_config(dut), world))
    random.shuffle(writes)
    for region, place, data in writes:
        dut.world_write_i.value = region == Region.WORLD
        dut.start_write_i.value = region == Region.STARTS
        dut.index_i.value, dut.data_i.value = place, data
        await FallingEdge(dut.clk_i)
        if region in _COLUMNS and random.random() < 0.5:  # a column that does not exist
            dut.index_i.value = place | _COLUMNS[region]
            dut.data_i.value = random.getrandbits(32)
            await FallingEdge(dut.clk_i)
        if random.random() < 0.2:
            await _idle(dut)
    for _ in range(100):
        await _idle(dut)


async def _idle(dut: Any) -> None:
    """Wait for a clock without a write, with random index and data."""
    dut.world_write_i.value = dut.start_write_i.value = 0
    dut.index_i.value, dut.data_i.value = random.getrandbits(30), random.getrandbits(32)
    await FallingEdge(dut.clk_i)


def _items(handle: Any, kind: str) -> NDArray[Any]:
    word = int(handle.value)
    size = np.dtype(kind).itemsize
    return np.frombuffer(word.to_bytes(_ITEMS * size, "little"), kind)[::-1]


async def _answers(dut: Any, state: int, action: int, first: int, draws: int) -> NDArray[np.int64]:
    """Return reward, next state, terminated and start state for `draws` draws from `first` on."""
    # A timer expires before the clock edge of the same time.
    await FallingEdge(dut.clk_i)
    dut.state_i.value, dut.action_i.value = state, action
    dut.restart_i.value, dut.first_i.value = 1, first
    await FallingEdge(dut.clk_i)
    dut.restart_i.value = 0
    # The answer to the first draw is ready after the latency, and in the packed words one clock later.
    await Timer(int(dut.latency_o.value) * _CLOCK_NS, unit="ns")
    rows = []
    for _ in range(draws // _ITEMS):
        await Timer(_ITEMS * _CLOCK_NS, unit="ns")
        bits = int(dut.terminated_o.value).to_bytes(_ITEMS // 8, "little")
        ends = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")[::-1]
        columns = (
            _items(dut.rewards_o, "<i4"),
            _items(dut.next_states_o, "<u2"),
            ends,
            _items(dut.starts_o, "<u2"),
        )
        rows.append(np.stack([column.astype(np.int64) for column in columns], axis=1))
    return np.concatenate(rows)


def _right(world: WorldTable, state: int, action: int, first: int, draws: int) -> NDArray[np.int64]:
    numbers = [(first + n) % _DRAWS for n in range(draws)]
    return np.array([(*world.answer(state, action, draw), world.start(draw)) for draw in numbers])


async def _compare(
    dut: Any, world: WorldTable, state: int, action: int, first: int, draws: int
) -> None:
    seen = await _answers(dut, state, action, first, draws)
    right = _right(world, state, action, first, draws)
    wrong = np.flatnonzero((seen != right).any(axis=1))
    assert not len(wrong), (
        f"{len(wrong)} draws of state {state}, action {action} are answered wrong, the first is "
        f"{first + wrong[0]}: {seen[wrong[0]]}, not {right[wrong[0]]}"
    )


def _edges(split: NDArray[np.int32]) -> list[int]:
    """Return, for each slot, a draw shortly before the start of its second outcome."""
    return [
        (slot * _DRAWS // len(split) + int(at) - _ITEMS) % _DRAWS for slot, at in enumerate(split)
    ]


@cocotb.test()
async def every_slot_of_every_pair_and_of_the_start_changes_at_its_split(dut: Any) -> None:
    config = _config(dut)
    pairs = list(np.ndindex(config.states, config.actions))
    rng = np.random.default_rng(random.getrandbits(32))
    for _ in range(4):
        world = random_world(config, 0, random.getrandbits(32))
        for split in (world.split, world.start_split):
            if split.shape[-1] > 1:
                split[:] = rng.integers(0, _DRAWS // split.shape[-1] + 1, split.shape)
        await _start(dut, world)
        for state, action in pairs:
            for first in _edges(world.split[state, action]):
                await _compare(dut, world, state, action, first, 2 * _ITEMS)
        for first in _edges(world.start_split):
            state, action = random.choice(pairs)
            await _compare(dut, world, state, action, first, 2 * _ITEMS)


@cocotb.test()
async def splits_at_and_beyond_their_ends_leave_one_outcome(dut: Any) -> None:
    config = _config(dut)
    world = random_world(config, 0, random.getrandbits(32))
    for split in (world.split, world.start_split):
        first = _DRAWS // split.shape[-1]
        ends = np.array([*(1 << bit for bit in range(16, first.bit_length() - 2, -1)), 0])
        split[:] = ends[np.indices(split.shape).sum(axis=0) % len(ends)]
    await _start(dut, world)
    for state in range(config.states):
        for slot in range(world.split.shape[-1]):
            begins = slot * _DRAWS // world.split.shape[-1]
            await _compare(dut, world, state, 0, (begins - _ITEMS) % _DRAWS, 2 * _ITEMS)
    for slot in range(len(world.start_split)):
        begins = slot * _DRAWS // len(world.start_split)
        await _compare(dut, world, 0, 0, (begins - _ITEMS) % _DRAWS, 2 * _ITEMS)


@cocotb.test()
async def every_draw_of_a_pair_and_of_the_start_is_answered_as_the_table_says(dut: Any) -> None:
    config = _config(dut)
    world = random_world(config, 0, random.getrandbits(32))
    await _start(dut, world)
    pair = random.randrange(config.states), random.randrange(config.actions)
    await _compare(dut, world, *pair, 0, _DRAWS)
