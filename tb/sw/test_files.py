"""Files are written completely or not at all, despite other writers and whatever exists at the path."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from qstep._io import files
from qstep._io.files import make_room, write_atomically
from qstep.errors import FileFormatError

HEX = "0123456789abcdef"


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


WRITER = """
import sys
from qstep._io.files import write_atomically
for _ in range(150):
    write_atomically(sys.argv[1], sys.argv[2].encode() * 10_000)
"""


def test_two_writers_of_one_file_with_one_process_number_leave_it_whole(tmp_path: Path) -> None:
    """Processes in two containers that share a volume may have the same process id."""
    path = tmp_path / "file"
    write_atomically(path, b"a" * 10_000)
    same_number = "import os\nos.getpid = lambda: 7\n" + WRITER
    writers = [
        subprocess.Popen([sys.executable, "-c", same_number, str(path), letter]) for letter in "ab"
    ]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        seen.add(path.read_bytes())
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen <= {b"a" * 10_000, b"b" * 10_000}
    assert names(tmp_path) == ["file"]


def test_planted_link_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    planted = tmp_path / f".file.{HEX}"
    planted.symlink_to(victim)
    chosen = iter([HEX, HEX[::-1]])
    monkeypatch.setattr("qstep._io.files.secrets.token_hex", lambda count: next(chosen))
    with pytest.raises(FileFormatError, match=r"file: cannot be written: File exists"):
        write_atomically(tmp_path / "file", b"new")
    write_atomically(tmp_path / "file", b"new")
    assert victim.read_bytes() == b"precious"
    assert planted.is_symlink()


def test_link_stays_and_what_it_points_at_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    for target in (tmp_path / "real" / "there", tmp_path / "real" / "absent"):
        link = tmp_path / f"link to {target.name}"
        link.symlink_to(target)
        write_atomically(link, b"new")
        assert link.is_symlink()
        assert target.read_bytes() == b"new"
    assert names(tmp_path / "real") == ["absent", "there"]


def test_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(FileFormatError, match=r"loop: cannot be written: Too many levels"):
        write_atomically(tmp_path / "loop", b"new")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_full_device_is_named_and_stays_a_device(tmp_path: Path) -> None:
    link = tmp_path / "full"  # so that a fault cannot harm this machine's device
    link.symlink_to("/dev/full")
    with pytest.raises(FileFormatError, match=r"full: cannot be written: No space left"):
        write_atomically(link, b"new")
    assert stat.S_ISCHR(link.stat().st_mode)
    assert names(tmp_path) == ["full"]


def test_pipe_gets_the_bytes_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_atomically(pipe, b"through")
    reader.join(10)
    assert got == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_room_for_a_device_is_there_even_if_its_folder_takes_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    make_room(Path(os.devnull))
    with pytest.raises(
        FileFormatError, match=r"file: cannot be written: its folder is not writable"
    ):
        make_room(tmp_path / "file")


def test_standard_output_gets_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "stdout").symlink_to("/dev/stdout")
    script = "import qstep._io.files; qstep._io.files.write_atomically('stdout', b'bytes')"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, check=True, cwd=tmp_path)
    assert done.stdout == b"bytes"
    assert (tmp_path / "stdout").is_symlink()


def test_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"cannot be written: Is a directory"):
        write_atomically(tmp_path, b"new")


def test_permissions_of_a_replaced_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.touch(0o600)
    write_atomically(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


KILLED = """
import os, signal, sys
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
from qstep._io.files import write_atomically
write_atomically(sys.argv[1], b"half")
"""


def test_what_a_killed_writer_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert len(names(tmp_path)) == 1
    others = [".file.bak", f".another.{HEX}", "file.bak"]
    for other in others:
        (tmp_path / other).touch()
    write_atomically(path, b"whole")
    assert names(tmp_path) == sorted(["file", *others])


def test_what_another_writer_is_at_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    sync = os.fsync

    def write_another_first(descriptor: int) -> None:
        monkeypatch.setattr(os, "fsync", sync)
        write_atomically(path, b"second")
        assert len(names(tmp_path)) == 2

    monkeypatch.setattr(os, "fsync", write_another_first)
    write_atomically(path, b"first")
    assert path.read_bytes() == b"first"
    assert names(tmp_path) == ["file"]


def test_a_new_file_that_another_writer_removes_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked: list[bool] = []
    is_linked = files._is_linked

    def first_gone(descriptor: int) -> bool:
        if not linked:
            (beside,) = tmp_path.glob(".file.*")
            beside.unlink()
        linked.append(is_linked(descriptor))
        return linked[-1]

    monkeypatch.setattr(files, "_is_linked", first_gone)
    write_atomically(tmp_path / "file", b"whole")
    assert linked == [False, True]
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert names(tmp_path) == ["file"]
