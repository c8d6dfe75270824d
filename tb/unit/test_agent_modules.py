"""The unit benches of the interleaved lane and the daisy chain detect faults planted in their blocks."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tb.bench import BenchError, run
from tb.planted import Fault, faults, plant_all
from tb.unit.unit_runs import AGENT_UNITS, FARMS, chain_run

pytestmark = [pytest.mark.rtl, pytest.mark.slow]

UNITS = {unit.top: unit for unit in reversed(AGENT_UNITS)}  # the first unit of each top module
UNITS["qs_acting"] = next(unit for unit in AGENT_UNITS if unit.parameters.get("Schedules") == 0)


@pytest.mark.parametrize(
    ("top", "planted"),
    [
        # One fault in each block of the bench, because no block is part of another one.
        ("qs_agent_blocks_bench", faults("qs_agent_blocks_bench")),
        # All other blocks contain slots, words and delay lines.
        ("qs_agent_blocks_bench", faults("rtl_agent_store")),
        ("qs_agent_choice_bench", faults("qs_agent_choice_bench")),
        ("qs_agent_update", faults("qs_agent_update")),
        ("qs_acting", faults("qs_acting")),
        *(
            (top, (one,))
            for top in ("qs_world_bench", "qs_chain_bench", "qs_agents")
            for one in faults(top)
        ),
    ],
    ids=lambda given: given if isinstance(given, str) else given[0].name,
)
def test_unit_bench_finds_the_fault_planted_in_its_block(
    top: str, planted: tuple[Fault, ...], tmp_path: Path
) -> None:
    rtl = plant_all(tmp_path, planted)
    is_chain = top == "qs_chain_bench"
    bench = chain_run(FARMS[0], rtl) if is_chain else replace(UNITS[top], rtl=rtl)
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
