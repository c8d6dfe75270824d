"""What `qstep dqn` and `qstep pqn` do with their options: runs, checkpoints, results."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from qstep._io.checkpoint import load_checkpoint, save_checkpoint
from qstep._io.pictures import write_pictures
from qstep._io.run_folder import run_folder
from qstep.cli._console import run_bar
from qstep.cli._hyperparameters import changed
from qstep.cli._interrupt import command_line, held_back, on_interrupt
from qstep.cli._json import JsonOutput
from qstep.cli._room import room_for
from qstep.deep.algorithms import ALGORITHMS, preset_of
from qstep.deep.result import results, summary
from qstep.deep.run import GAMES, Run, Score
from qstep.deep.torch_device import choose, one_thread
from qstep.errors import ConfigError, DrawingError
from qstep.learn.metrics import write_metrics
from qstep.learn.results import draw_results, write_results

__all__ = ["interval", "train"]

_REFRESH_SECONDS = 0.2
_SAVE_SECONDS = 10.0


def train(
    environment: str,
    algorithm: str,
    torch_device: str,
    total_timesteps: int | None,
    num_envs: int | None,
    episodes: int | None,
    evaluate_every: int | None,
    seed: int,
    seeds: int,
    out: Path | None,
    resume: bool,
    overwrite: bool,
    metrics_target: Path | None,
    json_output: JsonOutput,
    **hyperparameters: Any,
) -> None:
    """Run the seeds one after the other and write the results.

    A checkpoint is saved every ten seconds, at the end, and when the run is interrupted. With several
    seeds, `resume` keeps the finished ones, continues the interrupted one and starts the others; the
    first seed must have started.
    """
    device = choose(torch_device)
    folder = out or Path("runs") / f"{algorithm.split()[0]}-{Path(environment).stem}"
    preset = preset_of(environment)
    given = {"total_timesteps": total_timesteps, **hyperparameters}
    reports: list[dict[str, Any]] = []
    undrawn: list[str] = []
    for number in range(seed, seed + seeds):
        settings = ALGORITHMS[algorithm].settings_for(preset, number)
        run = Run(
            environment,
            algorithm,
            changed(settings.config, given),
            device,
            evaluate_every or settings.evaluate_every,
            episodes or preset.episodes,
            num_envs,
        )
        if resume and not run.resumable:
            raise ConfigError(
                f"--resume was given; a run on {environment} has no checkpoints, because a Gymnasium "
                "environment cannot save its state"
            )
        here = folder if seeds == 1 else folder / f"seed-{number}"
        with run_folder(here, resume, overwrite) as file, room_for(json_output.file):
            begun = resume and (number == seed or file.exists())
            kept = _Kept(run, file, begun) if run.resumable else None
            on_interrupt(partial(_kept_in_words, kept, reports))
            target = metrics_target if seeds == 1 else _of_seed(metrics_target, number)
            resumed_at = None if kept is None else kept.steps
            with write_metrics(target, resumed_at) as run.metrics:
                with one_thread():
                    _play(run, kept)
                if kept is None:
                    file.unlink(missing_ok=True)  # these results replace the run that it belongs to
                learnt = results(run)
                files = write_results(here, learnt)
                reports.append(
                    {**summary(run), "files": {what: str(p) for what, p in files.items()}}
                )
                if not json_output.on_stdout:
                    click.echo(_in_words(reports[-1]))
                try:
                    draw_results(here, learnt, write_pictures)
                except DrawingError as failure:  # it must not cost the other seeds
                    undrawn.append(str(failure))

    def in_words() -> None:
        if seeds > 1:
            click.echo(_all_in_words(reports))

    json_output.tell(reports if seeds > 1 else reports[0], in_words)
    if undrawn:
        raise DrawingError("; ".join(undrawn))


def _of_seed(target: Path | None, number: int) -> Path | None:
    """Return where the metrics of one seed go: ``FILE-seed-3.csv``, or ``FOLDER/seed-3``."""
    if target is None or target.suffix != ".csv":
        return target and target / f"seed-{number}"
    return target.with_name(f"{target.stem}-seed-{number}.csv")


def _kept_in_words(kept: _Kept | None, reports: list[dict[str, Any]]) -> str | None:
    """Return which seeds are finished, and how far the checkpoint of this one got."""
    folders = ", ".join(str(Path(report["files"]["history"]).parent) for report in reports)
    steps = None if kept is None else kept.steps
    words = "" if steps is None else f" after {steps} steps"
    if reports:
        words += f"; finished: {folders}"
    if words and kept is not None:
        words += f"; to resume, run: {command_line('--resume')}"
    return words or None


class _Kept:
    """The checkpoint of a run.

    Parameters
    ----------
    run : Run
    file : Path
    resume : bool
        Resume from the file.

    Attributes
    ----------
    steps : int or None
        Steps at the last checkpoint; None while there is none.
    """

    def __init__(self, run: Run, file: Path, resume: bool) -> None:
        self._run, self._file, self._saved = run, file, -math.inf
        self.steps: int | None = None
        if resume:
            run.restore(load_checkpoint(file, run.identity))
            self.steps = run.learner.steps

    def save_when_due(self, last: bool) -> None:
        """Save at the first call, every few seconds after that, and after the `last` step."""
        if last or time.monotonic() - self._saved > _SAVE_SECONDS:
            save_checkpoint(self._file, self._run.checkpoint(), self._run.identity)
            self._saved, self.steps = time.monotonic(), self._run.learner.steps


def _play(run: Run, kept: _Kept | None) -> None:
    """Run to the end, or until interrupted, with a progress bar on stderr."""
    with run_bar() as progress, held_back() as asked_to_stop:
        bar = progress.add_task(state="", **_bound(run))
        shown = -math.inf
        for _ in run:
            stop = asked_to_stop()
            last = stop or run.done
            if last or time.monotonic() - shown > _REFRESH_SECONDS:
                shown = time.monotonic()
                progress.update(bar, **_bound(run), state=_state(run))
            if kept is not None:
                kept.save_when_due(last)
            if stop:
                break


def _bound(run: Run) -> dict[str, Any]:
    """Return the limit that the run is expected to reach first, and how far it is."""
    bounds = [(run.learner.steps, run.config.total_timesteps, "steps")]
    if run.episodes is not None:
        bounds.append((run.learner.episodes, run.episodes, "episodes"))
    completed, total, what = max(bounds, key=lambda bound: bound[0] / bound[1])
    name = f"{run.name} seed {run.config.seed}, {what}"
    return {"completed": completed, "total": total, "description": name}


def _state(run: Run) -> str:
    recent = [total for _, total in run.returns[-GAMES:]]
    return f"return {sum(recent) / len(recent):.1f}" if recent else ""


def _in_words(report: dict[str, Any]) -> str:
    score = Score(**report["score"])
    seconds, steps = report["seconds"], report["steps_played"]
    lines = [
        f"{report['environment']} seed {report['seed']}, {report['algorithm']}: {steps} steps, "
        f"{report['episodes_played']} episodes, {report['updates']} updates in {seconds} s "
        f"({report['processor_s']} s of processor time)",
        f"greedy score of the last network: mean {score.mean:.1f} of {GAMES} episodes, "
        f"lowest {score.low:g}, highest {score.high:g}" + _solved_in_words(report),
    ]
    total = sum(report["phases"].values()) or 1.0
    shares = (f"{name} {part} s ({part / total:.0%})" for name, part in report["phases"].items())
    lines.append("time: " + ", ".join(shares))
    if report["first_and_last"] is not None:
        time_us, memory = (report["first_and_last"][what] for what in ("us_per_step", "peak_mib"))
        lines.append(
            f"from the first thousand episodes to the last: {time_us[0]} to {time_us[1]} us of "
            f"processor time a step, {memory[0]} to {memory[1]} MiB of memory at most"
        )
    return "\n".join([*lines, *(f"{what}: {path}" for what, path in report["files"].items())])


def _solved_in_words(report: dict[str, Any]) -> str:
    if report["solved"] is None:
        return ""
    first = report["solved_at"]
    when = "" if first is None else f" (first at step {first})"
    if report["solved"]:
        return f"; solved{when}"
    return f"; not solved{when}; try a larger --total-timesteps, or several --seeds"


_T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Student's t, two-sided 95 %, by degrees of freedom from 1."""


def interval(means: Sequence[float]) -> float | None:
    """Return half of the 95 % interval of the mean of 2 to 10 runs, by Student's t; else None."""
    freedom = len(means) - 1
    if not 1 <= freedom <= len(_T_95):
        return None
    return _T_95[freedom - 1] * statistics.stdev(means) / math.sqrt(len(means))


def _all_in_words(reports: list[dict[str, Any]]) -> str:
    means = [report["score"]["mean"] for report in reports]
    half = interval(means)
    bounds = "" if half is None else f" +- {half:.1f} (95 % interval)"
    line = (
        f"{len(means)} seeds: mean score {sum(means) / len(means):.1f}{bounds}, "
        f"lowest {min(means):.1f}"
    )
    if reports[0]["solved"] is not None:
        line += f"; solved by {sum(report['solved'] for report in reports)} of {len(reports)}"
    slowest = max(reports, key=lambda report: report["seconds"])
    return line + f"; slowest {slowest['seconds']} s ({slowest['processor_s']} s of processor time)"
