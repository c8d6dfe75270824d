"""The plan of a sweep: its options, and its points, on a grid or drawn at random."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qstep.errors import ConfigError
from qstep.learn.advise import usual_steps
from qstep.learn.plan import (
    AgentsPlan,
    AgentsWorld,
    Budget,
    fitting_format,
    planned,
    usual_bits,
    usual_settings,
    warn_of_lost_updates,
    world_of_agents,
)
from qstep.mdp.world import name_of
from qstep.spec.agents import Algorithm, module_hint
from qstep.spec.checks import assign, integer, shown
from qstep.spec.config import Config, checked_config
from qstep.spec.discount import (
    alpha_of_planes,
    differs,
    learned_discount,
    nearest_gamma,
    warn_of_discounts,
)
from qstep.spec.epsilon import Epsilon
from qstep.spec.fixed import COEFFICIENT_BITS, MOST_COEFFICIENT_BITS, QFormat, Rounding
from qstep.spec.integer_worlds import IntegerWorld
from qstep.spec.settings import AgentSettings

if TYPE_CHECKING:
    import gymnasium as gym

__all__ = ["AXES", "SweepOptions", "SweepPlan", "SweepPoint"]

AXES = ("alpha", "gamma", "epsilon", "algorithm", "format")
"""The settings that make up a point."""

_MOST_AGENTS = 1 << 20
_DIGITS = 3
"""Significant digits of a drawn value."""


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """A combination of settings; one agent per seed learns with it."""

    alpha: float
    gamma: float
    epsilon: Epsilon
    algorithm: Algorithm
    format: QFormat

    def settings(self, seed: int) -> AgentSettings:
        """Return the settings of the agent with this seed."""
        return AgentSettings(self.alpha, self.gamma, self.epsilon, seed)

    def words(self, axis: str) -> str:
        """Return the point's value on an axis as text."""
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
        return {**asdict(self), "algorithm": self.algorithm.value, "format": str(self.format)}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Self:
        """Return the point from the plain values of :meth:`to_dict`."""
        return cls(
            plain["alpha"],
            plain["gamma"],
            Epsilon(**plain["epsilon"]),
            Algorithm.parse(plain["algorithm"]),
            QFormat.parse(plain["format"]),
        )


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """A checked plan of a sweep, in which each agent takes `steps` steps.

    `world` is None if the result was loaded from a folder; `digest` is its :attr:`qstep.World.digest`.
    `config` is the configuration of an existing device. `planes` is the number of tables whose rows are
    summed.
    """

    world: AgentsWorld | None
    digest: str
    points: tuple[SweepPoint, ...]
    seeds: tuple[int, ...]
    steps: int
    rounding: Rounding
    coefficient_bits: int
    config: Config | None
    planes: int = 1

    @property
    def identity(self) -> dict[str, Any]:
        """The values that a checkpoint must share with the sweep; they do not include the device."""
        bits = self.coefficient_bits
        return {
            "command": "sweep",
            "version": 2,
            "world": self.digest,
            "steps": self.steps,
            "rounding": self.rounding.value,
            **({} if bits == COEFFICIENT_BITS else {"coefficient_bits": bits}),
            "seeds": list(self.seeds),
            "points": {str(n): point.to_dict() for n, point in enumerate(self.points)},
        }

    def part(
        self, settings: Sequence[AgentSettings], algorithm: Algorithm, number_format: QFormat
    ) -> AgentsPlan:
        """Return the plan of one run of agents."""
        assert self.world is not None
        config = self.config
        if config is not None and config.acting is not None:
            acting = replace(config.acting, agents=len(settings))
            if acting != config.acting:  # the model may run fewer agents
                config = replace(config, acting=acting, lanes=1)
        return planned(
            self.world,
            budget=Budget(steps=self.steps),
            algorithm=algorithm,
            settings=settings,
            number_format=number_format,
            rounding=self.rounding,
            coefficient_bits=self.coefficient_bits,
            config=config,
        )

    def discount(self, point: SweepPoint) -> float:
        """Return the discount learned with the settings of a point."""
        return learned_discount(point.alpha / self.planes, point.gamma, self.coefficient_bits)

    @property
    def evaluations(self) -> list[int]:
        """The steps after which each agent is evaluated."""
        budget, found = Budget(steps=self.steps), [0]
        while found[-1] < self.steps:
            found.append(found[-1] + budget.piece(found[-1]))
        return found[1:]

    @property
    def varying(self) -> dict[str, int]:
        """The axes on which points differ, with their numbers of values, largest first."""
        counts = {axis: len({getattr(point, axis) for point in self.points}) for axis in AXES}
        return {axis: n for axis, n in sorted(counts.items(), key=lambda own: -own[1]) if n > 1}


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """The points of a sweep, and how each agent learns.

    Parameters
    ----------
    alphas, gammas : iterable of float
        Each 0..1.
    epsilons : iterable of Epsilon or float, optional
        A number means a constant epsilon; the share of a schedule is a share of the run. Default: as for
        :func:`qstep.train`.
    algorithms : iterable of Algorithm or str, optional
        Default: Q-learning.
    formats : iterable of QFormat or str, optional
        Default: the format of :func:`~qstep.fitting_format`, the same for all points.
    seeds : iterable of int
        Each 0..2^64-1; one agent per point learns with each seed.
    steps : int, optional
        Steps per agent; default: :func:`~qstep.usual_steps`.
    rounding : Rounding or str
    coefficient_bits : int, optional
        As in :class:`~qstep.Config`; default: as for :func:`qstep.train`.
    random : int, optional
        Number of points to draw at random, with `random_seed`, instead of comparing all combinations.
        alpha and 1 - gamma are log-uniform between the smallest and largest given values; all other
        settings are drawn from the given values. If gamma cannot be represented with this alpha, the
        nearest representable discount is used.
    random_seed : int
    config : Config, optional
        Configuration of an existing device: it sets `algorithms`, `formats`, `rounding` and
        `coefficient_bits`.

    Raises
    ------
    ConfigError
        A value is illegal; the message names it and the legal range.
    """

    alphas: Sequence[float] = (0.01, 0.03, 0.1, 0.3, 1.0)
    gammas: Sequence[float] = (0.8, 0.9, 0.95, 0.99, 0.999)
    epsilons: Sequence[Epsilon | float] | None = None
    algorithms: Sequence[Algorithm | str] | None = None
    formats: Sequence[QFormat | str] | None = None
    seeds: Sequence[int] = range(5)
    steps: int | None = None
    rounding: Rounding | str = Rounding.NEAREST
    coefficient_bits: int | None = None
    random: int | None = None
    random_seed: int = 0
    config: Config | None = None

    def __post_init__(self) -> None:
        kinds: dict[str, Callable[[Any], Any]] = {
            "alphas": partial(_setting, "alpha"),
            "gammas": partial(_setting, "gamma"),
            "epsilons": lambda value: value if isinstance(value, Epsilon) else Epsilon(value),
            "algorithms": Algorithm.parse,
            "formats": lambda value: QFormat.parse(str(value)),
            "seeds": partial(_setting, "seed"),
        }
        for name, kind in kinds.items():
            given = getattr(self, name)
            if given is not None or name not in ("epsilons", "algorithms", "formats"):
                assign(self, **{name: _values(name, given, kind)})
        if self.coefficient_bits is not None:
            bits = (self.coefficient_bits, COEFFICIENT_BITS, MOST_COEFFICIENT_BITS)
            integer("coefficient_bits", *bits)
        assign(self, rounding=Rounding.parse(self.rounding))
        _setting("seed", self.random_seed)
        if self.steps is not None:
            Budget(steps=self.steps)
        if self.random is not None:
            integer("random", self.random, 1, _MOST_AGENTS)
        if self.config is not None:
            self._take(checked_config(self.config))

    def _take(self, config: Config) -> None:
        """Adopt the settings that a device was built with; refuse any other algorithm or format."""
        acting = config.acting
        if (
            acting is None
            or not (acting.is_table or acting.is_tiled)
            or (acting.shared_table and acting.agents > 1)
        ):
            raise ConfigError(
                f"config.acting is {shown(acting)}; a sweep needs agents with separate tables, in "
                "worlds from tables"
            )
        for name, built in (("algorithms", acting.algorithm), ("formats", config.format)):
            given = getattr(self, name)
            if given not in (None, (built,)):
                *names, device = (str(getattr(value, "value", value)) for value in (*given, built))
                raise ConfigError(f"{name} is {names}; the device of config is built with {device}")
            assign(self, **{name: (built,)})
        assign(self, rounding=config.rounding, coefficient_bits=config.coefficient_bits)

    def plan(
        self,
        world: AgentsWorld | str | gym.Env[Any, Any],
        env_kwargs: Mapping[str, Any] | None = None,
    ) -> SweepPlan:
        """Return the plan of a sweep; parameters and errors are as for :func:`qstep.sweep`."""
        if env_kwargs is not None and not isinstance(world, str):
            raise ConfigError(
                f"env_kwargs are {shown(env_kwargs)}; they are only for a world given by name"
            )
        world = world_of_agents(world, env_kwargs)
        if isinstance(world, str):
            raise ConfigError(
                f"world is the circuit {world}; a sweep needs a world with a known transition table"
                + module_hint(world)
            )
        budget = Budget(steps=usual_steps(world) if self.steps is None else self.steps)
        given: Any = self  # all values have been converted
        compared = given.epsilons or (usual_settings(name_of(world)).epsilon,)
        epsilons = [epsilon.counted(budget.length, "steps") for epsilon in compared]
        learned = (self.alphas, self.gammas, epsilons)
        algorithms, formats = given.algorithms or (Algorithm.Q_LEARNING,), given.formats
        planes = world.tiles.planes if isinstance(world, IntegerWorld) else 1
        bits = usual_bits(world) if self.coefficient_bits is None else self.coefficient_bits
        if formats is None:
            settings = itertools.starmap(AgentSettings, itertools.product(*learned))
            on_policy = any(algorithm.is_on_policy for algorithm in algorithms)
            formats = (fitting_format(world, settings, on_policy=on_policy, coefficient_bits=bits),)
        axes: tuple[Sequence[Any], ...] = (*learned, algorithms, formats)
        points: Iterable[tuple[Any, ...]] = itertools.product(*axes)
        count = math.prod(map(len, axes))
        if self.random is not None:
            count = self.random
            points = _drawn(axes, count, self.random_seed, bits, planes)
        agents = count * len(self.seeds)
        integer("number of agents, points times seeds,", agents, 1, _MOST_AGENTS)
        made, seeds = tuple(itertools.starmap(SweepPoint, points)), tuple(self.seeds)
        settled = (budget.length, given.rounding, bits, self.config, planes)
        plan = SweepPlan(world, world.digest, made, seeds, *settled)
        pairs = ((point.alpha, point.gamma) for point in plan.points)
        warn_of_discounts(
            ((alpha_of_planes(*pair, bits, planes), pair[1]) for pair in pairs), bits, planes
        )
        rates = ((point.alpha, point.format) for point in plan.points)
        warn_of_lost_updates(plan.world, plan.rounding, rates)
        for kind, point in {(p.algorithm, p.format): p for p in plan.points}.items():
            plan.part([point.settings(0)], *kind).loaded  # noqa: B018  # raises an error if illegal
        return plan


