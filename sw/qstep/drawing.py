"""Pictures drawn by a process of their own, which loads Matplotlib while this one is at its run.

To load Matplotlib takes longer than most runs do.
"""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from qstep.errors import DrawingError
from qstep.files import write_atomically
from qstep.plotting import Draw, WritePictures, image, picture_format, write_pictures

__all__ = ["drawing"]


@contextmanager
def drawing() -> Iterator[WritePictures]:
    """Begin to load what is needed to draw; yield what writes pictures, once, inside the context.

    What draws each of them is sent to the process: a `functools.partial` of a module's function. Where
    Matplotlib is loaded already, no process is begun.

    Raises
    ------
    DrawingError
        The process failed; it has said why on stderr.
    """
    if "matplotlib" in sys.modules:
        yield write_pictures
        return
    # A group of its own: Ctrl-C is answered here, and the process ends with the context, or with us,
    # which closes its stdin.
    with subprocess.Popen(
        [sys.executable, "-P", "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        process_group=0 if os.name == "posix" else None,
    ) as process:

        def write(pictures: Mapping[Path, Draw]) -> None:
            jobs = [(picture_format(path), draw) for path, draw in pictures.items()]
            images, _ = process.communicate(pickle.dumps(jobs))
            if process.returncode != 0:
                raise DrawingError(f"the process that draws ended with status {process.returncode}")
            for path, data in zip(pictures, pickle.loads(images), strict=True):
                write_atomically(path, data)

        try:
            yield write
        finally:
            process.kill()


def _serve() -> None:
    """Draw what stdin asks for, and answer on stdout."""
    import matplotlib.backends.backend_agg
    import matplotlib.figure  # noqa: F401

    gc.freeze()  # as at the end of a command: Python looks through all that is left before it ends
    asked = sys.stdin.buffer.read()
    if asked:  # else the command has ended
        images = [image(draw(), format_) for format_, draw in pickle.loads(asked)]
        sys.stdout.buffer.write(pickle.dumps(images))


if __name__ == "__main__":
    _serve()
