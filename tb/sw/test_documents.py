"""The documents keep their word: what they name exists, what they show runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from qstep import cli

ROOT = Path(__file__).parents[2]
COMMANDS_IN = ["README.md", "CONTRIBUTING.md"]
PAGES = sorted(
    p.relative_to(ROOT).as_posix() for p in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"))
)
TARGETS = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    """Return the fenced code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", read(name), re.MULTILINE | re.DOTALL)


def documented_commands() -> list[str]:
    """Return every `make ...` and `qstep ...` in the code blocks of the documents, on one line each."""
    commands = []
    for name in COMMANDS_IN:
        indented = [line for line in read(name).splitlines() if line.startswith("    ")]
        for line in [*"".join(blocks(name, "sh")).splitlines(), *indented]:
            words = line.split("#")[0].split()
            if words and words[0].removeprefix(".venv/bin/") in {"make", "qstep"}:
                commands.append(" ".join(words).removeprefix(".venv/bin/"))
    return sorted(set(commands))


def complaint(command: str) -> str:
    """Return what is wrong with a documented command; empty if nothing."""
    program, *words = shlex.split(command)
    if program == "make":
        unknown = [word for word in words if "=" not in word and word not in TARGETS]
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


@pytest.mark.unit
@pytest.mark.parametrize("command", documented_commands())
def test_documented_command_exists(command: str) -> None:
    assert complaint(command) == ""


@pytest.mark.unit
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


@pytest.mark.unit
@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files(page: str) -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", read(page))
    assert [
        target for target in targets if not (ROOT / page).parent.joinpath(target).exists()
    ] == []


@pytest.mark.unit
def test_readme_leads_to_every_page() -> None:
    text = read("README.md")
    assert [page for page in PAGES if page != "README.md" and f"]({page})" not in text] == []


@pytest.mark.unit
def test_python_example_of_the_readme_uses_public_names_only() -> None:
    (example,) = blocks("README.md", "python")
    assert re.findall(r"^(?:from|import) (\S+)", example, re.MULTILINE) == ["qstep", "qstep"]
    assert "qstep.open(" in example


@pytest.mark.rtl
def test_python_example_of_the_readme_runs() -> None:
    (example,) = blocks("README.md", "python")
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", example], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    assert "-0.5" in answer.stdout
