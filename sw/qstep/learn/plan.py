"""A run's plan: the arguments of `qstep.train`, checked and completed."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from qstep.errors import ConfigError, PrecisionWarning
from qstep.golden.contract import check_types
from qstep.mdp.memory import WorldTable
from qstep.mdp.solve import endless, value_range
from qstep.mdp.world import World
from qstep.spec.agents import CIRCUITS, LANE_AGENTS, MOST_AGENTS, MOST_LANES, Algorithm
from qstep.spec.checks import assign, integer, shown
from qstep.spec.config import Config, checked_config
from qstep.spec.discount import check_discount
from qstep.spec.epsilon import EPSILON_BITS, FALLING
from qstep.spec.fixed import QFormat, Rounding
from qstep.spec.protocol import MOST_STEPS
from qstep.spec.settings import AgentCounters, AgentSettings

if TYPE_CHECKING:
    import gymnasium as gym

__all__ = ["AgentsPlan", "Budget", "fitting_format", "planned", "whole_piece"]

_WIDTH = 16
"""Bits of a format that is chosen by :func:`fitting_format`."""

_WIDEST = 32
_MARGIN = 1.25
_EARLY_BITS = 4
"""Most fraction bits that are given up for the values of an early policy."""

_LEAST_FRACTION = 4
"""Fewest fraction bits of a format that is recommended."""

_AGENTS = 8

_FIRST_STEPS = 128
"""Steps of the first piece."""

_GROWTH = 8
"""A piece has one part in this many of the steps before it."""


def whole_piece(done: int) -> int:
    """Return the steps of the piece that follows `done` steps in a run without an end."""
    return max(_FIRST_STEPS, done // _GROWTH)


@dataclass(frozen=True, slots=True)
class Budget:
    """How long each agent learns: `steps` or `episodes`, of which one is None.

    Raises
    ------
    ConfigError
        Neither or both are given, or the value is out of range.
    """

    steps: int | None = None
    episodes: int | None = None

    def __post_init__(self) -> None:
        if (self.steps is None) == (self.episodes is None):
            raise ConfigError(
                f"steps is {self.steps} and episodes is {self.episodes}; give one of them"
            )
        assign(self, **{self.unit: integer(self.unit, self.length, 1, MOST_STEPS)})

    @property
    def unit(self) -> str:
        """``steps`` or ``episodes``."""
        return "episodes" if self.steps is None else "steps"

    @property
    def length(self) -> int:
        """The number of units."""
        length: int = getattr(self, self.unit)
        return length

    def piece(self, done: int) -> int:
        """Return the steps of the piece that follows `done` steps, if the run continues."""
        piece = whole_piece(done)
        return piece if self.steps is None else min(piece, self.steps - done)

    def spent(self, counters: Sequence[AgentCounters]) -> bool:
        """Whether every agent has used up the budget."""
        if self.steps is not None:
            return counters[0].steps >= self.steps
        assert self.episodes is not None
        return min(own.episodes for own in counters) >= self.episodes


@dataclass(frozen=True, slots=True)
class AgentsPlan:
    """A run of agents.

    Attributes
    ----------
    world : World or None
        None if it is a circuit without a known table.
    config : Config
        With ``config.acting``.
    settings : tuple of AgentSettings
        One for each agent.
    budget : Budget
    """

    world: World | None
    config: Config
    settings: tuple[AgentSettings, ...]
    budget: Budget

    def __post_init__(self) -> None:
        for pair in {(own.alpha, own.gamma) for own in self.settings}:
            check_discount(*pair)

    @property
    def identity(self) -> dict[str, Any]:
        """The values that a checkpoint of this run must share; its length may differ."""
        acting = self.config.acting
        assert acting is not None
        settings = [asdict(own) for own in self.settings]
        # How hardware lays out the agents does not affect the result.
        config = replace(self.config, lanes=1)
        return {
            "command": "train on the device",
            "world": None if self.world is None else self.world.digest,
            "settings": settings if len(set(self.settings)) > 1 else settings[0],
            "config": config.to_dict(),
        }

    @property
    def loaded(self) -> WorldTable | int:
        """The argument that opens a device: the world's memories, or only its limit of steps."""
        acting = self.config.acting
        if acting is None or acting.is_table:
            assert self.world is not None
            return self.world.table(self.config)
        return 0 if self.world is None else self.world.max_episode_steps


