"""Runs other programs, reports their output when they fail, and ends them on interruption."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from qstep.errors import QStepError

__all__ = ["run", "threads"]

_LAST_WORDS = 3000

_running: set[subprocess.Popen[str]] = set()


def run(
    command: Sequence[str | Path],
    error: type[QStepError],
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a program to its end and return what it printed.

    Parameters
    ----------
    command : sequence of str or Path
        The program and its arguments.
    error : type of QStepError
        Raised, with the end of the output, if the status is not 0.
    folder : Path, optional
        Working folder; by default that of this process.
    environment : mapping, optional
        Environment variables; by default those of this process.
    """
    # In a process group of its own: compilers start programs too, which must end with them.
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        process_group=0 if os.name == "posix" else None,
    ) as process:
        _running.add(process)
        try:
            said, _ = process.communicate()
        except BaseException:
            _end(process)
            raise
        finally:
            _running.discard(process)
    if process.returncode != 0:
        last = said.strip()[-_LAST_WORDS:]
        raise error(f"{Path(command[0]).name} failed with status {process.returncode}:\n{last}")
    return said


@contextmanager
def threads(count: int | None = None) -> Iterator[ThreadPoolExecutor]:
    """Yield threads for :func:`run`; an error stops new work, and Ctrl-C ends running programs too."""
    with ThreadPoolExecutor(count) as pool:
        try:
            yield pool
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            if not isinstance(error, Exception):
                for process in tuple(_running):
                    _end(process)
            raise


def _end(process: subprocess.Popen[str]) -> None:
    """End a program and the programs that it started."""
    if os.name != "posix":  # pragma: no cover: no process groups there
        process.kill()
        return
    with suppress(ProcessLookupError):  # it ended just now
        os.killpg(process.pid, signal.SIGKILL)
