"""The number format that a world needs: all formats are tried on the compiled model."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qstep._io.workers import threads
from qstep.envs.catalogue import defaults
from qstep.errors import ConfigError
from qstep.golden.agents_fast import FastActingModel
from qstep.learn.plan import AgentsWorld
from qstep.mdp.solve import solve, start_value
from qstep.mdp.world import World
from qstep.spec.checks import integer, real
from qstep.spec.config import Config
from qstep.spec.discount import (
    learned_discount,
    least_bits,
    nearest_alpha,
    warn_of_discounts,
)
from qstep.spec.epsilon import FALLING
from qstep.spec.fixed import COEFFICIENT_BITS, QFormat, Rounding
from qstep.spec.protocol import MOST_STEPS
from qstep.spec.settings import AgentSettings

__all__ = [
    "AGENTS",
    "Outcome",
    "Trial",
    "advise",
    "dead_zone",
    "format_of",
    "judged",
    "usual_steps",
]

Trial: TypeAlias = dict[str, Any]
"""The result of learning with a format and a rounding mode, as plain values.

``loss`` is how much less than the optimum the median agent's greedy policy is worth where episodes
start, as a share of the optimum; ``saturated`` is the share of updates; TD errors up to ``dead_zone``
change nothing.
"""

AGENTS = 5
"""Agents of a trial; the median one must reach the policy."""

_NARROWEST, _WIDEST = 8, 32
"""Widths of a format."""

_PREFERRED = (Rounding.NEAREST, Rounding.STOCHASTIC, Rounding.FLOOR)
_EXACT, _NEAR = 1e-9, 0.01
"""Loss at the start that is tolerated, as a share of the optimum: without chance, and with it."""

_ALPHA, _ALPHA_BY_CHANCE = 0.5, 1 / 256
_STEPS_A_PAIR, _STEPS_A_PAIR_BY_CHANCE = 300, 1 << 14
_LEAST_STEPS, _MOST_STEPS = 1 << 17, 1 << 22


class Outcome(StrEnum):
    """The outcome of a trial: the policy was reached, or why not.

    Dead zone: TD errors are rounded away where the policy is wrong. Saturation: values did not fit. Not
    enough: neither; more fraction bits, more steps or a smaller alpha are needed.
    """

    REACHED = "reached"
    DEAD_ZONE = "dead zone"
    SATURATION = "saturation"
    NOT_ENOUGH = "not enough"


def format_of(trial: Trial) -> QFormat:
    """Return the number format of a trial."""
    return QFormat.parse(trial["format"])


def judged(
    trials: Sequence[Trial], alpha: float, gamma: float, bits: int, steps: int, within: float
) -> dict[str, Any]:
    """Return the advice that follows from trials, which are in the order of their fraction bits.

    `bits` are the fractional bits of coefficients, the same in all trials.

    Of the formats that reached the policy, and not by luck, the narrowest is advised; among equal
    widths, nearest rounding, then stochastic, then the least saturation. It was luck if a format with
    the same integer bits and rounding and more fraction bits failed: ``contradicted_by`` is that with
    the most.
    """

    def order(trial: Trial) -> tuple[Any, ...]:
        return trial["width"], _PREFERRED.index(Rounding(trial["rounding"])), trial["saturated"]

    lasting: list[Trial] = []
    failed: dict[tuple[str, int], str] = {}  # of them, those with the most fraction bits
    for trial in reversed(trials):
        key = trial["rounding"], format_of(trial).integer
        trial["contradicted_by"] = None
        if trial["outcome"] != Outcome.REACHED:
            failed.setdefault(key, trial["format"])
        elif key in failed:
            trial["contradicted_by"] = failed[key]
        else:
            lasting.insert(0, trial)
    return {
        "alpha": alpha,
        "gamma": gamma,
        "discount": learned_discount(alpha, gamma, bits),
        "coefficient_bits": bits,
        "agents": AGENTS,
        "steps_per_agent": steps,
        "within": within,
        "narrowest": min(lasting, key=order, default=None),
        "trials": trials,
    }


def dead_zone(number_format: QFormat, rounding: Rounding, alpha: float) -> tuple[float, float]:
    """Return the range of TD errors in real units, low and high, that change nothing.

    With nearest rounding it is 2^-F / (2 alpha) in both directions. Rounding down has twice that upwards
    and nothing downwards; stochastic rounding has none.
    """
    half = number_format.resolution / (2 * alpha) if alpha else math.inf
    return {
        Rounding.NEAREST: (-half, half),
        Rounding.FLOOR: (0.0, 2 * half),
        Rounding.STOCHASTIC: (0.0, 0.0),
    }[rounding]


def usual_steps(world: AgentsWorld) -> int:
    """Return how many steps an agent should learn a world, from 2^17 to 2^22.

    It is 300 per pair of state and action, or 16,384 in a world with chance. CartPole and Mountain Car
    have their own numbers (``qstep train --help``).
    """
    if not isinstance(world, World):
        own: int = defaults(world.env_id, on_host=False).get("steps", _LEAST_STEPS)
        return own
    each = _STEPS_A_PAIR_BY_CHANCE if world.has_chance else _STEPS_A_PAIR
    return min(max(_LEAST_STEPS, each * world.states * world.actions), _MOST_STEPS)


def advise(
    world: World,
    *,
    alpha: float | None = None,
    gamma: float = 0.9,
    steps: int | None = None,
    most_width: int = 20,
    roundings: Sequence[Rounding | str] = _PREFERRED,
    seed: int = 0,
    progress: Callable[[str, int, int], object] | None = None,
) -> dict[str, Any]:
    """Let agents learn a world with all formats up to a width; compare with value iteration.

    The result is the report of ``qstep advise``; a loss up to ``within`` counts as none.

    The algorithm is Q-learning; epsilon falls from 1 to 0.05 during the first half. The integer bits
    range from the fewest that hold the rewards to one more than the optimum needs. By default, alpha is
    the one that learns gamma to 1 % of 1 - gamma (:mod:`qstep.spec.discount`) and is nearest to 0.5, or
    to 1/256 in a world with chance, where 0.5 never settles. The advice names the fewest fractional bits
    of coefficients with which alpha learns gamma, and the trials have them.

    Trials run on all cores, in threads, which does not affect their results; ``progress(format, done,
    total)`` is called after each. ConfigError is raised if a value is out of range, or no format of the
    width holds the rewards; PrecisionWarning says that no number of bits learns gamma with alpha.
    """
    gamma = real("gamma", gamma)
    chance = world.has_chance
    if alpha is None:
        usual = _ALPHA_BY_CHANCE if chance else _ALPHA
        alpha = nearest_alpha(gamma, usual) or usual
    bits = least_bits(real("alpha", alpha), gamma) or COEFFICIENT_BITS
    warn_of_discounts([(alpha, gamma)], bits)
    discount = learned_discount(alpha, gamma, bits)
    solution = solve(world, discount)
    steps = integer("steps", usual_steps(world) if steps is None else steps, 1, MOST_STEPS)
    most_width = integer("width", most_width, _NARROWEST, _WIDEST)
    epsilon = FALLING.counted(steps, "steps")
    settings = [AgentSettings(alpha, gamma, epsilon, seed)] * AGENTS
    acting = world.acting(agents=AGENTS)
    reward = world.reward
    least = _integer_bits(reward)
    most = max(least, _integer_bits(solution.q)) + 1
    formats = [
        QFormat(bits, fraction)
        for bits in range(least, most + 1)
        for fraction in range(max(0, _NARROWEST - bits), most_width - bits + 1)
    ]
    if not formats:
        raise ConfigError(
            f"width is {most_width}; rewards of {reward.min():g} to {reward.max():g} need {least} bits"
        )
    optimum = float(world.start @ solution.values)
    within = _NEAR if chance else _EXACT

    def trial(case: tuple[Rounding, QFormat]) -> Trial:
        rounding, number_format = case
        size = world.states, world.actions
        config = Config(*size, number_format, rounding, acting=acting, coefficient_bits=bits)
        agents = FastActingModel(config, world.table(config), settings)
        agents.run(steps)
        tables = number_format.to_float(agents.table)
        worth = [start_value(world, q.argmax(axis=1), discount) for q in tables]
        median = int(np.argsort(worth, kind="stable")[AGENTS // 2])
        loss = max(0.0, optimum - worth[median]) / max(abs(optimum), _EXACT)
        low, high = dead_zone(number_format, rounding, alpha)
        saturated = sum(count.saturations for count in agents.counters) / (steps * AGENTS)
        if loss <= within:
            outcome = Outcome.REACHED
        elif saturated:
            outcome = Outcome.SATURATION
        else:
            error = _errors_where_wrong(world, tables[median], solution.optimal, discount)
            stuck = high > 0 and len(error) and bool(((low <= error) & (error <= high)).all())
            outcome = Outcome.DEAD_ZONE if stuck else Outcome.NOT_ENOUGH
        return {
            "format": str(number_format),
            "width": number_format.width,
            "rounding": rounding.value,
            "outcome": outcome.value,
            "loss": loss,
            "saturated": saturated,
            "dead_zone": high,
        }

    trials: list[Trial] = []
    cases = list(itertools.product(map(Rounding.parse, roundings), formats))
    with threads(os.cpu_count()) as pool:
        for found in pool.map(trial, cases):
            trials.append(found)
            if progress is not None:
                progress(found["format"], len(trials), len(cases))
    return judged(trials, alpha, gamma, bits, steps, within)


def _integer_bits(values: NDArray[np.float64]) -> int:
    """Return the fewest integer bits, including the sign, that hold values plus half a unit."""
    bits = 1
    while values.max() > 2.0 ** (bits - 1) - 0.5 or values.min() < -(2.0 ** (bits - 1)):
        bits += 1
    return bits


def _errors_where_wrong(
    world: World, q: NDArray[np.float64], optimal: NDArray[np.bool_], discount: float
) -> NDArray[np.float64]:
    """Return the expected TD errors of all actions in the visited states whose action is not optimal."""
    greedy = np.eye(q.shape[1], dtype=np.bool_)[q.argmax(axis=1)]
    wrong = world.visited(greedy) & ~(greedy & optimal).any(axis=1)
    following = q.max(axis=1)[world.next_state] * ~world.terminated
    weighted = world.probability * (world.reward + discount * following)
    target = np.add.reduceat(weighted, world.first).reshape(q.shape)
    error: NDArray[np.float64] = (target - q)[wrong]
    return error
