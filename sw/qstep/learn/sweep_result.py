"""The result of a sweep: by point and seed, and the ranking of points."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from qstep.learn.agents import AgentsRun
from qstep.learn.agents_result import Greedy
from qstep.learn.plan import Budget
from qstep.learn.result import Files, History, Result, saturated_in_words
from qstep.learn.sweep_plan import SweepPlan, SweepPoint
from qstep.learn.table_result import TableResult
from qstep.learn.train import finished
from qstep.spec.settings import AgentCounters

__all__ = ["NEAR", "Learnt", "Score", "SweepResult"]

NEAR = 0.01
"""How far below the optimum, as a share of it, a policy may be worth to count as near."""

_TIE = 1e-9
"""Returns closer than this are equally good."""


@dataclass(frozen=True, slots=True)
class Learnt:
    """The result of one agent.

    Attributes
    ----------
    mean_return : tuple of float
        By look: mean return, while exploring, of the episodes that ended since the look before; NaN if
        none ended.
    value : tuple of float
        By look: exact discounted value of its greedy policy where episodes start; empty if that takes
        too long to compute.
    optimum : float or None
        Value of the optimal policy there.
    near_after : int or None
        Steps after which the value of its policy came within 1 % of that and stayed there.
    greedy : Greedy
        Exact results of its last policy in an episode.
    counters : AgentCounters
    table_sha256 : str
        Hash of its tables as little-endian int32.
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
        """How much less than the optimum the policy is worth, as a share of it, by look."""
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
        """Return the result from :meth:`to_head` and the curves."""
        parts = {"greedy": Greedy(**head["greedy"]), "counters": AgentCounters(**head["counters"])}
        return cls(mean_return=mean_return, value=value, **{**head, **parts})


@dataclass(frozen=True, slots=True)
class Score:
    """The score of a point over its seeds.

    Attributes
    ----------
    greedy_return : float
        Mean of the undiscounted returns of the last greedy policies, exact.
    worst, best : float
        The least and the greatest of these returns.
    success : float or None
        Mean probability of success.
    near : int
        Agents whose policies came within 1 % of the optimum and stayed.
    near_after : float
        Median of their steps until then; infinite if most never came near.
    """

    greedy_return: float
    worst: float
    best: float
    success: float | None
    near: int
    near_after: float

    @classmethod
    def of(cls, learnt: Sequence[Learnt]) -> Self:
        """Summarise the agents of a point."""
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


