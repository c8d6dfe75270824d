"""The common interface of all runs, so one driver serves agents, host, networks and sweeps.

A run is created from its arguments, opened (from the beginning or from a checkpoint), and iterated to
its end; then it returns its result. The command line and :func:`qstep.train` use only this interface.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from qstep._io.checkpoint import Checkpoint
from qstep.errors import FileFormatError, PrecisionWarning
from qstep.learn.metrics import Metrics
from qstep.learn.result import Result
from qstep.spec.checks import check_callable

__all__ = ["Progress", "Run", "check_complete", "finished"]


class Progress(NamedTuple):
    """The progress of a run.

    Attributes
    ----------
    done, total : int
        Work done and total work, in steps, episodes, agents or points.
    state : str
        Recent results as text, such as ``return 3.2, epsilon 0.10``.
    """

    done: int
    total: int
    state: str = ""


class Run(Protocol):
    """One run of learning; `name` is for display. `metrics` may be set before iterating."""

    name: str
    metrics: Metrics | None

    @property
    def resumable(self) -> bool:
        """Whether :attr:`checkpoint` exists."""

    @property
    def atomic(self) -> bool:
        """Whether :attr:`checkpoint` is consistent only between iterations."""

    @property
    def identity(self) -> dict[str, Any]:
        """Settings that a checkpoint must share with the run."""

    def open(self, checkpoint: Checkpoint | None) -> None:
        """Open the device and start from the beginning, or continue from a checkpoint.

        Raises CheckpointError if a part of the checkpoint is missing or wrong, and DeviceError if the
        device cannot be reached or has another configuration.
        """

    def close(self) -> None:
        """Release the device; calling it twice is harmless."""

    def __iter__(self) -> Iterator[str | None]:
        """Run to the end; yield frequently, each time a line of text to display, or None."""

    @property
    def progress(self) -> Progress:
        """The run's progress, for a progress bar."""

    @property
    def steps(self) -> int:
        """Number of steps at :attr:`checkpoint`, as counted in :attr:`metrics`; initially 0."""

    @property
    def reached(self) -> str:
        """Position of :attr:`checkpoint` in the run, such as ``episode 29``."""

    @property
    def checkpoint(self) -> Checkpoint:
        """The complete state from which the run can continue."""

    def result(self) -> Result:
        """Return the result of the finished run."""


def check_complete(file: Path) -> None:
    """Raise FileFormatError if a result's file is absent because its run was interrupted."""
    if not file.exists() and (file.parent / "checkpoint.npz").exists():
        raise FileFormatError(
            f"{file.parent}: contains an interrupted run; finish it with --resume"
        )


def finished(
    run: Run,
    progress: Callable[[Progress], object] | None = None,
    metrics: Metrics | None = None,
) -> Result:
    """Run from the beginning to the end; return the result.

    Raises ConfigError unless `progress` and `metrics` are callable or None.
    """
    check_callable("progress", progress)
    check_callable("metrics", metrics)
    run.metrics = metrics
    try:
        run.open(None)
        for _ in run:
            if progress is not None:
                progress(run.progress)
        result = run.result()
    finally:
        run.close()
    if result.saturated is not None:
        warnings.warn(result.saturated, PrecisionWarning, stacklevel=3)
    return result
