"""Options that several commands share, each defined once."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from click.core import ParameterSource
from numpy.typing import NDArray

from qstep._io.pictures import picture_format
from qstep.errors import ConfigError, FileFormatError, TableError
from qstep.learn.table import SavedTable, policy_table
from qstep.spec.config import Config
from qstep.spec.fixed import QFormat, Rounding

if TYPE_CHECKING:
    from qstep.deep.result import NetworkResult

__all__ = [
    "BITSTREAMS",
    "FILE",
    "FOLDER",
    "HYPER_OPTIONS",
    "NEW_FILE",
    "POSITIVE",
    "ROUNDINGS",
    "CommaList",
    "Decorator",
    "FiniteRange",
    "accelerator_option",
    "agent_option",
    "coefficient_bits_option",
    "config_from",
    "config_options",
    "device_option",
    "env_kwargs_option",
    "folder_of",
    "jobs_option",
    "network_of",
    "option",
    "options_of",
    "plot_option",
    "refuse",
    "scheduler_option",
    "seed_option",
    "seeds_option",
    "shared",
    "stack",
    "table_of",
    "torch_device_option",
    "typed",
]

BITSTREAMS = Path("build/fpga")
"""Folder to which ``qstep build`` writes, and from which ``qstep program`` reads, by default."""

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class FiniteRange(click.FloatRange):
    """Option type for a real number in a range; unlike click's own type, it rejects NaN."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number


class CommaList(click.ParamType):  # type: ignore[type-arg]  # in older Click it takes no type argument
    """Option type for comma-separated values, each of which `kind` converts from non-empty text."""

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


def option(flag: str, help: str, name: str | None = None, **attributes: Any) -> Decorator:
    """Return an option whose help shows its default; `name` overrides its parameter name."""
    if attributes.get("default") is not None:
        attributes.setdefault("show_default", True)
    return click.option(*filter(None, (flag, name)), help=help, **attributes)


def stack(*options: Decorator) -> Decorator:
    """Return one decorator for several options, which the help shows in this order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def shared(option: Decorator) -> Any:
    """Return a dataclass field for the value of an option; both must have the same name."""
    return field(metadata={"option": option})


def typed(flag: str, help: str, name: str | None = None, **attributes: Any) -> Any:
    """Return a dataclass field for the value of a new option."""
    return shared(option(flag, help, name, **attributes))


def options_of(kind: type) -> Decorator:
    """Return the options that are fields of a dataclass, which the help shows in this order."""
    return stack(*(part.metadata["option"] for part in fields(kind) if part.metadata))


def refuse(parameters: Iterable[str], why: str) -> None:
    """Raise UsageError if the option of any of these parameters was given; `why` is the reason."""
    ctx = click.get_current_context()
    options = {option.name: option.opts[0] for option in ctx.command.params}
    for name in parameters:
        if ctx.get_parameter_source(name) not in (None, ParameterSource.DEFAULT):
            raise click.UsageError(f"{options[name]} {why}")


ROUNDINGS = click.Choice([mode.value for mode in Rounding])
POSITIVE = click.IntRange(min=1)
FILE = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False)
NEW_FILE = click.Path(path_type=Path, dir_okay=False)

device_option = option(
    "--device",
    "model, sim, sim:uart, or serial:PORT (a device file, a pty or socket://HOST:PORT).",
    "url",
    default="model",
    metavar="DEVICE",
)


def folder_of(world: str) -> str:
    """Return a world's folder name: its file's stem, or its id with the colon replaced by a dot."""
    name = Path(world).name
    return name.replace(":", ".") if ":" in name else Path(name).stem


def torch_device_option(default: str) -> Decorator:
    """Return the option for PyTorch's device, parameter ``torch_device`` of a command."""
    what = "Where PyTorch runs: cpu, cuda, mps, or auto for the fastest available."
    return option("--torch-device", what, default=default, metavar="NAME")


agent_option = option(
    "--agent",
    "Which agent's table, if each has its own.  [default: the median agent]",
    type=click.IntRange(min=0),
)


def _keyword(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, Any]:
    """Parse arguments of the form KEY=VALUE; a value that is not valid TOML is taken as text."""
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


env_kwargs_option = option(
    "--env-kwargs",
    "Argument of the environment, such as is_slippery=false; may be repeated.",
    multiple=True,
    callback=_keyword,
    metavar="KEY=VALUE",
)

