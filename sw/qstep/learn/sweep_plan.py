"""The points of a sweep, a grid or drawn at random, checked before anything starts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from qstep.errors import ConfigError
from qstep.learn.advise import usual_steps
from qstep.learn.plan import AgentsPlan, Budget, falling_epsilon, fitting_format, planned
from qstep.mdp.world import World
from qstep.spec.agents import Algorithm
from qstep.spec.checks import integer, shown
from qstep.spec.config import Config, checked_config
from qstep.spec.discount import differs, learned_discount, nearest_gamma, warn_of_discounts
from qstep.spec.epsilon import Epsilon
from qstep.spec.fixed import QFormat, Rounding
from qstep.spec.settings import AgentSettings

if TYPE_CHECKING:
    import gymnasium as gym

__all__ = ["ALPHAS", "AXES", "GAMMAS", "SEEDS", "SweepPlan", "SweepPoint", "sweep_plan"]

ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0)
GAMMAS = (0.8, 0.9, 0.95, 0.99, 0.999)
SEEDS = range(5)

AXES = ("alpha", "gamma", "epsilon", "algorithm", "format")
"""The parts of a point."""

_MOST_AGENTS = 1 << 20
_DIGITS = 3
"""Significant digits of a drawn value."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """A combination of settings; one agent learns with it for each seed.

    Attributes
    ----------
    alpha, gamma : float
    epsilon : Epsilon
    algorithm : Algorithm
    format : QFormat
    """

    alpha: float
    gamma: float
    epsilon: Epsilon
    algorithm: Algorithm
    format: QFormat

    def settings(self, seed: int) -> AgentSettings:
        """Return the settings of the agent with a seed."""
        return AgentSettings(self.alpha, self.gamma, self.epsilon, seed)

    @property
    def discount(self) -> float:
        """The discount that is learned."""
        return learned_discount(self.alpha, self.gamma)

    def words(self, axis: str) -> str:
        """Return its value on an axis as text."""
        value = getattr(self, axis)
        if isinstance(value, Epsilon):
            if value.kind == "constant":
                return f"{value.start:g}"
            way = "" if value.kind == "linear" else f" {value.kind}ly"
            return f"{value.start:g} to {value.end:g}{way} in {value.over:,} {value.unit}"
        if isinstance(value, Algorithm):
            return value.value
        return f"{value:g}" if isinstance(value, float) else str(value)

    def to_dict(self) -> dict[str, Any]:
        """Return the point as plain values."""
        return {
            "alpha": self.alpha,
            "gamma": self.gamma,
            "epsilon": asdict(self.epsilon),
            "algorithm": self.algorithm.value,
            "format": str(self.format),
        }


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """A checked sweep.

    Attributes
    ----------
    world : World
    points : tuple of SweepPoint
    seeds : tuple of int
    steps : int
        Steps of each agent.
    rounding : Rounding
    config : Config or None
        That of the device, if it exists already.
    is_grid : bool
        The points are all combinations, not drawn at random.
    """

    world: World
    points: tuple[SweepPoint, ...]
    seeds: tuple[int, ...]
    steps: int
    rounding: Rounding
    config: Config | None
    is_grid: bool

    @property
    def identity(self) -> dict[str, Any]:
        """What must be equal for a checkpoint to fit the sweep; the device is not part of it."""
        return {
            "command": "sweep",
            "world": self.world.digest,
            "steps": self.steps,
            "rounding": self.rounding.value,
            "seeds": list(self.seeds),
            "points": {str(n): point.to_dict() for n, point in enumerate(self.points)},
        }

    def part(
        self, settings: Sequence[AgentSettings], algorithm: Algorithm, number_format: QFormat
    ) -> AgentsPlan:
        """Return the plan of one run of agents."""
        config = self.config
        if config is not None and config.acting is not None:
            acting = replace(config.acting, agents=len(settings))
            if acting != config.acting:  # fewer agents, on the model
                config = replace(config, acting=acting, lanes=1)
        return planned(
            self.world,
            budget=Budget(steps=self.steps),
            algorithm=algorithm,
            settings=settings,
            number_format=number_format,
            rounding=self.rounding,
            config=config,
        )

    @property
    def varying(self) -> list[str]:
        """The axes on which points differ, most values first."""
        count = {axis: len({getattr(point, axis) for point in self.points}) for axis in AXES}
        return sorted((axis for axis in AXES if count[axis] > 1), key=lambda axis: -count[axis])


def sweep_plan(
    world: World | str | gym.Env[Any, Any],
    *,
    alphas: Iterable[float] = ALPHAS,
    gammas: Iterable[float] = GAMMAS,
    epsilons: Iterable[Epsilon | float] | None = None,
    algorithms: Iterable[Algorithm | str] | None = None,
    formats: Iterable[QFormat | str] | None = None,
    seeds: Iterable[int] = SEEDS,
    steps: int | None = None,
    rounding: Rounding | str = Rounding.NEAREST,
    random: int | None = None,
    random_seed: int = 0,
    config: Config | None = None,
) -> SweepPlan:
    """Return the plan of a sweep; parameters and errors as for :func:`qstep.sweep`."""
    named = World.of(world)
    budget = Budget(steps=usual_steps(named) if steps is None else steps)
    assert budget.steps is not None
    if config is not None:
        checked_config(config)
        algorithms, formats, rounding = _of_device(config, algorithms, formats)
    chosen_gammas = _axis("gammas", gammas, lambda gamma: AgentSettings(gamma=gamma).gamma)
    if epsilons is None:
        epsilons = [falling_epsilon(budget, 1.0, 0.05, 0.5)]
    if algorithms is None:
        algorithms = [Algorithm.Q_LEARNING]
    trained: tuple[Sequence[Any], ...] = (
        _axis("alphas", alphas, lambda alpha: AgentSettings(alpha=alpha).alpha),
        chosen_gammas,
        _axis("epsilons", epsilons, lambda own: own if isinstance(own, Epsilon) else Epsilon(own)),
    )
    chosen_algorithms = _axis("algorithms", algorithms, Algorithm.parse)
    if formats is None:
        on_policy = any(algorithm.is_on_policy for algorithm in chosen_algorithms)
        settings = itertools.starmap(AgentSettings, itertools.product(*trained))
        formats = [fitting_format(named, settings, on_policy=on_policy)]
    axes = (
        *trained,
        chosen_algorithms,
        _axis("formats", formats, lambda own: QFormat.parse(str(own))),
    )
    chosen_seeds = _axis("seeds", seeds, lambda seed: AgentSettings(seed=seed).seed)
    draw_seed = AgentSettings(seed=random_seed).seed
    points: Iterable[tuple[Any, ...]] = itertools.product(*axes)
    count = math.prod(map(len, axes))
    if random is not None:
        count = integer("random", random, 1, _MOST_AGENTS)
        points = _drawn(axes, count, draw_seed)
    integer("number of agents, points times seeds,", count * len(chosen_seeds), 1, _MOST_AGENTS)
    plan = SweepPlan(
        named,
        tuple(SweepPoint(*point) for point in points),
        tuple(chosen_seeds),
        budget.steps,
        Rounding.parse(rounding),
        config,
        random is None,
    )
    warn_of_discounts((point.alpha, point.gamma) for point in plan.points)
    for algorithm, number_format in dict.fromkeys((p.algorithm, p.format) for p in plan.points):
        plan.part([AgentSettings()], algorithm, number_format).loaded  # noqa: B018  # raises if illegal
    return plan


def _axis(name: str, values: Iterable[Any], kind: Callable[[Any], Value]) -> list[Value]:
    """Return the values of an axis without repetition; `kind` checks each value."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ConfigError(f"{name} is {shown(values)}; it must be a list of values")
    found = list(dict.fromkeys(kind(value) for value in values))
    if not found:
        raise ConfigError(f"{name} is empty; it must have one value or more")
    return found


