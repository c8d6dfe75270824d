"""A separate process draws the same pictures, reports when it cannot, and never stays behind."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from qstep import drawing
from qstep.errors import DrawingError, FileFormatError
from qstep.grid_map import GridMap
from qstep.learn.plots import draw_policy
from qstep.plotting import write_picture

pytestmark = pytest.mark.unit


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that are begun, as in a command, which has not loaded Matplotlib."""
    processes: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)  # type: ignore[call-overload]
            processes.append(self)

    monkeypatch.delitem(sys.modules, "matplotlib", raising=False)
    monkeypatch.setattr(subprocess, "Popen", Noted)
    return processes


def test_the_process_draws_what_would_be_drawn_here(
    begun: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    grid = GridMap(("S.", ".G"), ((0, 1), (0, -1), (-1, 0), (1, 0)))
    draw = partial(draw_policy, "two by two", grid, np.arange(16.0).reshape(4, 4))
    there, nowhere = tmp_path / "there.png", tmp_path / "no/folder.png"
    with (
        pytest.raises(FileFormatError, match=r"no/folder\.png: cannot be written: No such file"),
        drawing.drawing() as write,
    ):
        write({there: draw, nowhere: draw})
    assert [process.returncode for process in begun] == [0]
    with drawing.drawing():
        pass
    assert begun[1].returncode == -signal.SIGKILL
    write_picture(draw(), tmp_path / "here.png")
    assert there.read_bytes() == (tmp_path / "here.png").read_bytes()


def test_a_picture_that_cannot_be_drawn_is_an_error(
    begun: list[subprocess.Popen[bytes]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with (
        pytest.raises(DrawingError, match="the process that draws ended with status 1"),
        drawing.drawing() as write,
    ):
        write({tmp_path / "root.png": partial(math.sqrt, -1)})  # type: ignore[dict-item]
    assert "ValueError: math domain error" in capfd.readouterr().err
    assert [process.returncode for process in begun] == [1]
    assert list(tmp_path.iterdir()) == []


def test_the_process_ends_when_whoever_began_it_is_gone() -> None:
    command = [sys.executable, "-P", "-m", drawing.__name__]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
