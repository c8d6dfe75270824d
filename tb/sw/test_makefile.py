"""The Makefile does what its help describes."""

import re
import shutil
import subprocess
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]


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


def test_make_alone_is_help() -> None:
    assert make() == make("help")


def test_help_lists_each_target_with_what_it_does() -> None:
    listed = re.findall(r"^  make ([\w-]+) +\w", make("help"), re.MULTILINE)
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


@pytest.mark.parametrize("lacks", [None, "iverilog", "chromium", "chromedriver"])
def test_ci_fails_if_tests_would_be_skipped(tmp_path: Path, lacks: str | None) -> None:
    needed = {"iverilog", "chromium", "chromedriver"} - {lacks}
    copies = "\n".join(f'cp "$0" "{tmp_path / name}"' for name in sorted(needed))
    programs = {"apt-get": copies, "make": 'echo "make $1"'}
    for name, line in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    for name in ("bash", "cp", "dirname"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    ci = subprocess.run(
        [tmp_path / "bash", ROOT / ".ci" / "run"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ci.returncode == 0) == (lacks is None)
    assert ("make test" in ci.stdout) == (lacks is None)
    complaint = f"CI needs {lacks}, and apt-get could not install it"
    assert (complaint in ci.stderr) == (lacks is not None)


def test_every_pin_is_exact() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []


def test_every_pin_admits_the_oldest_python() -> None:
    """Debian 12 has Python 3.11.2, where packages that need 3.11.5 or newer cannot be installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = f"{project['requires-python'].removeprefix('>=')}.0"
    key = "Requires-Python"
    given = {d.name: d.metadata[key] for d in distributions() if key in d.metadata}
    assert len(given) > 100
    refusing = {n for n, versions in given.items() if oldest not in SpecifierSet(versions)}
    assert refusing == set()
    assert oldest not in SpecifierSet(">=3.11.5")
