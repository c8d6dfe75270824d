"""How the command line drives a run: folder, checkpoints, interruption, progress, results.

Every command that trains creates a :class:`~qstep.learn.run.Run` and calls :func:`drive`.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from qstep._io.checkpoint import (
    Checkpoint,
    check_identity,
    read_checkpoint,
    run_folder,
    save_checkpoint,
)
from qstep._io.pictures import WritePictures, write_pictures
from qstep.cli._interrupt import command_line, held_back, on_interrupt, say_stopped
from qstep.cli._options import FILE, FOLDER, Decorator, option, stack
from qstep.cli._output import JsonOutput, json_option, room_for, run_bar
from qstep.errors import CheckpointError, ConfigError, DeviceError, DrawingError, SchedulerError
from qstep.learn.metrics import write_metrics
from qstep.learn.result import Result
from qstep.learn.run import Run

__all__ = ["Job", "RunOptions", "drive", "files_in_words", "metrics_option", "run_options"]

_REFRESH_SECONDS = 0.1
_SAVE_SECONDS = 1.0
_SAVE_SHARE = 20
"""Reciprocal of the largest share of the time that saving checkpoints may take."""

MakeRun = Callable[[Mapping[str, Any]], Run]
"""Function that creates a run; its argument is the identity of the checkpoint to resume, or empty."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of :func:`run_options` as typed, and how pictures are written."""

    out: Path | None
    resume: bool
    overwrite: bool
    json_output: JsonOutput
    metrics_target: Path | None = None
    write_pictures: WritePictures = write_pictures

    @classmethod
    def taken(cls, typed: dict[str, Any]) -> RunOptions:
        """Remove the options of this class from `typed`, and return them."""
        names = {field.name for field in fields(cls)} & typed.keys()
        return cls(**{name: typed.pop(name) for name in names})

    def folder(self, default: str) -> Path:
        """Return the folder of the results: ``--out``, or `default` in ``runs``."""
        return self.out or Path("runs") / default


def run_options(folder: str, what: str, *more: Decorator) -> Decorator:
    """Return the options of a training command; `what` names the output of ``--json``."""
    return stack(
        option("--out", f"Folder of the results.  [default: {folder}]", type=FOLDER),
        option("--resume", "Resume from the checkpoint in the folder.", is_flag=True),
        option("--overwrite", "Replace the run in the folder.", is_flag=True),
        *more,
        json_option(what),
    )


metrics_option = option(
    "--metrics",
    "Write returns and evaluations to a CSV table, or to a folder for TensorBoard.",
    "metrics_target",
    type=FILE,
    metavar="FILE.csv|FOLDER",
)


class Job(NamedTuple):
    """A run and its folder."""

    make: MakeRun
    folder: Path


def drive(
    jobs: Sequence[Job],
    options: RunOptions,
    describe: Callable[[dict[str, Any], Any], Sequence[object]],
    conclude: Callable[[list[dict[str, Any]]], str] | None = None,
) -> None:
    """Drive runs one after another, write their results, and print a description of each.

    `describe` returns the text and tables that describe one run; `conclude` returns a final line about
    all runs. A checkpoint is saved once per second, or less often if saving takes more than a twentieth
    of the time. It is also saved at the end, on Ctrl-C and when the device fails. With several jobs,
    resuming keeps the finished runs, continues the interrupted one and starts the others; the first run
    must have a checkpoint.
    """
    reports: list[dict[str, Any]] = []
    undrawn: list[str] = []
    several, output = len(jobs) > 1, options.json_output
    for job in jobs:
        with (
            run_folder(job.folder, options.resume, options.overwrite) as file,
            room_for(output.file),
        ):
            life = _Life(job, file, options, several, reports)
            with contextlib.closing(life.run) as run:
                run.open(life.checkpoint)
                after = None if life.checkpoint is None else run.steps
                with write_metrics(life.metrics, after) as run.metrics:
                    with life.kept():
                        with life.pauses() as pause:
                            for line in run:
                                if pause(line):
                                    break
                        result = life.result()
                    report = life.write(result)
                    reports.append(report)
                    try:
                        result.draw(job.folder, options.write_pictures)
                    except DrawingError as failure:  # the other runs continue
                        undrawn.append(str(failure))
                    words = describe(report, result)
                    if several:
                        output.say(*words)
                    else:
                        output.tell(report, *words)
    if conclude is not None and several:
        output.tell(reports, conclude(reports))
    if undrawn:
        raise DrawingError("; ".join(undrawn))


