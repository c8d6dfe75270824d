"""A run locks its folder until it ends, and no run is replaced without notice."""

import errno
import fcntl
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import qstep
from qstep._io import files
from qstep._io.checkpoint import run_folder
from qstep.errors import FileFormatError, RunFolderError

HOLDER = """
import os, signal, sys
from pathlib import Path
from qstep._io.checkpoint import run_folder
with run_folder(Path(sys.argv[1]), False, False) as file:
    print(os.getpid(), flush=True)
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_second_run_in_a_folder_is_refused_with_the_process_that_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        number = int(other.stdout.readline())
        for choice in ((False, False), (True, False), (False, True)):
            with (
                pytest.raises(
                    RunFolderError, match=rf"run: process {number} of .* is using this folder"
                ),
                run_folder(folder, *choice),
            ):
                pytest.fail("two runs in one folder")
        other.communicate()
        assert other.returncode == -signal.SIGKILL
    with run_folder(folder, False, False):  # a killed run holds no lock
        assert (folder / "lock").exists()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("choice", ["resume", "overwrite"])
def test_run_that_is_there_is_replaced_only_on_request(tmp_path: Path, choice: str) -> None:
    with run_folder(tmp_path, False, False) as file:
        file.write_bytes(b"first")
    message = r"already contains a run; use --resume .*, --overwrite to replace it, or --out to"
    with pytest.raises(RunFolderError, match=message), run_folder(tmp_path, False, False):
        pytest.fail("replaced without a word")
    with run_folder(tmp_path, choice == "resume", choice == "overwrite") as file:
        assert file.read_bytes() == b"first"
    assert [entry.name for entry in tmp_path.iterdir()] == ["checkpoint.npz"]


def test_result_saved_from_python_is_not_replaced_without_notice(tmp_path: Path) -> None:
    qstep.train("gridworld", steps=100).save(tmp_path)
    with (
        pytest.raises(RunFolderError, match="already contains a run"),
        run_folder(tmp_path, False, False),
    ):
        pytest.fail("replaced without a word")


def test_folders_of_a_run_that_writes_nothing_are_removed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(ZeroDivisionError), run_folder(tmp_path / "there/a/b", False, False):
        raise ZeroDivisionError
    assert list((tmp_path / "there").iterdir()) == []


def test_folder_that_takes_no_lock_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lock").mkdir()
    with (
        pytest.raises(FileFormatError, match="cannot be written: Is a directory"),
        run_folder(tmp_path, False, False),
    ):
        pytest.fail("locked a folder")


def test_folder_whose_lock_is_removed_by_the_run_before_is_locked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock file may be deleted between opening and locking it."""
    seen: list[bool] = []
    is_linked = files._is_linked

    def first_gone(descriptor: int) -> bool:
        if not seen:
            (tmp_path / "lock").unlink()
        seen.append(is_linked(descriptor))
        return seen[-1]

    monkeypatch.setattr("qstep._io.files._is_linked", first_gone)
    with run_folder(tmp_path, False, False):
        assert seen == [False, True]
        assert (tmp_path / "lock").exists()


def test_file_system_may_lack_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with files.locked(tmp_path / "lock") as alone:
        assert not alone
    with run_folder(tmp_path / "run", False, False), run_folder(tmp_path / "run", False, False):
        pass
