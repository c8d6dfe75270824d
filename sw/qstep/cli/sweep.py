"""``qstep sweep``: which settings learn a world best."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qstep.cli._console import console
from qstep.cli._drive import Job, RunOptions, drive
from qstep.cli._options import (
    config_from,
    device_option,
    env_kwargs_option,
    folder_options,
    jobs_option,
    refuse,
    scheduler_option,
)
from qstep.cli._output import JsonOutput, json_option
from qstep.learn.result import Result
from qstep.spec.epsilon import Epsilon
from qstep.spec.fixed import Rounding

if TYPE_CHECKING:
    from qstep.mdp.world import World

__all__ = ["command"]

_SEEDS = 5


def _numbers(_: click.Context, __: click.Parameter, text: str | None) -> list[float] | None:
    try:
        return None if text is None else [float(word) for word in text.split(",")]
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of numbers such as 0.1,0.5") from None


def _words(_: click.Context, __: click.Parameter, text: str | None) -> list[str] | None:
    words = None if text is None else [word.strip() for word in text.split(",")]
    if words is not None and "" in words:
        raise click.BadParameter(f"{text!r} has an empty place between commas")
    return words


def _axis(
    name: str, metavar: str, what: str, own: str, parse: Callable[..., Any] = _numbers
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    words = f"{what}  [default: {own}]"
    return click.option(name, callback=parse, metavar=f"{metavar},...", help=words)


@click.command(short_help="Find the settings that learn a world best.")
@click.argument("world")
@_axis("--alpha", "A", "Learning rates, 0..1.", "0.01,0.03,0.1,0.3,1")
@_axis("--gamma", "G", "Discounts, 0..1.", "0.8,0.9,0.95,0.99,0.999")
@_axis("--epsilon-start", "E", "First epsilons, 0..1.", "1")
@_axis("--epsilon-end", "E", "Last epsilons, 0..1.", "0.05")
@_axis("--epsilon-share", "S", "Share of the run during which epsilon falls, 0..1.", "0.5")
@_axis(
    "--algorithm",
    "NAME",
    "Any of q-learning, sarsa, expected-sarsa, double-q.",
    "q-learning",
    _words,
)
@click.option(
    "--format",
    "number_format",
    callback=_words,
    metavar="Qm.F,...",
    help="Number formats.  [default: 16 bits that fit the world]",
)
@click.option(
    "--rounding",
    type=click.Choice([mode.value for mode in Rounding]),
    default=Rounding.NEAREST.value,
    show_default=True,
    help="Rounding of an update.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="First seed of every point.")
@click.option(
    "--seeds",
    type=click.IntRange(1, 1000),
    default=_SEEDS,
    show_default=True,
    help="Agents per point, with SEED and the seeds after it.",
)
@click.option(
    "--steps", type=int, help="Steps of each agent.  [default: depends on the world's size]"
)
@click.option(
    "--random",
    type=int,
    metavar="N",
    help="Draw N points instead of trying all combinations: alpha and 1-gamma evenly on a log scale "
    "between the smallest and the largest value.",
)
@click.option(
    "--random-seed",
    type=int,
    default=0,
    show_default=True,
    help="Seed of the points that --random draws.",
)
@env_kwargs_option
@device_option
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help="The accelerator as TOML; for a board, the file from qstep build.  [default: one that fits]",
)
@click.option("--agents", type=int, help="Agents of a simulation, 1..2048.  [default: up to 16]")
@jobs_option("Processes to use when the device is the model.")
@scheduler_option
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the results.  [default: runs/sweep-WORLD]",
)
@folder_options
@json_option("all points")
def command(
    world: str,
    alpha: list[float] | None,
    gamma: list[float] | None,
    epsilon_start: list[float] | None,
    epsilon_end: list[float] | None,
    epsilon_share: list[float] | None,
    algorithm: list[str] | None,
    number_format: list[str] | None,
    rounding: str,
    seed: int,
    seeds: int,
    steps: int | None,
    random: int | None,
    random_seed: int,
    env_kwargs: dict[str, Any],
    url: str,
    config_file: Path | None,
    agents: int | None,
    jobs: int,
    scheduler: str | None,
    out: Path | None,
    resume: bool,
    overwrite: bool,
    json_output: JsonOutput,
) -> None:
    """Learn WORLD with every combination of settings, and rank them.

    A point is one combination of settings; one agent per seed learns with it. Points are ranked by the
    return of the greedy policy, which is computed exactly, and points with the same return by how soon
    the policy came within 1 % of the optimum and stayed there. WORLD is a map, a world file, or an
    environment with a transition table.

    On the model, agents run on all cores or on a cluster. On a simulation or a board, agents with the
    same algorithm and format run together. The folder gets report.json, history.json, heat_map.png,
    learning_curves.png and checkpoint.npz. After Ctrl-C, --resume continues from the checkpoint on any
    device. Results are the same bit for bit, and equal those of qstep train with --agents 1 and these
    settings.

    \b
    Examples:
      qstep sweep FrozenLake-v1
      qstep sweep gridworld --alpha 0.1,0.5 --algorithm q-learning,sarsa,double-q --seeds 10
      qstep sweep Taxi-v3 --random 40 --alpha 0.01,1 --gamma 0.8,0.999
      qstep sweep gridworld --device sim --agents 25 --steps 20000
      qstep sweep FrozenLake-v1 --seeds 100 --scheduler tcp://192.168.1.5:8786
    """
    from qstep._io.cluster import Cluster
    from qstep._io.workers import Processes, Workers
    from qstep.device import is_model
    from qstep.learn.sweep import Sweep
    from qstep.learn.sweep_plan import sweep_plan
    from qstep.mdp.world import World

    if scheduler is not None and not is_model(url):
        raise click.UsageError(
            "--scheduler is for the model: a device is attached to this computer"
        )
    if scheduler is not None or not is_model(url):
        refuse(["jobs"], "is for the model on this computer")
    if is_model(url):
        refuse(["agents"], "is for a simulation or a board: on the model, agents run on all cores")
    if random is None:
        refuse(["random_seed"], "needs --random")
    named = World.named(world, env_kwargs)
    axes: dict[str, Any] = {"alphas": alpha, "gammas": gamma}
    plan = sweep_plan(
        named,
        **{name: values for name, values in axes.items() if values is not None},
        epsilons=_epsilons(named, steps, epsilon_start, epsilon_end, epsilon_share),
        algorithms=algorithm,
        formats=number_format,
        seeds=range(seed, seed + seeds),
        steps=steps,
        rounding=rounding,
        random=random,
        random_seed=random_seed,
        config=None if config_file is None else config_from(config_file, None, None, None, None),
    )
    workers: Workers = Processes(jobs) if scheduler is None else Cluster(scheduler)
    run = Sweep(plan, url, agents, workers, world)
    job = Job(lambda _: run, out or Path("runs") / f"sweep-{Path(world).stem}")
    drive([job], RunOptions(resume, overwrite, json_output), _in_words)


def _epsilons(
    world: World,
    steps: int | None,
    starts: Sequence[float] | None,
    ends: Sequence[float] | None,
    shares: Sequence[float] | None,
) -> list[Epsilon]:
    """Return every combination of first epsilon, last epsilon and share of the run."""
    from qstep.learn.advise import usual_steps
    from qstep.learn.plan import Budget, falling_epsilon

    budget = Budget(steps=usual_steps(world) if steps is None else steps)
    axes = (
        [1.0] if starts is None else starts,
        [0.05] if ends is None else ends,
        [0.5] if shares is None else shares,
    )
    return [falling_epsilon(budget, *values) for values in itertools.product(*axes)]


def _in_words(report: dict[str, Any], result: Result) -> str:
    """Return the table of points, and where everything is."""
    from qstep.learn.sweep_result import SweepResult
    from qstep.learn.sweep_views import render

    assert isinstance(result, SweepResult)
    out = console()
    with out.capture() as table:
        out.print(render(result))
    lines = [table.get().rstrip("\n")]
    if result.steps:
        lines.append(
            f"{result.steps:,} steps in {result.seconds:.1f} s, "
            f"{result.steps / result.seconds / 1e6:.3g} million steps/s"
        )
    lines += [result.saturated] if result.saturated else []
    lines += [f"{name}: {path}" for name, path in report["files"].items()]
    return "\n".join([*lines, f"train the best: {report['train']}"])
