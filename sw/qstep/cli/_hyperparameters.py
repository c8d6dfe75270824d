"""Hyperparameters on the command line: the fields of a configuration, described by its docstring.

Every field of the dataclass is an option of the same name, with dashes for underscores. An option that
is not given stays None, and the configuration keeps its default. The configuration checks the values.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import Field, asdict, fields, replace
from typing import Any, TypeVar, get_args

import click

from qstep.cli._options import CommaList
from qstep.deep.config import Variant
from qstep.spec.epsilon import EpsilonSchedule

__all__ = ["changed", "hyperparameter_options"]

Config = TypeVar("Config")

_OWN = "total_timesteps", "seed"
"""Fields that every command that trains a network has as options."""

_EPSILON = "epsilon_"
"""The prefix of the fields of an exploration schedule."""


_TYPES: dict[str, Any] = {
    "int": int,
    "float": float,
    "tuple[int, ...]": CommaList(int, "integers such as 64,64"),
    "Variant": click.Choice(get_args(Variant)),
}
"""By annotation."""


def hyperparameter_options(kind: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return one option for each field of a configuration, with its help from the docstring."""
    said = _described(EpsilonSchedule, _EPSILON)
    for part in reversed(
        kind.__mro__[:-1]
    ):  # a configuration inherits fields and their descriptions
        said |= _described(part)
    values = {field.name: getattr(kind(), field.name) for field in fields(kind)}
    values |= {_EPSILON + name: value for name, value in asdict(values["epsilon"]).items()}
    options = []
    for field in _flat(kind):
        name = field.name if field in fields(kind) else _EPSILON + field.name
        option = _option(name)
        attributes = {"type": _TYPES[str(field.type)]} if field.type != "bool" else {}
        switch = f"{option}/--no-{option[2:]}" if field.type == "bool" else option
        words = f"{said[name]}  [default: {_in_words(values[name])}]"
        options.append(click.option(switch, default=None, help=words, **attributes))

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def changed(config: Config, given: dict[str, Any]) -> Config:
    """Return the configuration with the given options; refuse values out of range.

    Raises
    ------
    ConfigError
        A value is out of range; the message names it and the legal range.
    """
    changes = {name: value for name, value in given.items() if value is not None}
    epsilon = {
        name.removeprefix(_EPSILON): changes.pop(name)
        for name in list(changes)
        if name.startswith(_EPSILON)
    }
    if epsilon:
        changes["epsilon"] = replace(config.epsilon, **epsilon)  # type: ignore[attr-defined]
    return replace(config, **changes)  # type: ignore[type-var]


def changed_names(given: dict[str, Any]) -> set[str]:
    """Return the fields of a configuration that the given options change."""
    names = (name for name, value in given.items() if value is not None)
    return {"epsilon" if name.startswith(_EPSILON) else name for name in names}


def _flat(kind: Any) -> list[Field[Any]]:
    """Return the fields, with those of a schedule in place of the schedule."""
    flat: list[Field[Any]] = []
    for field in fields(kind):
        if field.type == "EpsilonSchedule":
            flat += fields(EpsilonSchedule)
        elif field.name not in _OWN:
            flat.append(field)
    return flat


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _in_words(value: Any) -> str:
    """Return a default as it is typed."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, tuple) else f"{value}"


def _described(kind: type, prefix: str = "") -> dict[str, str]:
    """Return what the Parameters section of a docstring says about each name, on one line each.

    Where it refers to another field, the help refers to that field's option.
    """
    text = inspect.getdoc(kind) or ""
    section = re.split(r"^Parameters\n-+\n|^Raises\n-+\n", text, flags=re.MULTILINE)[1]
    entries = re.findall(r"^(\S.*?) : .*\n((?:[ ]+.*\n|\n)*)", section + "\n", re.MULTILINE)
    named = "|".join(field.name for field in fields(kind))
    reference = re.compile(f"(?<!`)`({named})`(?!`)")
    return {
        prefix + name: " ".join(
            reference.sub(lambda found: _option(prefix + found[1]), what).replace("`", "").split()
        )
        for name, what in entries
    }
