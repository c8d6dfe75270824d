"""The exercises of docs/lesson.md accept correct answers, and explain why wrong ones fail."""

import inspect
import itertools
import re
import shlex
import shutil
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from docs.exercises import check, golden
from tools.lesson_notebook import notebook

from qstep import Config, cli

ROOT = Path(__file__).parents[2]
ANSWERS = Path(__file__).with_name("lesson_answers")
START = ROOT / "docs/exercises/start"
LESSON = (ROOT / "docs/lesson.md").read_text(encoding="utf-8")
RUNS = re.findall(r"```sh\nqstep (train .+)\n```\n\n```text\n((?:.+\n)+)```", LESSON)
"""Training commands, and their output according to the lesson."""


def checked(capsys: pytest.CaptureFixture[str], folder: Path, *exercises: str) -> list[str]:
    """Return the verdicts on a folder's answers, and check that the exit status agrees with them."""
    status = check.main([str(folder), *exercises])
    verdicts = [line[len("1 ") + 33 :] for line in capsys.readouterr().out.splitlines()]
    assert status == int(any(not verdict.startswith("right: ") for verdict in verdicts))
    return verdicts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ANSWERS, tmp_path / "lesson"))


def answer(folder: Path, text: str) -> None:
    """Append a definition that overrides a correct one."""
    path = folder / "answers.py"
    path.write_text(path.read_text(encoding="utf-8") + "\n\n" + text, encoding="utf-8")


@pytest.mark.rtl
@pytest.mark.slow
def test_right_answers_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(capsys, ANSWERS) == [
        "right: 20,000 updates equal the model's",
        "right: 2,000 updates of the simulated module equal the model's",
        "right: 5 cases notice all 6 wrong updates",
        "right: 300 streams wait as in the lane",
        "right: 2 multipliers, 128 LUT4 on an ECP5",
    ]


@pytest.mark.rtl
@pytest.mark.slow
def test_every_exercise_begins_with_a_wrong_answer(capsys: pytest.CaptureFixture[str]) -> None:
    python, verilog, cases, clocks, multipliers = checked(capsys, START)
    assert python.startswith("wrong: updated(")
    assert "): q_o is " in verilog
    assert f"1 the update in Python             {python}\n" in LESSON
    assert f"2 the update in SystemVerilog      {verilog}\n" in LESSON
    assert cases == "wrong: no case notices an update that " + ", or one that ".join(golden.WRONG)
    assert clocks.startswith("wrong: clocks(2, [")
    assert multipliers == verilog
    assert f"5 an update with fewer multipliers {multipliers}\n" in LESSON


