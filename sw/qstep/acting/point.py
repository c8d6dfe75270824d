"""A look at a run of agents: how their episodes went, and what their policies are worth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qstep.acting.agent import AgentCounters
from qstep.acting.world import World
from qstep.config import Config
from qstep.learn.value_iteration import is_quick, start_value
from qstep.table import policy_table

__all__ = ["Point", "look"]


@dataclass(frozen=True, slots=True)
class Point:
    """A look at a run.

    Attributes
    ----------
    steps : int
        Of each agent so far.
    episodes : tuple of int
        Of each agent so far.
    mean_return : tuple of float
        Of the episodes that ended since the look before, undiscounted, by agent; NaN where none did.
    value : tuple of float
        What the greedy policy of each agent is worth where episodes start, exact and discounted; empty
        where gamma is 1, or no table of the world is known.
    """

    steps: int
    episodes: tuple[int, ...]
    mean_return: tuple[float, ...]
    value: tuple[float, ...]

    @property
    def metrics(self) -> dict[str, float]:
        """What it tells, for :class:`~qstep.metrics.Metrics`: over agents, medians and their bounds."""
        told = {"episodes": float(min(self.episodes))}
        known = [mean for mean in self.mean_return if not math.isnan(mean)]
        for name, values in (("episode_return", known), ("greedy_value", self.value)):
            if values:
                told[name] = float(np.median(values))
                told |= {f"{name}_low": min(values), f"{name}_high": max(values)}
        return told


def look(
    config: Config,
    world: World | None,
    gammas: Sequence[float],
    before: Sequence[AgentCounters],
    now: Sequence[AgentCounters],
    table: NDArray[np.int32],
) -> Point:
    """Return what a look shows.

    Parameters
    ----------
    config : Config
    world : World or None
        None where no table of it is known, so that values are not.
    gammas : sequence of float
        Of each agent.
    before, now : sequence of AgentCounters
        Of each agent at the look before, and at this one.
    table : ndarray of int32, shape (*Acting.tables, S, A)
        Raw values.
    """
    resolution = config.format.resolution
    means = [
        (new.return_sum - old.return_sum) * resolution / (new.episodes - old.episodes)
        if new.episodes > old.episodes
        else float("nan")
        for old, new in zip(before, now, strict=True)
    ]
    return Point(
        now[0].steps,
        tuple(own.episodes for own in now),
        tuple(means),
        () if world is None else tuple(_values(config, world, gammas, table)),
    )


def _values(
    config: Config, world: World, gammas: Sequence[float], table: NDArray[np.int32]
) -> list[float]:
    """Return what each agent's greedy policy is worth where episodes start."""
    policies = policy_table(config, table).argmax(axis=-1)
    if len(policies) < len(gammas):  # they share one
        policies = np.repeat(policies, len(gammas), axis=0)
    return [
        start_value(world, policy, gamma)
        for policy, gamma in zip(policies, gammas, strict=True)
        if is_quick(world, gamma)
    ]
