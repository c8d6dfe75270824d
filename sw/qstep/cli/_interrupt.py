"""How every command ends on Ctrl-C and on SIGTERM: one line on stderr, and status 130 or 143.

The signal is an exception wherever the command is. What it was doing is dropped; the line says what
was saved and the command that goes on, or that nothing is kept.
"""

from __future__ import annotations

import os
import shlex
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

__all__ = ["TYPED", "answered", "command_line", "held_back", "on_interrupt", "say_stopped"]

_WORDS = f"{__name__}.words"
TYPED = f"{__name__}.typed"
"""Where the context of a command line keeps what was typed after ``qstep``."""

_AGAIN_SECONDS = 0.01
"""Until a signal that came at a bad moment is tried again."""

Handler = Callable[[int, FrameType | None], Any]


class _Interrupted(KeyboardInterrupt):
    """A signal has come; `number` is which one."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def _handled_by(handler: Handler) -> Iterator[None]:
    """Answer both signals with a handler; what the parent process ignores stays ignored."""
    before = {
        number: signal.signal(number, handler)
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def answered(ctx: click.Context) -> Iterator[None]:
    """Run a command; if a signal ends it, say so and leave with the status that shells have for it."""
    came: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if _in_finaliser(frame):
            threading.Timer(_AGAIN_SECONDS, os.kill, (os.getpid(), number)).start()
            return
        raise _Interrupted(number)

    try:
        with _handled_by(interrupt):
            yield
    except click.exceptions.Exit:
        raise
    except (KeyboardInterrupt, Exception) as error:
        # A library that was being loaded may have made another exception of the signal.
        if not came and not isinstance(error, KeyboardInterrupt):
            raise
        warnings.simplefilter("ignore")  # of libraries, about what is left half made
        say_stopped()
        ctx.exit(128 + (came[0] if came else signal.SIGINT))


def _in_finaliser(frame: FrameType | None) -> bool:
    """Whether Python would drop an exception here: what ``__del__`` raises ends nothing."""
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


@contextmanager
def held_back() -> Iterator[Callable[[], bool]]:
    """Hold a signal back until this context is left, where it is raised; a second one is not held.

    For work whose state is whole only between two steps: the function that this yields says whether
    it is to end.
    """
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if len(came) > 1:
            raise _Interrupted(number)

    with _handled_by(note):
        yield lambda: bool(came)
    if came:
        signal.raise_signal(came[0])


def on_interrupt(words: Callable[[], str | None]) -> None:
    """Set what the closing line of this command says after ``stopped``; None if nothing is kept."""
    click.get_current_context().meta[_WORDS] = words


def command_line(*more: str) -> str:
    """Return the command as it was typed, with `more` at its end unless it is there already.

    What ``--overwrite`` was to replace has been replaced.
    """
    typed = [word for word in click.get_current_context().meta[TYPED] if word != "--overwrite"]
    return shlex.join(["qstep", *typed, *(word for word in more if word not in typed)])


def say_stopped() -> None:
    """Say on stderr that the command was stopped, what is kept and how to go on."""
    words = click.get_current_context().meta.get(_WORDS, lambda: None)()
    click.echo(f"stopped{words or '; nothing is kept'}", err=True)
