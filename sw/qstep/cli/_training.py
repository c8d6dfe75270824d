"""What `qstep train` does with its options: progress, checkpoints, interruption, results."""

from __future__ import annotations

import contextlib
import gc
import time
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from qstep._io.checkpoint import check_identity, read_checkpoint, save_checkpoint
from qstep._io.pictures import WritePictures
from qstep._io.run_folder import run_folder
from qstep.cli._console import run_bar
from qstep.cli._hints import hint
from qstep.cli._interrupt import command_line, on_interrupt, say_stopped
from qstep.cli._json import JsonOutput
from qstep.cli._options import config_from
from qstep.cli._room import room_for
from qstep.device import open_device
from qstep.envs import make, table_size
from qstep.errors import DeviceError
from qstep.learn.host import Learner, Plan, identity
from qstep.learn.host_checkpoint import TableCheckpoint
from qstep.learn.host_evaluate import Evaluation, share
from qstep.learn.host_summary import results, summary
from qstep.learn.metrics import write_metrics
from qstep.learn.results import draw_results, saturated_in_words, write_results
from qstep.spec.config import Config
from qstep.spec.discount import check_discount, discount_in_words
from qstep.spec.fixed import QFormat, Rounding
from qstep.spec.settings import Hyperparameters

__all__ = ["configuration", "optimum_in_words", "train"]

_RECENT = 100
_REFRESH_SECONDS = 0.1


def configuration(
    env_id: str, file: Path | None, number_format: str | None, rounding: Rounding | None
) -> Config:
    """Return the accelerator that a file describes, or one with a table of the environment's size."""
    if file is not None:
        return config_from(file, None, None, number_format, None)
    config = config_from(None, *table_size(make(env_id, 0)), number_format, None)
    return config if rounding is None else replace(config, rounding=rounding)


def train(
    url: str,
    plan: Plan,
    hyper: Hyperparameters,
    config: Config,
    folder: Path,
    resume: bool,
    overwrite: bool,
    json_output: JsonOutput,
    write_pictures: WritePictures,
    metrics_target: Path | None,
) -> None:
    """Run a plan on a device and write the results to a folder.

    A checkpoint is saved after every evaluation, when the run ends, on Ctrl-C and when the device
    fails; in the last two cases the command that resumes is printed.
    """
    check_discount(hyper.alpha, hyper.gamma)
    with contextlib.ExitStack() as held:
        file = held.enter_context(run_folder(folder, resume, overwrite))
        held.enter_context(room_for(json_output.file))
        kept = None
        if resume:
            there, checkpoint = read_checkpoint(file)
            if not plan.epsilon_episodes:
                plan = replace(plan, epsilon_episodes=there.get("epsilon_episodes", 0))
            check_identity(file, there, identity(plan, hyper, config))
            kept = TableCheckpoint.unpacked(checkpoint, config)
        device = held.enter_context(open_device(url, config))
        resumed_at = sum(episode.length for episode in kept.episodes) if kept else None
        metrics = held.enter_context(write_metrics(metrics_target, resumed_at))
        learner = Learner(device, plan, hyper, resume=kept, metrics=metrics)
        first = learner.checkpoint.episode
        gc.freeze()  # loaded modules stay; collecting them again would take a tenth of a second
        begun = time.monotonic()
        try:
            _run(learner, file)
            seconds = time.monotonic() - begun
            _save(learner, file)
            learnt = results(learner)
            files = write_results(folder, learnt)
        except (KeyboardInterrupt, DeviceError) as error:
            _save(learner, file)
            on_interrupt(
                lambda: (
                    f" after episode {learner.checkpoint.episode}; to resume, run: "
                    + command_line("--resume")
                )
            )
            if isinstance(error, DeviceError):
                say_stopped()
            raise
        steps = sum(episode.length for episode in learner.result.episodes[first:])
        found = summary(learner)
        report = {
            "device": url,
            **found,
            "seconds": round(seconds, 3),
            "steps_per_second": round(steps / seconds),
            "hint": _hint(learner, found),
            "files": {name: str(path) for name, path in files.items()},
        }
        json_output.tell(report, lambda: click.echo(_in_words(report, steps)))
        draw_results(folder, learnt, write_pictures)


def _hint(learner: Learner, found: dict[str, Any]) -> str | None:
    """Return what to try if the greedy policy misses the goal; `found` is the summary."""
    optimum = found["optimum"]
    return hint(
        learner.plan.env_id,
        learner.world,
        success=found["evaluation"]["success"],
        optimal=optimum is not None and optimum["optimal"] == optimum["visited"],
        far=False,
        alpha=learner.hyper.alpha,
        gamma=learner.hyper.gamma,
        longer=f"--episodes {10 * learner.plan.episodes}",
    )


def _run(learner: Learner, file: Path) -> None:
    """Run the remaining episodes with a progress bar on stderr."""
    recent: deque[tuple[float, bool | None]] = deque(maxlen=_RECENT)
    with run_bar() as progress:
        done = learner.checkpoint.episode
        bar = progress.add_task(
            learner.plan.env_id, total=learner.plan.episodes, completed=done, state=""
        )
        shown = 0.0
        told = len(learner.result.evaluations)
        for episode in learner:
            recent.append((episode.total, episode.success))
            last = episode.number == learner.plan.episodes
            if last or time.monotonic() - shown > _REFRESH_SECONDS:
                shown = time.monotonic()
                totals, successes = zip(*recent, strict=True)
                state = (
                    f"{_rate(share(successes))}return {sum(totals) / len(totals):.2f}, "
                    f"epsilon {episode.epsilon:.2f}"
                )
                progress.update(bar, completed=episode.number, state=state)
            if len(learner.result.evaluations) > told:
                _save(learner, file)
                for evaluation in learner.result.evaluations[told:]:
                    progress.console.print(_line(evaluation))
                told = len(learner.result.evaluations)


def _save(learner: Learner, file: Path) -> None:
    save_checkpoint(file, learner.checkpoint.packed(), learner.identity)


def _line(evaluation: Evaluation) -> str:
    return (
        f"episode {evaluation.episode}: greedy return {evaluation.mean_return:.2f}, "
        f"{_rate(evaluation.success)}length {evaluation.mean_length:.1f}"
    )


def _rate(success: float | None) -> str:
    return "" if success is None else f"success {success:.0%}, "


def optimum_in_words(optimum: dict[str, Any]) -> str:
    """Return the findings of :func:`qstep.learn.host_summary.optimum` as a sentence."""
    return (
        f"greedy action optimal in {optimum['optimal']} of the {optimum['visited']} states that "
        f"the greedy policy visits; value of the start {optimum['start_value']:.3f}, "
        f"exact {optimum['exact_start_value']:.3f}"
    )


def _in_words(report: dict[str, Any], steps: int) -> str:
    lines = [
        f"{report['env_id']} on {report['device']}: {report['episodes']} episodes, "
        f"{report['steps']} steps; {report['steps_per_second']} steps/s",
        _line(Evaluation(**report["evaluation"])),
    ]
    if report["saturations"]:
        number_format = QFormat.parse(report["format"])
        lines.append(saturated_in_words(report["saturations"], steps, number_format))
    lines += discount_in_words(report["alpha"], report["gamma"])
    if report["optimum"] is not None:
        lines.append(optimum_in_words(report["optimum"]))
    lines += [report["hint"]] if report["hint"] else []
    lines += [f"{name}: {path}" for name, path in report["files"].items()]
    return "\n".join(lines)
