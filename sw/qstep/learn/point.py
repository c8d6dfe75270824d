"""One evaluation of a run of agents: the returns of their episodes and the values of their policies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qstep.learn.table import policy_table
from qstep.mdp.solve import is_quick, start_value
from qstep.mdp.world import World
from qstep.spec.config import Config
from qstep.spec.settings import AgentCounters

__all__ = ["Point", "measured"]


@dataclass(frozen=True, slots=True)
class Point:
    """An evaluation of a run of agents.

    Attributes
    ----------
    steps : int
        Of each agent so far.
    episodes : tuple of int
        Of each agent so far.
    mean_return : tuple of float
        Undiscounted return of the episodes that ended since the previous evaluation, by agent; NaN
        without any.
    value : tuple of float
        Exact discounted value of each agent's greedy policy where episodes start; NaN if it has none
        (gamma is 1) or it takes too long to compute. Empty if the world has no known table, or no
        agent has a value.
    mean_reward : tuple of float
        Reward per step since the previous evaluation, by agent: the learning curve if no episode ends.
    """

    steps: int
    episodes: tuple[int, ...]
    mean_return: tuple[float, ...]
    value: tuple[float, ...]
    mean_reward: tuple[float, ...] = ()

    @property
    def metrics(self) -> dict[str, float]:
        """Numbers for :class:`~qstep.learn.metrics.Metrics`: medians over agents and their bounds."""
        numbers = {"episodes": float(min(self.episodes))}
        curves = {
            "episode_return": self.mean_return,
            "step_reward": self.mean_reward,
            "greedy_value": self.value,
        }
        for name, curve in curves.items():
            if values := [value for value in curve if not math.isnan(value)]:
                numbers[name] = float(np.median(values))
                numbers |= {f"{name}_low": min(values), f"{name}_high": max(values)}
        return numbers


def measured(
    config: Config,
    world: World | None,
    discounts: Sequence[float],
    before: Sequence[AgentCounters],
    now: Sequence[AgentCounters],
    table: NDArray[np.int32],
) -> Point:
    r"""Return the point between two states of the counters: at the previous evaluation, and now.

    Without a known `world`, values are unknown. `discounts` are what each agent learns; `table` has
    raw values of shape (\*Acting.tables, S, A).
    """
    resolution = config.format.resolution
    means, rewards = [], []
    for old, new in zip(before, now, strict=True):
        total, ended = (new.return_sum - old.return_sum) * resolution, new.episodes - old.episodes
        means.append(total / ended if ended else math.nan)
        rewards.append(total / (new.steps - old.steps))
    quick = [world is not None and is_quick(world, discount) for discount in discounts]
    values: list[float] = []
    if world is not None and any(quick):
        policies = policy_table(config, table).argmax(axis=-1)
        if len(policies) < len(discounts):  # the agents share one
            policies = np.repeat(policies, len(discounts), axis=0)
        values = [
            start_value(world, policy, discount) if known else math.nan
            for policy, discount, known in zip(policies, discounts, quick, strict=True)
        ]
    episodes = tuple(own.episodes for own in now)
    return Point(now[0].steps, episodes, tuple(means), tuple(values), tuple(rewards))
