"""Lanes in lockstep: a farm for the smallest chips, with fixed sizes (docs/lockstep.md).

The twin in hardware is ``qs_lockstep_pkg``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qstep.errors import ConfigError
from qstep.fixed import Rounding

if TYPE_CHECKING:
    from qstep.config import Config

__all__ = ["AGENTS", "MOST_LANES", "check_lockstep"]

AGENTS = 9
"""Agents of a lane, and clocks of a rotation."""

MOST_LANES = 4
"""Of a device; there are two at least."""

_ACTIONS, _WIDTH, _MOST_STATES = 4, 8, 25


def check_lockstep(config: Config) -> None:
    """Raise ConfigError if `config`, whose lanes are in lockstep, is not one that they can have."""
    acting = config.acting
    assert acting is not None
    fixed = {
        "actions": (config.actions, _ACTIONS),
        "bits of format": (config.format.width, _WIDTH),
        "acting.agents": (acting.agents, AGENTS * config.lanes),
        "acting.algorithm": (acting.algorithm.value, "q-learning"),
        "acting.world": (acting.world, "table"),
        "acting.outcomes": (acting.outcomes, 1),
        "acting.starts": (acting.starts, 1),
        "acting.shared_table": (acting.shared_table, False),
        "acting.schedules": (acting.schedules, False),
        "acting.step_limit": (acting.step_limit, False),
    }
    ranges = {"lanes": (config.lanes, 2, MOST_LANES), "states": (config.states, 2, _MOST_STATES)}
    for name, (given, low, high) in ranges.items():
        if not low <= given <= high:
            raise ConfigError(
                f"{name} is {given}; it must be {low} to {high} where acting.lockstep is true"
            )
    for name, (value, only) in fixed.items():
        if value != only:
            raise ConfigError(
                f"{name} is {value!r}; it must be {only!r} where acting.lockstep is true"
            )
    if config.rounding is Rounding.STOCHASTIC:
        raise ConfigError(
            "rounding is 'stochastic'; it must be 'nearest' or 'floor' where acting.lockstep is true"
        )
