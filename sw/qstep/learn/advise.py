"""The number format that a world needs, found by trying all formats on the compiled model."""

from __future__ import annotations

import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qstep._io.workers import threads
from qstep.envs.catalogue import defaults, record_of
from qstep.errors import ConfigError
from qstep.golden.agents_fast import FastActingModel
from qstep.golden.tiled_fast import FastTiledModel
from qstep.learn.plan import AgentsWorld, Budget, dead_zone, planned, usual_settings
from qstep.mdp.solve import solve, start_value
from qstep.mdp.tiled import TiledWorld
from qstep.mdp.world import World
from qstep.spec.checks import integer, real
from qstep.spec.discount import (
    learned_discount,
    least_bits,
    nearest_alpha,
    warn_of_discounts,
)
from qstep.spec.epsilon import FALLING, Epsilon
from qstep.spec.fixed import COEFFICIENT_BITS, QFormat, Rounding
from qstep.spec.integer_worlds import IntegerWorld
from qstep.spec.protocol import MOST_STEPS
from qstep.spec.settings import AgentSettings

__all__ = [
    "AGENTS",
    "Outcome",
    "Trial",
    "advise",
    "format_of",
    "judged",
    "usual_steps",
]

Trial: TypeAlias = dict[str, Any]
"""The result of learning with a format and a rounding mode, as plain values.

``loss`` is the relative shortfall of the median agent's greedy policy: of its start value below the
optimum, or of its return below the goal. ``saturated`` is the share of updates that saturated. TD errors
up to ``dead_zone`` do not change a value.
"""

_Agents: TypeAlias = FastActingModel | FastTiledModel

AGENTS = 5
"""Agents per trial; the trial succeeds if the median agent reaches the required policy."""

_NARROWEST, _WIDEST = 8, 32
"""Minimum and maximum width of a format."""

_PREFERRED = (Rounding.NEAREST, Rounding.STOCHASTIC, Rounding.FLOOR)
_EXACT, _NEAR = 1e-9, 0.01
"""Tolerated relative loss of the start value, in deterministic and in stochastic worlds."""

_SHORT = 0.05
"""Tolerated loss of a mean return, as a fraction of the goal; equally good agents differ this much."""

_PLAYED = 100
"""Minimum number of greedy episodes per agent."""

_ALPHA, _ALPHA_BY_CHANCE, _GAMMA = 0.5, 1 / 256, 0.9
_STEPS_A_PAIR, _STEPS_A_PAIR_BY_CHANCE = 300, 1 << 14
_LEAST_STEPS, _MOST_STEPS = 1 << 17, 1 << 22


class Outcome(StrEnum):
    """The outcome of a trial: the policy was reached, or the reason why it was not.

    Dead zone: TD errors are rounded away in states where the policy is wrong. Saturation: values did not
    fit the format. Not enough: neither applies; more fraction bits, more steps or a smaller alpha are
    needed.
    """

    REACHED = "reached"
    DEAD_ZONE = "dead zone"
    SATURATION = "saturation"
    NOT_ENOUGH = "not enough"


def format_of(trial: Trial) -> QFormat:
    """Return the number format of a trial."""
    return QFormat.parse(trial["format"])


def judged(trials: Sequence[Trial], settings: dict[str, Any]) -> dict[str, Any]:
    """Return the advice that follows from trials; the trials are ordered by fraction bits.

    `settings` apply to all trials and are part of the advice. The advised format is the narrowest one
    that reached the policy without luck. At equal width, nearest rounding is preferred, then stochastic
    rounding, then the least saturation. A success counts as luck if a format with the same integer bits
    and rounding but more fraction bits failed. ``contradicted_by`` is the failed format with the most
    fraction bits.
    """

    def order(trial: Trial) -> tuple[Any, ...]:
        return trial["width"], _PREFERRED.index(Rounding(trial["rounding"])), trial["saturated"]

    lasting: list[Trial] = []
    failed: dict[tuple[str, int], str] = {}  # per key, the format with the most fraction bits
    for trial in reversed(trials):
        key = trial["rounding"], format_of(trial).integer
        trial["contradicted_by"] = None
        if trial["outcome"] != Outcome.REACHED:
            failed.setdefault(key, trial["format"])
        elif key in failed:
            trial["contradicted_by"] = failed[key]
        else:
            lasting.insert(0, trial)
    narrowest = min(lasting, key=order, default=None)
    return {**settings, "narrowest": narrowest, "trials": trials}


