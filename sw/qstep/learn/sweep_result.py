"""The result of a sweep: by point and seed, and the ranking of points."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from operator import itemgetter
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from qstep.errors import ConfigError, FileFormatError, WorldError
from qstep.learn.agents import AgentsRun
from qstep.learn.agents_result import AgentsResult, Greedy
from qstep.learn.plan import Budget
from qstep.learn.result import VERSION, Files, History, Result, saturated_in_words
from qstep.learn.sweep_plan import SweepPlan, SweepPoint
from qstep.learn.train import finished
from qstep.mdp.world import World
from qstep.spec.fixed import Rounding
from qstep.spec.settings import AgentCounters

__all__ = ["CURVES", "NEAR", "Learnt", "Score", "SweepResult", "load_sweep", "packed", "unpacked"]

NEAR = 0.01
"""How far below the optimum, as a share of it, a policy may be worth to count as near."""

CURVES = ("episode_return", "greedy_value")
"""The names of :attr:`Learnt.mean_return` and :attr:`Learnt.value` in files."""

_COUNTERS = ("terminations", "truncations", "saturations", "return_sum")

_TIE = 1e-9
"""Returns closer than this are equally good."""


@dataclass(frozen=True, slots=True)
class Learnt:
    """The result of one agent.

    Attributes
    ----------
    mean_return : tuple of float
        By evaluation: mean return, while exploring, of the episodes that ended since the one before;
        NaN if none ended.
    value : tuple of float
        By evaluation: exact discounted value of its greedy policy where episodes start; empty if that
        takes too long to compute.
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
        """How much less than the optimum the policy is worth, as a share of it, by evaluation."""
        best = self.optimum
        if best is None:
            return []
        return [max(0.0, best - value) / max(abs(best), _TIE) for value in self.value]


def packed(learnt: Sequence[Learnt]) -> tuple[list[dict[str, Any]], dict[str, NDArray[np.float64]]]:
    """Return agents as plain values, and their curves as arrays of shape (agents, evaluations)."""
    rows = [
        {
            "greedy_return": own.greedy.mean_return,
            "greedy_success": own.greedy.success,
            "greedy_length": own.greedy.mean_length,
            "optimum": own.optimum,
            "near_after": own.near_after,
            **{name: getattr(own.counters, name) for name in _COUNTERS},
            "table_sha256": own.table_sha256,
        }
        for own in learnt
    ]
    values = [own.value or (math.nan,) * len(own.mean_return) for own in learnt]
    curves = zip(CURVES, ([own.mean_return for own in learnt], values), strict=True)
    return rows, {name: np.array(curve, np.float64) for name, curve in curves}


