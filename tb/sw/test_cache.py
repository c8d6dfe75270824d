"""Cache entries are built once, served complete, and never taken from another user."""

import os
import pickle
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
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
    return list(folder.iterdir())


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
    assert "is damaged or writable by others; building it again" in capsys.readouterr().err
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
    with pytest.raises(QStepError, match=r"cache belongs to another user or is writable.*go-w"):
        cache.fetch("ab", ".so", refuse)


@pytest.mark.parametrize("damaged", [False, True])
def test_two_that_build_at_once_get_the_same_whole_entry(empty_cache: Path, damaged: bool) -> None:
    if damaged:
        half(cache.fetch("ab", ".so", write))
    building = threading.Event()

    def write_slowly(folder: Path) -> Path:
        building.set()
        waiting.result(timeout=30)
        return write(folder)

    with ThreadPoolExecutor() as pool:
        waiting: Future[None] = Future()
        slow = pool.submit(cache.fetch, "ab", ".so", write_slowly)
        assert building.wait(30)
        other = pool.submit(cache.fetch, "ab", ".so", refuse)
        with pytest.raises(TimeoutError):
            other.result(timeout=0.2)
        waiting.set_result(None)
        assert slow.result() == other.result()
    assert entries(empty_cache) == [slow.result()]


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
    left = entries(empty_cache)
    assert sorted(path.name[:9] for path in left) == ["ab.lock", "build-ab-"]
    with subprocess.Popen(
        [sys.executable, "-c", BUILDER, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"building\n"
        lock, scratch = sorted(entries(empty_cache))
        assert lock.name == "ab.lock"
        assert scratch not in left
        cache.fetch("cd", ".so", write)
        assert (lock.exists(), scratch.is_dir()) == (True, True)
        running.communicate()
        assert running.returncode == 0
    assert sorted(path.name[:3] for path in entries(empty_cache)) == ["ab-", "cd-"]


def test_read_only_cache_still_serves(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = cache.fetch("ab", ".so", write)

    def read_only(*arguments: object, **options: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("qstep._io.cache.tempfile.mkdtemp", read_only)
    monkeypatch.setattr("qstep._io.cache.locked", read_only)
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
