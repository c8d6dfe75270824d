"""A writer killed before a system call leaves the old or the new file, and blocks no later writer."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tb.verify.figures import Count

from qstep._io.files import write_atomically

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="ptrace as Linux has it"),
]

ROOT = Path(__file__).parents[2]
OFTEN = "checkpoint"
OTHERS = ("build", "cache", "file", "metrics", "run", "trace", "world")
FAULTS = {
    "in place": "file is neither the old nor the new file",
    "removed first": "file is neither the old nor the new file",
    "left behind": r"the next writer leaves tmp\w+ wrong",
    "refused": "the reader refuses it: another file is beside it",
    "half rows": r"metrics\.csv is neither",
    "of two builds": "the reader refuses it: bitstream, report and configuration are of two builds",
}


def killed(name: str) -> subprocess.CompletedProcess[str]:
    """Kill a writer before each system call, in a process without threads, which can be forked."""
    command = [sys.executable, "-m", "tb.sw.killed_writers", name]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "name", [OFTEN, *(pytest.param(name, marks=pytest.mark.release) for name in OTHERS)]
)
def test_a_writer_killed_at_every_system_call_leaves_the_old_or_the_new_file(
    name: str, record_property: Count
) -> None:
    answer = killed(name)
    assert answer.returncode == 0, answer.stderr
    found = re.fullmatch(r"Deaths\(count=(\d+), outcomes=(\d+)\)\n", answer.stdout)
    assert found is not None
    assert int(found[1]) > 20
    assert int(found[2]) >= 4  # old and new files, both in an empty folder and over old files
    record_property("deaths", int(found[1]))


@pytest.mark.parametrize("name", FAULTS)
def test_a_writer_that_leaves_neither_is_found(name: str) -> None:
    answer = killed(name)
    assert answer.returncode == 1
    assert re.search(f"WrongFileError: killed over .*{FAULTS[name]}", answer.stderr)


def test_every_writer_is_killed() -> None:
    from tb.sw.writers import WRITERS, WRONG

    assert {OFTEN, *OTHERS} == WRITERS.keys()
    assert FAULTS.keys() == WRONG.keys()


WRITE = {
    "cache.py": "entries are whole by the checksum in their name",
    "files.py": "the writer of all other files, and locks",
    "metrics.py": "rows of a log",
}
"""Modules that write files directly, and what they write."""


def writes(call: ast.Call) -> bool:
    """Return whether a call writes a file or opens one for writing."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    words = [part.value for part in ast.walk(call) if isinstance(part, ast.Constant)]
    flags = {part.attr for part in ast.walk(call) if isinstance(part, ast.Attribute)}
    modes = any(isinstance(word, str) and re.fullmatch(r"[wax]b?", word) for word in words)
    return name in ("write_text", "write_bytes") or (
        name == "open" and (modes or bool(flags & {"O_CREAT", "O_TRUNC"}))
    )


def writing(folder: Path) -> set[str]:
    """Return the modules that open files for writing directly."""
    return {
        path.name
        for path in folder.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and writes(call)
    }


def test_nothing_else_writes_files_by_itself(tmp_path: Path) -> None:
    assert writing(ROOT / "sw") == set(WRITE)
    (tmp_path / "careless.py").write_text("with open('x', 'w') as file: file.write('y')")
    assert writing(tmp_path) == {"careless.py"}


def test_data_are_on_the_disk_before_the_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unlike a kill, a power cut may lose unsynchronised writes in any order."""
    done: list[str] = []

    def noted(name: str) -> None:
        plain = getattr(os, name)

        def call(*given: object, **named: object) -> object:
            is_folder = name == "fsync" and os.path.isdir(f"/proc/self/fd/{given[0]}")
            done.append("fsync of the folder" if is_folder else name)
            return plain(*given, **named)

        monkeypatch.setattr(os, name, call)

    noted("fsync")
    noted("replace")
    write_atomically(tmp_path / "file", b"content")
    assert done == ["fsync", "replace", "fsync of the folder"]
