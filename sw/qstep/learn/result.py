"""The result of any finished run: its history, report, files and policy."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qstep._io.files import json_text, make_folder, read_text, write_atomically
from qstep._io.pictures import Draw, WritePictures, write_pictures
from qstep.envs.catalogue import UNNAMED
from qstep.errors import FileFormatError
from qstep.spec.fixed import QFormat

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from qstep.mdp.world import World

__all__ = ["VERSION", "Files", "History", "Result", "hint", "read_results", "saturated_in_words"]

VERSION = 1
"""Version of ``report.json`` and ``history.json``."""

_AVERAGING = 0.1
"""A suggested alpha that averages random outcomes well enough to learn the world."""

_MOST_BYTES = 1 << 30
_REPORT, _HISTORY = "report.json", "history.json"

History: TypeAlias = Mapping[str, Mapping[str, NDArray[Any]]]
"""Columns by name, in two groups: ``episodes`` (training) and ``evaluations``; either may be absent."""


def saturated_in_words(saturations: int, updates: int, number_format: QFormat) -> str:
    """Return a sentence about a run's saturations: their number, their share, and what to do."""
    low = number_format.minimum * number_format.resolution
    high = number_format.maximum * number_format.resolution
    return (
        f"saturated: {saturations:,} of {updates:,} updates ({saturations / updates:.2%}) did not fit "
        f"{number_format}, {low:g} to {high:g}, and were clipped; use a format with more integer bits"
    )


def hint(
    name: str,
    world: World | None,
    *,
    success: float | None,
    optimal: bool,
    far: bool,
    alpha: float,
    gamma: float,
    longer: str,
) -> str | None:
    """Return a suggestion for a run that failed to learn its world; None for any other run.

    `world` is None if its transition table is unknown; `success` is the share of greedy episodes that
    reach the goal, None if the world has no goal. `optimal` is true if the greedy policy is optimal for
    gamma, and `far` if it is far below the optimum. `longer` is the option that makes the run longer.
    """
    sweep = (
        f"; qstep sweep {name} compares alphas and gammas"
        if world is not None and name != UNNAMED
        else ""
    )
    if optimal and success == 0:
        return f"with gamma {gamma:g} the best policy misses the goal; try another --gamma{sweep}"
    if success != 0 and not far:
        return None
    has_chance = world is not None and world.has_chance
    averages = has_chance and alpha > _AVERAGING
    smaller = [f"--alpha {_AVERAGING} (outcomes are random)"] if averages else []
    tries = [longer, *smaller, "another --gamma", "a larger --epsilon-share"]
    missed = "the greedy policy misses the goal" if success == 0 else "far below the optimum"
    return f"not learned: {missed}; try {', '.join(tries[:-1])} or {tries[-1]}{sweep}"


class Files(NamedTuple):
    """Functions that write learned files, and pictures (None: nothing to draw), by file name."""

    learned: Mapping[str, Callable[[Path], object]]
    pictures: Mapping[str, Draw | None]