def fitting_format(
    world: World, settings: Iterable[AgentSettings], *, on_policy: bool = False
) -> QFormat:
    """Return the 16-bit format with the most fraction bits that holds what is learned.

    It holds the rewards and the values of ``qstep.mdp.solve`` for the
    largest discount that is learned, plus a fourth. On-policy algorithms learn the values of the
    exploring policy: the format holds those of the last epsilon too, and those of the first one if
    that takes at most 4 fraction bits.

    Warns
    -----
    PrecisionWarning
        No format of 16 bits holds these values; the message names a wider one that does.
    """
    each = list(settings)
    for own in each:
        check_discount(own.alpha, own.gamma)
    discount = max(own.discount for own in each)
    found = [value_range(world, discount)]
    if on_policy:
        last = max(own.epsilon.code.end for own in each) / (1 << EPSILON_BITS)
        first = max(own.epsilon.start for own in each)
        found += [value_range(world, discount, epsilon) for epsilon in (last, first)]
    bits = max(_integer_bits(_MARGIN * own.largest) for own in found[:2])
    early = max(found, key=lambda own: own.largest)
    most = max(bits, _integer_bits(early.largest))
    if most <= min(bits + _EARLY_BITS, _WIDTH):
        bits = most
    chosen = QFormat(min(bits, _WIDTH), max(_WIDTH - bits, 0))
    message = None
    if found[0].is_endless:
        message = (
            f"the discount is {discount:g} and episodes need not terminate, so values grow without "
            f"bound and saturate in every format ({chosen} holds {found[0].steps} steps); use a "
            "smaller gamma"
        )
    elif chosen.integer < most:
        what = "values" if bits > _WIDTH else "values of the first, exploring policy"
        width = min(_WIDEST, -(-(most + max(chosen.fraction, _LEAST_FRACTION)) // 4) * 4)
        wider = f"{QFormat(most, width - most)} ({width} bits)" if most < width else "none"
        message = (
            f"{what}, {early.low:,.0f} to {early.high:,.0f}, saturate in {chosen}, and no format of "
            f"{_WIDTH} bits holds them with enough fraction bits; the format that does is {wider}"
        )
    if message is not None:
        warnings.warn(message, PrecisionWarning, stacklevel=3)
    return chosen


def _integer_bits(largest: float) -> int:
    """Return the fewest integer bits, with the sign, that hold values of at most `largest`."""
    return 1 + math.ceil(math.log2(max(1.0, largest)))


def planned(
    world: World | str | gym.Env[Any, Any],
    *,
    budget: Budget,
    agents: int | None = None,
    algorithm: Algorithm | str = Algorithm.Q_LEARNING,
    shared_table: bool = False,
    settings: AgentSettings | Sequence[AgentSettings] | None = None,
    number_format: QFormat | str | None = None,
    rounding: Rounding | str = Rounding.NEAREST,
    lanes: int | None = None,
    config: Config | None = None,
) -> AgentsPlan:
    """Return the plan of a run; parameters as for :func:`qstep.train`."""
    if agents is not None:
        agents = integer("agents", agents, 1, MOST_AGENTS)
    acting = None if config is None else checked_config(config).acting
    if acting is not None:
        assert config is not None
        for name, given, default, own in (
            ("agents", agents, None, acting.agents),
            ("algorithm", Algorithm.parse(algorithm), Algorithm.Q_LEARNING, acting.algorithm),
            ("shared_table", shared_table, False, acting.shared_table),
            ("format", number_format and str(number_format), None, str(config.format)),
            ("rounding", Rounding.parse(rounding), Rounding.NEAREST, config.rounding),
            ("lanes", lanes, None, config.lanes),
        ):
            if given not in (default, own):  # what was not given does not contradict
                raise ConfigError(f"{name} is {_plain(given)}; the configuration has {_plain(own)}")
    known = None
    if not (isinstance(world, str) and world.endswith(CIRCUITS)):
        known = World.of(world)
    elif acting is None or acting.world != world:
        has = None if acting is None else acting.world
        raise ConfigError(
            f"world is the circuit {world!r} and acting.world is {shown(has)}; a circuit needs the "
            "configuration of a device that is built with it"
        )
    usual = _AGENTS if agents is None else agents
    settings = _settings(settings, usual if acting is None else acting.agents, budget)
    if not settings:
        raise ConfigError("settings is empty; it must be one AgentSettings or more")
    if agents not in (None, len(settings)):
        raise ConfigError(f"agents is {agents}; settings are for {len(settings)}")
    if config is None:
        assert known is not None
        if number_format is None:
            number_format = fitting_format(
                known, settings, on_policy=Algorithm.parse(algorithm).is_on_policy
            )
        config = Config(
            known.states,
            known.actions,
            number_format,
            Rounding.parse(rounding),
            acting=known.acting(
                agents=len(settings), algorithm=algorithm, shared_table=shared_table
            ),
            lanes=_lanes(len(settings), shared_table) if lanes is None else lanes,
        )
    if known is not None:
        _check_episodes_end(known, budget)
    return AgentsPlan(known, config, tuple(settings), budget)


def _check_episodes_end(world: World, budget: Budget) -> None:
    """Raise ConfigError if episodes are to be counted in a world where one may never end."""
    if budget.episodes is None or world.max_episode_steps:
        return
    stuck = endless(world)
    if len(stuck):
        raise ConfigError(
            f"episodes is {budget.episodes}, but no episode can end from state {stuck[0]} (states like "
            f"it: {len(stuck)}); count the run in steps (--steps), or limit the steps of an episode "
            "(--max-episode-steps)"
        )


def _plain(value: object) -> str:
    """Return a value, or the name of a choice, as it is typed."""
    return str(getattr(value, "value", value))


def _settings(
    settings: AgentSettings | Sequence[AgentSettings] | None, agents: int, budget: Budget
) -> list[AgentSettings]:
    """Return the settings of each agent, with epsilons that a device can count."""
    if settings is None:
        settings = AgentSettings(epsilon=FALLING)
    if isinstance(settings, AgentSettings):
        settings = [settings] * agents
    check_types("settings", settings, AgentSettings)
    return [
        replace(own, epsilon=own.epsilon.counted(budget.length, budget.unit)) for own in settings
    ]


def _lanes(agents: int, shared_table: bool) -> int:
    """Return the fewest lanes of hardware with room for the agents, or 1 if there is no such number."""
    fewest = range(-(-agents // LANE_AGENTS), MOST_LANES + 1)
    fitting = (lanes for lanes in fewest if agents % lanes == 0)
    return 1 if shared_table else next(fitting, 1)
