"""Kills file writers before each of their system calls: the old or the new file must remain.

    python -m tb.sw.killed_writers NAME

kills one of :data:`tb.sw.writers.WRITERS` and prints the result. It fails if a file is neither the old
nor the new one, if the reader rejects the files, or if the next writer does not leave exactly its own
files.
"""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tb.killed import done, kills

from qstep.errors import QStepError

__all__ = ["Deaths", "Writer", "WrongFileError", "kill_everywhere"]

Files = dict[str, bytes]


class WrongFileError(AssertionError):
    """A killed writer left a wrong file."""


@dataclass(frozen=True)
class Writer:
    """A way to write files into a folder.

    Attributes
    ----------
    write : callable
        Writes version 0, 1 or 2 of all files into a folder.
    read : callable
        Reads them back; raises QStepError or FileNotFoundError if they are missing.
    removed : str
        Suffix of files that are removed before anything is written, so that their version never differs
        from that of the other files.
    by_lines : bool
        Whether the new file is written in place, line by line.
    """

    write: Callable[[Path, int], object]
    read: Callable[[Path], object]
    removed: str = "\0"
    by_lines: bool = False


@dataclass(frozen=True)
class Deaths:
    """How often a writer was killed, and how many different states of the files resulted."""

    count: int
    outcomes: int


def kill_everywhere(writer: Writer, folder: Path) -> Deaths:
    """Kill a writer before each of its system calls, first in an empty folder, then over old files.

    After each kill, the reader must accept the files if all exist, and another writer overwrites them.

    Raises
    ------
    WrongFileError
        The message names the wrong file and the system call.
    """
    old, new, last = (
        _whole(writer, folder / f"version-{version}", version) for version in range(3)
    )
    place = folder / "killed"
    count, outcomes = 0, set()
    before: Files
    for case, before in (("no files", {}), ("old files", old)):
        _reset(place, before)
        for number in kills(partial(writer.write, place, 1)):
            where = f"killed over {case} in front of system call {number}"
            found = _files(place)
            for name in before | new:
                if found.get(name) not in _legal(writer, name, before, new):
                    raise WrongFileError(f"{where}: {name} is neither the old nor the new file")
            if found.keys() >= new.keys():
                _check_reader(writer, place, where)
            count += 1
            outcomes.add((case, *(found.get(name) for name in sorted(new))))
            done(partial(writer.write, place, 2))
            if wrong := _differing(_files(place), last):
                raise WrongFileError(f"{where}: the next writer leaves {', '.join(wrong)} wrong")
            _reset(place, before)
        if wrong := _differing(_files(place), new):
            raise WrongFileError(f"over {case} {', '.join(wrong)} is wrong without a death")
    return Deaths(count, len(outcomes))


def _legal(writer: Writer, name: str, before: Files, new: Files) -> list[bytes | None]:
    """Return the contents that a file may have after a kill; None means that it may be absent."""
    versions = [before.get(name), new.get(name)]
    if name.endswith(writer.removed):
        versions.append(None)
    if writer.by_lines:
        lines = new[name].splitlines(keepends=True)
        versions += [b"".join(lines[:count]) for count in range(len(lines))]
    return versions


def _check_reader(writer: Writer, place: Path, where: str) -> None:
    try:
        writer.read(place)
    except (QStepError, OSError) as error:
        raise WrongFileError(f"{where}: the reader refuses it: {error}") from error


def _differing(one: Files, other: Files) -> list[str]:
    """Return the names of files that differ."""
    return sorted(name for name in one | other if one.get(name) != other.get(name))


def _whole(writer: Writer, place: Path, version: int) -> Files:
    """Return the files of an uninterrupted writer, once its reader has accepted them."""
    place.mkdir(parents=True)
    done(partial(writer.write, place, version))
    writer.read(place)
    return _files(place)


def _reset(place: Path, files: Files) -> None:
    """Leave exactly these files in a folder."""
    for path in sorted(place.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    place.mkdir(exist_ok=True)
    for name, content in files.items():
        (place / name).write_bytes(content)


def _files(place: Path) -> Files:
    """Return everything below a folder, including empty folders."""
    return {
        str(path.relative_to(place)): path.read_bytes() if path.is_file() else b""
        for path in place.rglob("*")
    }


def main() -> None:
    """Kill the named writer before each system call, and print the result."""
    from tb.sw.writers import WRITERS, WRONG

    with tempfile.TemporaryDirectory() as scratch:
        print(kill_everywhere((WRITERS | WRONG)[sys.argv[1]], Path(scratch)))


if __name__ == "__main__":
    main()
