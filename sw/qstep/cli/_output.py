"""Output shared by the commands: ``--json``, folders, and Rich tables and progress bars."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from qstep._io.files import json_text, make_room, write_atomically

__all__ = [
    "JsonOutput",
    "console",
    "json_option",
    "room_for",
    "run_bar",
    "task_bar",
    "task_progress",
]


@contextmanager
def room_for(*files: Path | None) -> Iterator[None]:
    """Create the folders of files to be written later; after an error, remove the empty ones.

    Raises FileFormatError if a file cannot be written there (:func:`qstep._io.files.make_room`).
    """
    wanted = [file for file in files if file is not None]
    absent = {folder for file in wanted for folder in file.parents if not folder.exists()}
    try:
        for file in wanted:
            make_room(file)
        yield
    except BaseException:
        for folder in sorted(absent, key=lambda folder: len(folder.parts), reverse=True):
            with suppress(OSError):  # the folder is not empty
                folder.rmdir()
        raise


_STDOUT = "-"
_UNLIMITED = 1 << 16


@dataclass(frozen=True, slots=True)
class JsonOutput:
    """Where to write a result as JSON: to stdout instead of the text, to a file, or nowhere."""

    on_stdout: bool = False
    file: Path | None = None

    def tell(self, report: Any, *words: object, indent: int | None = 2) -> None:
        """Write plain values as JSON to the selected output, and print `words`, the same result as text.

        The file is written first; if writing fails, the text is still printed.
        """
        text = json_text(report, indent)
        try:
            if self.file is not None:
                write_atomically(self.file, f"{text}\n".encode())
        finally:
            self.say(*words)
            if self.on_stdout:
                click.echo(text)

    def say(self, *words: object) -> None:
        """Print lines of text and Rich tables, unless stdout is reserved for JSON."""
        if not self.on_stdout:
            for part in words:
                click.echo(part) if isinstance(part, str) else console().print(part)

    def note(self, line: object) -> None:
        """Print a line that is not part of the result: on stderr if stdout is reserved for JSON."""
        click.echo(line, err=self.on_stdout)


def json_option(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option ``--json [FILE]``, parameter ``json_output`` of a command."""
    return click.option(
        "--json",
        "json_output",
        is_flag=False,
        flag_value=_STDOUT,
        callback=_parse,
        metavar="[FILE.json]",
        help=f"Print {what} as JSON on stdout, or write it to a file.",
    )


def _parse(_: click.Context, __: click.Parameter, text: str | None) -> JsonOutput:
    if text is None or text == _STDOUT:
        return JsonOutput(on_stdout=text is not None)
    if not text.endswith(".json"):  # otherwise a following argument would be taken for the file
        raise click.BadParameter(
            f"{text!r} does not end with .json; for JSON on stdout put --json last, or write --json=-"
        )
    return JsonOutput(file=Path(text))


def console(stderr: bool = False) -> Console:
    """Return a console that prints brackets literally, and cuts lines only to fit a terminal."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _UNLIMITED
    return Console(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)


def run_bar() -> Progress:
    """Return a progress bar on stderr for a run that takes minutes; its tasks have a field ``state``."""
    state = TextColumn("{task.fields[state]}", markup=False)
    return _bar(BarColumn(bar_width=20), MofNCompleteColumn(), state)


def task_bar() -> Progress:
    """Return a progress bar on stderr that is erased at the end, and not shown without a terminal."""
    return _bar(BarColumn(), TaskProgressColumn(), transient=True)


def _bar(*columns: ProgressColumn, transient: bool = False) -> Progress:
    name, left = TextColumn("{task.description}", markup=False), TimeRemainingColumn()
    out = console(stderr=True)
    hidden = transient and not out.is_terminal
    return Progress(name, *columns, left, console=out, transient=transient, disable=hidden)


@contextmanager
def task_progress(name: str) -> Iterator[Callable[[str, int, int], None]]:
    """Show a :func:`task_bar` for one task; yield a function that updates its text and progress."""
    with task_bar() as bar:
        task = bar.add_task(name, total=None)

        def progress(what: str, done: int, total: int) -> None:
            bar.update(task, description=f"{name}: {what}", completed=done, total=total)

        yield progress
