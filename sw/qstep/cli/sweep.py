"""``qstep sweep``: find the best settings for a world."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qstep.cli._drive import Job, RunOptions, drive, files_in_words, run_options
from qstep.cli._options import (
    ROUNDINGS,
    CommaList,
    Decorator,
    accelerator_option,
    coefficient_bits_option,
    config_from,
    device_option,
    env_kwargs_option,
    folder_of,
    jobs_option,
    option,
    refuse,
    scheduler_option,
)
from qstep.spec.agents import Algorithm
from qstep.spec.epsilon import FALLING, Epsilon

if TYPE_CHECKING:
    from qstep.learn.sweep_plan import SweepOptions
    from qstep.learn.sweep_result import SweepResult

__all__ = ["command"]

_NUMBERS = CommaList(float, "numbers such as 0.1,0.5")
_ALL = ", ".join(algorithm.value for algorithm in Algorithm)
_NAMES = CommaList(str, "names such as q-learning,sarsa")


def _axis(flag: str, name: str, metavar: str, help: str, kind: CommaList = _NUMBERS) -> Decorator:
    return option(flag, help, name, type=kind, metavar=f"{metavar},...")


@click.command(short_help="Find the best settings for learning a world.")
@click.argument("world")
@_axis("--alpha", "alphas", "A", "Learning rates, 0..1.  [default: 0.01,0.03,0.1,0.3,1]")
@_axis("--gamma", "gammas", "G", "Discounts, 0..1.  [default: 0.8,0.9,0.95,0.99,0.999]")
@_axis("--epsilon-start", "start", "E", "Initial epsilons, 0..1.  [default: 1]")
@_axis("--epsilon-end", "end", "E", "Final epsilons, 0..1.  [default: 0.05]")
@_axis(
    "--epsilon-share", "share", "S", "Share of the run during which epsilon falls.  [default: 0.5]"
)
@_axis("--algorithm", "algorithms", "NAME", f"Any of {_ALL}.  [default: q-learning]", _NAMES)
@_axis("--format", "formats", "Qm.F", "Number formats.  [default: 16 bits that fit]", _NAMES)
@option("--rounding", "Rounding of an update.", type=ROUNDINGS, default="nearest")
@coefficient_bits_option
@option("--seed", "First seed of every point.", default=0)
@option(
    "--seeds",
    "Agents per point, with consecutive seeds from SEED.",
    type=click.IntRange(1, 1000),
    default=5,
)
@option("--steps", "Steps per agent.  [default: depends on the world's size]", type=int)
@option(
    "--random",
    "Draw N points instead of trying all combinations; alpha and 1-gamma are log-uniform between the "
    "smallest and the largest value.",
    type=int,
    metavar="N",
)
@option("--random-seed", "Seed of the points that --random draws.", default=0)
@env_kwargs_option
@device_option
@accelerator_option
@option("--agents", "Agents of a simulation, 1..2048.  [default: up to 16]", type=int)
@jobs_option("Processes to use when the device is the model.")
@scheduler_option
@run_options("runs/sweep-WORLD", "all points")
def command(
    world: str,
    url: str,
    agents: int | None,
    env_kwargs: dict[str, Any],
    jobs: int,
    scheduler: str | None,
    **typed: Any,
) -> None:
    """Train agents on WORLD with every combination of settings, and rank the combinations.

    A point is one combination of settings; one agent per seed learns with it. Points are ranked by the
    exact return of the greedy policy, and ties by how soon the policy came within 1 % of the optimum and
    stayed there. WORLD is a map, a world file, an environment with a transition table, CartPole-v1 or
    MountainCar-v0; in the last two, the greedy policies are played instead.

    On the model, agents run on all cores or on a cluster. On a simulation or a board, agents with the
    same algorithm and format run together. The run writes report.json, history.json, heat_map.png,
    learning_curves.png and checkpoint.npz. After Ctrl-C, --resume continues from the checkpoint on any
    device. The results are the same on every device, bit for bit, and equal those of qstep train with
    --agents 1 and the same settings.

    \b
    Examples:
      qstep sweep FrozenLake-v1
      qstep sweep gridworld --alpha 0.1,0.5 --algorithm q-learning,sarsa,double-q --seeds 10
      qstep sweep CartPole-v1 --alpha 0.1,0.2,0.4 --gamma 0.99
      qstep sweep Taxi-v3 --random 40 --alpha 0.01,1 --gamma 0.8,0.999
      qstep sweep gridworld --device sim --agents 25 --steps 20000
      qstep sweep FrozenLake-v1 --seeds 100 --scheduler tcp://192.168.1.5:8786
    """
    from qstep._io.workers import Cluster, Processes, Workers
    from qstep.device import is_model
    from qstep.learn.sweep import Sweep

    if scheduler is not None and not is_model(url):
        raise click.UsageError(
            "--scheduler is for the model: a device is attached to this computer"
        )
    if scheduler is not None or not is_model(url):
        refuse(["jobs"], "is for the model on this computer")
    if is_model(url):
        refuse(["agents"], "is for a simulation or a board: on the model, agents run on all cores")
    if typed["random"] is None:
        refuse(["random_seed"], "needs --random")
    how = RunOptions.taken(typed)
    plan = _options(**typed).plan(world, env_kwargs)
    workers: Workers = Processes(jobs) if scheduler is None else Cluster(scheduler)
    run = Sweep(plan, url, agents, workers, world, env_kwargs)
    drive([Job(lambda _: run, how.folder(f"sweep-{folder_of(world)}"))], how, _in_words)


def _options(config_file: Path | None, seed: int, seeds: int, **typed: Any) -> SweepOptions:
    """Return the options as typed; options that were not given keep their defaults."""
    from qstep.learn.sweep_plan import SweepOptions

    shares = {name: typed.pop(name) for name in FALLING.to_dict()}
    if any(shares.values()):
        own = FALLING.to_dict()
        typed["epsilons"] = [
            Epsilon(start, end, "linear", share, "run")
            for start, end, share in itertools.product(*(shares[n] or [own[n]] for n in own))
        ]
    given = {name: value for name, value in typed.items() if value is not None}
    if config_file is not None:
        given["config"] = config_from(config_file)
    return SweepOptions(seeds=range(seed, seed + seeds), **given)


def _in_words(report: dict[str, Any], result: SweepResult) -> list[object]:
    """Return the table of points and the paths of the files."""
    from qstep.learn.sweep_views import render

    lines = [result.saturated] if result.saturated else []
    if result.steps:
        rate = result.steps / result.seconds / 1e6
        speed = f"{result.steps:,} steps in {result.seconds:.1f} s, {rate:.3g} million steps/s"
        lines.insert(0, speed)
    return [render(result), *lines, *files_in_words(report), f"train the best: {report['train']}"]
