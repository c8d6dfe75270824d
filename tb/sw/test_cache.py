"""The cache: built once, served whole, and nothing in it that another user may have put there."""

import os
import pickle
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from qstep._io import cache
from qstep.errors import QStepError


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QSTEP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write(folder: Path) -> Path:
    made = folder / "made"
    made.write_bytes(b"whole")
    return made


def refuse(folder: Path) -> Path:
    raise AssertionError("made again although it was there")


def entries(folder: Path) -> list[Path]:
    return [entry for entry in folder.iterdir() if entry.name != "lock"]


def test_entry_is_made_once_and_nothing_else_is_left(empty_cache: Path) -> None:
    entry = cache.fetch("ab", ".so", write)
    assert entry.read_bytes() == b"whole"
    assert cache.fetch("ab", ".so", refuse) == entry
    assert entries(empty_cache) == [entry]


def test_failed_build_leaves_nothing_behind(empty_cache: Path) -> None:
    with pytest.raises(AssertionError, match="made again"):
        cache.fetch("ab", ".so", refuse)
    assert entries(empty_cache) == []


def test_a_cache_that_may_not_execute_is_refused_before_the_build(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_NOEXEC))
    with pytest.raises(
        QStepError, match=rf"{empty_cache} is on a file system .* noexec.*QSTEP_CACHE"
    ):
        cache.fetch("ab", ".so", refuse)
    assert cache.fetch("ab", ".o", write).read_bytes() == b"whole"


def test_code_that_cannot_be_loaded_is_an_error(empty_cache: Path) -> None:
    with pytest.raises(QStepError, match=r"set QSTEP_CACHE to another folder: .*ab-"):
        cache.load(cache.fetch("ab", ".so", write))


def test_tools_get_a_cache_where_the_user_has_none(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lent(usual: Path, own: Path) -> str:
        monkeypatch.setenv("XDG_CACHE_HOME", str(usual))
        monkeypatch.setenv("QSTEP_CACHE", str(own))
        cache.lend.cache_clear()
        cache.lend()
        return os.environ["XDG_CACHE_HOME"]

    occupied, usual = tmp_path / "file", tmp_path / "usual"
    occupied.touch()
    assert lent(usual, empty_cache) == str(usual)
    assert lent(occupied, empty_cache) == str(empty_cache)
    assert Path(lent(occupied, occupied)).is_dir()
    cache.lend.cache_clear()


def half(entry: Path) -> None:
    entry.write_bytes(b"half")


def link(entry: Path) -> None:
    entry.rename(entry.parent / "elsewhere")
    entry.symlink_to(entry.parent / "elsewhere")


def nowhere(entry: Path) -> None:
    entry.unlink()
    entry.symlink_to("absent")


def pipe(entry: Path) -> None:
    entry.unlink()
    os.mkfifo(entry)


def full_folder(entry: Path) -> None:
    entry.unlink()
    (entry / "deep").mkdir(parents=True)


def others_may_write(entry: Path) -> None:
    entry.chmod(0o664)


DAMAGES = [half, link, nowhere, pipe, full_folder, others_may_write]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_what_is_no_whole_file_of_ours_is_made_again_and_said_so(
    empty_cache: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], None]
) -> None:
    entry = cache.fetch("ab", ".so", write)
    damage(entry)
    assert cache.fetch("ab", ".so", write) == entry
    assert entry.read_bytes() == b"whole"
    assert not entry.is_symlink()
    assert not entry.stat().st_mode & 0o022
    assert "is damaged, or others may write it; building it again" in capsys.readouterr().err
    assert cache.fetch("ab", ".so", refuse) == entry


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_entry_of_another_user_is_made_again(empty_cache: Path) -> None:
    entry = cache.fetch("ab", ".so", write)
    os.chown(entry, 12345, 12345)
    assert cache.fetch("ab", ".so", write) == entry
    assert entry.stat().st_uid == 0