seed_option = option(
    "--seed", "Seed of every random choice.", type=click.IntRange(0, (1 << 64) - 1), default=0
)

seeds_option = option(
    "--seeds",
    "Placement seeds to try: 1..N. A single seed is not representative.",
    type=click.IntRange(1, 1000),
    default=1,
)


def jobs_option(what: str) -> Decorator:
    """Return the option for the number of parallel jobs, parameter ``jobs`` of a command."""
    return option(
        "--jobs",
        what,
        type=click.IntRange(1, 256),
        default=lambda: os.cpu_count() or 1,
        show_default="one per processor",
    )


def _picture(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
    """Reject an unknown picture format before the work starts."""
    if path is not None:
        picture_format(path)
    return path


def plot_option(what: str, default: str | None = None) -> Decorator:
    """Return the option for a picture's file, parameter ``plot_file`` of a command."""
    formats = f"{what}: .png, .svg, .pdf or .jpg."
    return option("--plot", formats, "plot_file", type=FILE, callback=_picture, default=default)


scheduler_option = option(
    "--scheduler",
    "Use the workers of this Dask scheduler instead; needs the extra 'cluster'.",
    metavar="tcp://HOST:PORT",
)

accelerator_option = option(
    "--config",
    "The accelerator as TOML; for a board, the file from qstep build.  [default: one that fits]",
    "config_file",
    type=FILE,
)

coefficient_bits_option = option(
    "--coefficient-bits",
    "Fractional bits of alpha and of alpha times gamma, 15..24; more for a small alpha.  [default: 15]",
    type=int,
)

config_options = stack(
    option("--config", "Configuration as TOML.", "config_file", type=FILE),
    option("--states", "Rows of the table, 2..65536.", type=int),
    option("--actions", "Columns of the table, 2..64.", type=int),
    option("--format", "Number format.  [default: Q8.8]", "number_format", metavar="Qm.F"),
    coefficient_bits_option,
    option("--loop-depth", "Depth of the dependence loop in clocks, 1..3.  [default: 1]", type=int),
)

HYPER_OPTIONS = {
    "alpha": option("--alpha", "Learning rate, 0..1.", default=0.5),
    "gamma": option("--gamma", "Discount, 0..1.", default=0.9),
    "rounding": option(
        "--rounding", "Rounding of an update.  [default: the configuration's]", type=ROUNDINGS
    ),
    "seed": option("--seed", "Seed of every random choice.", default=0),
}


def table_of(path: Path, saved: SavedTable, agent: int | None) -> NDArray[np.int64]:
    """Return the values that an agent's greedy policy maximises, shape (S, A) or (T, S, A).

    If `agent` is None, these are the values of the median agent.
    """
    agent = saved.median_agent if agent is None else agent
    tables = policy_table(saved.config, saved.q_raw)
    if agent >= len(tables):
        raise TableError(f"--agent is {agent}; {path} has tables 0 to {len(tables) - 1}")
    chosen: NDArray[np.int64] = tables[agent]
    return chosen


def network_of(folder: Path) -> NetworkResult:
    """Load the result of a network's run from its folder; raise FileFormatError for any other run."""
    from qstep.learn.train import load

    result = load(folder)
    if result.summary().get("engine") != "network":
        raise FileFormatError(
            f"{folder}: contains no network; to name a table, give its file, such as "
            f"{folder / 'table.npz'}"
        )
    network: NetworkResult = result  # type: ignore[assignment]  # importing its class loads PyTorch
    return network


def config_from(
    config_file: Path | None = None, number_format: str | None = None, **given: Any
) -> Config:
    """Return the configuration from a TOML file or from the given values; raise ConfigError for both."""
    chosen = {name: value for name, value in given.items() if value is not None}
    if number_format is not None:
        chosen["format"] = QFormat.parse(number_format)
    if config_file is not None:
        if chosen:
            options = " or ".join(f"--{name.replace('_', '-')}" for name in chosen)
            raise ConfigError(f"--config cannot be combined with {options}")
        return Config.from_toml(config_file)
    if not {"states", "actions"} <= chosen.keys():
        raise ConfigError("without --config, --states and --actions are needed")
    return Config(**chosen)
