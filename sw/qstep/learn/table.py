"""A learnt table as a file: raw values, real values, and the settings behind them.

The file is a ``.npz`` of three arrays, none pickled: ``q_raw`` (int32, shape (S, A), after the axes of
agents if there are any), ``q`` (float64, the same values) and ``config`` (JSON text: the configuration,
the hyperparameters or the settings of each agent, and the :class:`TableWorld` if it is known). It names
no device and no time, so the same run gives the same bytes on every device. All readers raise
FileFormatError if the file is absent, damaged, not a ``.npz``, or lacks a part.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from qstep._io.files import write_atomically
from qstep._io.npz import archived, load_arrays
from qstep.errors import ConfigError, FileFormatError, TableError
from qstep.spec.agents import Algorithm
from qstep.spec.checks import shown
from qstep.spec.config import Config, checked_config, checked_table
from qstep.spec.epsilon import Epsilon
from qstep.spec.fixed import Rounding
from qstep.spec.settings import AgentSettings, Hyperparameters, checked_hyper

if TYPE_CHECKING:
    from qstep.mdp.world import World

__all__ = [
    "TableWorld",
    "load_table",
    "policy_table",
    "save_table",
    "table_config",
    "table_settings",
    "table_world",
]

_ARRAYS = ("q_raw", "q", "config")


@dataclass(frozen=True, slots=True)
class TableWorld:
    """The world in which a table was learnt.

    Attributes
    ----------
    name : str
        As on the command line, where the run began: a file's path may be relative.
    states, actions : int
        The table may have more rows, which are zero.
    digest : str or None
        :attr:`qstep.World.digest` without a limit of steps; None if the
        world has no transition table.
    env_kwargs : dict
        Arguments of the environment.
    """

    name: str
    states: int
    actions: int
    digest: str | None = None
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        name: str,
        size: tuple[int, int],
        world: World | None,
        env_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Return the description of a world of so many states and actions, if known with its table."""
        digest = None if world is None else world.limited(0).digest
        return cls(name, *size, digest, dict(env_kwargs or {}))


def save_table(
    path: str | Path,
    q_raw: NDArray[np.int32],
    config: Config,
    learnt_with: Hyperparameters | Sequence[AgentSettings],
    world: TableWorld | None = None,
) -> None:
    """Write a table; an existing file is replaced completely or not at all.

    `learnt_with` is a sequence of settings if ``config.acting`` has agents; `world` is left out where it
    is not known, as after ``qstep replay``.

    Raises
    ------
    ConfigError
        `config` or `learnt_with` has another type.
    TableError
        The values do not form a table of `config`, shape `Config.table_shape`.
    FileFormatError
        The file cannot be written.
    """
    q_raw = checked_table(checked_config(config), q_raw)
    tree: dict[str, Any] = {"config": config.to_dict()}
    if isinstance(learnt_with, Sequence):
        tree["agents"] = [asdict(own) for own in learnt_with]
    else:
        tree["hyperparameters"] = checked_hyper(learnt_with).to_dict(config)
    if world is not None:
        tree["world"] = asdict(world)
    text = json.dumps(tree, sort_keys=True)
    arrays: tuple[NDArray[Any], ...] = (q_raw, config.format.to_float(q_raw), np.array(text))
    write_atomically(path, archived(dict(zip(_ARRAYS, arrays, strict=True))))


def load_table(path: str | Path, config: Config) -> NDArray[np.int32]:
    """Return the raw values of a table, int32 of shape `Config.table_shape`.

    Raises TableError if the table has another shape or number format than `config`, or values out of
    range.
    """
    checked_config(config)
    arrays = load_arrays(path, _ARRAYS)
    there = _config(path, arrays["config"]).format
    if there != config.format:
        raise TableError(f"{path}: holds {there} values; this configuration has {config.format}")
    try:
        return checked_table(config, arrays["q_raw"])
    except TableError as cause:
        raise TableError(f"{path}: {cause}") from cause


def policy_table(config: Config, q_raw: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the values whose maximum each table's greedy policy takes, int64, shape (tables, S, A).

    There is one table per agent, or only one; for Double Q-learning it is the sum of the two.
    """
    rows = q_raw.astype(np.int64)
    if config.acting is not None and config.acting.algorithm is Algorithm.DOUBLE_Q_LEARNING:
        rows = rows.sum(axis=-3)
    return rows.reshape(-1, config.states, config.actions)


def table_config(path: str | Path) -> Config:
    """Return the configuration with which the table of a file was learnt."""
    return _config(path, load_arrays(path, _ARRAYS)["config"])


def table_settings(path: str | Path) -> tuple[Config, Hyperparameters | tuple[AgentSettings, ...]]:
    """Return the configuration and the settings with which the table of a file was learnt."""
    text = load_arrays(path, _ARRAYS)["config"]
    config, tree = _config(path, text), json.loads(str(text))
    try:
        if "agents" in tree:
            return config, tuple(
                AgentSettings(**{**own, "epsilon": Epsilon(**own["epsilon"])})
                for own in tree["agents"]
            )
        hyper = tree["hyperparameters"]
        return config, Hyperparameters(**{**hyper, "rounding": Rounding.parse(hyper["rounding"])})
    except (KeyError, TypeError, ConfigError) as cause:
        raise FileFormatError(f"{path}: config does not hold the settings of a run") from cause


def table_world(path: str | Path) -> TableWorld | None:
    """Return the world in which the table of a file was learnt; None if the file does not name it."""
    text = load_arrays(path, _ARRAYS)["config"]
    _config(path, text)
    found = json.loads(str(text)).get("world")
    if found is None:
        return None
    kinds = {"name": str, "states": int, "actions": int, "digest": str | None}
    if not isinstance(found, dict) or not all(
        isinstance(found.get(name), kind) for name, kind in kinds.items()
    ):
        raise FileFormatError(f"{path}: config does not describe a world: {shown(found)}")
    env_kwargs = found.get("env_kwargs", {})
    return TableWorld(**{name: found[name] for name in kinds}, env_kwargs=env_kwargs)


def _config(path: str | Path, text: NDArray[Any]) -> Config:
    try:
        return Config.from_dict(json.loads(str(text))["config"])
    except (ValueError, KeyError, TypeError, RecursionError) as cause:
        raise FileFormatError(f"{path}: config is not the JSON text of a configuration") from cause
