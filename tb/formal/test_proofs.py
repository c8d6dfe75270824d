"""A selection of the proofs succeeds, and a false property is reported."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tb.formal import run, settle
from tb.formal.proofs import FAST, PROOFS
from tb.formal.trace import CLOCK_NS
from tb.planted import plant_file
from tb.slow import slow_except

from qstep_rtl.sources import source

pytestmark = pytest.mark.formal

QUICK = replace(PROOFS["update-16-1"], faults=PROOFS["update-16-1"].faults[:1])

OFTEN = {"lane-2x16-1", "table", "tree", "world"}


@pytest.mark.parametrize("name", slow_except(OFTEN, FAST))
def test_proof_holds_and_finds_what_is_planted(name: str) -> None:
    proof = replace(PROOFS[name], faults=PROOFS[name].faults[:1])  # make formal plants all faults
    found = settle.outcome(proof)
    assert found.wrong == ""
    assert found.covers
    assert found.faults.keys() == {fault.name for fault in proof.faults}


def test_every_proof_has_faults() -> None:
    assert all(proof.faults for proof in PROOFS.values())


def test_a_fault_that_is_not_found_is_no_proof() -> None:
    proof = PROOFS["table"]
    fault = replace(proof.faults[0], seen=1)
    assert settle.outcome(replace(proof, faults=(fault,))).wrong == (
        f"the planted fault is not found: {fault.name}"
    )


def test_too_few_clocks_are_no_proof() -> None:
    wrong = settle.outcome(replace(QUICK, clocks=1)).wrong
    assert "does not follow from the 1 clocks before; see" in wrong


def test_a_cover_that_is_not_reached_is_no_proof() -> None:
    assert (
        settle.outcome(replace(QUICK, cover_clocks=2)).wrong
        == "covers that are not reached: Full_C"
    )


def test_hardware_that_is_wrong_is_no_proof_and_leaves_a_waveform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settle, "TRACES", tmp_path)
    proof = PROOFS["table"]
    fault = next(fault for fault in proof.faults if fault.file == "qs_table.sv")
    path = next(path for path in proof.paths() if path.name == fault.file)
    planted = str(plant_file(tmp_path, path, fault.old, fault.new))
    files = tuple(planted if file == fault.file else file for file in proof.files)
    trace = tmp_path / "table.vcd"
    assert settle.outcome(replace(proof, files=files)).wrong == (
        f"Copy_L is violated in clock 1; see {trace}"
    )
    # The property is violated only in that clock; the write to the copy was lost in an earlier one.
    names, changes = trace.read_text(encoding="utf-8").split("$enddefinitions $end")
    clocks = re.split(r"^#(\d+)$", changes, flags=re.MULTILINE)
    at = dict(zip(map(int, clocks[1::2]), map(str.split, clocks[2::2]), strict=True))
    sign = dict(re.findall(r"\$var wire +\d+ (\S+) (\S+) \$end", names))
    mark = next(mark for mark, name in sign.items() if name == "Copy_L")
    assert f"0{mark}" in at[0]
    assert f"1{mark}" in at[CLOCK_NS]
    assert {"ram_q", "write_action_i", "row_o"} <= set(sign.values())


def test_a_solver_that_has_no_time_proves_nothing() -> None:
    assert settle.outcome(PROOFS["update-16-3"], 0.001).wrong.startswith(
        "no answer within 0 s about "
    )


def test_what_is_settled_is_kept_until_its_sources_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = []

    def outcome(proof, limit_s, *, quiet):
        made.append(proof.name)
        return settle.Outcome(
            proof.name, proof.says, "induction over 1 clocks", {"A_C": 3}, {}, 1.0
        )

    monkeypatch.setattr(run, "KEPT", tmp_path)
    monkeypatch.setattr(run, "outcome", outcome)
    report = tmp_path / "report.json"
    assert run.main([QUICK.name, "--json", str(report)]) == 0
    assert run.main([QUICK.name]) == 0
    assert made == [QUICK.name]
    assert json.loads(report.read_text())[0]["covers"] == {"A_C": 3}
    monkeypatch.setitem(PROOFS, QUICK.name, replace(QUICK, clocks=7))
    assert run.main([QUICK.name]) == 0
    assert made == [QUICK.name, QUICK.name]
    assert "1 of 1 proofs settled" in capsys.readouterr().out


def test_a_changed_comment_proves_nothing_anew(tmp_path: Path) -> None:
    table = tmp_path / "qs_table.sv"
    text = source(table.name).read_text(encoding="utf-8")
    proof = replace(PROOFS["table"], files=("qs_pkg.sv", "qs_ram.sv", str(table), "table_proof.sv"))
    keys = []
    for wrong in (
        text,
        f"// Another comment.\n{text}",
        text.replace("(row_state_i)", "(write_state_i)"),
    ):
        table.write_text(wrong, encoding="utf-8")
        keys.append(settle.key(proof))
    assert keys[0] == keys[1] != keys[2]


def test_a_proof_that_is_not_settled_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = settle.Outcome("x", "x", "x", {}, {}, 1.0, "A_A is violated in clock 3")
    monkeypatch.setattr(run, "KEPT", tmp_path)
    monkeypatch.setattr(run, "outcome", lambda *given, **named: wrong)
    assert run.main([QUICK.name]) == 1
    assert "A_A is violated in clock 3" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
