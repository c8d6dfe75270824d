"""``qstep agents``: many agents share one table, in PyTorch, on any device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from qstep.cli._json import json_option
from qstep.cli._options import FiniteRange, folder_options, seed_option, torch_device_option

__all__ = ["command"]

_SHARE = FiniteRange(0, 1)
_BELOW_ONE = FiniteRange(0, 1, max_open=True)
_POSITIVE = click.IntRange(min=1)


@click.command("agents", short_help="Let many agents share one table, on the processor or a GPU.")
@click.argument("env_id", metavar="WORLD", default="gridworld")
@click.option(
    "--form",
    type=click.Choice(["plain", "fast", "graph"]),
    default="fast",
    show_default=True,
    help="The usual code, fast code, or fast code as a CUDA graph.",
)
@torch_device_option("auto")
@click.option(
    "--agents",
    type=click.IntRange(1, 1 << 24),
    default=512,
    show_default=True,
    help="Agents at once.",
)
@click.option(
    "--updates",
    type=_POSITIVE,
    default=2_000_000,
    show_default=True,
    help="Steps of all agents together.",
)
@click.option(
    "--episode-cap",
    type=click.IntRange(1, 1 << 30),
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
@seed_option
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the results.  [default: runs/agents-WORLD]",
)
@folder_options
@json_option("the result")
def command(env_id: str, **options: Any) -> None:
    """Let many agents learn one table of a grid world together, in PyTorch.

    WORLD is gridworld, gridworld-8x8, -16x16 or -32x32, or a map file (.txt). The command reports ten
    times how many exploring episodes were won and what the start is worth. At the end it compares the
    greedy policy with value iteration's. The folder gets policy.png and, except with the plain form,
    checkpoint.npz. --resume continues from it with the same device and version of PyTorch; on the CPU
    it gives exactly the same table. With more --updates, the run gets longer.

    \b
    Examples:
      qstep agents
      qstep agents --form plain
      qstep agents gridworld-16x16 --epsilon 0.5 --episode-cap 400 --updates 20000000
      qstep agents --torch-device cuda --form graph --agents 65536 --json
    """
    from qstep_bench.cli._agents import learn

    learn(env_id, **options)
