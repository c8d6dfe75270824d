"""Files of tests, each run under Coverage.py; what they took is kept until a source changes."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import coverage
import pytest
from tb.bench import TB
from tb.source_digest import sources

from qstep.files import make_folder, write_atomically

__all__ = ["SOURCES", "digest_for", "measured", "settings"]

SOURCES = ("sw/qstep", "rtl/qstep_rtl", "sim/qstep_sim", "fpga/qstep_fpga")

_SETTINGS = """\
[run]
branch = true
parallel = true
patch = subprocess
data_file = {data}
source =
    {sources}
[report]
exclude_also =
    @compiled
    @njit
    @overload
    if TYPE_CHECKING:
    if __name__ == .__main__.:
    class .*\\(Protocol\\):
"""


def settings(data: Path) -> str:
    """Return Coverage.py's settings, for counts in a file."""
    folders = "\n    ".join(str(TB.parent / source) for source in SOURCES)
    return _SETTINGS.format(data=data, sources=folders)


def digest_for(test: Path) -> str:
    """Return a digest of all sources, but of no tests that a file of tests does not import.

    Nor of these files, which only count. It is of whole sources: counts are by line, so a new comment
    changes what they mean.
    """
    digest = hashlib.sha256(_shared().encode())
    for path in sorted({test, *_imported(test)}):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _shared() -> str:
    digest = hashlib.sha256()
    for path in sources():
        if not path.name.startswith("test_") and not path.match("tb/coverage/python*"):
            digest.update(f"{path.relative_to(TB.parent)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _imported(test: Path) -> set[Path]:
    modules = re.findall(r"^from (tb\.\S*\btest_\w+) import", test.read_text("utf-8"), re.MULTILINE)
    files = {TB.parent / f"{module.replace('.', '/')}.py" for module in modules}
    return files.union(*map(_imported, files))


def measured(
    tests: Sequence[Path], jobs: int, folder: Path, report: Callable[[str], object] = print
) -> tuple[list[Path], coverage.Coverage]:
    """Run files of tests; return those that fail, and the counts of all processes."""
    places = [folder / f"{test.parent.name}-{test.stem}" for test in tests]
    with ThreadPoolExecutor(jobs) as pool:
        passed = list(pool.map(lambda *of: _is_passed(*of, report), tests, places))
    counts = coverage.Coverage(
        data_file=str(folder / ".coverage"), config_file=str(_settings(folder))
    )
    counts.combine([str(place) for place in places], keep=True)
    return [test for test, is_right in zip(tests, passed, strict=True) if not is_right], counts


def _settings(folder: Path) -> Path:
    make_folder(folder)
    file = folder / "python.cfg"
    write_atomically(file, settings(folder / ".coverage").encode())
    return file


def _is_passed(test: Path, place: Path, report: Callable[[str], object]) -> bool:
    """Run a file of tests, if it has not passed yet; leave the counts of its processes in a folder."""
    passed, digest = place / "passed", digest_for(test)
    if passed.exists() and passed.read_text(encoding="utf-8") == digest:
        return True
    shutil.rmtree(place, ignore_errors=True)
    command = [sys.executable, "-m", "coverage", "run", f"--rcfile={_settings(place)}"]
    command += ["-m", "pytest", "-q", str(test)]
    with (place / "log").open("w", encoding="utf-8") as log:
        out = {"stdout": log, "stderr": subprocess.STDOUT}
        status = subprocess.run(command, cwd=TB.parent, check=False, **out).returncode
    is_right = status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    report(f"{test.name}: {'passed' if is_right else f'FAILED, see {log.name}'}")
    if is_right:
        write_atomically(passed, digest.encode())
    return is_right