class Result(ABC):
    """The result of a run.

    Attributes
    ----------
    name : str
        The world or environment, as it was given.
    history : History
        Arrays by group and name. Evaluations always contain ``steps`` and ``episodes``.
    report : dict of plain values
        See :meth:`summary`.
    """

    name: str
    history: History
    report: dict[str, Any]

    def summary(self) -> dict[str, Any]:
        """Return the report, as plain values (``docs/training.md``, "Report and history")."""
        return self.report

    @property
    def saturated(self) -> str | None:
        """A sentence about the updates that did not fit the number format; None if every update fit."""
        return None

    @abstractmethod
    def act(self, observation: Any) -> int:
        """Return the greedy action for an observation of the environment."""

    @abstractmethod
    def evaluate(self, env: Any = None, episodes: int = 100, seed: int = 0) -> dict[str, Any]:
        """Play greedy episodes, without learning; return their means as plain values.

        Parameters
        ----------
        env : gymnasium.Env, optional
            Default: the environment in which the result was learned. Episodes end after 1000 steps if it
            has no step limit.
        episodes : int
            1 or more.
        seed : int
        """

    @abstractmethod
    def _files(self) -> Files:
        """Return the files that :meth:`save` writes in addition to history and report."""

    def plot(self) -> Figure:
        """Return the first picture, usually the learning curve, as a Matplotlib figure."""
        draw = next(iter(self._files().pictures.values()))
        assert draw is not None
        return draw()

    def save(self, folder: str | Path) -> dict[str, Path]:
        """Write everything to a folder for :func:`qstep.load`, and replace an earlier result there.

        Returns
        -------
        dict of str to Path
            Paths by content, such as ``learning curve`` for ``learning_curve.png``.

        Raises
        ------
        FileFormatError
            A file cannot be written.
        DrawingError
            A picture cannot be drawn; all other files are written.
        """
        folder = Path(folder)
        make_folder(folder)
        written = self.write(folder)
        self.draw(folder, write_pictures)
        return written

    def write(self, folder: Path) -> dict[str, Path]:
        """Write all files except pictures; remove pictures with nothing to draw; return all paths."""
        learned, pictures = self._files()
        for name, write in learned.items():
            write(folder / name)
        history = {
            group: {name: np.asarray(column).tolist() for name, column in columns.items()}
            for group, columns in self.history.items()
        }
        for name, tree in ((_HISTORY, history), (_REPORT, self.summary())):
            text = json_text({"version": VERSION, **tree}, indent=None)
            write_atomically(folder / name, f"{text}\n".encode())
        drawn = [name for name, draw in pictures.items() if draw is not None]
        for name in pictures.keys() - drawn:
            (folder / name).unlink(missing_ok=True)  # a picture of an earlier run in this folder
        names = (*learned, _HISTORY, _REPORT, *drawn)
        return {Path(name).stem.replace("_", " "): folder / name for name in names}

    def draw(self, folder: Path, write: WritePictures) -> None:
        """Draw the pictures; a failure raises DrawingError and does not affect the other files."""
        pictures = self._files().pictures
        write({folder / name: draw for name, draw in pictures.items() if draw is not None})

    def __repr__(self) -> str:
        report = self.summary()
        how = f"{report['algorithm']} ({report['engine']})"
        done = f"{report['steps']} steps, {report['episodes']} episodes"
        return f"<{type(self).__name__} {self.name}: {how}, {done}>"


def read_results(folder: Path) -> tuple[dict[str, Any], History]:
    """Return report and history from a folder.

    Raises FileFormatError if a file is absent, is not the JSON of a result, or has another version.
    """
    found = []
    for name in (_REPORT, _HISTORY):
        path = folder / name
        try:
            tree = json.loads(read_text(path, _MOST_BYTES))
        except OSError as cause:
            raise FileFormatError(f"{path}: cannot be read: {cause.strerror}") from cause
        except ValueError as cause:
            raise FileFormatError(f"{path}: cannot be read as JSON: {cause}") from cause
        version = tree.pop("version", None) if isinstance(tree, dict) else None
        if version != VERSION:
            raise FileFormatError(
                f"{path}: has version {version}; this QStep reads version {VERSION}; train it again"
            )
        found.append(tree)
    report, history = found
    if "world" not in report:
        whose = report.get("command", "an unnamed command")
        raise FileFormatError(
            f"{folder / _REPORT}: is a report of {whose}; qstep.load reads only reports of train, "
            "sweep, dqn, pqn and sac"
        )
    try:
        arrays = {
            group: {name: _array(column) for name, column in columns.items()}
            for group, columns in history.items()
        }
    except (AttributeError, TypeError, ValueError) as cause:
        raise FileFormatError(f"{folder / _HISTORY}: contains no history: {cause}") from cause
    return report, arrays


def _array(column: list[Any]) -> NDArray[Any]:
    """Return a column as an array, with NaN for null."""
    array = np.array(column)
    return array.astype(np.float64) if array.dtype == object else array