def unpacked(
    rows: Iterable[Mapping[str, Any]], curves: Mapping[str, NDArray[np.float64]], steps: int
) -> list[Learnt]:
    """Return the agents of :func:`packed`, which made `steps` steps each."""
    returns, values = (curves[name].tolist() for name in CURVES)
    return [
        Learnt(
            tuple(mean_return),
            () if row["optimum"] is None else tuple(value),
            row["optimum"],
            row["near_after"],
            Greedy(row["greedy_return"], row["greedy_success"], row["greedy_length"]),
            AgentCounters(steps, *(row[name] for name in _COUNTERS)),
            row["table_sha256"],
        )
        for row, mean_return, value in zip(rows, returns, values, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Score:
    """The score of a point over its seeds.

    Attributes
    ----------
    greedy_return : float
        Mean of the undiscounted returns of the last greedy policies, exact.
    worst, best : float
        The least and the greatest of these returns.
    greedy_success : float or None
        Mean probability of success.
    near_agents : int
        Agents whose policies came within 1 % of the optimum and stayed.
    near_after : float
        Median of their steps until then; infinite if most never came near.
    """

    greedy_return: float
    worst: float
    best: float
    greedy_success: float | None
    near_agents: int
    near_after: float

    @classmethod
    def of(cls, learnt: Sequence[Learnt]) -> Self:
        """Summarise the agents of a point."""
        returns = [own.greedy.mean_return for own in learnt]
        successes = [own.greedy.success for own in learnt if own.greedy.success is not None]
        near = [own.near_after for own in learnt if own.near_after is not None]
        return cls(
            statistics.fmean(returns),
            min(returns),
            max(returns),
            statistics.fmean(successes) if successes else None,
            len(near),
            statistics.median_high([*near, *[math.inf] * (len(learnt) - len(near))]),
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
        Time in this process, including the start of workers, and evaluations.
    steps : int
        Steps of all agents, made in this process.
    env_kwargs : dict
        Arguments of the environment.
    """

    name: str
    device: str
    plan: SweepPlan
    learnt: tuple[tuple[Learnt, ...], ...]
    seconds: float
    steps: int
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def history(self) -> History:  # type: ignore[override]  # computed when it is read
        """Evaluations: ``steps``; of shape (evaluations, points, seeds) the rest.

        That is ``episode_return`` and ``greedy_value``, which is NaN where it is not known.
        """
        _, curves = packed([*itertools.chain(*self.learnt)])
        shape = (-1, len(self.plan.points), len(self.plan.seeds))
        columns = {name: curve.T.reshape(shape) for name, curve in curves.items()}
        return {"evaluations": {"steps": np.array(self.looks), **columns}}

    @cached_property
    def trained(self) -> AgentsResult:
        """The best point's first agent, learned once more on the model: bit for bit the same.

        Raises
        ------
        WorldError
            The result was loaded, and its world has changed since.
        """
        point, plan = self.best, self.plan
        if plan.world is None:
            plan = replace(plan, world=World.named(self.name, self.env_kwargs))
        part = plan.part([point.settings(plan.seeds[0])], point.algorithm, point.format)
        result = finished(AgentsRun(self.name, "model", part, env_kwargs=self.env_kwargs))
        assert isinstance(result, AgentsResult)
        if result.counters[0] != self.learnt[self.ranking[0]][0].counters:
            raise WorldError(f"{self.name}: has changed since the sweep; sweep it again")
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
        """The steps after which each evaluation was made."""
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
        """Return the report, points best first; keys as in that of :func:`qstep.train`."""
        plan = self.plan
        return {
            "command": "sweep",
            "engine": "agents",
            "world": self.name,
            "device": self.device,
            "env_kwargs": dict(self.env_kwargs),
            "steps_per_agent": plan.steps,
            "rounding": plan.rounding.value,
            "seeds": list(plan.seeds),
            "is_grid": plan.is_grid,
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
        """Return a point as plain values; `number` is its position in the history's arrays."""
        point = self.plan.points[number]
        agents, _ = packed(self.learnt[number])
        score = asdict(self.scores[number])
        if math.isinf(score["near_after"]):
            score["near_after"] = None
        settings = {**point.to_dict(), "discount": point.discount}
        return {"number": number, **settings, **score, "by_seed": agents}


def load_sweep(folder: Path, report: dict[str, Any], history: History) -> SweepResult:
    """Return the result of a sweep from its folder; errors are those of `qstep.load`."""
    try:
        points = sorted(report["points"], key=itemgetter("number"))
        columns = history["evaluations"]
        seeds, steps = tuple(report["seeds"]), report["steps_per_agent"]
        learnt = tuple(
            tuple(
                unpacked(point["by_seed"], {name: columns[name][:, n].T for name in CURVES}, steps)
            )
            for n, point in enumerate(points)
        )
        rounding = Rounding.parse(report["rounding"])
        plain = tuple(map(SweepPoint.from_dict, points))
        return SweepResult(
            report["world"],
            report["device"],
            SweepPlan(None, plain, seeds, steps, rounding, None, report["is_grid"]),
            learnt,
            report["seconds"],
            report["steps"],
            report["env_kwargs"],
        )
    except (ConfigError, LookupError, TypeError, ValueError) as cause:
        why = f"{type(cause).__name__}: {cause}"
        raise FileFormatError(
            f"{folder}: does not hold a sweep of version {VERSION} ({why}); sweep it again"
        ) from cause
