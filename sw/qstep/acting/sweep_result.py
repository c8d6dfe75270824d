"""What a sweep came to: by point and seed, and which points are best."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

from qstep.acting.agent import AgentCounters
from qstep.acting.result import Greedy
from qstep.acting.sweep_plan import SweepPlan, SweepPoint
from qstep.acting.training import Budget

__all__ = ["NEAR", "Learnt", "Score", "SweepResult"]

NEAR = 0.01
"""What a policy may be worth less than the optimum to count as near, as a share of it."""

_TIE = 1e-9
"""Of returns: what is closer is as good."""


@dataclass(frozen=True, slots=True)
class Learnt:
    """What one agent came to.

    Attributes
    ----------
    mean_return : tuple of float
        Of the episodes that ended since the look before, exploring, by look; NaN where none did.
    value : tuple of float
        What its greedy policy is worth where episodes start, exact and discounted, by look; empty where
        that is not quickly computed.
    optimum : float or None
        What the optimal policy is worth there.
    near_after : int or None
        Steps after which its policy was, and stayed, worth within 1 % of that.
    greedy : Greedy
        What its last policy reaches in an episode, exactly.
    counters : AgentCounters
    table_sha256 : str
        Of its tables as little-endian int32.
    """

    mean_return: tuple[float, ...]
    value: tuple[float, ...]
    optimum: float | None
    near_after: int | None
    greedy: Greedy
    counters: AgentCounters
    table_sha256: str

    @property
    def loss(self) -> list[float]:
        """What the policy is worth less than the optimum, as a share of it, by look."""
        best = self.optimum
        if best is None:
            return []
        return [max(0.0, best - value) / max(abs(best), _TIE) for value in self.value]

    def to_head(self) -> dict[str, Any]:
        """Return all but the curves as plain values."""
        tree = asdict(self)
        del tree["mean_return"], tree["value"]
        return tree

    @classmethod
    def of_head(
        cls, head: dict[str, Any], mean_return: tuple[float, ...], value: tuple[float, ...]
    ) -> Self:
        """Return what :meth:`to_head` and the curves were made of."""
        parts = {"greedy": Greedy(**head["greedy"]), "counters": AgentCounters(**head["counters"])}
        return cls(mean_return=mean_return, value=value, **{**head, **parts})


@dataclass(frozen=True, slots=True)
class Score:
    """How good a point is, over its seeds.

    Attributes
    ----------
    greedy_return : float
        Mean of the undiscounted returns of the last greedy policies, exact.
    worst, best : float
        The least and the greatest of them.
    success : float or None
        Mean probability of success.
    near : int
        Agents whose policies came within 1 % of the optimum and stayed.
    near_after : float
        Median of the steps that they took; infinite where most never came near.
    """

    greedy_return: float
    worst: float
    best: float
    success: float | None
    near: int
    near_after: float

    @classmethod
    def of(cls, learnt: Sequence[Learnt]) -> Self:
        """Sum up the agents of a point."""
        returns = [own.greedy.mean_return for own in learnt]
        successes = [own.greedy.success for own in learnt if own.greedy.success is not None]
        near = [own.near_after for own in learnt]
        steps = [math.inf if after is None else float(after) for after in near]
        return cls(
            statistics.fmean(returns),
            min(returns),
            max(returns),
            statistics.fmean(successes) if successes else None,
            sum(after is not None for after in near),
            statistics.median_high(steps),
        )


@dataclass(frozen=True)
class SweepResult:
    """A sweep that is over.

    Attributes
    ----------
    plan : SweepPlan
    learnt : tuple of tuple of Learnt
        By point and by seed.
    seconds : float
        In this process, with start-up of workers and looks.
    steps : int
        Of all agents, made in this process.
    """

    plan: SweepPlan
    learnt: tuple[tuple[Learnt, ...], ...]
    seconds: float
    steps: int

    @property
    def looks(self) -> list[int]:
        """The steps after which agents were looked at."""
        budget, found = Budget(steps=self.plan.steps), [0]
        while found[-1] < self.plan.steps:
            found.append(found[-1] + budget.piece(found[-1]))
        return found[1:]

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """By point."""
        return tuple(Score.of(own) for own in self.learnt)

    @cached_property
    def ranking(self) -> tuple[int, ...]:
        """Points, best first: by greedy return, and where that ties the sooner near the optimum."""
        scale = max(1.0, *(abs(score.greedy_return) for score in self.scores))
        order = [
            (-round(score.greedy_return / (scale * _TIE)), score.near_after, number)
            for number, score in enumerate(self.scores)
        ]
        return tuple(number for *_, number in sorted(order))

    @property
    def best(self) -> SweepPoint:
        """The first of :attr:`ranking`."""
        return self.plan.points[self.ranking[0]]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, points best first; null where there is no number."""
        return {
            "steps_per_agent": self.plan.steps,
            "rounding": self.plan.rounding.value,
            "seeds": list(self.plan.seeds),
            "looks": self.looks,
            "points": [self._point(number) for number in self.ranking],
            "steps": self.steps,
            "seconds": self.seconds,
        }

    def _point(self, number: int) -> dict[str, Any]:
        score = asdict(self.scores[number])
        score["near_after"] = _known(score["near_after"])
        agents = [
            {**own.to_head(), "mean_return": [*map(_known, own.mean_return)], "loss": own.loss}
            for own in self.learnt[number]
        ]
        return {**self.plan.points[number].to_dict(), **score, "agents": agents}


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
