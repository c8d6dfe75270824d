"""``make verify`` counts a row as met only for results of exactly the checked-out commit."""

import json
import subprocess
from pathlib import Path

import click
import pytest
from tb.verify.figures import arguments, read
from tb.verify.run import TreeError, verify


class Repository:
    """A temporary repository with a page of rows, each of which is one command."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.git("init", "-q")
        self.write(".gitignore", "build/\n")

    def git(self, *words: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        command = ["git", *identity, *words]
        answer = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=True)
        return answer.stdout.strip()

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")

    def commit(self, *commands: str) -> str:
        rows = (f"| {n} row{n} | <b> | `{c}` |\n" for n, c in enumerate(commands, 1))
        self.write("docs/verification.md", "".join(rows))
        self.git("add", ".")
        self.git("commit", "-q", "--allow-empty", "-m", "x")
        return self.git("rev-parse", "HEAD")

    def report(self) -> dict[str, object]:
        """Return the rows' verdicts and the commands' outcomes, after checking the commit."""
        report = json.loads((self.root / "build/verify/report.json").read_text(encoding="utf-8"))
        assert report["commit"] == self.git("rev-parse", "HEAD")
        verdicts = {row["row"]: row["verdict"] for row in report["rows"]}
        return verdicts | {found["command"]: found["outcome"] for found in report["commands"]}


COUNT = """sh -c 'echo x >> build/count'"""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_a_row_is_met_at_this_commit_and_not_on_other_sources(repository: Repository) -> None:
    first = repository.commit("true", "echo hello")
    assert verify(repository.root)
    assert repository.report() == {
        "1 row1": "met", "2 row2": "met", "true": "passed", "echo hello": "passed"
    }  # fmt: skip
    outputs = list(repository.root.glob("build/verify/*/echo-hello.log"))
    assert [output.read_text(encoding="utf-8") for output in outputs] == ["hello\n"]

    repository.commit("true", "echo hello")
    assert verify(repository.root, [2])
    assert repository.report() == {
        "1 row1": f"not met (`true` run at {first[:12]})", "2 row2": "met", "echo hello": "passed"
    }  # fmt: skip
    repository.git("checkout", "-q", first)
    assert verify(repository.root, [2])
    assert repository.report()["1 row1"] == "met"


def test_a_run_continues_at_the_same_commit_and_begins_again_at_another(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.commit(COUNT, "false", COUNT)
    for _ in range(2):
        assert not verify(repository.root)
    assert (repository.root / "build/count").read_text(encoding="utf-8") == "x\n"
    assert "passed at this commit" in capsys.readouterr().out
    assert repository.report()["2 row2"] == "not met (`false` failed)"
    repository.commit(COUNT)
    assert verify(repository.root)
    assert (repository.root / "build/count").read_text(encoding="utf-8") == "x\nx\n"


def test_a_failing_command_shows_its_output_and_its_row_is_not_met(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.commit("sh -c 'echo wrong; exit 3'", "true")
    assert not verify(repository.root)
    printed = capsys.readouterr().out
    assert "wrong\n" in printed
    assert " 1 row1: not met (`sh -c 'echo wrong; exit 3'` failed)\n 2 row2: met\n" in printed
    html = (repository.root / "build/verify/index.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert "http" not in html


@pytest.mark.parametrize("name", ["docs/verification.md", "new.py"])
def test_a_dirty_tree_is_refused(repository: Repository, name: str) -> None:
    repository.commit(COUNT)
    repository.write(name, f"| 1 row1 | a | `{COUNT}` |\n# changed\n")
    with pytest.raises(TreeError, match=f"changed and not committed: {name}; commit or remove"):
        verify(repository.root)
    assert not (repository.root / "build").exists()


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("sh -c 'echo >> new.py'", "new.py"),
        ("sh -c 'echo >> .gitignore; git checkout -q .'", ".gitignore"),
        ("git checkout -q --detach HEAD~", "HEAD"),
    ],
)
def test_a_tree_that_changes_while_a_command_runs_makes_its_result_void(
    repository: Repository, command: str, says: str
) -> None:
    repository.commit(command, "true")
    repository.commit(command, "true")
    with pytest.raises(
        TreeError, match=f"written while `{command}` ran, which makes it void: {says}"
    ):
        verify(repository.root)
    results = json.loads((repository.root / "build/verify/results.json").read_text())
    assert [found["outcome"] for at in results.values() for found in at.values()] == ["void"]


def test_a_row_that_does_not_exist_and_a_page_without_rows_are_refused(
    repository: Repository,
) -> None:
    repository.commit("true")
    with pytest.raises(click.BadParameter, match="there is no row 2; rows are 1 to 1"):
        verify(repository.root, [1, 2])
    repository.commit()
    with pytest.raises(ValueError, match=r"rows \[\]; they must be 1, 2, 3"):
        verify(repository.root)


def test_what_is_no_clone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/verification.md").write_text("| 1 a | b | `true` |\n", encoding="utf-8")
    with pytest.raises(TreeError, match="must be a clone of QStep"):
        verify(tmp_path)


@pytest.mark.slow
def test_tests_are_counted_and_a_row_with_skipped_ones_is_not_met(repository: Repository) -> None:
    repository.write(".gitignore", "build/\n__pycache__/\n")
    repository.write("pytest.ini", "[pytest]\n")
    repository.write(
        "test_counts.py",
        "import pytest\n"
        "@pytest.mark.parametrize('n', [3, 4])\n"
        "def test_counts(record_property, n): record_property('frames', n)\n"
        "@pytest.mark.skip\n"
        "def test_skipped(): pass\n",
    )
    command = "pytest -p no:cacheprovider test_counts.py"
    repository.commit(command)
    assert not verify(repository.root)
    assert repository.report()["1 row1"] == f"not met (`{command}` skipped tests)"
    (figures,) = repository.root.glob("build/verify/*/*.figures")
    assert read(command, figures) == {"tests": 2, "skipped": 1, "frames": 7}


@pytest.mark.parametrize(
    ("command", "written", "figures"),
    [
        (
            "make formal",
            [{"how": "induction over 3 clocks", "faults": {"a": "x", "b": "y"}},
             {"how": "bounded by 40 clocks", "faults": {}}],
            {"proofs": 2, "induction": 1, "faults": 2},
        ),
        (
            "make sim",
            [{"exact": 5, "coverage": {"ties": [2, 2], "ends": [3, 3]}},
             {"exact": 2, "coverage": {}}],
            {"runs": 2, "exact": 7, "bins": 5},
        ),
        (
            "make coverage",
            {"passed": True, "covered": 7, "waived": [{"file": "a"}], "missed": []},
            {"covered": 7, "waived": 1, "missed": 0},
        ),
        (
            "make pycoverage",
            {"files": {}, "totals": {"covered_lines": 9, "percent_covered": 99.5}},
            {"covered_lines": 9},
        ),
        ("python -m tb.mutate", {"blocks": 3}, {"blocks": 3}),
    ],
)  # fmt: skip
def test_figures_of_the_tools_are_read(
    tmp_path: Path, command: str, written: object, figures: dict[str, int]
) -> None:
    file = tmp_path / "figures"
    assert read(command, file) == {}
    file.write_text(json.dumps(written), encoding="utf-8")
    assert read(command, file) == figures
    assert str(file) in " ".join(arguments(command, file))
