"""The unit benches of the interleaved lane can fail: faults planted in its blocks are found."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tb.bench import BenchError, run
from tb.planted import plant_all
from tb.unit.unit_runs import AGENT_UNITS

pytestmark = pytest.mark.rtl

# One fault in each block of a bench: none of them is part of another one.
BLOCKS = [
    ("qs_draw.sv", "word_a >> 7", "word_a >> 6", "agent . draws"),
    ("qs_epsilon.sv", "4'(MostShift - n)", "4'(MostShift - n + 1)", "epsilon of agent"),
    ("qs_agent_budget.sv", "{1'b0, first_q};", "{1'b1, first_q};", "a step too many"),
    (
        "qs_agent_bus.sv",
        "bus_i.index[25:22]",
        "bus_i.index[24:21]",
        "the token of agent|agent . gets",
    ),
    (
        "qs_agent_counters.sv",
        "16'(taken_q.truncations)",
        "16'(taken_q.terminations)",
        "counters of agent",
    ),
]
STORE = [
    ("qs_agent_slots.sv", "{wakes_longer_q, 1'b0}", "2'b0", "agents wake after"),
    (
        "qs_agent_ram.sv",
        "if (write_i) mem",
        "if (write_i && write_index != 2) mem",
        "word of agent 2",
    ),
    ("qs_delay.sv", "line_q[Depth-1]", "line_q[Depth/2]", "depth 5 gives"),
]
CHOICE = [
    ("qs_agent_choice.sv", "(Sarsa) ? value", "(QLearning) ? value", "q-learning: target is"),
    (
        "qs_agent_choice.sv",
        "rows[!number][best]",
        "rows[number][best]",
        "double-q: target is",
    ),
    (
        "qs_expectation.sv",
        "(1 << (DrawBits - 1))",
        "(1 << (DrawBits - 2))",
        "expected-sarsa: target is",
    ),
]
UPDATE = [("qs_agent_update.sv", "s0_keep_i ? '0 : ", "", "value and saturated are")]
SPLIT = [
    ("qs_alias.sv", "rest < word", "rest <= word", "1 draws of|2 draws of|3 draws of|4 draws of")
]
ADDRESS = [("qs_world.sv", "index_i[2+:SlotBits]", "SlotBits'(0)", "are answered wrong")]


@pytest.mark.parametrize(
    ("top", "faults"),
    [
        ("qs_agent_blocks_bench", BLOCKS),
        ("qs_agent_blocks_bench", STORE),
        ("qs_agent_choice_bench", CHOICE),
        ("qs_agent_update", UPDATE),
        ("qs_world_bench", SPLIT),
        ("qs_world_bench", ADDRESS),
    ],
    ids=["blocks", "store", "choice", "update", "split", "address"],
)
def test_unit_bench_finds_the_fault_planted_in_its_block(
    top: str, faults: list[tuple[str, str, str, str]], tmp_path: Path
) -> None:
    rtl = plant_all(tmp_path, [fault[:3] for fault in faults])
    bench = next(unit for unit in AGENT_UNITS if unit.top == top)
    # Slots, words and delay lines are parts of all other blocks.
    module = "tb.unit.rtl_agent_store" if faults is STORE else bench.module
    with pytest.raises(BenchError, match=r"tests failed") as caught:
        run(replace(bench, module=module, rtl=rtl))
    found = re.search(r"^log: (.*)$", str(caught.value), re.MULTILINE)
    assert found is not None
    log = Path(found[1]).read_text(encoding="utf-8")
    for file, _, _, message in faults:
        assert re.search(message, log), f"the fault in {file} was not found"