@dataclass(frozen=True, repr=False)
class SweepResult(Result):
    """The result of a finished sweep.

    Attributes
    ----------
    device : str
    plan : SweepPlan
    learnt : tuple of tuple of Learnt
        By point and by seed.
    seconds : float
        Time in this process, including the start of workers, and looks.
    steps : int
        Steps of all agents, made in this process.
    """

    name: str
    device: str
    plan: SweepPlan
    learnt: tuple[tuple[Learnt, ...], ...]
    seconds: float
    steps: int

    @cached_property
    def history(self) -> History:  # type: ignore[override]  # computed when asked for
        """Evaluations: ``steps``, and ``episode_return`` of shape (evaluations, points, seeds)."""
        returns = [[own.mean_return for own in row] for row in self.learnt]
        curves = np.moveaxis(np.array(returns, np.float64), -1, 0)
        return {"evaluations": {"steps": np.array(self.looks), "episode_return": curves}}

    @cached_property
    def trained(self) -> TableResult:
        """The best point's first agent, learned once more on the model: bit for bit the same."""
        point, plan = self.best, self.plan
        part = plan.part([point.settings(plan.seeds[0])], point.algorithm, point.format)
        result = finished(AgentsRun(self.name, "model", part))
        assert isinstance(result, TableResult)
        return result

    def act(self, observation: Any) -> int:
        """Return the greedy action of :attr:`trained`."""
        return self.trained.act(observation)

    def evaluate(self, env: Any = None, episodes: int = 100, seed: int = 0) -> dict[str, Any]:
        """Play greedy episodes of :attr:`trained`."""
        return self.trained.evaluate(env, episodes, seed)

    def _files(self) -> Files:
        """Return the pictures: the two main axes, and learning curves of the best points."""
        from qstep.learn.sweep_views import draw_curves, draw_map

        pictures = {"heat_map.png": draw_map, "learning_curves.png": draw_curves}
        return Files({}, {name: partial(draw, self) for name, draw in pictures.items()})

    def __repr__(self) -> str:
        return f"<SweepResult {self.name}: {len(self.learnt)} points, {len(self.plan.seeds)} seeds>"

    @property
    def looks(self) -> list[int]:
        """The steps after which each look was taken."""
        budget, found = Budget(steps=self.plan.steps), [0]
        while found[-1] < self.plan.steps:
            found.append(found[-1] + budget.piece(found[-1]))
        return found[1:]

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """The scores, by point."""
        return tuple(Score.of(own) for own in self.learnt)

    @cached_property
    def ranking(self) -> tuple[int, ...]:
        """Points, best first: by greedy return; in a tie, the one that came near the optimum sooner."""
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

    @cached_property
    def saturations(self) -> tuple[int, ...]:
        """Updates of all agents of a point that did not fit its format, by point."""
        return tuple(sum(own.counters.saturations for own in row) for row in self.learnt)

    @property
    def saturated(self) -> str | None:
        """A sentence about the saturations of the point with the most; None without any."""
        most = max(self.saturations)
        if not most:
            return None
        point = self.plan.points[self.saturations.index(most)]
        updates = self.plan.steps * len(self.plan.seeds)
        points = sum(count > 0 for count in self.saturations)
        words = saturated_in_words(most, updates, point.format)
        which = f"alpha {point.alpha:g}, gamma {point.gamma:g}"
        return f"{words} ({which}; points with saturations: {points} of {len(self.learnt)})"

    def summary(self) -> dict[str, Any]:
        """Return everything as plain values, points best first; null where there is no number."""
        return {
            "command": "sweep",
            "engine": "agents",
            "world": self.name,
            "device": self.device,
            "steps_per_agent": self.plan.steps,
            "rounding": self.plan.rounding.value,
            "seeds": list(self.plan.seeds),
            "looks": self.looks,
            "points": [self._point(number) for number in self.ranking],
            "steps": self.steps,
            "seconds": self.seconds,
            "steps_per_second": self.steps / self.seconds if self.steps else None,
            "train": self._train_command(),
        }

    def _train_command(self) -> str:
        """Return the command that repeats the best point with the first seed."""
        plan, point = self.plan, self.best
        epsilon = point.epsilon
        start, end, share = epsilon.start, epsilon.start, 0.0
        if epsilon.kind == "linear":
            end, share = epsilon.end, epsilon.over / plan.steps
            if int(share * plan.steps) < epsilon.over:  # the quotient was rounded down
                share = math.nextafter(share, 1)
        options: dict[str, Any] = {
            "agents": 1,
            "steps": plan.steps,
            "algorithm": point.algorithm.value,
            "format": point.format,
            "rounding": plan.rounding.value,
            "alpha": point.alpha,
            "gamma": point.gamma,
            "epsilon-start": start,
            "epsilon-end": end,
            "epsilon-share": share,
            "seed": plan.seeds[0],
        }
        words = [f"--{option} {value}" for option, value in options.items()]
        return " ".join(["qstep train", self.name, *words])

    def _point(self, number: int) -> dict[str, Any]:
        score = asdict(self.scores[number])
        score["near_after"] = _known(score["near_after"])
        agents = [
            {**own.to_head(), "mean_return": [*map(_known, own.mean_return)], "loss": own.loss}
            for own in self.learnt[number]
        ]
        point = self.plan.points[number]
        return {**point.to_dict(), "discount": point.discount, **score, "agents": agents}


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