@pytest.mark.rtl
@pytest.mark.slow
def test_three_products_are_exact_but_too_many(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    path = folder / "my_update.sv"
    saving = "(34'(q_i) <<< 15) + 34'(alpha * difference)"
    right = path.read_text(encoding="utf-8")
    assert right.count(saving) == 1
    plain = right.replace(saving, "34'(beta * q_i) + 34'(alpha * reward_i)")
    declared = "logic signed [16:0] beta;\n  assign beta = 17'sd32768 - alpha;\n"
    path.write_text(plain.replace("  logic signed [33:0]", f"{declared}  logic signed [33:0]"))
    exact, many = checked(capsys, folder, "2", "5")
    assert exact.startswith("right: ")
    assert re.fullmatch(r"wrong: 3 multipliers, \d+ LUT4; 2 multipliers are enough", many)


@pytest.mark.parametrize("name", golden.WRONG)
def test_wrong_update_is_seen(capsys: pytest.CaptureFixture[str], folder: Path, name: str) -> None:
    answer(folder, f"from docs.exercises.golden import WRONG\nupdated = WRONG[{name!r}]\n")
    (verdict,) = checked(capsys, folder, "1")
    assert verdict.startswith("wrong: updated(")


def test_each_case_of_an_answer_is_needed(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    answer(folder, "all_cases = cases\n")
    for left_out in range(5):
        others = f"all_cases()[:{left_out}] + all_cases()[{left_out + 1}:]"
        answer(folder, f"def cases(): return {others}\n")
        (verdict,) = checked(capsys, folder, "3")
        assert verdict.startswith("wrong: no case notices an update that ")


@pytest.mark.rtl
@pytest.mark.slow
def test_a_module_that_rounds_down_does_not_compile_or_loses_bits_is_noticed(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    path = folder / "my_update.sv"
    right = path.read_text(encoding="utf-8")
    for before, after, said in [
        (" + 34'sd16384", "", "): q_o is "),
        ("endmodule", "", "syntax error"),
        ("19'(exact >>> 15)", "exact >>> 15", "expects 19 bits on the Assign RHS"),
    ]:
        assert right.count(before) == 1
        path.write_text(right.replace(before, after), encoding="utf-8")
        verdict = "\n".join(checked(capsys, folder, "2"))
        assert verdict.startswith("wrong: ")
        assert said in verdict
    path.unlink()
    assert checked(capsys, folder, "2") == [f"wrong: {path} does not exist"]


@pytest.mark.parametrize(
    ("exercise", "text", "verdict"),
    [
        ("3", "def cases(): return [(0, 0, 0, False, 0, 0)] * 9", "9 cases; at most 8 are allowed"),
        ("3", "def cases(): return [(0, 0, 0, 0, 3)]",
         "(0, 0, 0, 0, 3) has 5 values; a case has 6: q, reward, maximum, terminated, alpha, kappa"),
        ("3", "def cases(): return [(0, 0, 0, 0, 3, 4)]",
         "kappa of (0, 0, 0, 0, 3, 4) is 4; it must be at most alpha, 3"),
        ("3", "def cases(): return [(32768, 0, 0, 0, 0, 0)]",
         "q of (32768, 0, 0, 0, 0, 0) is 32768; it must be -32768 to 32767"),
        ("4", "def clocks(loop_depth, transitions): return {}['coffee']", "KeyError: 'coffee'"),
    ],
    ids=["many", "five", "kappa", "value", "raises"],
)  # fmt: skip
def test_an_answer_that_cannot_be_checked_is_wrong(
    capsys: pytest.CaptureFixture[str], folder: Path, exercise: str, text: str, verdict: str
) -> None:
    answer(folder, text + "\n")
    assert checked(capsys, folder, exercise) == [f"wrong: {verdict}"]


def test_an_exercise_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], [str(ANSWERS), "6"]):
        assert check.main(arguments) == 2
        assert capsys.readouterr().out.strip() == inspect.getdoc(check)


def said_otherwise(command: str, shown: str, folder: Path) -> list[str]:
    """Return the lines that the lesson shows for a command but that the command does not print.

    The command runs on the model, which gives the same results as the simulated chip. Times and rates
    are ignored.
    """
    words = [*shlex.split(command), "--device", "model", "--out", str(folder)]
    result = CliRunner().invoke(cli._qstep, words)
    assert result.exit_code == 0, result.output

    def lasting(text: str) -> list[str]:
        timeless = re.sub(r"[\d.]+ s, [\d.,]+ (million )?steps/s", "", text)
        return timeless.replace(" on sim:", " on model:").splitlines()

    return [line for line in lasting(shown) if line != "..." and line not in lasting(result.output)]


@pytest.mark.parametrize(("command", "shown"), RUNS, ids=["grid", "lake"])
def test_the_lesson_shows_what_its_commands_print(tmp_path: Path, command: str, shown: str) -> None:
    assert said_otherwise(command, shown, tmp_path / "run") == []
    assert said_otherwise(command, shown.replace("greedy", "greedier", 1), tmp_path / "again") != []


def test_the_lesson_takes_a_format_that_was_not_reached_by_luck() -> None:
    lake = next(command for command, _ in RUNS if "FrozenLake" in command)
    chosen = dict(itertools.pairwise(shlex.split(lake)))
    (table,) = re.findall(r"^┃ bits .*?(?=^└)", LESSON, re.MULTILINE | re.DOTALL)
    rows: list[list[str]] = []
    for line in table.replace("┃", "│").splitlines():
        cells = [cell.strip() for cell in line.split("│")[1:-1]]
        if cells and not cells[0]:  # the second line of a row
            rows[-1] = [" ".join(parts).strip() for parts in zip(rows[-1], cells, strict=True)]
        elif cells:
            rows.append(cells)
    column = rows[0].index(chosen["--rounding"])
    bits = sum(int(part) for part in chosen["--format"][1:].split("."))
    (cell,) = (row[column] for row in rows[1:] if row[0] == str(bits))
    assert cell == f"{chosen['--format']} reached"


def test_the_lesson_builds_the_configuration_that_it_shows(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", LESSON, re.DOTALL)
    path = tmp_path / "lake.toml"
    path.write_text(text, encoding="utf-8")
    assert f"loop depth 1, digest {Config.from_toml(path).digest[:16]}\n" in LESSON


def test_the_notebook_of_the_lesson_has_its_commands_and_not_their_output() -> None:
    book = nbformat.from_dict(notebook(LESSON))
    nbformat.validate(book)
    commands = re.findall(r"```sh\n(.+?)```", LESSON, re.DOTALL)
    cells = [cell.source for cell in book.cells if cell.cell_type == "code"]
    assert [cell.removeprefix("%%bash --no-raise-error\n") + "\n" for cell in cells[1:]] == commands
    assert not [cell for cell in book.cells if "1 the update in Python" in cell.source]
    assert any('format = "Q2.14"' in cell.source for cell in book.cells)
