"""How every command ends on Ctrl-C, on SIGTERM and when its terminal is closed (SIGHUP).

The signal raises an exception at any point of the command, and work in progress is discarded. One line
on stderr reports what was saved and how to resume. The exit status is 130, 143 or 129.
"""

from __future__ import annotations

import os
import shlex
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

import click

from qstep._io.files import written

__all__ = ["TYPED", "answered", "command_line", "held_back", "on_interrupt", "say_stopped"]

_WORDS = f"{__name__}.words"
TYPED = f"{__name__}.typed"
"""Key in the click context for the arguments typed after ``qstep``."""

_AGAIN_SECONDS = 0.01
"""Delay before a signal that could not be handled on arrival is sent again."""

Handler = Callable[[int, FrameType | None], Any]


@contextmanager
def _handled_by(handler: Handler) -> Iterator[None]:
    """Install a handler for the signals; a signal that the parent process ignores stays ignored."""
    before = {
        number: signal.signal(number, handler)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def answered(ctx: click.Context) -> Iterator[None]:
    """Run a command; if a signal ends it, report this and exit with the signal's shell status."""
    came: list[int] = []
    written.clear()

    def interrupt(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if _in_finaliser(frame):
            threading.Timer(_AGAIN_SECONDS, os.kill, (os.getpid(), number)).start()
            return
        raise KeyboardInterrupt

    try:
        with _handled_by(interrupt):
            yield
    except click.exceptions.Exit:
        raise
    except (KeyboardInterrupt, Exception) as error:
        # A library that was being loaded may have turned the signal into another exception.
        if not came and not isinstance(error, KeyboardInterrupt):
            raise
        warnings.simplefilter("ignore")  # libraries warn about unfinished work
        say_stopped()
        ctx.exit(128 + (came[0] if came else signal.SIGINT))


def _in_finaliser(frame: FrameType | None) -> bool:
    """Return whether Python would discard an exception here, as it does inside ``__del__``."""
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


@contextmanager
def held_back() -> Iterator[Callable[[], bool]]:
    """Defer a signal until this context ends, then raise it; a second signal is not deferred.

    This is for work whose state is consistent only between steps. The yielded function returns whether
    to stop.
    """
    came: list[int] = []
    with ExitStack() as holding:

        def note(number: int, frame: FrameType | None) -> None:
            came.append(number)
            holding.close()

        holding.enter_context(_handled_by(note))
        yield lambda: bool(came)
    if came:
        signal.raise_signal(came[0])


def on_interrupt(words: str | None) -> None:
    """Set the text after ``stopped`` in this command's last line; None for the default."""
    click.get_current_context().meta[_WORDS] = words


def command_line(*more: str) -> str:
    """Return the command as typed, with `more` appended unless it is already there.

    ``--overwrite`` is left out, because it has already taken effect.
    """
    typed = [word for word in click.get_current_context().meta[TYPED] if word != "--overwrite"]
    return shlex.join(["qstep", *typed, *(word for word in more if word not in typed)])


def say_stopped() -> None:
    """Report on stderr that the command was stopped, what was saved and how to resume."""
    meta = click.get_current_context().meta
    words = meta.get(_WORDS)
    if words is None and written:
        words = f"; written: {', '.join(dict.fromkeys(map(str, written)))}"
    elif words is None and "--resume" in meta[TYPED]:
        words = f"; the checkpoint is unchanged; to resume, run: {command_line()}"
    elif words is None:
        words = "; no file was changed" if "--overwrite" in meta[TYPED] else "; nothing is kept"
    click.echo(f"stopped{words}", err=True)
