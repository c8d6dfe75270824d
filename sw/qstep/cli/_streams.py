"""A command's stdout and stderr, whose failures never stop the command, and the log messages of ``-v``.

Output that cannot be written is dropped, and the command runs to completion, so its files are complete.
A failed stdout is then reported in one line, and the exit status is 1, unless the reader closed it on
purpose, as ``head`` does. A failed stderr has no effect. A stream that is already closed at startup is
treated as ``/dev/null``.
"""

from __future__ import annotations

import codecs
import errno
import io
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TextIO

import click

__all__ = ["guarded_streams", "verbose_option"]


_PLAIN = f"{__name__}.plain"
"""Name of the error handler that replaces a character by ASCII."""

_SIMILAR = {"↑": "^", "↓": "v", "←": "<", "→": ">", "…": "...", "µ": "u", "×": "x"}


def _in_ascii(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return a similar ASCII character, or an escape sequence."""
    if isinstance(error, UnicodeEncodeError) and error.object[error.start] in _SIMILAR:
        return _SIMILAR[error.object[error.start]], error.start + 1
    return codecs.backslashreplace_errors(error)


codecs.register_error(_PLAIN, _in_ascii)


class _Forgiving(io.FileIO):
    """An open file that drops all output after its first failure, which it records."""

    failure: OSError | None = None

    def write(self, data: Any, /) -> int:
        if self.failure is None:
            try:
                return super().write(data)
            except OSError as failure:
                self.failure = failure
        return memoryview(data).nbytes


@contextmanager
def guarded_streams() -> Iterator[None]:
    """Run a command, which ends with :class:`SystemExit`, on streams that cannot fail."""
    _open_closed()
    stdout, stderr = _Forgiving(1, "w", closefd=False), _Forgiving(2, "w", closefd=False)
    # Streams that a test has replaced are left alone.
    if sys.stdout is sys.__stdout__:
        sys.stdout = _text(stdout, sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(stderr, sys.stderr)
    try:
        yield
    except SystemExit as end:
        sys.stdout.flush()
        if stdout.failure is None or stdout.failure.errno == errno.EPIPE:
            raise
        click.echo(f"error: stdout is incomplete: {stdout.failure.strerror}", err=True)
        raise SystemExit(end.code or 1) from None


def _open_closed() -> None:
    """Open ``/dev/null`` for each closed standard stream, so that no file gets its descriptor."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free descriptor, which is this one


def _text(raw: _Forgiving, before: TextIO | Any) -> TextIO:
    """Return a text stream like `before` that also accepts characters that its encoding lacks."""
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=getattr(before, "encoding", "utf-8"),
        errors=_PLAIN,
        line_buffering=getattr(before, "line_buffering", False) or raw.fileno() == 2,
    )


class _Stderr(logging.Handler):
    """Writes to the current stderr, which a progress bar may have replaced."""

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(self.format(record), err=True)


def _listen(ctx: click.Context, param: click.Parameter, count: int) -> None:
    """Show log messages until the command ends."""
    if not count:
        return
    logger, handler = logging.getLogger("qstep"), _Stderr()
    handler.setFormatter(
        logging.Formatter("%(asctime)s.%(msecs)03d %(name)s: %(message)s", "%H:%M:%S")
    )
    ctx.call_on_close(partial(logger.removeHandler, handler))
    ctx.call_on_close(partial(logger.setLevel, logger.level))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO if count == 1 else logging.DEBUG)


verbose_option = click.option(
    "-v",
    "--verbose",
    count=True,
    expose_value=False,
    callback=_listen,
    help="Log the link to a device: sessions, retries, gaps, rates; with -vv, every request.",
)
