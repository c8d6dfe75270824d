"""Survivors are judged again on a bench that has become stricter, and what was killed is not."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from tb.mutate import __main__ as mutate
from tb.mutate import record
from tb.mutate.blocks import BLOCKS

pytestmark = pytest.mark.formal


def test_only_survivors_are_judged_again_and_the_scores_add_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mutate, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(record, "RECORD", tmp_path / "mutants.json")
    record.RECORD.write_text('{"blocks": {}, "modules": {}}', encoding="utf-8")
    hazard = replace(BLOCKS["hazard"], runs=BLOCKS["hazard"].runs[:1])
    bench, contract = hazard.runs[0]
    blind = replace(
        hazard, runs=((replace(bench, module="tb.mutate.blind", options={}), contract),)
    )
    monkeypatch.setitem(BLOCKS, "hazard", blind)
    assert mutate.main(["hazard", "--mutants", "8", "--jobs", "1", "--note"]) == 1
    before = record.kept()["blocks"]["hazard"]
    assert len(before["survived"]) > 4

    monkeypatch.setitem(BLOCKS, "hazard", hazard)
    arguments = ["hazard", "--mutants", "8", "--jobs", "1", "--again", "--note"]
    assert mutate.main(arguments) == 0
    after = record.kept()["blocks"]["hazard"]
    assert after["killed"] == before["killed"] + len(before["survived"])
    assert after == {**before, "killed": after["killed"], "survived": []}
    assert f"hazard: {len(before['survived'])} mutants" in capsys.readouterr().out


def test_survivors_of_other_mutants_are_refused() -> None:
    one = record.Judged("d1", 1, "inv", "$1 A[0]", "x.sv:1.1", "open", "no answer")
    mutant = record.Mutant(1, "inv", "$1 A[0]", "x.sv:1.1")
    noted = [asdict(one), asdict(replace(one, geometry="d2", number=2))]
    assert record.left_of(noted, "d1", [mutant]) == [mutant]
    with pytest.raises(AssertionError, match="d1 has other mutants now: run it without --again"):
        record.left_of(noted, "d1", [replace(mutant, mode="const0")])
