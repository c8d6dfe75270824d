"""The result of a sweep, by point and seed, and the ranking of its points."""

from __future__ import annotations

import json
import math
import shlex
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep.envs.catalogue import UNNAMED
from qstep.errors import ConfigError, FileFormatError, WorldError
from qstep.learn.agents import AgentsRun
from qstep.learn.agents_result import AgentsResult
from qstep.learn.plan import AgentsWorld, world_of_agents
from qstep.learn.result import VERSION, Files, History, Result, saturated_in_words
from qstep.learn.run import finished
from qstep.learn.sweep_plan import SweepPlan, SweepPoint
from qstep.spec.fixed import COEFFICIENT_BITS, QFormat, Rounding

__all__ = ["CURVES", "SweepResult", "load_sweep"]

CURVES = ("episodes", "episode_return", "step_reward", "greedy_value")

_TIE = 1e-9
"""Returns closer than this, as a fraction of the largest, are equally good."""


@dataclass(frozen=True, repr=False)
class SweepResult(Result):
    """The result of a finished sweep.

    Attributes
    ----------
    device : str
    plan : SweepPlan
    by_seed : list of list of dict
        Results of each agent by point and seed, as in the report. ``greedy_return``, ``greedy_success``
        and ``greedy_length`` describe its last policy: exactly, or from played episodes with planes.
        ``optimum`` is the start value of the optimal policy, None if it takes too long to compute.
        ``near_after`` is the number of steps after which the value of the agent's policy came within 1 %
        of the optimum and stayed there, or None. All other values are counters, except ``table_sha256``,
        which is the hash of the agent's tables as little-endian int32.
    history : History
        Evaluations: ``steps``, and the curves of :class:`~qstep.learn.agents_result.Point`, each of
        shape (evaluations, points, seeds): ``episodes``, ``episode_return`` and ``step_reward`` with
        exploration, and ``greedy_value``.
    seconds : float
        Time in this process, including worker start-up and evaluations.
    steps : int
        Steps of all agents, taken in this process.
    env_kwargs : dict
        Arguments of the environment.
    """

    name: str
    device: str
    plan: SweepPlan
    by_seed: Sequence[Sequence[Mapping[str, Any]]]
    history: History
    seconds: float
    steps: int
    env_kwargs: Mapping[str, Any]

    @cached_property
    def trained(self) -> AgentsResult:
        """The best point's first agent, trained again on the model with a bit-identical result.

        Raises
        ------
        WorldError
            The result was loaded, and its world has changed since.
        """
        point, plan = self.best, self.plan
        if plan.world is None:
            plan = replace(plan, world=self._named())
            assert plan.world is not None
            if plan.world.digest != plan.digest:
                raise WorldError(f"{self.name}: has changed since the sweep; sweep it again")
        part = plan.part([point.settings(plan.seeds[0])], point.algorithm, point.format)
        result = finished(AgentsRun(self.name, "model", part, env_kwargs=self.env_kwargs))
        assert isinstance(result, AgentsResult)
        return result

    def _named(self) -> AgentsWorld:
        """Return the world with this result's name."""
        world = world_of_agents(self.name, self.env_kwargs)
        assert not isinstance(world, str)  # a circuit cannot be swept
        return world

    def act(self, observation: Any) -> int:
        """Return the greedy action of :attr:`trained`."""
        return self.trained.act(observation)

    def evaluate(self, env: Any = None, episodes: int = 100, seed: int = 0) -> dict[str, Any]:
        """Play greedy episodes of :attr:`trained`."""
        return self.trained.evaluate(env, episodes, seed)

    def _files(self) -> Files:
        """Return the pictures: a map over the two main axes, and learning curves of the best points."""
        from qstep.learn.sweep_views import draw_curves, draw_map

        pictures = {"heat_map.png": draw_map, "learning_curves.png": draw_curves}
        return Files({}, {name: partial(draw, self) for name, draw in pictures.items()})

    def __repr__(self) -> str:
        counts = f"{len(self.plan.points)} points, {len(self.plan.seeds)} seeds"
        return f"<SweepResult {self.name}: {counts}>"

    @cached_property
    def loss(self) -> NDArray[np.float64]:
        """Shortfall of policies' values below the optimum, as a fraction of it; shape as in history."""
        best = np.array([[agent["optimum"] for agent in row] for row in self.by_seed], np.float64)
        value = self.history["evaluations"]["greedy_value"]
        return np.maximum(0.0, best - value) / np.maximum(abs(best), _TIE)

    @cached_property
    def points(self) -> tuple[dict[str, Any], ...]:
        """Points in the order of the plan, as in the report: settings, and scores over the seeds."""
        return tuple(
            {
                "number": number,
                **point.to_dict(),
                "discount": self.plan.discount(point),
                **_score(agents),
                "by_seed": list(agents),
            }
            for number, (point, agents) in enumerate(
                zip(self.plan.points, self.by_seed, strict=True)
            )
        )

    @cached_property
    def ranking(self) -> tuple[int, ...]:
        """Points, best first: by greedy return, then by how soon they came near the optimum."""
        scale = _TIE * max(1.0, *(abs(point["greedy_return"]) for point in self.points))

        def order(point: dict[str, Any]) -> tuple[int, float]:
            after = point["near_after"]
            return -round(point["greedy_return"] / scale), math.inf if after is None else after

        return tuple(point["number"] for point in sorted(self.points, key=order))

    @property
    def best(self) -> SweepPoint:
        """The first point of :attr:`ranking`."""
        return self.plan.points[self.ranking[0]]

    @property
    def saturated(self) -> str | None:
        """A sentence about the point with the most saturations; None if no point saturated."""
        worst = max(self.points, key=itemgetter("saturations"))
        if not worst["saturations"]:
            return None
        updates = self.plan.steps * len(self.plan.seeds)
        words = saturated_in_words(worst["saturations"], updates, QFormat.parse(worst["format"]))
        which = f"alpha {worst['alpha']:g}, gamma {worst['gamma']:g}"
        count = sum(point["saturations"] > 0 for point in self.points)
        return f"{words} ({which}; points with saturations: {count} of {len(self.points)})"

    def summary(self) -> dict[str, Any]:
        """Return the report, best points first; its keys are as in the report of :func:`qstep.train`."""
        plan = self.plan
        return {
            "command": "sweep",
            "engine": "agents",
            "world": self.name,
            "world_digest": plan.digest,
            "device": self.device,
            "env_kwargs": dict(self.env_kwargs),
            "steps_per_agent": plan.steps,
            "rounding": plan.rounding.value,
            "coefficient_bits": plan.coefficient_bits,
            "planes": plan.planes,
            "seeds": list(plan.seeds),
            "points": [self.points[number] for number in self.ranking],
            "steps": self.steps,
            "seconds": self.seconds,
            "steps_per_second": self.steps / self.seconds if self.steps else None,
            "train": self._train_command(),
        }

    def _train_command(self) -> str | None:
        """Return the command that repeats the best point with the first seed.

        The result is None if the point's epsilon falls exponentially or by episodes, for which there is
        no option, or if the world has no name.
        """
        if self.name == UNNAMED:
            return None
        plan, point = self.plan, self.best
        epsilon = point.epsilon
        start, end, share = epsilon.start, epsilon.start, 0.0
        if epsilon.kind != "constant":
            if (epsilon.kind, epsilon.unit) != ("linear", "steps"):
                return None
            end, share = epsilon.end, epsilon.over / plan.steps
            if int(share * plan.steps) < epsilon.over:  # the quotient was rounded down
                share = math.nextafter(share, 1)
        given = (f"{key}={json.dumps(value)}" for key, value in self.env_kwargs.items())
        arguments = "".join(f" --env-kwargs {shlex.quote(text)}" for text in given)
        more = plan.coefficient_bits != COEFFICIENT_BITS
        bits = f" --coefficient-bits {plan.coefficient_bits}" if more else ""
        return (
            f"qstep train {shlex.quote(self.name)}{arguments} --agents 1 --steps {plan.steps} "
            f"--algorithm {point.algorithm.value} --format {point.format} "
            f"--rounding {plan.rounding.value}{bits} --alpha {point.alpha} --gamma {point.gamma} "
            f"--epsilon-start {start} --epsilon-end {end} --epsilon-share {share} "
            f"--seed {plan.seeds[0]}"
        )


