"""The bench of lanes in lockstep can fail: it finds planted faults, and bins that nothing hits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tb.bench import BenchError, run
from tb.planted import plant
from tb.unit.unit_runs import LOCKSTEP, lockstep_run

pytestmark = pytest.mark.rtl

ANYWHERE = "agents_that_begin_anywhere_are_the_models_afterwards"
FAULTS = [
    (
        "lane",
        "not_entry_q[13] <= &s12_same_q ?",
        "not_entry_q[13] <= 1'b0 ?",
        ANYWHERE,
        "lane . differ|is at",
    ),
    ("pkg", "state[4:3] == 2'd3", "state[4:3] == 2'd2", ANYWHERE, "lane . differ|is at"),
    ("choice", "lead >= 0", "lead >= -1", ANYWHERE, "is at"),
    ("mac", "product_q + addend_q", "product_q - addend_q", ANYWHERE, "is at"),
    ("draw", "word_q << 13", "word_q << 12", ANYWHERE, "is at"),
    (
        *("run", "borrow_q[part-1] && zero_q[part-1]", "borrow_q[part-1]"),
        *(
            "a_run_ends_with_the_rotation_in_which_it_is_stopped_or_reset",
            "steps, .* after a|no run",
        ),
    ),
    (
        *("tally", "write_i || copies_q ? want : COPY", "want"),
        *("counters_are_of_one_moment_whenever_they_are_read", "counters are"),
    ),
    (
        *("tally", "!host_q || begins_visit", "!host_q || !adds_q"),
        *(
            "counters_are_those_asked_for_whichever_clock_of_a_sweep_they_are_asked_in",
            "clocks after",
        ),
    ),
    (
        *("bus", "keep: strobe_q[4] && !field_q[4]", "keep: 1'b0"),
        *("a_reset_in_an_access_leaves_the_rest_as_it_is", "is at"),
    ),
]


@pytest.mark.parametrize(
    ("block", "old", "new", "test", "message"), FAULTS, ids=[fault[0] for fault in FAULTS]
)
def test_bench_of_lanes_in_lockstep_finds_the_planted_fault(
    block: str, old: str, new: str, test: str, message: str, tmp_path: Path
) -> None:
    rtl = plant(tmp_path, f"qs_lockstep_{block}.sv", old, new)
    with pytest.raises(BenchError, match=message):
        run(replace(lockstep_run(2, 25, 0, rtl), test=test))


def test_bins_of_lanes_in_lockstep_that_nothing_hits_are_found() -> None:
    with pytest.raises(BenchError, match=r"bins were never hit: .*same pair, value changed"):
        run(replace(LOCKSTEP[0], test="every_bin_is_hit"))
