"""The command line as a whole: its list of commands and its errors."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner

import qstep_bench.cli as laboratory
from qstep import cli

COMMANDS = sorted(
    path.stem
    for package in (cli, laboratory)
    for path in Path(package.__path__[0]).glob("[!_]*.py")
)


def qstep(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from qstep_command import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_lists_every_command_with_what_it_does() -> None:
    groups = CliRunner().invoke(cli._qstep, ["--help"]).output.split("\n\n")[-3:]
    assert [group.partition(":\n")[0] for group in groups] == ["Learn", "Hardware", "Laboratory"]
    lines = [line for group in groups for line in group.splitlines()[1:]]
    assert sorted(line.split()[0] for line in lines) == COMMANDS
    assert all(len(line.split()) > 3 and not line.endswith("...") for line in lines)


@pytest.mark.parametrize("name", COMMANDS)
def test_command_has_help(name: str) -> None:
    result = CliRunner().invoke(cli._qstep, [name, "--help"])
    assert result.exit_code == 0
    assert result.output.startswith("Usage: ")


def test_version_is_that_of_the_package() -> None:
    assert metadata.version("qstep") in qstep("--version").stdout


def test_unknown_command_is_named() -> None:
    answer = qstep("coffee")
    assert answer.returncode == 2
    assert "No such command 'coffee'.\n" in answer.stderr
    assert "No such command 'trian'. Did you mean train?\n" in qstep("trian").stderr


def test_own_error_is_one_line_and_status_1() -> None:
    answer = qstep("train", "gridworld", "--alpha", "2")
    assert answer.returncode == 1
    assert answer.stderr == "error: alpha is 2.0; it must be from 0 to 1\n"
