"""``qstep agents``: trains many agents that share one table, with PyTorch on any device."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from qstep._io import extras
from qstep._io.pictures import write_pictures
from qstep.cli._options import FiniteRange, plot_option, seed_option, torch_device_option
from qstep.cli._output import JsonOutput, json_option, room_for, task_bar
from qstep.errors import EnvironmentSpaceError

__all__ = ["command"]

_MODULES = {"plain": "torch_plain", "fast": "torch_batched", "graph": "torch_graph"}
_REPORTS = 10

_Command = Callable[..., Any]


def _number(name: str, kind: Any, default: float, text: str) -> Callable[[_Command], _Command]:
    return click.option(name, type=kind, default=default, show_default=True, help=text)


@click.command("agents", short_help="Let many agents share one table, on the processor or a GPU.")
@click.argument("env_id", metavar="WORLD", default="gridworld")
@click.option(
    "--code",
    type=click.Choice(list(_MODULES)),
    default="fast",
    show_default=True,
    help="Plain code, fast code, or fast code as a CUDA graph.",
)
@torch_device_option("auto")
@_number("--agents", click.IntRange(1, 1 << 24), 512, "Number of agents.")
@_number("--updates", click.IntRange(min=1), 2_000_000, "Total steps of all agents.")
@_number(
    "--episode-cap", click.IntRange(1, 1 << 30), 50, "Steps after which an episode is truncated."
)
@_number("--alpha", FiniteRange(0, 1), 0.5, "Learning rate, 0..1.")
@_number("--gamma", FiniteRange(0, 1, max_open=True), 0.9, "Discount, 0 to below 1.")
@_number("--epsilon", FiniteRange(0, 1), 0.1, "Share of random actions, 0..1.")
@seed_option
@json_option("the result")
@plot_option("Draw the greedy policy")
def command(
    env_id: str,
    code: str,
    torch_device: str,
    updates: int,
    json_output: JsonOutput,
    plot_file: Path | None,
    **hyper: Any,
) -> None:
    """Train many agents that share one table of a grid world, using PyTorch.

    WORLD is gridworld, gridworld-8x8, -16x16 or -32x32, or a map file (.txt). Ten times per run, the
    command reports what share of the exploratory episodes reached the goal, and the start state's value.
    At the end it compares the greedy policy with value iteration's policy.

    \b
    Examples:
      qstep agents --plot policy.png
      qstep agents --code plain
      qstep agents gridworld-16x16 --epsilon 0.5 --episode-cap 400 --updates 20000000
      qstep agents --torch-device cuda --code graph --agents 65536 --json
    """
    from qstep.envs import GridWorld, make
    from qstep.envs.maps import map_of
    from qstep.learn.plots import draw_policy
    from qstep.learn.table_result import optimum, optimum_in_words
    from qstep.mdp.world import World
    from qstep_bench.baselines.learning import AgentsLearning, AgentsProgress, Watch

    grid = make(env_id, 0).unwrapped
    if not isinstance(grid, GridWorld):
        raise EnvironmentSpaceError(f"{env_id} is not a grid world; these agents need a map")
    module = extras.load(f"qstep_bench.baselines.{_MODULES[code]}", "torch")
    device = extras.load("qstep.deep.torch_device", "torch").choose(torch_device).type
    reports: list[AgentsProgress] = []
    with room_for(json_output.file, plot_file), task_bar() as bar:
        task = bar.add_task("agents", total=updates)

        def report(progress: AgentsProgress) -> None:
            reports.append(progress)
            bar.update(task, completed=progress.updates)
            bar.console.print(
                f"{progress.updates:,} updates: {progress.win_rate:.1%} of {progress.episodes:,} "
                f"episodes won, start value {progress.start_value:.4f}",
            )

        begun = time.monotonic()
        watch = Watch(report=report, every=-(-updates // _REPORTS))
        table = module.learn(
            grid.deterministic_model(), updates, AgentsLearning(**hyper), device, watch
        )
        seconds = time.monotonic() - begun
    q = extras.load("qstep_bench.baselines.torch_batched", "torch").to_array(table)
    last = reports[-1]
    best = optimum(World.from_env(grid), hyper["gamma"], q)
    result = {
        "env_id": env_id,
        "code": code,
        "torch_device": device,
        "updates": last.updates,
        **hyper,
        "seconds": round(seconds, 3),
        "updates_per_second": round(last.updates / seconds),
        "episodes": sum(progress.episodes for progress in reports),
        "wins": sum(progress.wins for progress in reports),
        "win_rate": last.win_rate,
        "optimum": best,
        "progress": [{**part._asdict(), "win_rate": part.win_rate} for part in reports],
    }
    text = (
        f"{env_id}, {hyper['agents']} agents on {device}, {code}: {last.updates:,} updates in "
        f"{seconds:.1f} s, {result['updates_per_second']:,}/s; {result['episodes']:,} episodes, "
        f"{result['wins']:,} won, {last.win_rate:.1%} in the last tenth\n"
        f"{optimum_in_words(best)}"
    )
    json_output.tell(result, text)
    if plot_file is not None:
        on_map = map_of(grid)
        assert on_map is not None
        draw = partial(draw_policy, f"{env_id}: greedy policy", on_map, q)
        write_pictures({plot_file: draw})
