"""Options that several commands share, each written once."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
import numpy as np
from click.core import ParameterSource
from numpy.typing import NDArray

from qstep._io.pictures import picture_format
from qstep.cli._output import json_option
from qstep.errors import ConfigError, TableError
from qstep.learn.table import policy_table
from qstep.spec.config import Config
from qstep.spec.fixed import QFormat, Rounding

__all__ = [
    "BITSTREAMS",
    "CommaList",
    "FiniteRange",
    "agent_option",
    "config_from",
    "config_options",
    "device_option",
    "env_kwargs_option",
    "folder_options",
    "hyper_options",
    "jobs_option",
    "metrics_option",
    "network_options",
    "plot_option",
    "refuse",
    "scheduler_option",
    "seed_option",
    "seeds_option",
    "stack",
    "table_of",
    "torch_device_option",
]

BITSTREAMS = Path("build/fpga")
"""Where ``qstep build`` writes by default, and ``qstep program`` looks."""

Decorated = Callable[..., Any]


class FiniteRange(click.FloatRange):
    """A real number in a range; click's own type also accepts NaN."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number


class CommaList(click.ParamType):  # type: ignore[type-arg]  # in older Click it takes no type argument
    """Values with commas between them; `kind` makes each one from text, which is not empty."""

    name = "list"

    def __init__(self, kind: Callable[[str], Any], what: str) -> None:
        self._kind, self._what = kind, what

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[Any, ...]:
        words = [word.strip() for word in value.split(",")]
        try:
            values = tuple(map(self._kind, words))
        except ValueError:
            values = ()
        if "" in words or not values:
            self.fail(f"{value!r} is not a list of {self._what}", param, ctx)
        return values


def stack(*options: Callable[[Decorated], Decorated]) -> Callable[[Decorated], Decorated]:
    """Return one decorator for several options, which the help shows in this order."""

    def decorate(function: Decorated) -> Decorated:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def refuse(parameters: Iterable[str], why: str) -> None:
    """Raise UsageError if the option of one of these parameters, which has no effect here, was given."""
    ctx = click.get_current_context()
    options = {option.name: option.opts[0] for option in ctx.command.params}
    for name in parameters:
        if ctx.get_parameter_source(name) not in (None, ParameterSource.DEFAULT):
            raise click.UsageError(f"{options[name]} {why}")


device_option = click.option(
    "--device",
    "url",
    default="model",
    show_default=True,
    metavar="DEVICE",
    help="model, sim, sim:uart, or serial:PORT (a device file, a pty or socket://HOST:PORT).",
)


def torch_device_option(default: str) -> Callable[[Decorated], Decorated]:
    """Return the option for where PyTorch works, ``torch_device`` of a command."""
    return click.option(
        "--torch-device",
        default=default,
        show_default=True,
        metavar="NAME",
        help="Where PyTorch runs: cpu, cuda, mps, or auto for the fastest available.",
    )


agent_option = click.option(
    "--agent",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Which agent's table, if each has its own.",
)


def _keyword(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, Any]:
    """Return arguments typed as KEY=VALUE: values are TOML, or otherwise text."""
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (equals and name.isidentifier()):
            raise click.BadParameter(f"{text!r} is not KEY=VALUE, such as is_slippery=false")
        try:
            found[name] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found[name] = value
    return found


env_kwargs_option = click.option(
    "--env-kwargs",
    multiple=True,
    callback=_keyword,
    metavar="KEY=VALUE",
    help="Argument of the environment, such as is_slippery=false; repeat it for several.",
)

folder_options = stack(
    click.option("--resume", is_flag=True, help="Resume from the checkpoint in the folder."),
    click.option("--overwrite", is_flag=True, help="Replace the run in the folder."),
)


metrics_option = click.option(
    "--metrics",
    "metrics_target",
    type=click.Path(path_type=Path),
    metavar="FILE.csv|FOLDER",
    help="Write returns and evaluations to a CSV table, or to a folder for TensorBoard.",
)


seed_option = click.option(
    "--seed",
    type=click.IntRange(0, (1 << 64) - 1),
    default=0,
    show_default=True,
    help="Seed of every random choice.",
)

seeds_option = click.option(
    "--seeds",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Placement seeds to try: 1..N. The clock of a single seed says little.",
)


def jobs_option(what: str) -> Callable[[Decorated], Decorated]:
    """Return the option for how many jobs run at a time, ``jobs`` of a command."""
    return click.option(
        "--jobs",
        type=click.IntRange(1, 256),
        default=lambda: os.cpu_count() or 1,
        show_default="one per processor",
        help=what,
    )


