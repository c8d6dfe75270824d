"""Runs commands, as they are typed, inside the test process."""

import json
import pkgutil
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from qstep import cli

__all__ = ["after_pieces", "ctrl_c", "fails", "files_below", "invoke", "ran", "refused", "told"]


def invoke(words: str, *more: object) -> Result:
    """Run a command; `more` are further arguments, which may contain spaces."""
    return CliRunner().invoke(cli._qstep, [*words.split(), *map(str, more)])


def ran(words: str, *more: object) -> Result:
    """Run a command that must succeed."""
    result = invoke(words, *more)
    assert result.exit_code == 0, result.output
    return result


def told(words: str, *more: object) -> Any:
    """Run a command that must succeed; return its JSON."""
    return json.loads(ran(words, *more, "--json=-").stdout)


def files_below(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(words: str, error: type[BaseException], text: str) -> None:
    """Run a command that must fail with a message matching the pattern `text` and change no file here.

    SystemExit stands for a usage error. The test needs a folder of its own (`own_folder`), because
    other processes write into the checkout at the same time.
    """
    assert Path.cwd() != Path(__file__).parents[2], "use the fixture own_folder"
    before = files_below(Path())
    result = invoke(words)
    assert isinstance(result.exception, error), result.output
    assert error is not SystemExit or result.exit_code == 2
    said = result.stderr if error is SystemExit else str(result.exception)
    assert re.search(text, " ".join(said.split())), said
    assert files_below(Path()) == before


def after_pieces(
    monkeypatch: pytest.MonkeyPatch, piece: str, pieces: int, happens: Callable[[], Any]
) -> None:
    """Call `happens` once the function that computes a piece of a run has returned `pieces` times."""
    place, _, name = piece.rpartition(".")
    owner = pkgutil.resolve_name(place)
    plain = getattr(owner, name)
    count = 0

    def counted(*given: Any, **more: Any) -> Any:
        nonlocal count
        made = plain(*given, **more)
        count += 1
        if count == pieces:
            happens()
        return made

    monkeypatch.setattr(owner, name, counted)


def fails(error: BaseException) -> Callable[[], None]:
    """Return a function that raises `error`."""

    def failing() -> None:
        raise error

    return failing


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)
