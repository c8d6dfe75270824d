"""The benches of the learner detect faults planted in its modules."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tb.bench import BenchError, run
from tb.planted import Fault, plant_all, with_finders
from tb.unit.unit_runs import LEARNER_UNITS

pytestmark = [pytest.mark.rtl, pytest.mark.slow]

UNITS = {unit.top: unit for unit in reversed(LEARNER_UNITS)}  # the first unit of each top module
UNITS["qs_planes_shared"] = next(
    unit for unit in LEARNER_UNITS if unit.parameters.get("SharedError")
)


@pytest.mark.parametrize(
    ("finder", "fault"),
    with_finders(
        (
            "qs_planes",
            "qs_planes_shared",
            "qs_evaluation_queue",
            "qs_feature_hash",
            "qs_learner",
        )
    ),
)
def test_a_bench_of_the_learner_finds_the_planted_fault(
    finder: str, fault: Fault, tmp_path: Path
) -> None:
    with pytest.raises(BenchError, match=r"tests failed") as caught:
        run(replace(UNITS[finder], rtl=plant_all(tmp_path, [fault])))
    found = re.search(r"^log: (.*)$", str(caught.value), re.MULTILINE)
    assert found is not None
    assert re.search(str(fault.seen), Path(found[1]).read_text(encoding="utf-8"))
