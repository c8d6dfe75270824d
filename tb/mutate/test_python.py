"""Faults in Python modules are made as documented, and tests that compare nothing find none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tb.mutate import python
from tb.mutate.python_mutants import faults

pytestmark = pytest.mark.unit

SMALL = '''"""A module."""

from __future__ import annotations

__all__ = ["less"]


def less(a: int, b: int = 3) -> bool:
    """Return whether a + 1 is less, and b is not."""
    if not a:
        raise ValueError(f"{a:>3}")
    a += 1
    return a < b and -a != 2
'''


def test_every_kind_of_fault_is_made_and_nothing_else_is_touched() -> None:
    found = faults(SMALL)
    assert [(fault.line, fault.text) for fault in found] == [
        (8, "3 -> 4"),
        (10, "if not a: -> if not not a:"),
        (10, "not a -> a"),
        (11, "raise ValueError(f'{a:>3}') -> pass"),
        (12, "a += 1 -> a -= 1"),
        (12, "a += 1 -> pass"),
        (12, "1 -> 2"),
        (13, "return a < b and -a != 2 -> return None"),
        (13, "a < b and -a != 2 -> a < b or -a != 2"),
        (13, "a < b -> a <= b"),
        (13, "-a != 2 -> -a == 2"),
        (13, "-a -> a"),
        (13, "2 -> 3"),
    ]
    assert len({fault.source for fault in found}) == len(found)
    assert all("A module." in fault.source and "-> bool" in fault.source for fault in found)


def missed_by(folder: Path, test: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the first two faults of `fixed` that this test does not find."""
    path = folder / "test_it.py"
    path.write_text(
        f"import pytest\nimport qstep.fixed\n@pytest.mark.unit\ndef test_it():\n    {test}\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(python, "MODULES", {"fixed": (str(path),)})
    monkeypatch.setattr(python, "KEPT", folder)
    tried, missed = python.survivors("fixed", 2, seed=1)
    assert tried == 2
    return [fault.text for fault in missed]


def test_a_test_that_compares_nothing_finds_nothing_and_verdicts_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missed = missed_by(tmp_path, "pass", monkeypatch)
    assert len(missed) == 2
    monkeypatch.delattr(python, "_is_found")
    assert missed_by(tmp_path, "pass", monkeypatch) == missed


def test_tests_that_fail_without_a_fault_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AssertionError, match="the tests of fixed fail without a fault"):
        missed_by(tmp_path, "assert False", monkeypatch)


def test_a_sample_of_faults_in_the_arithmetic_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(python, "KEPT", tmp_path)
    tried, missed = python.survivors("fixed", 6, seed=3)
    assert tried == 6
    assert len(missed) <= 1


def test_an_unknown_module_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        python.main(["nothing"])
    assert "no such module: nothing; there are fixed, " in capsys.readouterr().err


def test_a_module_with_too_few_found_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missed_by(tmp_path, "pass", monkeypatch)
    assert python.main(["fixed", "--mutants", "2", "--json", str(tmp_path / "figures")]) == 1
    counts = {"modules": 1, "enough": 0, "faults": 2, "found": 0}
    assert json.loads((tmp_path / "figures").read_text()) == counts
