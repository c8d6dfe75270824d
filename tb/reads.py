"""Find the files that Verilator reads for a module, and hash the contents that affect a build."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from qstep_rtl.sources import substance

__all__ = ["digest_of", "forgotten", "read_files"]

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_OBEYED = re.compile(r"/[/*]\s*verilator\b")
_WORD = re.compile(r"\w+")


def read_files(files: Sequence[Path], folder: Path, text: str = "") -> list[Path]:
    """Return `files`, and the files in `folder` that they and `text` reach by module or include name."""
    there = {path.stem: path for path in folder.rglob("*.sv*")}
    found = list(dict.fromkeys(files))
    names = set(_WORD.findall(text)).union(*(_facts(*_version(path))[1] for path in found))
    given = {path.name for path in found}
    while reached := [there.pop(name) for name in sorted(names & there.keys())]:
        new = [path for path in reached if path.name not in given]
        found += new
        names = set().union(*(_facts(*_version(path))[1] for path in new))
    return found


def digest_of(paths: Iterable[Path]) -> bytes:
    """Return the digest of the names and contents of Verilog files, without ordinary comments."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.name}\0".encode() + _facts(*_version(path))[0])
    return digest.digest()


def forgotten(dependencies: Path, paths: Iterable[Path]) -> set[str]:
    """Return the files that Verilator read in the folders of `paths` but that `paths` lacks."""
    known = {path.resolve() for path in paths}
    folders = {path.parent for path in known}
    read = map(Path, dependencies.read_text(encoding="utf-8").partition(" : ")[2].split())
    return {str(path) for path in read if path.parent in folders and path not in known}


def _version(path: Path) -> tuple[Path, int]:
    return path, path.stat().st_mtime_ns


@cache
def _facts(path: Path, _changed_ns: int) -> tuple[bytes, frozenset[str]]:
    """Return the digest of a file's substance, and the words in it that can be names.

    The digest includes directives line by line, and the comments that Verilator obeys.
    """
    text = path.read_text(encoding="utf-8")
    obeyed = [comment for comment in _COMMENT.findall(text) if _OBEYED.match(comment)]
    bare = _COMMENT.sub("", text)
    directives = [line.strip() for line in bare.splitlines() if line.lstrip().startswith("`")]
    parts = "\n".join([substance(path), *obeyed, *directives])
    return hashlib.sha256(parts.encode()).digest(), frozenset(_WORD.findall(bare))