scheduler_option = click.option(
    "--scheduler",
    metavar="tcp://HOST:PORT",
    help="Use the workers of this Dask scheduler instead; needs the extra 'cluster'.",
)

config_options = stack(
    click.option(
        "--config", "config_file", type=click.Path(path_type=Path), help="Configuration as TOML."
    ),
    click.option("--states", type=int, help="Rows of the table, 2..65536."),
    click.option("--actions", type=int, help="Columns of the table, 2..64."),
    click.option(
        "--format", "number_format", metavar="Qm.F", help="Number format.  [default: Q8.8]"
    ),
    click.option(
        "--loop-depth", type=int, help="Depth of the dependence loop in clocks, 1..3.  [default: 1]"
    ),
)

hyper_options = stack(
    click.option(
        "--alpha", type=float, default=0.5, show_default=True, help="Learning rate, 0..1."
    ),
    click.option("--gamma", type=float, default=0.9, show_default=True, help="Discount, 0..1."),
    click.option(
        "--rounding",
        type=click.Choice([mode.value for mode in Rounding]),
        help="Rounding of an update.  [default: the configuration's]",
    ),
    click.option(
        "--seed", type=int, default=0, show_default=True, help="Seed of every random choice."
    ),
)


def network_options(algorithm: str) -> Callable[[Decorated], Decorated]:
    """Return the options of every command that trains a network; `algorithm` names its folder."""
    positive = click.IntRange(min=1)
    return stack(
        click.argument("environment", metavar="WORLD"),
        env_kwargs_option,
        torch_device_option("cpu"),
        click.option(
            "--total-timesteps",
            type=positive,
            help="Length of the run.  [default: the environment's own]",
        ),
        click.option(
            "--num-envs",
            type=click.IntRange(1, 65536),
            help="Environments that step together.  [default: the environment's own]",
        ),
        click.option(
            "--episodes",
            type=positive,
            help="Stop after this many episodes.  [default: the environment's own]",
        ),
        click.option(
            "--evaluate-every",
            type=positive,
            metavar="K",
            help="Play 100 greedy episodes every K episodes.  [default: the environment's own]",
        ),
        seed_option,
        click.option(
            "--seeds",
            type=click.IntRange(1, 1000),
            default=1,
            show_default=True,
            help="Number of runs, with SEED and the seeds after it.",
        ),
        click.option(
            "--out",
            type=click.Path(path_type=Path, file_okay=False),
            help=f"Folder of the results.  [default: runs/{algorithm}-WORLD]",
        ),
        folder_options,
        metrics_option,
        json_option("the summaries"),
    )


def _picture(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a picture of an unknown format, before the work."""
    if path is not None:
        picture_format(path)
    return path


def plot_option(what: str, default: str | None = None) -> Callable[[Decorated], Decorated]:
    """Return the option for the file of a picture, ``plot_file`` of a command."""
    return click.option(
        "--plot",
        "plot_file",
        type=click.Path(path_type=Path),
        callback=_picture,
        default=default,
        show_default=default is not None,
        help=f"{what}: .png, .svg, .pdf or .jpg.",
    )


def table_of(config: Config, q_raw: NDArray[np.int32], agent: int, path: Path) -> NDArray[np.int64]:
    """Return the values whose maximum an agent's greedy policy takes, int64, shape (S, A).

    Raises TableError if there is no such agent.
    """
    tables = policy_table(config, q_raw)
    if agent >= len(tables):
        raise TableError(f"--agent is {agent}; {path} has the tables 0 to {len(tables) - 1}")
    chosen: NDArray[np.int64] = tables[agent]
    return chosen


def config_from(
    config_file: Path | None,
    states: int | None,
    actions: int | None,
    number_format: str | None,
    loop_depth: int | None,
) -> Config:
    """Build a configuration from a TOML file or from the geometry options, but not from both."""
    given = {
        "states": states,
        "actions": actions,
        "format": None if number_format is None else QFormat.parse(number_format),
        "loop_depth": loop_depth,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    if config_file is not None:
        if chosen:
            raise ConfigError(
                f"--config was given together with {', '.join(chosen)}; give one or the other"
            )
        return Config.from_toml(config_file)
    if states is None or actions is None:
        raise ConfigError("without --config, --states and --actions are needed")
    return Config(**chosen)  # type: ignore[arg-type]  # the keys are field names, listed above
