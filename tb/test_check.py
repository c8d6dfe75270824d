"""``make check`` selects the tests that belong to a file, and lists those left to ``make test``."""

import re
import subprocess
import sys

import pytest
from tb.bench import TB


@pytest.mark.unit
@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "chosen", "not_chosen"),
    [
        (
            "rtl/lane/qs_update.sv",
            "unit/test_rtl_modules uvm/test_rtl_lane formal/test_proofs",
            "unit/test_chain uvm/test_rtl_acting uvm/test_rtl_mutants",
        ),
        ("sw/qstep/golden/agents.py", "sw/test_acting_model sw/test_acting_fast", "sw/test_fixed"),
        ("sw/qstep/cli/train.py", "sw/test_run_contract sw/test_cli", "sw/test_session"),
    ],
    ids=lambda words: words.split()[0],
)
def test_what_belongs_to_a_file_is_chosen(file: str, chosen: str, not_chosen: str) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "tb.check", "--seconds", "0", file],
        cwd=TB.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    left = set(re.findall(r"^\d+ left.*: tb/(\w+/\w+)\.py", answer.stdout, re.MULTILINE))
    assert left >= set(chosen.split())
    assert not left & set(not_chosen.split())
    assert answer.returncode == 1, "no test ran"
