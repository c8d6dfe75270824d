"""What `qstep train` does when agents act on the device: progress, checkpoints, results."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from qstep._io.checkpoint import check_identity, read_checkpoint, save_checkpoint
from qstep._io.pictures import WritePictures
from qstep._io.run_folder import run_folder
from qstep.cli._acting import grid_named
from qstep.cli._console import run_bar
from qstep.cli._hints import hint
from qstep.cli._interrupt import command_line, on_interrupt, say_stopped
from qstep.cli._json import JsonOutput
from qstep.cli._room import room_for
from qstep.device import is_model
from qstep.device.acting import open_agents
from qstep.errors import ConfigError, DeviceError
from qstep.learn.agents import Budget, Training
from qstep.learn.agents_plots import draw_agents
from qstep.learn.host_plots import draw_policy
from qstep.learn.metrics import Metrics, write_metrics
from qstep.learn.plan import AgentsPlan
from qstep.learn.point import Point
from qstep.learn.result import TrainingResult
from qstep.learn.results import Results, draw_results, write_results
from qstep.learn.table import TableWorld, save_table
from qstep.learn.trace import save_trace
from qstep.spec.discount import discount_in_words

__all__ = ["train_agents"]

_SAVE_SECONDS = 1.0
_FAR = 0.1
"""Share of the optimum that a policy which was learned does not miss."""
_HORIZON = "epsilon_horizon"


def train_agents(
    url: str,
    name: str,
    plan_for: Callable[[Budget], AgentsPlan],
    budget: Budget,
    horizon: Budget | None,
    folder: Path,
    resume: bool,
    overwrite: bool,
    json_output: JsonOutput,
    trace: Path | None,
    write_pictures: WritePictures,
    metrics_target: Path | None,
) -> None:
    """Run a plan on a device and write the results to a folder.

    `plan_for` makes the plan from the budget that epsilon's share refers to. That is `horizon`; without
    one, it is the first budget of a resumed run, or `budget`.

    A checkpoint is saved every second, when the run ends, on Ctrl-C and when the device fails. `trace`
    names the file that gets every step, if one is wanted.

    Raises
    ------
    ConfigError
        A trace is wanted of a resumed run, whose first steps were made earlier, or of hardware.
    """
    if trace is not None and resume:
        raise ConfigError("--trace and --resume were both given; a trace covers a whole run")
    if trace is not None and not is_model(url):
        raise ConfigError(
            f"--trace was given and device is {url!r}; only the model keeps every step"
        )
    with contextlib.ExitStack() as held:
        file = held.enter_context(run_folder(folder, resume, overwrite))
        held.enter_context(room_for(json_output.file))
        held.enter_context(room_for(trace))
        there, kept = read_checkpoint(file) if resume else ({}, None)
        first = there.get(_HORIZON)
        if horizon is None:
            horizon = Budget(**first) if isinstance(first, dict) else budget
        plan = plan_for(horizon)
        identity = {**plan.identity, _HORIZON: asdict(horizon)}
        if kept is not None:
            check_identity(file, there, identity)
        device = open_agents(url, plan.config, plan.loaded, plan.settings)
        held.callback(device.close)
        discounts = [own.discount for own in plan.settings]
        training = Training(device, plan.world, discounts, plan.budget, traced=trace is not None)
        if kept is not None:
            training.restore(kept)
        resumed_at = (training.points[-1].steps if training.points else 0) if resume else None
        metrics = held.enter_context(write_metrics(metrics_target, resumed_at))

        def save() -> None:
            save_checkpoint(file, training.checkpoint, identity)

        try:
            _run(training, name, metrics, save)
            save()
            result = TrainingResult.of(plan, training)
            results = _results(name, result)
            files = write_results(folder, results)
            if trace is not None:
                save_trace(trace, plan.config, training.lived)
                files["trace"] = trace
        except (KeyboardInterrupt, DeviceError) as error:
            if resume or training.points:
                save()
                on_interrupt(lambda: _kept_in_words(training))
            if isinstance(error, DeviceError):
                say_stopped()
            raise
        found = result.summary()
        report = {
            "world": name,
            "device": url,
            **found,
            "hint": _hint(name, result, found),
            "files": {what: str(path) for what, path in files.items()},
        }
        json_output.tell(report, lambda: click.echo(_in_words(report, result)))
        draw_results(folder, results, write_pictures)


def _hint(name: str, result: TrainingResult, found: dict[str, Any]) -> str | None:
    """Return what to try if the median agent did not learn; `found` is the summary."""
    plan = result.plan
    losses = np.subtract(found["optimum"], found["value"]) if found["optimum"] else np.zeros(1)
    scale = max(plan.config.format.resolution, *np.abs(found["optimum"]), 0.0)
    return hint(
        name,
        plan.world,
        success=found["success"],
        optimal=2 * found["near_agents"] > found["agents"],
        far=bool(np.median(losses) > _FAR * scale),
        alpha=plan.settings[0].alpha,
        gamma=plan.settings[0].gamma,
        longer=f"--{plan.budget.unit} {10 * plan.budget.length}",
    )


def _kept_in_words(training: Training) -> str:
    """Return how far the checkpoint got, and how to resume."""
    steps = training.checkpoint.arrays["counters"][0][0]
    return f" after {steps} steps of each agent; to resume, run: {command_line('--resume')}"


def _run(training: Training, name: str, metrics: Metrics | None, save: Callable[[], None]) -> None:
    """Run the remaining steps with a progress bar on stderr; report the metrics, and save regularly."""
    budget = training.budget
    total = budget.steps or budget.episodes
    with run_bar() as progress:
        bar = progress.add_task(name, total=total, state="")
        saved = time.monotonic()
        for point in training:
            done = point.steps if budget.steps else min(point.episodes)
            progress.update(bar, completed=min(done, total or done), state=_state(point))
            if metrics is not None:
                metrics(point.steps, point.metrics)
            if time.monotonic() - saved > _SAVE_SECONDS:
                save()
                saved = time.monotonic()


def _state(point: Point) -> str:
    known = [value for value in point.mean_return if not math.isnan(value)]
    return f"return {np.median(known):.2f}" if known else ""


def _results(name: str, result: TrainingResult) -> Results:
    """Return table, history and pictures."""
    plan, points = result.plan, result.points
    known = plan.world
    world = None if known is None else TableWorld.of(name, (known.states, known.actions), known)

    def table(path: Path) -> None:
        save_table(path, result.table, plan.config, plan.settings, world)

    curve = partial(
        draw_agents,
        f"{name}: learning curve",
        np.array([point.steps for point in points]),
        np.array([point.mean_return for point in points]),
        np.array([point.mean_reward for point in points]),
        np.array([point.value for point in points]),
        float(np.median(result.optimum)) if result.optimum else None,
    )
    grid = grid_named(name)
    q = result.policy_q[result.median_agent]
    title = f"{name}: policy of the median agent"
    return Results(
        learnt={"table.npz": table},
        history={"points": [_known(asdict(point)) for point in points]},
        pictures={
            "learning_curve.png": curve,
            "policy.png": partial(draw_policy, title, grid, q) if grid else None,
        },
    )


def _known(point: dict[str, Any]) -> dict[str, Any]:
    """Return a point with null where JSON has no number."""
    returns = [None if math.isnan(value) else value for value in point["mean_return"]]
    return {**point, "mean_return": returns}


def _in_words(report: dict[str, Any], result: TrainingResult) -> str:
    agents, learnt, rate = report["agents"], report["near_agents"], report["steps_per_second"]
    who = "1 agent" if agents == 1 else f"{agents} agents"
    lines = [
        f"{report['world']} on {report['device']}: {who}, {report['algorithm']}, {report['format']}: "
        + (
            "the run was complete, so no step was made"
            if rate is None
            else f"{report['steps']} steps in {report['seconds']:.3g} s, "
            f"{rate / 1e6:.3g} million steps/s"
        ),
        (
            f"{report['episodes']} episodes"
            if report["episodes"]
            else f"no episode ended; reward of a step, lately: {report['step_reward']:.4g}"
        )
        + (
            ""
            if report["greedy_return"] is None
            else f"; greedy: return {report['greedy_return']:.3f}"
        )
        + ("" if report["success"] is None else f", success {report['success']:.1%}"),
    ]
    if result.saturated is not None:
        lines.append(result.saturated)
    lines += discount_in_words(result.plan.settings[0].alpha, result.plan.settings[0].gamma)
    if report["optimum"]:
        first = [at for at in report["near_after"] if at is not None]
        when = f", the first after {min(first)} steps" if first else ""
        exact = report["optimal_agents"]
        lines.append(
            f"policy worth within 1 % of the optimum (value iteration): {learnt} of {agents}{when}; "
            f"optimal: {exact} of {agents}"
        )
    lines += [report["hint"]] if report["hint"] else []
    lines += [f"{name}: {path}" for name, path in report["files"].items()]
    return "\n".join(lines)
