"""cocotb tests of ``qs_draw`` (bench ``qs_agent_blocks_bench``) against ``qstep.spec.random``."""

import random
from typing import Any

import cocotb
from tb.unit.agent_slots import Slots

from qstep.spec.random import Draw, advanced, draw, first_word

_MASK32 = (1 << 32) - 1


async def _load(dut: Any, slots: Slots, agent: int, word: int) -> None:
    for half in range(2):
        await slots.until(3, agent)
        dut.draw_load_i.value = 1 << half
        dut.data_i.value = word >> 32 * half & _MASK32
        await slots.clock()
        dut.draw_load_i.value = 0


def _seen(dut: Any) -> tuple[int, ...]:
    """Return the parts of the draw that is in stage 5."""
    word = int(dut.draw_o.value)
    return tuple(word >> bit & 0xFFFF for bit in (48, 32, 16, 0))


async def _compare(dut: Any, slots: Slots, words: list[int], rotations: int, often: float) -> None:
    """Advance the words in a fraction `often` of the slots; check all words and draws."""
    drawn: list[Draw | None] = [None] * slots.agents
    bits = int(dut.CoeffFraction.value)
    for _ in range(rotations * slots.slots):
        agent = slots.agent(6)
        if agent is not None and (expected := drawn[agent]):
            seen = int(dut.draw_rounding_o.value), int(dut.draw_table_o.value)
            assert seen == (expected.noise(bits), expected.table), f"agent {agent} rounds by {seen}"
        agent = slots.agent(5)
        if agent is not None and (expected := drawn[agent]):
            assert _seen(dut) == expected[:4], f"agent {agent} draws {_seen(dut)}"
        agent = slots.agent(2)
        advance = agent is not None and random.random() < often
        if agent is not None:
            seen_word = int(dut.draw_word_o.value)
            assert seen_word == words[agent], f"word of agent {agent} is {seen_word:x}"
            if advance:
                words[agent] = advanced(words[agent])
            drawn[agent] = draw(words[agent])
        dut.draw_advance_i.value = advance
        await slots.clock()
    assert all(drawn)
    dut.draw_advance_i.value = 0


@cocotb.test()
async def words_and_draws_of_all_agents_are_those_of_the_model(dut: Any) -> None:
    slots = Slots(dut)
    await slots.start()
    words = [first_word(99, agent) for agent in range(slots.agents)]
    for agent, word in enumerate(words):
        await _load(dut, slots, agent, word)
    await _compare(dut, slots, words, 150, 1.0)
    await _compare(dut, slots, words, 100, 0.6)


@cocotb.test()
async def single_bits_and_full_words_are_mixed_as_the_model_does(dut: Any) -> None:
    slots = Slots(dut)
    await slots.start()
    ends = [1 << bit for bit in range(64)] + [(1 << 64) - 1, (1 << 64) - 2, 1 << 63 | 1]
    while ends:
        words = [ends.pop() if ends else 1 for _ in range(slots.agents)]
        for agent, word in enumerate(words):
            await _load(dut, slots, agent, word)
        await _compare(dut, slots, words, 3, 1.0)
