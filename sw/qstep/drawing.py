"""Pictures drawn by a separate process, which loads Matplotlib during the run.

Loading Matplotlib takes longer than most runs.
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

from qstep.plotting import Draw, WritePictures, image, picture_format, write_images, write_pictures

__all__ = ["drawing"]


@contextmanager
def drawing() -> Iterator[WritePictures]:
    """Start loading Matplotlib; yield a function that writes pictures, once, inside the context.

    The function that draws a picture is sent to the process, as a `functools.partial` of a module's
    function. If Matplotlib is loaded already, no process is started.

    Raises
    ------
    DrawingError
        A picture cannot be drawn or written, or the process failed; all other pictures are written.
    """
    if "matplotlib" in sys.modules:
        yield write_pictures
        return
    # In a process group of its own: Ctrl-C is handled here. The process ends with the context, or when
    # this process ends, which closes its stdin.
    with subprocess.Popen(
        [sys.executable, "-P", "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0 if os.name == "posix" else None,
    ) as process:

        def write(pictures: Mapping[Path, Draw]) -> None:
            jobs = [(picture_format(path), draw) for path, draw in pictures.items()]
            images, said = process.communicate(pickle.dumps(jobs))
            if process.returncode == 0:
                drawn = pickle.loads(images)
            else:
                reason = said.decode(errors="replace").strip().rpartition("\n")[2]
                why = f"the process that draws ended with status {process.returncode} {reason}"
                drawn = [why.rstrip()] * len(jobs)
            write_images(dict(zip(pictures, drawn, strict=True)))

        try:
            yield write
        finally:
            process.kill()


def _serve() -> None:
    """Draw the pictures requested on stdin, and answer on stdout."""
    import matplotlib.backends.backend_agg
    import matplotlib.figure  # noqa: F401

    gc.freeze()  # as at the end of a command: Python looks through all that is left before it ends
    asked = sys.stdin.buffer.read()
    if asked:  # else the command has ended
        images = [image(draw, format_) for format_, draw in pickle.loads(asked)]
        sys.stdout.buffer.write(pickle.dumps(images))


if __name__ == "__main__":
    _serve()
