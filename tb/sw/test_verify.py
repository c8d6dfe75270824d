"""``make verify``: rows, record, and pages made from it; the page agrees with the repository."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tb.formal.proofs import PROOFS
from tb.formal.settle import key
from tb.verify import page, run
from tb.verify.figures import arguments, read
from tb.verify.page import PAGE, renewed
from tb.verify.report import report
from tb.verify.rows import ROWS, Found, Row, commands_of, read_record, write_record

pytestmark = pytest.mark.unit

RECORD = read_record(run.RECORD)
FOUND = Found(True, "2026-01-02", "abc", "key", 3.0, {"tests": 1200, "skipped": 0})


def stale_proofs(record: dict[str, Found]) -> set[str]:
    """Return proofs that are new, gone, or whose sources have changed since `make verify`."""
    recorded = {(proof["name"], proof["key"]) for proof in record["make formal"].details}
    current = {(proof.name, key(proof)) for proof in PROOFS.values()}
    return {name for name, _ in recorded ^ current}


def test_the_page_is_what_the_record_says() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert renewed(text, RECORD) == text
    less = {
        c: replace(f, figures={k: n - 1 for k, n in f.figures.items()}) for c, f in RECORD.items()
    }
    assert renewed(text, less) != text


def test_proofs_on_the_page_are_of_these_sources() -> None:
    assert stale_proofs(RECORD) == set()
    old = RECORD["make formal"]
    changed = [
        {**proof, "key": "0" if proof["name"] == "tree" else proof["key"]} for proof in old.details
    ]
    assert stale_proofs({"make formal": replace(old, details=changed)}) == {"tree"}


def test_the_record_has_no_command_that_no_row_has() -> None:
    assert set(RECORD) <= set(commands_of(ROWS))


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
    assert read("python -m tb.mutate.scores", file) == ({"blocks": 3}, [])
    file.write_text(json.dumps(runs), encoding="utf-8")
    assert read("make sim", file) == ({"runs": 2, "exact": 7, "bins": 5}, runs)
    assert read("make lint", file) == ({}, [])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where a run with two rows of its own keeps its record, page and report."""
    text = "".join(f"<!-- {name}: make verify -->\n<!-- {name} end -->\n" for name in page._PARTS)
    (tmp_path / "page.md").write_text(text, encoding="utf-8")
    count = f"{sys.executable} -c \"open('count', 'a').write('x')\""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run, "_ROOT", tmp_path)
    monkeypatch.setattr(run, "source_digest", lambda: "key")
    monkeypatch.setattr(run, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(run, "REPORT", tmp_path / "report/index.html")
    monkeypatch.setattr(run, "RECORD", tmp_path / "record.json")
    rows = (Row(1, "first", "a", (count,), "counted"), Row(2, "second", "<b>", ("false",), "x"))
    for module in ("run", "page", "report"):
        monkeypatch.setattr(f"tb.verify.{module}.ROWS", rows)
    return tmp_path


def test_a_run_continues_where_it_ended_and_fails_with_a_command(folder: Path) -> None:
    runs = [
        CliRunner().invoke(run.main, given) for given in ([], ["1"], ["1", "--fresh"], ["--page"])
    ]
    assert [result.exit_code for result in runs] == [1, 0, 0, 0]
    assert (folder / "count").read_text() == "xx"
    assert "passed on 20" in runs[1].output
    assert "FAILED" in runs[0].output
    text = (folder / "page.md").read_text()
    assert "| 1 first | a | **met**: counted |" in text
    assert "| 2 second | <b> | **not met**: `false` fails | `false` |" in text
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


def test_the_report_shows_what_is_behind_the_figures() -> None:
    html = report(RECORD)
    assert all(name in html for name in PROOFS)
    assert "http" not in html
