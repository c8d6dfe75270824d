"""What `qstep sweep` does with its options: progress, checkpoints, results."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from qstep._io.checkpoint import load_checkpoint, save_checkpoint
from qstep._io.files import write_atomically
from qstep._io.json_text import json_text
from qstep._io.pictures import write_pictures
from qstep._io.run_folder import run_folder
from qstep._io.scheduler import Workers
from qstep.cli._console import console, run_bar
from qstep.cli._interrupt import command_line, on_interrupt, say_stopped
from qstep.cli._json import JsonOutput
from qstep.cli._room import room_for
from qstep.errors import DeviceError, SchedulerError
from qstep.learn.advise import usual_steps
from qstep.learn.agents import Budget
from qstep.learn.plan import falling_epsilon
from qstep.learn.sweep import Sweep
from qstep.learn.sweep_plan import SweepPlan
from qstep.learn.sweep_result import SweepResult
from qstep.mdp.world import World
from qstep.spec.epsilon import Epsilon

__all__ = ["epsilons", "run_sweep"]

_SAVE_SECONDS = 1.0


def epsilons(
    world: World,
    steps: int | None,
    starts: Sequence[float] | None,
    ends: Sequence[float] | None,
    shares: Sequence[float] | None,
) -> list[Epsilon]:
    """Return every combination of first epsilon, last epsilon and share of the run."""
    budget = Budget(steps=usual_steps(world) if steps is None else steps)
    axes = (
        [1.0] if starts is None else starts,
        [0.05] if ends is None else ends,
        [0.5] if shares is None else shares,
    )
    return [falling_epsilon(budget, *values) for values in itertools.product(*axes)]


def run_sweep(
    name: str,
    plan: SweepPlan,
    url: str,
    agents: int | None,
    workers: Workers,
    folder: Path,
    resume: bool,
    overwrite: bool,
    json_output: JsonOutput,
) -> None:
    """Run a sweep and write the results to a folder.

    A checkpoint is saved every second, on Ctrl-C and on failure.
    """
    from qstep.learn.sweep_views import draw_curves, draw_map, render

    with run_folder(folder, resume, overwrite) as file, room_for(json_output.file):
        sweep = Sweep(plan, url, agents, workers)
        if resume:
            sweep.restore(load_checkpoint(file, plan.identity))
        try:
            _run(sweep, name, file)
            save_checkpoint(file, sweep.checkpoint, plan.identity)
        except (KeyboardInterrupt, DeviceError, SchedulerError) as error:
            if sweep.done:
                save_checkpoint(file, sweep.checkpoint, plan.identity)
                on_interrupt(
                    lambda: (
                        f" after {len(sweep.done)} of {sweep.total} agents; to resume, run: "
                        + command_line("--resume")
                    )
                )
                if not isinstance(error, KeyboardInterrupt):
                    say_stopped()
            raise
        result = sweep.result
        files = {
            "points": folder / "sweep.json",
            "heat map": folder / "heat_map.png",
            "learning curves": folder / "learning_curves.png",
        }
        report = {"world": name, "device": url, **result.to_dict()}
        report["train"] = _train_command(name, result)
        report["files"] = {what: str(path) for what, path in files.items()}
        write_atomically(files["points"], f"{json_text(report)}\n".encode())

        def in_words() -> None:
            console().print(render(result, name))
            if result.steps:
                click.echo(
                    f"{result.steps:,} steps in {result.seconds:.1f} s, "
                    f"{result.steps / result.seconds / 1e6:.3g} million steps/s"
                )
            if result.saturated is not None:
                click.echo(result.saturated)
            for what, path in files.items():
                click.echo(f"{what}: {path}")
            click.echo(f"train the best: {report['train']}")

        json_output.tell(report, in_words)
        write_pictures(
            {
                files["heat map"]: partial(draw_map, name, result),
                files["learning curves"]: partial(draw_curves, name, result),
            }
        )


def _run(sweep: Sweep, name: str, file: Path) -> None:
    """Run the remaining agents with a progress bar on stderr."""
    seeds = len(sweep.plan.seeds)
    points = len(sweep.plan.points)

    def whole() -> int:
        count = [0] * points
        for point, _ in sweep.done:
            count[point] += 1
        return sum(own == seeds for own in count)

    with run_bar() as bar:
        task = bar.add_task(f"{name}: points", total=points, completed=whole(), state="")
        saved = time.monotonic()

        def progress() -> None:
            nonlocal saved
            state = f"{len(sweep.done)} of {sweep.total} agents"
            bar.update(task, completed=whole(), state=state)
            if time.monotonic() - saved > _SAVE_SECONDS:
                save_checkpoint(file, sweep.checkpoint, sweep.plan.identity)
                saved = time.monotonic()

        sweep.run(progress)


def _train_command(name: str, result: SweepResult) -> str:
    """Return the command that repeats the best point with the first seed."""
    plan, point = result.plan, result.best
    epsilon = point.epsilon
    start, end, share = epsilon.start, epsilon.start, 0.0
    if epsilon.kind == "linear":
        end, share = epsilon.end, epsilon.over / plan.steps
        if int(share * plan.steps) < epsilon.over:  # the quotient was rounded down
            share = math.nextafter(share, 1)
    options: dict[str, Any] = {
        "agents": 1,
        "steps": plan.steps,
        "algorithm": point.algorithm.value,
        "format": point.format,
        "rounding": plan.rounding.value,
        "alpha": point.alpha,
        "gamma": point.gamma,
        "epsilon-start": start,
        "epsilon-end": end,
        "epsilon-share": share,
        "seed": plan.seeds[0],
    }
    words = [f"--{option} {value}" for option, value in options.items()]
    return " ".join(["qstep train", name, *words])
