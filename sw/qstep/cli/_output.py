"""Where results go: ``--json``, shared by all commands that have it; folders made before the work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from qstep._io.files import json_text, make_room, write_atomically

__all__ = ["JsonOutput", "json_option", "room_for"]


@contextmanager
def room_for(*files: Path | None) -> Iterator[None]:
    """Create the folders for files that are written later; after an error, remove the empty ones.

    Raises
    ------
    FileFormatError
        A file cannot be written there; see :func:`qstep._io.files.make_room`.
    """
    wanted = [file for file in files if file is not None]
    absent = {folder for file in wanted for folder in file.parents if not folder.exists()}
    try:
        for file in wanted:
            make_room(file)
        yield
    except BaseException:
        for folder in sorted(absent, key=lambda folder: len(folder.parts), reverse=True):
            with suppress(OSError):  # it is not empty
                folder.rmdir()
        raise


_STDOUT = "-"


@dataclass(frozen=True, slots=True)
class JsonOutput:
    """Where to write a result as JSON.

    Attributes
    ----------
    on_stdout : bool
        Stdout gets the JSON, and no text.
    file : Path or None
        The file gets the JSON, and stdout the text.
    """

    on_stdout: bool = False
    file: Path | None = None

    def tell(self, report: Any, in_words: Callable[[], object], indent: int | None = 2) -> None:
        """Write plain values as JSON where they belong; call `in_words` to print the same as text.

        The file comes first; if it cannot be written, the text is printed all the same.

        Raises
        ------
        FileFormatError
            The file cannot be written.
        """
        text = json_text(report, indent)
        try:
            if self.file is not None:
                write_atomically(self.file, f"{text}\n".encode())
        finally:
            if self.on_stdout:
                click.echo(text)
            else:
                in_words()


def json_option(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option ``--json [FILE]``, the parameter ``json_output`` of a command."""
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
