"""What commands share that let agents act on a device."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from qstep.cli._options import config_from, hyper_options, refuse, stack
from qstep.learn.defaults import DEVICE_DEFAULTS, HOST_DEFAULTS
from qstep.spec.agents import Algorithm
from qstep.spec.config import Config
from qstep.spec.fixed import Rounding

if TYPE_CHECKING:
    from qstep.mdp.world import World

__all__ = [
    "DEVICE_ONLY",
    "acting_options",
    "check_config",
    "host_config",
    "limited",
    "only_for",
    "use_defaults",
]

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
    for name, value in (HOST_DEFAULTS if on_host else DEVICE_DEFAULTS).get(world, {}).items():
        if ctx.get_parameter_source(name) in (None, ParameterSource.DEFAULT):
            options[name] = value


def check_config(config_file: Path | None) -> None:
    """Raise UsageError if what the accelerator's file says was given as an option too."""
    if config_file is not None:
        refuse(("algorithm", "shared_table", "rounding"), f"is given by --config {config_file}")


def host_config(
    world: str,
    file: Path | None,
    number_format: str | None,
    rounding: Rounding | None,
    env_kwargs: dict[str, Any] | None = None,
) -> Config:
    """Return the accelerator that a file describes, or one with a table of the environment's size."""
    from qstep.envs import make, table_size

    if file is not None:
        return config_from(file, None, None, number_format, None)
    config = config_from(
        None, *table_size(make(world, 0, env_kwargs=env_kwargs)), number_format, None
    )
    return config if rounding is None else replace(config, rounding=rounding)


def limited(world: World | str | None, max_episode_steps: int | None) -> World | str | None:
    """Return a world with another limit of steps, if one was given, which needs a transition table."""
    if max_episode_steps is None:
        return world
    if world is None or isinstance(world, str):
        raise click.UsageError("--max-episode-steps is for worlds with a transition table")
    return world.limited(max_episode_steps)
