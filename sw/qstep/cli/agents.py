"""``qstep agents``: many agents at once share one table, with PyTorch, on any device."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from qstep.baselines.progress import Progress, Report
from qstep.cli._options import torch_device_option

__all__ = ["command"]

_FORMS = {"plain": "torch_plain", "fast": "torch_batched", "graph": "torch_graph"}
_REPORTS = 10

_SHARE = click.FloatRange(0, 1)
_BELOW_ONE = click.FloatRange(0, 1, max_open=True)
_POSITIVE = click.IntRange(min=1)


@click.command(short_help="Let many agents share one table, on the processor or a GPU.")
@click.argument("env_id", metavar="ENV_ID", default="gridworld")
@click.option(
    "--form",
    type=click.Choice(tuple(_FORMS)),
    default="fast",
    show_default=True,
    help="As people write it, fast, or fast as a CUDA graph.",
)
@torch_device_option("auto")
@click.option("--agents", type=_POSITIVE, default=512, show_default=True, help="Agents at once.")
@click.option(
    "--updates", type=_POSITIVE, default=2_000_000, show_default=True, help="Steps of all agents."
)
@click.option(
    "--episode-cap",
    type=_POSITIVE,
    default=50,
    show_default=True,
    help="Steps after which an episode is cut off.",
)
@click.option("--alpha", type=_SHARE, default=0.5, show_default=True, help="Learning rate, 0..1.")
@click.option(
    "--gamma", type=_BELOW_ONE, default=0.9, show_default=True, help="Discount, 0 to below 1."
)
@click.option(
    "--epsilon", type=_SHARE, default=0.1, show_default=True, help="Share of random actions, 0..1."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on stdout.")
def command(env_id: str, as_json: bool, **options: Any) -> None:
    """Let many agents learn one table of a grid world together, with PyTorch.

    ENV_ID is gridworld, gridworld-8x8, gridworld-16x16 or a map file (.txt). Ten times on the way the
    command says how many episodes were won, while exploring, and what the start is worth; in the end
    it compares the greedy policy with value iteration's.

    \b
    Examples:
      qstep agents
      qstep agents --form plain
      qstep agents gridworld-16x16 --epsilon 0.5 --episode-cap 400 --updates 20000000
      qstep agents --torch-device cuda --form graph --agents 65536 --json
    """
    result = _learn(env_id, **options)
    click.echo(json.dumps(result, indent=2) if as_json else _in_words(result))


def _learn(
    env_id: str, form: str, torch_device: str, updates: int, gamma: float, **options: Any
) -> dict[str, Any]:
    # PyTorch, Gymnasium and Matplotlib take seconds to load: only when they are needed.
    from qstep import extras
    from qstep.baselines.problem import World
    from qstep.envs import GridWorld, make
    from qstep.errors import EnvironmentSpaceError
    from qstep.learn.results import optimum
    from qstep.learn.value_iteration import transition_model

    board = make(env_id, 0).unwrapped
    if not isinstance(board, GridWorld):
        raise EnvironmentSpaceError(f"{env_id} is no grid world; agents walk on a board only")
    model = transition_model(board)
    assert model is not None
    module = extras.load(f"qstep.baselines.{_FORMS[form]}", "torch")
    told: list[Progress] = []
    begun = time.monotonic()
    with _watched(told, updates) as report:
        table = module.learn(
            World(*board.transition_model(), board.start),
            updates,
            gamma=gamma,
            device=torch_device,
            report=report,
            report_every=-(-updates // _REPORTS),
            **options,
        )
    seconds = time.monotonic() - begun
    last = told[-1]
    return {
        "env_id": env_id,
        "form": form,
        "torch_device": table.device.type,
        "updates": last.updates,
        "gamma": gamma,
        **options,
        "seconds": round(seconds, 3),
        "updates_per_second": round(last.updates / seconds),
        "episodes": sum(progress.episodes for progress in told),
        "wins": sum(progress.wins for progress in told),
        "win_rate": last.win_rate,
        "optimum": optimum(model, gamma, table.cpu().double().numpy()),
        "progress": [{**progress._asdict(), "win_rate": progress.win_rate} for progress in told],
    }


@contextmanager
def _watched(told: list[Progress], updates: int) -> Iterator[Report]:
    """Yield a report that keeps what it is told, and shows it on stderr beside a progress bar."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("agents", total=updates)

        def report(progress: Progress) -> None:
            told.append(progress)
            bar.update(task, completed=progress.updates)
            bar.console.print(
                f"{progress.updates:,} updates: {progress.win_rate:.1%} of {progress.episodes:,} "
                f"episodes won, start worth {progress.start_value:.4f}",
                highlight=False,
            )

        yield report


def _in_words(result: dict[str, Any]) -> str:
    from qstep.cli._training import optimum_in_words

    return (
        f"{result['env_id']}, {result['agents']} agents on {result['torch_device']}, "
        f"{result['form']}: {result['updates']:,} updates in {result['seconds']:.1f} s, "
        f"{result['updates_per_second']:,}/s; {result['episodes']:,} episodes, "
        f"{result['wins']:,} won, lately {result['win_rate']:.1%}\n"
        f"{optimum_in_words(result['optimum'])}"
    )
