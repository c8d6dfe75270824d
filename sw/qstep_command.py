"""Entry point of the command line, which handles Ctrl-C while the slow modules are still loading."""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType

__all__ = ["main"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> None:
    """Run the command line of QStep."""
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # a shell ignores it for background jobs
            signal.signal(number, _leave)
    from qstep.cli import main

    try:
        main()
    finally:
        gc.freeze()  # otherwise Python's garbage collection at exit takes a fifth of a second
        for number in _SIGNALS:  # the command has already reported how it ended
            if signal.getsignal(number) is _leave:
                signal.signal(number, signal.SIG_DFL)


def _leave(number: int, frame: FrameType | None) -> None:
    """Exit at once, because an exception would surface in whatever module is being imported."""
    kept = b"the checkpoint is unchanged" if "--resume" in sys.argv else b"nothing is kept"
    try:
        os.write(2, b"stopped; " + kept + b"\n")
    finally:  # stderr may be closed
        os._exit(128 + number)