def test_folder_is_made_for_this_user_alone(empty_cache: Path) -> None:
    before = os.umask(0o002)
    try:
        entry = cache.fetch("ab", ".so", write)
    finally:
        os.umask(before)
    assert stat.S_IMODE(empty_cache.stat().st_mode) == 0o700
    assert not entry.stat().st_mode & 0o022
    assert cache.fetch("ab", ".so", refuse) == entry


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777], ids=oct)
def test_folder_that_others_may_write_is_refused(empty_cache: Path, mode: int) -> None:
    empty_cache.mkdir()
    empty_cache.chmod(mode)
    with pytest.raises(QStepError, match=r"cache is another user's, or others may write it.*go-w"):
        cache.fetch("ab", ".so", refuse)


def test_two_builds_at_once_get_the_same_whole_entry(empty_cache: Path) -> None:
    both = threading.Barrier(2, timeout=30)
    number = iter(range(2))

    def write_together(folder: Path) -> Path:
        made = write(folder)
        made.write_bytes(b"build %d" % next(number))  # a compiler may write the date
        both.wait()
        return made

    with ThreadPoolExecutor() as pool:
        futures = [pool.submit(cache.fetch, "ab", ".so", write_together) for _ in range(2)]
        kept = [future.result() for future in futures]
    assert kept[0] == kept[1]
    assert entries(empty_cache) == [kept[0]]


def test_two_that_find_the_same_damaged_entry_both_get_one_that_stays(empty_cache: Path) -> None:
    entry = cache.fetch("ab", ".so", write)
    half(entry)
    slow_has_looked, fast_has_ended = threading.Event(), threading.Event()

    def write_late(folder: Path) -> Path:
        slow_has_looked.set()
        assert fast_has_ended.wait(30)
        return write(folder)

    with ThreadPoolExecutor() as pool:
        slow = pool.submit(cache.fetch, "ab", ".so", write_late)
        assert slow_has_looked.wait(30)
        fast = cache.fetch("ab", ".so", write)
        before = fast.stat().st_ino
        fast_has_ended.set()
        assert slow.result() == fast
    assert fast.stat().st_ino == before


BUILDER = """
import os, signal, sys
from qstep._io import cache
def killed(folder):
    (folder / "half").touch()
    if sys.argv[1] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    print("building", flush=True)
    sys.stdin.read()
    return folder / "half"
cache.fetch("ab", ".so", killed)
"""


def test_what_a_killed_build_left_is_removed_and_a_running_one_stays(empty_cache: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", BUILDER, "kill"], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = entries(empty_cache)
    with subprocess.Popen(
        [sys.executable, "-c", BUILDER, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"building\n"
        (scratch,) = entries(empty_cache)
        assert scratch != left
        cache.fetch("cd", ".so", write)
        assert scratch.is_dir()
        running.communicate()
        assert running.returncode == 0
    assert len(entries(empty_cache)) == 2


def test_read_only_cache_still_serves(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = cache.fetch("ab", ".so", write)

    def read_only(*arguments: object, **options: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("qstep._io.cache.tempfile.mkdtemp", read_only)
    monkeypatch.setattr("qstep._io.cache.lock", read_only)
    assert cache.fetch("ab", ".so", refuse) == entry
    with pytest.raises(QStepError, match=r"cache cannot be written; set QSTEP_CACHE: .*Read-only"):
        cache.fetch("cd", ".so", refuse)


def test_unusable_cache_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("QSTEP_CACHE", str(tmp_path / "file"))
    with pytest.raises(QStepError, match=r"file cannot be written; set QSTEP_CACHE"):
        cache.fetch("ab", ".so", refuse)


def test_a_file_that_is_pickled_goes_to_the_cache_of_who_unpickles_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("QSTEP_CACHE", str(tmp_path / "here"))
    assert cache.find("ab12", ".zip") is None
    kept = cache.fetch("ab12", ".zip", write)
    sent = pickle.dumps(kept)
    monkeypatch.setenv("QSTEP_CACHE", str(tmp_path / "there"))
    received = pickle.loads(sent)
    assert received == tmp_path / "there" / kept.name
    assert received.read_bytes() == b"whole"
    assert cache.find("ab12", ".zip") == received