def _values(name: str, values: Any, kind: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Return the values of an option without duplicates; `kind` checks each value."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ConfigError(f"{name} is {shown(values)}; it must be a list of values")
    found = tuple(dict.fromkeys(map(kind, values)))
    if not found:
        raise ConfigError(f"{name} is empty; it must have at least one value")
    return found


def _setting(name: str, value: Any) -> Any:
    return getattr(AgentSettings(**{name: value}), name)


def _drawn(
    axes: Sequence[Sequence[Any]], count: int, seed: int, bits: int, planes: int
) -> Iterator[tuple[Any, ...]]:
    """Draw points as described for the option `random`; alphas and gammas are the first axes."""
    alphas, gammas, *others = axes
    if min(alphas) == 0 or max(gammas) == 1:
        raise ConfigError(
            f"the smallest alpha is {min(alphas):g} and the largest gamma is {max(gammas):g}; for "
            "random points, alphas must be above 0 and gammas below 1"
        )
    draw = np.random.default_rng(seed)

    def between(values: Sequence[float]) -> float:
        low, high = math.log(min(values)), math.log(max(values))
        return float(f"{math.exp(draw.uniform(low, high)):.{_DIGITS}g}")

    rests = [1 - gamma for gamma in gammas]
    for _ in range(count):
        alpha = min(max(between(alphas), min(alphas)), max(alphas))
        gamma = min(max(round(1 - between(rests), 6), min(gammas)), max(gammas))
        if differs(alpha / planes, gamma, bits):
            gamma = nearest_gamma(alpha / planes, gamma, min(gammas), max(gammas), bits)
        yield alpha, gamma, *(values[int(draw.integers(len(values)))] for values in others)