def _score(agents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Summarise the agents of a point.

    ``near_after`` is the median, None if most agents never came near the optimum. ``near_agents`` is
    None if the optimum is unknown.
    """
    returns = [agent["greedy_return"] for agent in agents]
    successes = [agent["greedy_success"] for agent in agents if agent["greedy_success"] is not None]
    near = sorted(agent["near_after"] for agent in agents if agent["near_after"] is not None)
    middle = len(agents) // 2
    return {
        "greedy_return": statistics.fmean(returns),
        "worst": min(returns),
        "best": max(returns),
        "greedy_success": statistics.fmean(successes) if successes else None,
        "near_agents": None if agents[0]["optimum"] is None else len(near),
        "near_after": near[middle] if middle < len(near) else None,
        "saturations": sum(agent["saturations"] for agent in agents),
    }


def load_sweep(folder: Path, report: dict[str, Any], history: History) -> SweepResult:
    """Load the result of a sweep from its folder; the errors are as for `qstep.load`."""
    try:
        rows = sorted(report["points"], key=itemgetter("number"))
        points, seeds = tuple(map(SweepPoint.from_dict, rows)), tuple(report["seeds"])
        digest, steps = report["world_digest"], report["steps_per_agent"]
        rounding = Rounding.parse(report["rounding"])
        bits = report.get("coefficient_bits", COEFFICIENT_BITS)
        columns = history["evaluations"]
        shape = (len(columns["steps"]), len(points), len(seeds))
        if any(columns[name].shape != shape for name in CURVES):
            raise ValueError(f"the curves do not have shape {shape}")
        result = SweepResult(
            report["world"],
            report["device"],
            SweepPlan(
                None, digest, points, seeds, steps, rounding, bits, None, report.get("planes", 1)
            ),
            [row["by_seed"] for row in rows],
            history,
            *(report[name] for name in ("seconds", "steps", "env_kwargs")),
        )
        result.summary()
    except (ConfigError, LookupError, TypeError, ValueError) as cause:
        why = f"{type(cause).__name__}: {cause}"
        raise FileFormatError(
            f"{folder}: does not hold a sweep of version {VERSION} ({why}); sweep it again"
        ) from cause
    return result
