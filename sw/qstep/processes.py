"""Runs other programs, and says what they said when they fail."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from qstep.errors import QStepError

__all__ = ["run"]

_LAST_WORDS = 3000


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
        Raised if it ends with a status other than 0, with its last words.
    folder : Path, optional
        Where it runs; otherwise where this process does.
    environment : mapping, optional
        Its environment variables; otherwise those of this process.
    """
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode != 0:
        said = done.stdout.strip()[-_LAST_WORDS:]
        raise error(f"{Path(command[0]).name} failed with status {done.returncode}:\n{said}")
    return done.stdout
