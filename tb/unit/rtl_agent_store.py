"""cocotb tests of slots, words and delay lines (bench ``qs_agent_blocks_bench``)."""

import random
from typing import Any

import cocotb
from tb.unit.agent_slots import Slots

_DEPTHS = (0, 1, 5)


@cocotb.test()
async def every_stage_has_the_agent_of_its_slot_and_nobody_acts_for_one_rotation(dut: Any) -> None:
    slots = Slots(dut)
    await slots.start()
    for _ in range(3 * slots.slots):
        await slots.clock()
        for stage in range(slots.slots):
            agent = slots.agent(stage)
            live = bool(int(dut.live_o.value) >> stage & 1)
            assert live == (agent is not None), f"stage {stage} has the wrong slot"
            if live:
                assert int(dut.agent_o.value) >> 4 * stage & 15 == agent
    for _ in range(20):
        # Slots keep rotating through a reset, whenever it comes; no agent acts until all flags are
        # cleared.
        await slots.clock(random.randrange(1, 40))
        dut.rst_i.value = 1
        await slots.clock()
        dut.rst_i.value = 0
        wakes = 0
        while dut.clearing_o.value:
            wakes += 1
            await slots.clock()
        assert slots.slots < wakes <= 2 * slots.slots, f"agents wake after {wakes} clocks"


@cocotb.test()
async def a_word_of_each_agent_is_what_was_written_last(dut: Any) -> None:
    slots = Slots(dut)
    await slots.start()
    mask = (1 << int(dut.Width.value)) - 1
    words: dict[int, int] = {}
    for _ in range(2000):
        write, read = (random.randrange(slots.agents) for _ in range(2))
        word = random.getrandbits(32) & mask
        writes = random.random() < 0.7
        dut.ram_write_i.value = writes
        dut.ram_write_agent_i.value, dut.ram_data_i.value = write, word
        dut.ram_read_agent_i.value = read
        await slots.clock()
        if read in words:
            # A word that is being written is undefined.
            right = words[read] ^ (mask if writes and read == write else 0)
            assert int(dut.ram_data_o.value) == right, f"word of agent {read}"
        if writes:
            words[write] = word
    assert len(words) == slots.agents


@cocotb.test()
async def a_delay_line_gives_what_it_took_so_many_clocks_ago(dut: Any) -> None:
    slots = Slots(dut)
    await slots.start()
    width = int(dut.Width.value)
    taken: list[int] = []
    for _ in range(300):
        taken.append(random.getrandbits(width))
        dut.delay_i.value = taken[-1]
        await slots.clock()
        seen = int(dut.delay_o.value)
        for n, depth in enumerate(_DEPTHS):
            if len(taken) >= max(1, depth):
                value = seen >> width * n & ((1 << width) - 1)
                assert value == taken[-max(1, depth)], f"depth {depth} gives {value}"


@cocotb.test()
async def a_word_that_waits_for_its_slot_is_there_in_the_later_stage(dut: Any) -> None:
    slots = Slots(dut)
    await slots.start()
    width = int(dut.Width.value)
    waiting: dict[int, int] = {}
    for _ in range(400):
        late = slots.agent(9)
        if late in waiting:
            value = int(dut.delay_o.value) >> 3 * width
            assert value == waiting.pop(late), f"what waits for agent {late} is {value}"
        value = random.getrandbits(width)
        if (early := slots.agent(2)) is not None:
            waiting[early] = value
        dut.delay_i.value = value
        await slots.clock()
    assert waiting