def _of_device(
    config: Config,
    algorithms: Iterable[Algorithm | str] | None,
    formats: Iterable[QFormat | str] | None,
) -> tuple[list[Algorithm], list[QFormat], Rounding]:
    """Return the values that a device was built with, and refuse any others."""
    acting = config.acting
    if acting is None or not acting.is_table or (acting.shared_table and acting.agents > 1):
        raise ConfigError(
            f"config.acting is {shown(acting)}; a sweep needs agents with worlds from tables and a "
            "table each"
        )
    for name, values, own in (
        ("algorithms", algorithms, acting.algorithm.value),
        ("formats", formats, str(config.format)),
    ):
        if values is not None and [str(getattr(v, "value", v)) for v in values] != [own]:
            raise ConfigError(
                f"{name} is {shown(values)}; the device of config is built with {own}"
            )
    return [acting.algorithm], [config.format], config.rounding


def _drawn(axes: Sequence[Sequence[Any]], count: int, seed: int) -> Iterable[tuple[Any, ...]]:
    """Draw points: alpha and 1 - gamma evenly on a logarithmic scale, one value of each other axis.

    If a pair of alpha and gamma would learn another discount, gamma is the nearest that it learns.
    """
    alphas, gammas, *others = axes
    if min(alphas) == 0 or max(gammas) == 1:
        raise ConfigError(
            f"alphas go from {min(alphas):g} and gammas to {max(gammas):g}; to draw between them, "
            "alphas must be above 0 and gammas below 1"
        )
    draw = np.random.default_rng(seed)

    def between(values: Sequence[float]) -> float:
        low, high = math.log(min(values)), math.log(max(values))
        return float(f"{math.exp(draw.uniform(low, high)):.{_DIGITS}g}")

    rests = [1 - gamma for gamma in gammas]
    for _ in range(count):
        alpha = min(max(between(alphas), min(alphas)), max(alphas))
        gamma = min(max(round(1 - between(rests), 6), min(gammas)), max(gammas))
        if differs(alpha, gamma):
            gamma = nearest_gamma(alpha, gamma, min(gammas), max(gammas))
        yield alpha, gamma, *(values[int(draw.integers(len(values)))] for values in others)