class _Life:
    """One run from its first step to its last checkpoint."""

    def __init__(
        self,
        job: Job,
        file: Path,
        options: RunOptions,
        several: bool,
        finished: Sequence[dict[str, Any]],
    ) -> None:
        self._folder, self._file, self._finished = job.folder, file, finished
        there: dict[str, Any] = {}
        self.checkpoint: Checkpoint | None = None
        if options.resume and file.exists():
            there, self.checkpoint = read_checkpoint(file)
        self.run = job.make(there)
        if options.resume and not self.run.resumable:
            raise ConfigError("--resume was given; a run of the plain code has no checkpoints")
        if self.checkpoint is not None:
            check_identity(file, there, self.run.identity)
        elif options.resume and not finished:
            raise CheckpointError(
                f"{file}: there is no checkpoint to resume; training commands write one, but "
                "Result.save in Python does not"
            )
        self.metrics, self._label = options.metrics_target, self.run.name
        if several:
            self._label += f" {job.folder.name}"
            self.metrics = self.metrics and _beside(self.metrics, job.folder.name)
        self._kept_until(None)

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Save a checkpoint of an open run if Ctrl-C or a failure stops it."""
        run, resumed = self.run, self.checkpoint is not None
        if resumed:
            self._kept_until(run.reached)
        gc.freeze()  # exempts loaded modules from garbage collection, which would take 0.1 s
        try:
            yield
        except (KeyboardInterrupt, DeviceError, SchedulerError) as error:
            if not run.atomic and (resumed or run.progress.done):
                self._save()
            if not isinstance(error, KeyboardInterrupt):
                say_stopped()
            raise
        on_interrupt(None)  # from here on, the message lists the files written

    @contextlib.contextmanager
    def pauses(self) -> Iterator[Callable[[str | None], bool]]:
        """Show a progress bar on stderr; yield a function to call after every step of the run.

        The function prints the line that the run yielded, saves a checkpoint from time to time, and
        returns whether to stop.
        """
        run, wait = self.run, _SAVE_SECONDS
        holding = held_back() if run.atomic else contextlib.nullcontext(lambda: False)
        with run_bar() as bar, holding as asked_to_stop:
            task = bar.add_task(self._label, state="")
            shown = saved = time.monotonic()

            def show() -> None:
                done, total, state = run.progress
                bar.update(task, completed=done, total=total, state=state)

            def pause(line: str | None) -> bool:
                nonlocal shown, saved, wait
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
                return stop

            show()
            yield pause
            show()

    def _save(self) -> None:
        """Save the run's checkpoint, if it has one."""
        if self.run.resumable:
            save_checkpoint(self._file, self.run.checkpoint, self.run.identity)
            self._kept_until(self.run.reached)

    def result(self) -> Result:
        """Save the last checkpoint; return the result."""
        self._save()
        return self.run.result()

    def write(self, result: Result) -> dict[str, Any]:
        """Write all files except the pictures; return the report."""
        files = {name: str(path) for name, path in result.write(self._folder).items()}
        if not self.run.resumable:
            self._file.unlink(missing_ok=True)  # a checkpoint of the run that these results replace
        return {**result.summary(), "files": files}

    def _kept_until(self, reached: str | None) -> None:
        """Set the message for Ctrl-C: checkpointed progress, finished runs, and how to resume."""
        words = "" if reached is None else f" after {reached}"
        if self._finished:
            folders = {Path(report["files"]["history"]).parent for report in self._finished}
            words += f"; finished: {', '.join(sorted(map(str, folders)))}"
        if words and self.run.resumable:
            words += f"; to resume, run: {command_line('--resume')}"
        on_interrupt(words or None)


def files_in_words(report: dict[str, Any]) -> list[str]:
    """Return one line per file listed in a report."""
    return [f"{name}: {path}" for name, path in report["files"].items()]


def _beside(target: Path, name: str) -> Path:
    """Return the metrics path of one of several runs: ``FILE-seed-3.csv``, or ``FOLDER/seed-3``."""
    if target.suffix != ".csv":
        return target / name
    return target.with_name(f"{target.stem}-{name}.csv")
