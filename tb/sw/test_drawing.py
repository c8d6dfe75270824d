"""A separate process draws the same pictures, reports failures, and never outlives the command."""

import math
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from qstep._io import pictures as drawing
from qstep._io.pictures import write_pictures
from qstep.envs.rendering import GridMap
from qstep.errors import DrawingError, FileFormatError
from qstep.learn.plots import draw_policy


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Record the processes that are started, as in a command that has not loaded Matplotlib."""
    processes: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)  # type: ignore[call-overload]
            processes.append(self)

    here = SimpleNamespace(modules={}, executable=sys.executable)
    monkeypatch.setattr(drawing, "sys", here)
    monkeypatch.setattr(subprocess, "Popen", Noted)
    return processes


def test_the_process_draws_the_same(begun: list[subprocess.Popen[bytes]], tmp_path: Path) -> None:
    grid = GridMap(("S.", ".G"), ((0, 1), (0, -1), (-1, 0), (1, 0)))
    draw = partial(draw_policy, "two by two", grid, np.arange(16.0).reshape(4, 4))
    there, nowhere = tmp_path / "there.png", tmp_path / "there.png/inside.png"
    with (
        pytest.raises(FileFormatError, match=r"there\.png: cannot be created"),
        drawing.drawing() as write,
    ):
        write({there: draw, nowhere: draw})
    assert [process.returncode for process in begun] == [0]
    with drawing.drawing():
        pass
    assert begun[1].returncode == -signal.SIGKILL
    write_pictures({tmp_path / "here.png": draw})
    assert there.read_bytes() == (tmp_path / "here.png").read_bytes()


@pytest.mark.parametrize("here", [True, False])
def test_a_picture_that_cannot_be_drawn_costs_no_other(
    here: bool, begun: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    root, plain = tmp_path / "root.png", tmp_path / "plain.png"
    root.write_text("of other results", encoding="utf-8")
    pictures: Any = {root: partial(math.sqrt, -1), plain: Figure}
    why = r"root\.png cannot be drawn: ValueError: math domain"
    refused = pytest.raises(DrawingError, match=why)
    if here:
        with refused:
            write_pictures(pictures)
    else:
        with refused, drawing.drawing() as write:
            write(pictures)
        assert [process.returncode for process in begun] == [0]
    assert list(tmp_path.iterdir()) == [plain]


def test_a_process_that_fails_is_one_line(
    begun: list[subprocess.Popen[bytes]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "matplotlib.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    why = r"a\.png cannot be drawn: the drawing process ended with status 1 ModuleNotFoundError: .*"
    with pytest.raises(DrawingError, match=why), drawing.drawing() as write:
        write({tmp_path / "a.png": Figure})
    assert capfd.readouterr() == ("", "")


def test_the_process_ends_when_whoever_began_it_is_gone() -> None:
    command = [sys.executable, "-P", "-m", drawing.__name__]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
