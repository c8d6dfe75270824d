"""The Makefile and the README keep their word: what they name exists."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest

from qstep import cli

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
DOCUMENTS = ["README.md", "CONTRIBUTING.md"]


def make(*arguments: str) -> str:
    answer = subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return answer.stdout


def targets() -> list[str]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    declared = re.search(r"^\.PHONY: (.+)$", text, re.MULTILINE)
    assert declared is not None
    return declared[1].split()


def documented_commands() -> list[str]:
    """Return every `make ...` and `qstep ...` in the code blocks of the documents, on one line each."""
    commands = []
    for name in DOCUMENTS:
        text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ")
        fenced = "\n".join(re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
        indented = "\n".join(line for line in text.splitlines() if line.startswith("    "))
        for line in f"{fenced}\n{indented}".splitlines():
            words = line.split("#")[0].split()
            if words and words[0].removeprefix(".venv/bin/") in {"make", "qstep"}:
                commands.append(" ".join(words).removeprefix(".venv/bin/"))
    return sorted(set(commands))


def complaint(command: str) -> str:
    """Return what is wrong with a documented command; empty if nothing."""
    program, *words = shlex.split(command)
    if program == "make":
        unknown = [word for word in words if "=" not in word and word not in targets()]
        return f"no such target: {unknown}" if unknown else ""
    context = click.Context(cli._qstep)
    if words[0].startswith("-"):
        found: click.Command | None = cli._qstep
    else:
        found = cli._qstep.get_command(context, words[0])
    if found is None:
        return f"no such command: {words[0]}"
    options = {name for parameter in found.get_params(context) for name in parameter.opts}
    given = {word.split("=")[0] for word in words if word.startswith("-")}
    return f"no such option: {sorted(given - options)}" if given - options else ""


def test_make_alone_is_help() -> None:
    assert make() == make("help")


def test_help_lists_each_target_with_what_it_does() -> None:
    listed = re.findall(r"^  make (\w+) +\w", make("help"), re.MULTILINE)
    assert listed == targets()


@pytest.mark.parametrize("target", targets())
def test_target_can_be_planned(target: str) -> None:
    make("--dry-run", target)


def test_missing_python_is_named(tmp_path: Path) -> None:
    broken = subprocess.run(
        ["make", f"VENV={tmp_path / 'v'}", "PYTHON=", "setup"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert broken.returncode != 0
    assert "QStep needs Python 3.11 or newer; none was found" in broken.stderr


def test_old_python_is_refused(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    old.chmod(0o755)
    broken = subprocess.run(
        ["make", f"VENV={tmp_path / 'v'}", f"PYTHON={old}", "setup"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert broken.returncode != 0
    assert f"QStep needs Python 3.11 or newer; {old} is not." in broken.stderr


def test_every_pin_is_exact() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []


@pytest.mark.parametrize("command", documented_commands())
def test_documented_command_exists(command: str) -> None:
    assert complaint(command) == ""


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("make coffee", "no such target: ['coffee']"),
        ("qstep coffee", "no such command: coffee"),
        ("qstep doctor --sugar", "no such option: ['--sugar']"),
    ],
)
def test_wrong_command_is_noticed(command: str, expected: str) -> None:
    assert complaint(command) == expected
