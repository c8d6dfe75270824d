"""Coverage of Python names each line and branch that no test takes, and fails unless it is waived."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tb.bench import TB
from tb.coverage import python
from tb.coverage.points import Point
from tb.coverage.python_points import WAIVERS, judged_python, python_points
from tb.coverage.python_runs import SOURCES
from tb.coverage.waivers import Waiver, read_waivers
from tb.verify import figures

IF = Point("sw/a.py", 3, 0, "line", "f: if full:")
RAISE = Point("sw/a.py", 4, 0, "line", "f: raise Full")
IS_FULL = Point("sw/a.py", 3, 4, "branch", "f: if full: -> raise Full")
HAS_ROOM = Point("sw/a.py", 3, 5, "branch", "f: if full: -> return")
HITS = Counter({IF: 1, RAISE: 0, IS_FULL: 0, HAS_ROOM: 1})
LINE = Waiver("sw/a.py", "line", "f: raise Full", "Nothing fills it.")
BRANCH = Waiver("sw/a.py", "branch", "f: if full: -> raise .*", "Nothing fills it.")


@pytest.mark.unit
def test_what_is_taken_or_waived_passes() -> None:
    verdict = judged_python(HITS, [LINE])
    assert verdict.passed
    assert verdict.covered == [IF, HAS_ROOM]
    assert verdict.waived == {RAISE: LINE, IS_FULL: LINE}


@pytest.mark.unit
def test_a_branch_alone_can_be_waived() -> None:
    verdict = judged_python(HITS | {RAISE: 1}, [BRANCH])
    assert verdict.passed
    assert verdict.waived == {IS_FULL: BRANCH}


@pytest.mark.unit
def test_what_is_neither_taken_nor_waived_fails() -> None:
    verdict = judged_python(HITS, [])
    assert not verdict.passed
    assert verdict.missed == [IS_FULL, RAISE]


@pytest.mark.unit
def test_a_waiver_of_what_is_taken_fails() -> None:
    verdict = judged_python(HITS | {RAISE: 1, IS_FULL: 1}, [LINE, BRANCH])
    assert not verdict.passed
    assert verdict.unneeded == [
        f"{LINE}: line 4, 'f: raise Full', is covered",
        f"{BRANCH}: line 3, 'f: if full: -> raise Full', is covered",
    ]


@pytest.mark.unit
def test_a_waiver_of_a_branch_to_a_waived_line_is_not_needed() -> None:
    verdict = judged_python(HITS, [LINE, BRANCH])
    assert verdict.unneeded == [f"{BRANCH}: there is no such point"]


@pytest.mark.unit
def test_what_is_kept_in_the_cache_may_be_taken_or_not() -> None:
    cached = replace(LINE, cached=True)
    for taken in (0, 1):
        assert judged_python(HITS | {RAISE: taken, IS_FULL: taken}, [cached]).passed
    other = replace(cached, what="g: .*")
    assert judged_python(Counter({IF: 1}), [other]).unneeded == [f"{other}: there is no such point"]


@pytest.mark.unit
def test_every_waiver_is_of_python_that_is_measured() -> None:
    waived = {TB.parent / waiver.file for waiver in read_waivers(WAIVERS)}
    assert waived <= {path for source in SOURCES for path in (TB.parent / source).rglob("*.py")}


TAKES_ONE_BRANCH = """
from qstep.checks import real

def test_an_integer_is_a_real():
    assert real("x", 1) == 1.0
"""


@pytest.mark.unit
def test_the_command_names_what_a_test_misses_and_runs_it_again_once_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test, report = tmp_path / "test_one_branch.py", tmp_path / "report.json"
    test.write_text(TAKES_ONE_BRANCH, encoding="utf-8")
    monkeypatch.setattr(python, "OUT", tmp_path)

    def said() -> str:
        answer = CliRunner().invoke(python.main, [str(test), "--json", str(report)])
        assert answer.exit_code == 1
        return answer.output

    assert "test_one_branch.py: passed" in said()
    of_real = {
        (kind, what.removeprefix("real: ")): taken
        for (file, kind, what), taken in _taken(tmp_path / "python.json").items()
        if file == "sw/qstep/checks.py" and what.startswith("real: ")
    }
    check = "if not low <= cast(float, value) <= high:"
    refuse = 'raise ConfigError(f"{name} is {shown(value)}; it must be from {low} to {high}")'
    assert of_real["line", check] == of_real["branch", f"{check} -> return float(value)"] == 1
    assert of_real["line", refuse] == of_real["branch", f"{check} -> {refuse}"] == 0
    assert f"    line real: {refuse}\n" in (tmp_path / "python.txt").read_text(encoding="utf-8")
    found = figures.read("python -m tb.coverage.python", report)[0]
    assert 0 < found["covered_branches"] < found["branches"]
    assert found["missed_python"] > 1000

    assert "test_one_branch.py" not in said()
    test.write_text("def test_fails(): assert False", encoding="utf-8")
    assert "test_one_branch.py: FAILED, see " in said()


def _taken(report: Path) -> dict[tuple[str, str, str], int]:
    return {(p.file, p.kind, p.what): taken for p, taken in python_points(report).items()}
