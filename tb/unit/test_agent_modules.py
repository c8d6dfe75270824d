"""The unit benches of the interleaved lane can fail: faults planted in its blocks are found."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tb.bench import BenchError, run
from tb.planted import Fault, faults, plant_all
from tb.unit.unit_runs import AGENT_UNITS

pytestmark = pytest.mark.rtl

UNITS = {unit.top: unit for unit in reversed(AGENT_UNITS)}  # the first of each
UNITS["qs_acting"] = next(unit for unit in AGENT_UNITS if unit.parameters.get("Schedules") == 0)


@pytest.mark.parametrize(
    ("top", "planted"),
    [
        # One fault in each block of a bench: none of them is part of another one.
        ("qs_agent_blocks_bench", faults("qs_agent_blocks_bench")),
        # Slots, words and delay lines are parts of all other blocks.
        ("qs_agent_blocks_bench", faults("rtl_agent_store")),
        ("qs_agent_choice_bench", faults("qs_agent_choice_bench")),
        ("qs_agent_update", faults("qs_agent_update")),
        ("qs_acting", faults("qs_acting")),
        *(("qs_world_bench", (fault,)) for fault in faults("qs_world_bench")),
    ],
    ids=["blocks", "store", "choice", "update", "acting", "split", "address"],
)
def test_unit_bench_finds_the_fault_planted_in_its_block(
    top: str, planted: tuple[Fault, ...], tmp_path: Path
) -> None:
    bench = replace(UNITS[top], rtl=plant_all(tmp_path, planted))
    if planted == faults("rtl_agent_store"):
        bench = replace(bench, module="tb.unit.rtl_agent_store")
    with pytest.raises(BenchError, match=r"tests failed") as caught:
        run(bench)
    found = re.search(r"^log: (.*)$", str(caught.value), re.MULTILINE)
    assert found is not None
    log = Path(found[1]).read_text(encoding="utf-8")
    assert planted
    for fault in planted:
        assert re.search(str(fault.seen), log), f"the fault in {fault.file} was not found"
