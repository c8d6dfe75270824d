"""What commands share that let agents act on a device."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from qstep.cli._options import hyper_options, refuse, stack
from qstep.envs.grid_map import GridMap
from qstep.spec.agents import CIRCUITS, Algorithm

if TYPE_CHECKING:
    from qstep.mdp.world import World

__all__ = [
    "DEVICE_ONLY",
    "acting_options",
    "check_config",
    "grid_named",
    "limited",
    "only_for",
    "use_defaults",
]

_MAZE: dict[str, dict[str, float | int | str]] = {"gridworld-32x32": {"gamma": 0.99}}
"""At 74 steps from its goal, a gamma of 0.9 leaves less than the resolution of Q8.8."""

_HOST_DEFAULTS: dict[str, dict[str, float | int | str]] = {
    **_MAZE,
    # Slippery: outcomes must be averaged, and a reward of 1 many steps ahead must stay above 2^-8.
    "FrozenLake-v1": {"alpha": 0.1, "gamma": 0.99, "episodes": 5000},
    # There is no step limit, so the first walks are long and few episodes are enough.
    "CliffWalking-v1": {"episodes": 500},
    # 11 bits stand for many grids, so values must be averaged, and one random move can end a game.
    "snake": {
        "alpha": 0.05,
        "epsilon_end": 0.0,
        "episodes": 3000,
        "evaluate_every": 500,
        "num_envs": 8,
        "sync_steps": 1024,
    },
    # A row stands for many states, so values are means of many small corrections. Rounding to
    # nearest would drop corrections below half of 2^-8.
    "cartpole": {
        "alpha": 0.1,
        "gamma": 0.99,
        "rounding": "stochastic",
        "epsilon_end": 0.0,
        "episodes": 3000,
        "evaluate_every": 500,
        "num_envs": 4,
        "sync_steps": 1024,
    },
}

_DEVICE_DEFAULTS: dict[str, dict[str, float | int | str]] = {
    **_MAZE,
    # Slippery: at this many steps a second, a small alpha averages well. With 0.03, the discount
    # learned would be 0.98983.
    "FrozenLake-v1": {"alpha": 0.0305, "gamma": 0.99, "episodes": 20_000},
    "CliffWalking-v1": {"episodes": 500},
    "Taxi-v3": {"episodes": 5000},
}
"""Defaults of worlds that do not learn with the command's own defaults."""

DEVICE_ONLY = ("max_episode_steps", "agents", "lanes", "shared_table", "algorithm")
"""Which of :data:`acting_options` are for runs in which the device acts."""

acting_options = stack(
    click.option(
        "--agents", type=int, help="Number of agents on the device, 1..2048.  [default: 8]"
    ),
    click.option(
        "--max-episode-steps",
        type=int,
        help="Steps after which an episode is truncated, 0 for no limit.  [default: the world's]",
    ),
    click.option(
        "--lanes",
        type=int,
        help="Lanes of a simulation or a board, each for up to 16 agents.  "
        "[default: as few as the agents need]",
    ),
    click.option("--shared-table", is_flag=True, help="All agents on the device learn one table."),
    click.option(
        "--algorithm",
        type=click.Choice([algorithm.value for algorithm in Algorithm]),
        default=Algorithm.Q_LEARNING.value,
        show_default=True,
        help="Algorithm of agents on the device.",
    ),
    hyper_options,
    click.option(
        "--config",
        "config_file",
        type=click.Path(path_type=Path),
        help="The accelerator as TOML; for a board, the file from qstep build.  "
        "[default: one that fits]",
    ),
    click.option(
        "--format",
        "number_format",
        metavar="Qm.F",
        help="Number format.  [default: on the device, 16 bits that fit the world; otherwise Q8.8]",
    ),
)


def only_for(who: str, options: Iterable[str]) -> None:
    """Raise UsageError if one of these options, which are for runs in which `who` acts, was given."""
    refuse(options, f"is for runs in which the {who} acts")


def use_defaults(ctx: click.Context, options: dict[str, Any], world: str, on_host: bool) -> None:
    """Set the options that were not given to the defaults of a world."""
    for name, value in (_HOST_DEFAULTS if on_host else _DEVICE_DEFAULTS).get(world, {}).items():
        if ctx.get_parameter_source(name) in (None, ParameterSource.DEFAULT):
            options[name] = value


def check_config(config_file: Path | None) -> None:
    """Raise UsageError if what the accelerator's file says was given as an option too."""
    if config_file is not None:
        refuse(("algorithm", "shared_table", "rounding"), f"is given by --config {config_file}")


def limited(world: World | None, max_episode_steps: int | None) -> World | None:
    """Return a world with another limit of steps, if one was given, which needs a transition table."""
    if max_episode_steps is None:
        return world
    if world is None:
        raise click.UsageError("--max-episode-steps is for worlds with a transition table")
    return world.limited(max_episode_steps)


def grid_named(name: str) -> GridMap | None:
    """Return the map of a world, as the command line takes it; None where it has none."""
    if name.endswith((".npz", *CIRCUITS)):
        return None
    from qstep.envs import make
    from qstep.envs.maps import map_of

    return map_of(make(name, 0))
