"""Where commands print tables and progress bars with Rich: text stays as it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

__all__ = ["console", "run_bar", "task_bar", "task_progress"]

_UNLIMITED = 1 << 16


def console(stderr: bool = False) -> Console:
    """Return a console that prints brackets as brackets, and cuts lines only to fit a terminal."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _UNLIMITED
    return Console(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)


def run_bar() -> Progress:
    """Return a progress bar on stderr for a run of minutes; its tasks have a field ``state``."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}", markup=False),
        TimeRemainingColumn(),
        console=console(stderr=True),
    )


def task_bar() -> Progress:
    """Return a progress bar on stderr that is erased at the end, and not shown without a terminal."""
    out = console(stderr=True)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=out,
        transient=True,
        disable=not out.is_terminal,
    )


@contextmanager
def task_progress(name: str) -> Iterator[Callable[[str, int, int], None]]:
    """Show a :func:`task_bar` for one task; yield what takes its description and how far it is."""
    with task_bar() as bar:
        task = bar.add_task(name, total=None)

        def progress(what: str, done: int, total: int) -> None:
            bar.update(task, description=f"{name}: {what}", completed=done, total=total)

        yield progress