def usual_steps(world: AgentsWorld) -> int:
    """Return the default number of steps for an agent to learn a world, from 2^17 to 2^22.

    The default is 300 steps per state-action pair, or 16,384 in a stochastic world. CartPole and
    Mountain Car have specific defaults (``qstep train --help``).
    """
    if not isinstance(world, World):
        own: int = defaults(world.env_id, on_host=False).get("steps", _LEAST_STEPS)
        return own
    each = _STEPS_A_PAIR_BY_CHANCE if world.has_chance else _STEPS_A_PAIR
    return min(max(_LEAST_STEPS, each * world.states * world.actions), _MOST_STEPS)


class _Exam(ABC):
    """Trains agents in a world, and measures how good their policies are.

    Attributes
    ----------
    alpha, gamma : float
        With planes, alpha applies to the sum over all planes.
    coefficient_bits : int
    discount : float
        The learned discount.
    within : float
        Losses up to this value are ignored.
    goal : float or None
        The mean return that suffices; None if policies are compared with value iteration.
    planes : int
    rewards, values : ndarray of float64
        A format must be able to represent the rewards, and needs hardly more range than the values.
    """

    alpha: float
    gamma: float
    coefficient_bits: int
    discount: float
    within: float
    goal: float | None
    planes: int
    rewards: NDArray[np.float64]
    values: NDArray[np.float64]

    _model: Callable[..., _Agents]
    _world: AgentsWorld
    _settings: AgentSettings
    _best: float

    def agents(self, number_format: QFormat, rounding: Rounding, steps: int, seed: int) -> _Agents:
        """Return agents for a trial of `steps` steps."""
        plan = planned(
            self._world,
            budget=Budget(steps),
            agents=AGENTS,
            settings=replace(self._settings, seed=seed),
            number_format=number_format,
            rounding=rounding,
            coefficient_bits=self.coefficient_bits,
        )
        return self._model(plan.config, plan.loaded, plan.settings)

    def judge(self, agents: _Agents) -> tuple[float, int]:
        """Return the loss and the number of the median agent."""
        worth = self._worth(agents)
        median = int(np.argsort(worth, kind="stable")[AGENTS // 2])
        return max(0.0, self._best - worth[median]) / max(abs(self._best), _EXACT), median

    @abstractmethod
    def _worth(self, agents: _Agents) -> list[float]:
        """Return the value or return of each agent's greedy policy; `_best` is good enough."""

    @abstractmethod
    def stuck(self, agents: _Agents, median: int, zone: tuple[float, float]) -> bool:
        """Return whether an agent's policy is wrong because TD errors are in the dead zone."""


class _Solved(_Exam):
    """Policies in a world with a transition table, evaluated by computing their values."""

    goal = None
    planes = 1
    _model = FastActingModel
    _world: World

    def __init__(self, world: World, alpha: float | None, gamma: float | None) -> None:
        self._world = world
        self.gamma = real("gamma", _GAMMA if gamma is None else gamma)
        if alpha is None:
            usual = _ALPHA_BY_CHANCE if world.has_chance else _ALPHA
            alpha = nearest_alpha(self.gamma, usual) or usual
        self.alpha = real("alpha", alpha)
        self.coefficient_bits = least_bits(self.alpha, self.gamma) or COEFFICIENT_BITS
        warn_of_discounts([(self.alpha, self.gamma)], self.coefficient_bits)
        self.discount = learned_discount(self.alpha, self.gamma, self.coefficient_bits)
        self.within = _NEAR if world.has_chance else _EXACT
        self._solution = solve(world, self.discount)
        self._best = float(world.start @ self._solution.values)
        self._settings = AgentSettings(self.alpha, self.gamma, FALLING)
        self.rewards, self.values = world.reward, self._solution.q

    def _worth(self, agents: _Agents) -> list[float]:
        policies = agents.table.argmax(axis=-1)
        return [start_value(self._world, policy, self.discount) for policy in policies]

    def stuck(self, agents: _Agents, median: int, zone: tuple[float, float]) -> bool:
        q = agents.config.format.to_float(agents.table[median])
        error = _errors_where_wrong(self._world, q, self._solution.optimal, self.discount)
        low, high = zone
        return high > 0 and len(error) > 0 and bool(((low <= error) & (error <= high)).all())


class _Played(_Exam):
    """Policies in an integer world, evaluated by playing episodes."""

    within = _SHORT
    _model = FastTiledModel
    _world: IntegerWorld

    def __init__(self, world: IntegerWorld, alpha: float | None, gamma: float | None) -> None:
        self._world = world
        usual = usual_settings(world.env_id)
        self.alpha = real("alpha", usual.alpha if alpha is None else alpha)
        self.gamma = real("gamma", usual.gamma if gamma is None else gamma)
        self._settings = replace(usual, alpha=self.alpha, gamma=self.gamma)
        plan = planned(world, budget=Budget(1), settings=self._settings)
        self.planes, self.coefficient_bits = plan.config.planes, plan.config.coefficient_bits
        pair = plan.settings[0].alpha, self.gamma
        warn_of_discounts([pair], self.coefficient_bits, self.planes)
        self.discount = learned_discount(*pair, self.coefficient_bits)
        if not world.max_episode_steps:
            raise ConfigError("max_episode_steps is 0; greedy episodes need a step limit")
        record = record_of(world.env_id)
        assert record is not None
        assert record.reward_threshold is not None
        self._best = self.goal = record.reward_threshold
        longest = min(world.max_episode_steps, 1 / max(1 - self.discount, _EXACT))
        self.rewards = np.array([world.reward])
        self.values = self.rewards * longest / self.planes

    def _worth(self, agents: _Agents) -> list[float]:
        greedy = [replace(own, alpha=0.0, epsilon=Epsilon(0.0)) for own in agents.settings]
        players = FastTiledModel(agents.config, TiledWorld(self._world, agents.config), greedy)
        players.load(agents.table)
        players.run(_PLAYED * self._world.max_episode_steps)
        return [
            self._world.reward * (count.steps - own.episode_steps) / count.episodes
            for count, own in zip(players.counters, players.states, strict=True)
        ]

    def stuck(self, agents: _Agents, median: int, zone: tuple[float, float]) -> bool:
        return not agents.table[median].any()


def advise(
    world: World | IntegerWorld,
    *,
    alpha: float | None = None,
    gamma: float | None = None,
    steps: int | None = None,
    most_width: int = 20,
    roundings: Sequence[Rounding | str] = _PREFERRED,
    seed: int = 0,
    progress: Callable[[str, int, int], object] | None = None,
) -> dict[str, Any]:
    """Train agents in a world with all formats up to a width; compare them with value iteration.

    The result is the report of ``qstep advise``; losses up to ``within`` are ignored.

    The algorithm is Q-learning; epsilon falls from 1 to 0.05 during the first half. The integer bits
    range from the fewest that can represent the rewards to one more than the optimum needs. By default,
    gamma is 0.9, and alpha is the value nearest to 0.5 that learns gamma to 1 % of 1 - gamma
    (:mod:`qstep.spec.discount`). In a stochastic world, where an alpha of 0.5 never converges, the
    default is the value nearest to 1/256. The advice contains the fewest fractional coefficient bits
    with which alpha learns gamma, and the trials use this number.

    In an integer world, the settings default to those of ``qstep train``. The optimal value is unknown
    there, so each agent plays 100 greedy episodes or more, and the median agent's mean return is
    compared with ``goal``, the return that counts as solved. Integer bits go up to one more than one
    plane's share of the largest return needs.

    Trials run in threads on all cores, which does not affect their results. ``progress(format, done,
    total)`` is called after each trial. Raises ConfigError if a value is out of range, or no format of
    the width can represent the rewards. Warns with PrecisionWarning if alpha cannot learn gamma with any
    number of coefficient bits.
    """
    exam: _Exam
    if isinstance(world, IntegerWorld):
        exam = _Played(world, alpha, gamma)
    else:
        exam = _Solved(world, alpha, gamma)
    steps = integer("steps", usual_steps(world) if steps is None else steps, 1, MOST_STEPS)
    most_width = integer("width", most_width, _NARROWEST, _WIDEST)
    rewards = exam.rewards
    least = _integer_bits(rewards)
    most = max(least, _integer_bits(exam.values)) + 1
    formats = [
        QFormat(bits, fraction)
        for bits in range(least, most + 1)
        for fraction in range(max(0, _NARROWEST - bits), most_width - bits + 1)
    ]
    if not formats:
        raise ConfigError(
            f"width is {most_width}; rewards of {rewards.min():g} to {rewards.max():g} need {least} "
            "bits"
        )

    def trial(case: tuple[Rounding, QFormat]) -> Trial:
        rounding, number_format = case
        agents = exam.agents(number_format, rounding, steps, seed)
        agents.run(steps)
        loss, median = exam.judge(agents)
        zone = dead_zone(number_format, rounding, agents.settings[0].alpha)
        saturated = sum(count.saturations for count in agents.counters) / (steps * AGENTS)
        if loss <= exam.within:
            outcome = Outcome.REACHED
        elif saturated:
            outcome = Outcome.SATURATION
        else:
            stuck = exam.stuck(agents, median, zone)
            outcome = Outcome.DEAD_ZONE if stuck else Outcome.NOT_ENOUGH
        return {
            "format": str(number_format),
            "width": number_format.width,
            "rounding": rounding.value,
            "outcome": outcome.value,
            "loss": loss,
            "saturated": saturated,
            "dead_zone": zone[1],
        }

    trials: list[Trial] = []
    cases = list(itertools.product(map(Rounding.parse, roundings), formats))
    with threads(os.cpu_count()) as pool:
        for found in pool.map(trial, cases):
            trials.append(found)
            if progress is not None:
                progress(found["format"], len(trials), len(cases))
    names = "alpha", "gamma", "discount", "coefficient_bits", "planes", "within", "goal"
    settings = {name: getattr(exam, name) for name in names}
    return judged(trials, {**settings, "agents": AGENTS, "steps_per_agent": steps})


def _integer_bits(values: NDArray[np.float64]) -> int:
    """Return the fewest integer bits, including the sign, that represent the values plus 0.5."""
    bits = 1
    while values.max() > 2.0 ** (bits - 1) - 0.5 or values.min() < -(2.0 ** (bits - 1)):
        bits += 1
    return bits


def _errors_where_wrong(
    world: World, q: NDArray[np.float64], optimal: NDArray[np.bool_], discount: float
) -> NDArray[np.float64]:
    """Return the expected TD errors of all actions in visited states with a suboptimal greedy action."""
    greedy = np.eye(q.shape[1], dtype=np.bool_)[q.argmax(axis=1)]
    wrong = world.visited(greedy) & ~(greedy & optimal).any(axis=1)
    following = q.max(axis=1)[world.next_state] * ~world.terminated
    weighted = world.probability * (world.reward + discount * following)
    target = np.add.reduceat(weighted, world.first).reshape(q.shape)
    error: NDArray[np.float64] = (target - q)[wrong]
    return error
