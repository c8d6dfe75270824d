"""Where the command line begins: from here on Ctrl-C is answered, while what is slow is being loaded."""

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
        if signal.getsignal(number) is not signal.SIG_IGN:  # as a shell starts background jobs
            signal.signal(number, _leave)
    from qstep.cli import main

    try:
        main()
    finally:
        gc.freeze()  # Python looks through all that is left before it ends: a fifth of a second
        for number in _SIGNALS:  # the command has said how it ended
            if signal.getsignal(number) is _leave:
                signal.signal(number, signal.SIG_DFL)


def _leave(number: int, frame: FrameType | None) -> None:
    """End at once: an exception would end in whatever is being imported."""
    kept = b"the checkpoint is unchanged" if "--resume" in sys.argv else b"nothing is kept"
    try:
        os.write(2, b"stopped; " + kept + b"\n")
    finally:  # stderr may be closed
        os._exit(128 + number)
