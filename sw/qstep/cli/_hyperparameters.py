"""Hyperparameters on the command line: the fields of a configuration, described by its docstring.

Every field of the dataclass is an option of the same name, with dashes for underscores. An option that
is not given stays None, and the configuration keeps its default. The configuration checks the values.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, replace
from typing import Any, get_args

import click

from qstep.cli._drive import metrics_option, run_options
from qstep.cli._options import (
    POSITIVE,
    CommaList,
    Decorator,
    env_kwargs_option,
    option,
    seed_option,
    stack,
    torch_device_option,
)
from qstep.deep.config import Variant

__all__ = ["changes", "hyperparameter_options", "network_options"]

_OWN = "total_timesteps", "seed"
"""Fields that every command that trains a network has as options."""

_EPSILON = {
    "epsilon_start": ("start", "First epsilon, 0..1."),
    "epsilon_end": ("end", "Last epsilon, 0..1, and at most --epsilon-start."),
    "epsilon_share": (
        "over",
        "Share of the run during which epsilon falls, 0..1; 0 means --epsilon-end from the beginning.",
    ),
}
"""The field of a schedule that an option sets, and its description."""

_TYPES: dict[str, Any] = {
    "bool": bool,
    "int": int,
    "float": float,
    "tuple[int, ...]": CommaList(int, "integers such as 64,64"),
    "Variant": click.Choice(get_args(Variant)),
}
"""By annotation."""


def hyperparameter_options(kind: type) -> Decorator:
    """Return one option for each field of a configuration, with its help from the docstring."""
    said: dict[str, str] = {}
    for part in reversed(kind.__mro__[:-1]):  # which describes the fields that it declares
        said |= _described(part)
    config = kind()
    options = []
    for field in fields(kind):
        if field.name == "epsilon":
            for name, (own, words) in _EPSILON.items():
                options.append(_made(name, "float", words, getattr(config.epsilon, own)))
        elif field.name not in _OWN:
            default = getattr(config, field.name)
            options.append(_made(field.name, str(field.type), said[field.name], default))
    return stack(*options)


def network_options(algorithm: str) -> Decorator:
    """Return the options of every command that trains a network; `algorithm` names its folder."""
    own = "  [default: the environment's own]"
    envs, seeds = click.IntRange(1, 65536), click.IntRange(1, 1000)
    games = f"Play 100 greedy episodes every K episodes.{own}"
    return stack(
        click.argument("environment", metavar="WORLD"),
        env_kwargs_option,
        torch_device_option("cpu"),
        option("--total-timesteps", f"Length of the run.{own}", type=POSITIVE),
        option("--num-envs", f"Environments that step together.{own}", type=envs),
        option("--episodes", f"Stop after this many episodes.{own}", type=POSITIVE),
        option("--evaluate-every", games, type=POSITIVE, metavar="K"),
        seed_option,
        option(
            "--seeds", "Number of runs, with SEED and the seeds after it.", type=seeds, default=1
        ),
        run_options(f"runs/{algorithm}-WORLD", "the summaries", metrics_option),
    )


def changes(config: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a configuration that the given options change, with their new values."""
    found = {name: value for name, value in given.items() if value is not None}
    epsilon = {own: found.pop(name) for name, (own, _) in _EPSILON.items() if name in found}
    if epsilon:
        found["epsilon"] = replace(config.epsilon, **epsilon)
    return found


def _made(name: str, kind: str, words: str, default: Any) -> Decorator:
    """Return the option of a field whose annotation is `kind`."""
    flag = _flag(name)
    if kind == "bool":
        flag = f"{flag}/--no-{flag[2:]}"
    return option(
        flag, f"{words}  [default: {_in_words(default)}]", type=_TYPES[kind], default=None
    )


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _in_words(value: Any) -> str:
    """Return a default as it is typed."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, tuple) else f"{value}"


def _described(kind: type) -> dict[str, str]:
    """Return what the Parameters section of a docstring says about each name, on one line each.

    Where it refers to another field, the help refers to that field's option.
    """
    text = inspect.getdoc(kind) or ""
    section = re.split(r"^Parameters\n-+\n|^Raises\n-+\n", text, flags=re.MULTILINE)[1]
    entries = re.findall(r"^(\S.*?) : .*\n((?:[ ]+.*\n|\n)*)", section + "\n", re.MULTILINE)
    named = "|".join(field.name for field in fields(kind))
    reference = re.compile(f"(?<!`)`({named})`(?!`)")
    return {
        name: " ".join(reference.sub(lambda found: _flag(found[1]), what).replace("`", "").split())
        for name, what in entries
    }
