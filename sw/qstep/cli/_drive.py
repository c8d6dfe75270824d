"""The life of a run on the command line: folder, checkpoints, interruption, progress, results.

Every command that trains makes a :class:`~qstep.learn.run.Run` and calls :func:`drive`.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from qstep._io.checkpoint import Checkpoint, check_identity, read_checkpoint, save_checkpoint
from qstep._io.pictures import WritePictures, write_pictures
from qstep._io.run_folder import run_folder
from qstep.cli._console import run_bar
from qstep.cli._interrupt import command_line, held_back, on_interrupt, say_stopped
from qstep.cli._output import JsonOutput, room_for
from qstep.errors import ConfigError, DeviceError, DrawingError, SchedulerError
from qstep.learn.metrics import write_metrics
from qstep.learn.result import Result
from qstep.learn.run import Run

__all__ = ["Job", "RunOptions", "drive"]

_REFRESH_SECONDS = 0.1
_SAVE_SECONDS = 1.0
_SAVE_SHARE = 20
"""Saving a checkpoint takes at most one part in this many of the time."""

MakeRun = Callable[[Mapping[str, Any]], Run]
"""Makes a run; gets the identity of the checkpoint that it resumes from, empty without one."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of every command that trains."""

    resume: bool
    overwrite: bool
    json_output: JsonOutput
    metrics_target: Path | None = None
    write_pictures: WritePictures = write_pictures


@dataclass(frozen=True, slots=True)
class Job:
    """A run and its folder."""

    make: MakeRun
    folder: Path


def drive(
    jobs: Sequence[Job],
    options: RunOptions,
    describe: Callable[[dict[str, Any], Result], str],
    conclude: Callable[[list[dict[str, Any]]], str] | None = None,
) -> None:
    """Make runs one after another and report them.

    A checkpoint is saved once a second, or less often if that takes longer than a twentieth of the time;
    and at the end, on Ctrl-C and when the device fails. With several jobs, resuming keeps those
    that are complete, continues the interrupted one and starts the others; the first must have started.

    Parameters
    ----------
    jobs : sequence of Job
        One, or one per seed.
    options : RunOptions
    describe : callable
        Returns the text for a report and its result.
    conclude : callable, optional
        Returns the text that follows those of several jobs, from their reports.
    """
    reports: list[dict[str, Any]] = []
    undrawn: list[str] = []

    def tell(report: dict[str, Any], result: Result) -> None:
        reports.append(report)
        text = describe(report, result)
        if len(jobs) == 1:
            options.json_output.tell(report, lambda: click.echo(text))
        elif not options.json_output.on_stdout:
            click.echo(text)

    for number, job in enumerate(jobs):
        with run_folder(job.folder, options.resume, options.overwrite) as file:
            resumed = options.resume and (number == 0 or file.exists())
            try:
                _Life(job, file, options, resumed, len(jobs) > 1).lead(reports, tell)
            except DrawingError as failure:  # it must not cost the other runs
                undrawn.append(str(failure))
    if len(jobs) > 1:
        assert conclude is not None
        options.json_output.tell(reports, lambda: click.echo(conclude(reports)))
    if undrawn:
        raise DrawingError("; ".join(undrawn))


class _Life:
    """One run from its first step to its files."""

    def __init__(
        self, job: Job, file: Path, options: RunOptions, resumed: bool, one_of_several: bool
    ) -> None:
        self._folder, self._file, self._options = job.folder, file, options
        self._resumed = resumed
        self._checkpoint: Checkpoint | None = None
        there: dict[str, Any] = {}
        if resumed and not file.exists():
            _check_resumable(job.make({}))
        if resumed:
            there, self._checkpoint = read_checkpoint(file)
        self._run = job.make(there)
        if options.resume:
            _check_resumable(self._run)
        if self._checkpoint is not None:
            check_identity(file, there, self._run.identity)
        self._metrics, self._label = options.metrics_target, self._run.name
        if one_of_several:
            self._label += f" {job.folder.name}"
            self._metrics = self._metrics and _beside(self._metrics, job.folder.name)
        self._reached: str | None = None

    def lead(
        self,
        finished: Sequence[dict[str, Any]],
        tell: Callable[[dict[str, Any], Result], object],
    ) -> None:
        """Run to the end, write the files, tell the report, draw the pictures."""
        run, options = self._run, self._options
        on_interrupt(lambda: self._stopped_in_words(finished))
        with contextlib.ExitStack() as held:
            held.enter_context(room_for(options.json_output.file))
            held.callback(run.close)
            run.open(self._checkpoint)
            if self._resumed:
                self._reached = run.reached
            run.metrics = held.enter_context(
                write_metrics(self._metrics, run.steps if self._resumed else None)
            )
            gc.freeze()  # loaded modules stay; collecting them again would take a tenth of a second
            try:
                self._iterate()
                self._save()
                result = run.result()
                files = result.write(self._folder)
            except (KeyboardInterrupt, DeviceError, SchedulerError) as error:
                if not run.atomic and (self._resumed or run.progress.done):
                    self._save()
                if not isinstance(error, KeyboardInterrupt):
                    say_stopped()
                raise
            on_interrupt(lambda: None)  # from here on, the names of the files say what there is
            if not run.resumable:
                self._file.unlink(missing_ok=True)  # of the run that these results replace
            found = {name: str(path) for name, path in files.items()}
            tell({**result.summary(), "files": found}, result)
            result.draw(self._folder, options.write_pictures)

    def _iterate(self) -> None:
        """Run the remaining steps with a progress bar on stderr; save regularly."""
        run, wait = self._run, _SAVE_SECONDS
        holding = held_back() if run.atomic else contextlib.nullcontext(lambda: False)
        with run_bar() as bar, holding as asked_to_stop:
            task = bar.add_task(self._label, state="")

            def show() -> None:
                done, total, state = run.progress
                bar.update(task, completed=done, total=total, state=state)

            show()
            shown = saved = time.monotonic()
            for line in run:
                now, stop = time.monotonic(), asked_to_stop()
                if line is not None:
                    bar.console.print(line)
                if now - shown > _REFRESH_SECONDS:
                    shown = now
                    show()
                if stop or now - saved > wait:
                    self._save()
                    saved = time.monotonic()
                    wait = max(_SAVE_SECONDS, _SAVE_SHARE * (saved - now))
                if stop:
                    break
            show()

    def _save(self) -> None:
        if self._run.resumable:
            save_checkpoint(self._file, self._run.checkpoint, self._run.identity)
            self._reached = self._run.reached

    def _stopped_in_words(self, finished: Sequence[dict[str, Any]]) -> str | None:
        """Return how far the checkpoint is, which runs are finished, and how to resume."""
        words = "" if self._reached is None else f" after {self._reached}"
        if finished:
            folders = {Path(report["files"]["history"]).parent for report in finished}
            words += f"; finished: {', '.join(sorted(map(str, folders)))}"
        if words and self._run.resumable:
            words += f"; to resume, run: {command_line('--resume')}"
        return words or None


def _check_resumable(run: Run) -> None:
    if not run.resumable:
        raise ConfigError(
            f"--resume was given; a run on {run.name} has no checkpoints, because a Gymnasium "
            "environment cannot save its state"
        )


def _beside(target: Path, name: str) -> Path:
    """Return where the metrics of one of several runs go: ``FILE-seed-3.csv``, or ``FOLDER/seed-3``."""
    if target.suffix != ".csv":
        return target / name
    return target.with_name(f"{target.stem}-{name}.csv")
