"""A learned table as a file: raw values, real values, and the settings that produced them.

The file is a ``.npz`` of three arrays, none pickled: ``q_raw`` (int32, shape ``Config.table_shape``),
``q`` (float64, the same values) and ``config`` (JSON text: the configuration, the hyperparameters or the
settings of each agent, the median agent, and the :class:`TableWorld` if it is known). It contains
neither the device nor the time, so the same run gives the same bytes on every device.
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
from qstep.spec.settings import AgentSettings, Hyperparameters, checked_hyper

if TYPE_CHECKING:
    from qstep.mdp.world import World

__all__ = ["SavedTable", "TableWorld", "load_table", "policy_table", "save_table"]

_ARRAYS = ("q_raw", "q", "config")


@dataclass(frozen=True, slots=True)
class TableWorld:
    """The world in which a table was learned.

    Attributes
    ----------
    name : str
        The name given when the run was started, for example on the command line; the path of a file may
        be relative.
    states, actions : int
        Size of the world; the table may have additional rows, which are zero.
    digest : str or None
        :attr:`qstep.World.digest` without a step limit; None if the world has no transition table.
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
        world: World | None = None,
        env_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Describe a world of this size; `world` is None if its transition table is unknown."""
        digest = None if world is None else world.limited(0).digest
        return cls(name, *size, digest, dict(env_kwargs or {}))


def save_table(
    path: str | Path,
    q_raw: NDArray[np.int32],
    config: Config,
    learnt_with: Hyperparameters | Sequence[AgentSettings],
    world: TableWorld | None = None,
    median_agent: int = 0,
) -> None:
    """Write a table; an existing file is replaced either completely or not at all.

    `learnt_with` is a sequence of settings if ``config.acting`` defines agents; `world` is omitted if it
    is unknown, as after ``qstep replay``. `median_agent`, 0 for a single table, is the agent whose table
    ``qstep play`` and ``qstep export`` use by default. Raises TableError if the values are not a valid
    table for `config`, and FileFormatError if the file cannot be written.
    """
    q_raw = checked_table(checked_config(config), q_raw)
    tree: dict[str, Any] = {"config": config.to_dict()}
    if isinstance(learnt_with, Sequence):
        tree |= {"agents": [asdict(own) for own in learnt_with], "median_agent": median_agent}
    else:
        tree["hyperparameters"] = checked_hyper(learnt_with).to_dict(config)
    if world is not None:
        tree["world"] = asdict(world)
    text = json.dumps(tree, sort_keys=True)
    arrays: tuple[NDArray[Any], ...] = (q_raw, config.format.to_float(q_raw), np.array(text))
    write_atomically(path, archived(dict(zip(_ARRAYS, arrays, strict=True))))


@dataclass(frozen=True, slots=True)
class SavedTable:
    """The content of a table's file: raw values, int32 of shape `Config.table_shape`, and settings.

    `world` is None if the file does not name it; `median_agent` is 0 for a single table.
    """

    q_raw: NDArray[np.int32]
    config: Config
    learnt_with: Hyperparameters | tuple[AgentSettings, ...]
    world: TableWorld | None
    median_agent: int = 0


def load_table(path: str | Path, config: Config | None = None) -> SavedTable:
    """Read a table's file.

    Raises FileFormatError if it is absent, damaged or not a ``.npz``, or if a part is missing or
    illegal. Raises TableError if a value is out of range, or if shape or format differ from `config`.
    """
    if config is not None:
        checked_config(config)
    arrays = load_arrays(path, _ARRAYS)
    try:
        tree = json.loads(str(arrays["config"]))
        there = Config.from_dict(tree["config"])
    except (ValueError, KeyError, TypeError, RecursionError) as cause:
        raise FileFormatError(f"{path}: config is not the JSON text of a configuration") from cause
    if config is not None and there.format != config.format:
        raise TableError(
            f"{path}: holds {there.format} values; this configuration has {config.format}"
        )
    try:
        q_raw = checked_table(config or there, arrays["q_raw"])
    except TableError as cause:
        raise TableError(f"{path}: {cause}") from cause
    world = _world(path, tree.get("world"))
    median, acting = tree.get("median_agent", 0), (config or there).acting
    tables = 1 if acting is None or acting.shared_table else acting.agents
    if not isinstance(median, int) or not 0 <= median < tables:
        raise FileFormatError(
            f"{path}: median_agent is {shown(median)}; it must be an integer from 0 to {tables - 1}"
        )
    return SavedTable(q_raw, there, _settings(path, tree), world, median)


def _settings(
    path: str | Path, tree: dict[str, Any]
) -> Hyperparameters | tuple[AgentSettings, ...]:
    try:
        if "agents" in tree:
            return tuple(
                AgentSettings(**{**own, "epsilon": Epsilon(**own["epsilon"])})
                for own in tree["agents"]
            )
        return Hyperparameters(**tree["hyperparameters"])
    except ConfigError as cause:
        raise FileFormatError(f"{path}: holds illegal settings: {cause}") from cause
    except (KeyError, TypeError) as cause:
        raise FileFormatError(f"{path}: config does not hold the settings of a run") from cause


def _world(path: str | Path, found: Any) -> TableWorld | None:
    if found is None:
        return None
    kinds = {"name": str, "states": int, "actions": int, "digest": str | None}
    if not isinstance(found, dict) or not all(
        isinstance(found.get(name), kind) for name, kind in kinds.items()
    ):
        raise FileFormatError(f"{path}: config does not describe a world: {shown(found)}")
    env_kwargs = found.get("env_kwargs", {})
    return TableWorld(**{name: found[name] for name in kinds}, env_kwargs=env_kwargs)


def policy_table(config: Config, q_raw: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the action values that each table's greedy policy maximises, int64, shape (tables, S, A).

    There is one table per agent, or a single table. For Double Q-learning, it is the sum of the two
    tables. With planes, the shape is (tables, T, S, A), and the policy sums the rows of all planes.
    """
    rows = q_raw.astype(np.int64)
    if config.acting is not None and config.acting.algorithm is Algorithm.DOUBLE_Q_LEARNING:
        rows = rows.sum(axis=-3)
    planes = () if config.planes == 1 else (config.planes,)
    return rows.reshape(-1, *planes, config.states, config.actions)
