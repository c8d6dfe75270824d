"""``make verify``: rows, results, and the report made from them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tb.verify import run
from tb.verify.figures import arguments, read
from tb.verify.rows import Found, Row, read_record, write_record

pytestmark = pytest.mark.unit

FOUND = Found(True, "2026-01-02", "abc", "key", 3.0, {"tests": 1200, "skipped": 0})


@pytest.mark.parametrize(
    ("missing", "record", "verdict", "says"),
    [
        ("", {"pytest a": FOUND}, "met", "1,200 tests"),
        ("{skipped} b", {"pytest a": FOUND}, "partly", "1,200 tests; 0 b"),
        ("no b", {}, "not met", "`pytest a` was not run"),
        ("", {"pytest a": replace(FOUND, passed=False)}, "not met", "`pytest a` fails"),
    ],
)
def test_a_row_says_what_its_commands_found(
    missing: str, record: dict[str, Found], verdict: str, says: str
) -> None:
    row = Row(1, "name", "goal", ("pytest a",), "{tests} tests", missing)
    assert (row.verdict(record), row.says(record)) == (verdict, says)


def test_a_figure_that_nothing_counts_is_an_error() -> None:
    with pytest.raises(KeyError, match="kills"):
        Row(1, "name", "goal", ("pytest a",), "{kills} kills").says({"pytest a": FOUND})


def test_counts_of_tests_are_added_up(tmp_path: Path) -> None:
    (tmp_path / "test_counts.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('n', [3, 4])\n"
        "def test_counts(record_property, n): record_property('frames', n)\n"
        "@pytest.mark.skip\n"
        "def test_skipped(): pass\n",
        encoding="utf-8",
    )
    command = f"pytest -p no:cacheprovider -c {tmp_path / 'none.ini'} {tmp_path}"
    (tmp_path / "none.ini").write_text("[pytest]\n", encoding="utf-8")
    subprocess.run(arguments(command, tmp_path / "figures"), capture_output=True, check=True)
    counts, details = read(command, tmp_path / "figures")
    assert (counts, details) == ({"tests": 2, "skipped": 1, "frames": 7}, [])


def test_figures_of_the_tools_are_read(tmp_path: Path) -> None:
    file = tmp_path / "figures"
    proofs = [
        {"how": "induction over 3 clocks", "faults": {"a": "x", "b": "y"}},
        {"how": "bounded by 40 clocks", "faults": {}},
    ]
    file.write_text(json.dumps(proofs), encoding="utf-8")
    assert read("make formal", file) == ({"proofs": 2, "induction": 1, "faults": 2}, proofs)
    runs = [
        {"exact": 5, "coverage": {"ties": [2, 2], "ends": [3, 3]}},
        {"exact": 2, "coverage": {}},
    ]
    file.write_text('{"blocks": 3}', encoding="utf-8")
    assert read("python -m tb.mutate", file) == ({"blocks": 3}, [])
    file.write_text(json.dumps(runs), encoding="utf-8")
    assert read("make sim", file) == ({"runs": 2, "exact": 7, "bins": 5}, runs)
    assert read("make lint", file) == ({}, [])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where a run with two rows of its own keeps its record and report."""
    count = f"{sys.executable} -c \"open('count', 'a').write('x')\""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run, "_ROOT", tmp_path)
    monkeypatch.setattr(run, "source_digest", lambda: "key")
    monkeypatch.setattr(run, "REPORT", tmp_path / "report/index.html")
    monkeypatch.setattr(run, "RECORD", tmp_path / "record.json")
    rows = (Row(1, "first", "a", (count,), "counted"), Row(2, "second", "<b>", ("false",), "x"))
    for module in ("run", "report"):
        monkeypatch.setattr(f"tb.verify.{module}.ROWS", rows)
    return tmp_path


def test_a_run_continues_where_it_ended_and_fails_with_a_command(folder: Path) -> None:
    runs = [CliRunner().invoke(run.main, given) for given in ([], ["1"], ["1", "--fresh"])]
    assert [result.exit_code for result in runs] == [1, 0, 0]
    assert (folder / "count").read_text() == "xx"
    assert "passed on 20" in runs[1].output
    assert "FAILED" in runs[0].output
    assert "1 first: met; counted" in runs[0].output
    assert "2 second: not met; `false` fails" in runs[0].output
    assert "&lt;b&gt;" in (folder / "report/index.html").read_text()
    assert "<b>" not in (folder / "report/index.html").read_text()


def test_what_another_run_writes_meanwhile_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def carry_out(command: str, *given: object) -> Found:
        write_record({"another": FOUND}, run.RECORD)
        return FOUND

    monkeypatch.setattr(run, "_carry_out", carry_out)
    assert CliRunner().invoke(run.main, ["1"]).exit_code == 0
    assert set(read_record(run.RECORD)) == {"another", run.ROWS[0].commands[0]}


def test_a_row_that_is_not_there_is_refused() -> None:
    result = CliRunner().invoke(run.main, ["17"])
    assert result.exit_code == 2
    assert "17 is not in the range 1<=x<=16" in result.output
