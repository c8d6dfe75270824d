"""A run's plan: the arguments of `qstep.train`, checked and completed."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from qstep.envs.catalogue import defaults
from qstep.errors import ConfigError, PrecisionWarning
from qstep.golden.contract import check_types
from qstep.learn.tiled_env import TiledEnv
from qstep.mdp.memory import WorldTable
from qstep.mdp.solve import endless, value_range
from qstep.mdp.tiled import TiledWorld
from qstep.mdp.world import World
from qstep.spec.agents import (
    CIRCUITS,
    LANE_AGENTS,
    MOST_AGENTS,
    MOST_LANES,
    Acting,
    Algorithm,
    module_hint,
)
from qstep.spec.checks import assign, integer, shown
from qstep.spec.config import Config, checked_config
from qstep.spec.discount import alpha_of_planes, check_discount, learned_discount
from qstep.spec.epsilon import EPSILON_BITS, FALLING
from qstep.spec.fixed import COEFFICIENT_BITS, MOST_COEFFICIENT_BITS, QFormat, Rounding
from qstep.spec.integer_worlds import INTEGER_WORLDS, IntegerWorld
from qstep.spec.protocol import MOST_STEPS
from qstep.spec.settings import AgentCounters, AgentSettings

if TYPE_CHECKING:
    import gymnasium as gym

__all__ = [
    "AgentsPlan",
    "AgentsWorld",
    "Budget",
    "dead_zone",
    "fitting_format",
    "planned",
    "usual_bits",
    "usual_settings",
    "warn_of_lost_updates",
    "whole_piece",
    "world_of_agents",
]

AgentsWorld: TypeAlias = World | IntegerWorld | TiledEnv
"""A world with a transition table, or with tile-coded observations."""

_TILED = (IntegerWorld, TiledEnv)

_WIDTH = 16
"""Width of a format chosen by :func:`fitting_format`."""

_WIDEST = 32
_MARGIN = 1.25
_EARLY_BITS = 4
"""Maximum number of fraction bits sacrificed so that an early policy's values fit."""

_LEAST_FRACTION = 4
"""Minimum number of fraction bits of a recommended format."""

_LOST = 0.5
"""Errors larger than this share of the largest reward must change a value."""

_AGENTS, _SETTINGS = 8, AgentSettings(epsilon=FALLING)

_FIRST_STEPS = 128
"""Steps of the first piece."""

_GROWTH = 8
"""Ratio of the steps before a piece to the length of the piece."""


def whole_piece(done: int) -> int:
    """Return the steps of the piece that follows `done` steps in an unlimited run."""
    return max(_FIRST_STEPS, done // _GROWTH)


@dataclass(frozen=True, slots=True)
class Budget:
    """How long each agent learns: `steps` or `episodes`; the other one is None.

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
        """Return the steps of the piece that follows `done` steps; a budget in steps limits it."""
        piece = whole_piece(done)
        return piece if self.steps is None else min(piece, self.steps - done)

    def spent(self, counters: Sequence[AgentCounters]) -> bool:
        """Return whether every agent has used up the budget."""
        if self.steps is not None:
            return counters[0].steps >= self.steps
        assert self.episodes is not None
        return min(own.episodes for own in counters) >= self.episodes


@dataclass(frozen=True, slots=True)
class AgentsPlan:
    """The plan of a run of agents, with settings for each; ``config.acting`` is not None.

    `world` is None for a circuit whose transition table is unknown. With planes, `settings` contain the
    alpha of one plane.
    """

    world: AgentsWorld | None
    config: Config
    settings: tuple[AgentSettings, ...]
    budget: Budget

    def __post_init__(self) -> None:
        for pair in {(own.alpha, own.gamma) for own in self.settings}:
            check_discount(*pair, self.config.coefficient_bits, self.config.planes)

    @property
    def identity(self) -> dict[str, Any]:
        """The values that a checkpoint must share with this run; the length of the run may differ."""
        acting = self.config.acting
        assert acting is not None
        settings = [asdict(own) for own in self.settings]
        # The distribution of agents over lanes does not affect the result.
        config = replace(self.config, lanes=1)
        return {
            "command": "train on the device",
            "world": None if self.world is None else self.world.digest,
            "settings": settings if len(set(self.settings)) > 1 else settings[0],
            "config": config.to_dict(),
        }

    @property
    def given_settings(self) -> list[AgentSettings]:
        """The settings as given by the user, where alpha applies to the sum over all planes."""
        return [replace(own, alpha=own.alpha * self.config.planes) for own in self.settings]

    @property
    def solvable(self) -> World | None:
        """The world if it has a transition table, so that values can be computed; otherwise None."""
        return self.world if isinstance(self.world, World) else None

    @property
    def loaded(self) -> WorldTable | TiledWorld | int:
        """The argument for opening a device: the world as the device stores it, or the step limit."""
        acting = self.config.acting
        if isinstance(self.world, IntegerWorld):
            return TiledWorld(self.world, self.config)
        world = self.solvable
        if acting is None or acting.is_table:
            assert world is not None
            return world.table(self.config)
        return 0 if world is None else world.max_episode_steps


def fitting_format(
    world: AgentsWorld,
    settings: Iterable[AgentSettings],
    *,
    on_policy: bool = False,
    coefficient_bits: int = COEFFICIENT_BITS,
) -> QFormat:
    """Return the 16-bit format with the most fraction bits that can represent the learned values.

    It can represent the rewards and the values of ``qstep.mdp.solve`` for the largest discount learned
    with `coefficient_bits`, plus a margin of a quarter. On-policy algorithms learn the exploring
    policy's values, so the format also covers the values at the final epsilon, and those at the initial
    epsilon if that costs at most 4 fraction bits. If values are sums over planes, the format is Q8.8.

    Warns
    -----
    PrecisionWarning
        No 16-bit format can represent these values; the message names a wider format that can.
    """
    if isinstance(world, _TILED):
        return QFormat(8, 8)
    each = list(settings)
    pairs = {(own.alpha, own.gamma) for own in each}
    for pair in pairs:
        check_discount(*pair, coefficient_bits)
    discount = max(learned_discount(*pair, coefficient_bits) for pair in pairs)
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


def dead_zone(number_format: QFormat, rounding: Rounding, alpha: float) -> tuple[float, float]:
    """Return the lower and upper bound, in real units, of TD errors that do not change a value.

    With nearest rounding, the dead zone extends 2^-F / (2 alpha) in both directions. With rounding down,
    it extends twice as far upwards and not at all downwards. Stochastic rounding has no dead zone.
    """
    half = number_format.resolution / (2 * alpha) if alpha else math.inf
    return {
        Rounding.NEAREST: (-half, half),
        Rounding.FLOOR: (0.0, 2 * half),
        Rounding.STOCHASTIC: (0.0, 0.0),
    }[rounding]


def warn_of_lost_updates(
    world: AgentsWorld | None, rounding: Rounding, pairs: Iterable[tuple[float, QFormat]]
) -> None:
    """Warn if nearest rounding loses updates for errors of half the largest reward.

    Each element of `pairs` is an alpha and a format. An update is lost if the error is in the
    :func:`dead_zone`. Worlds without a transition table are not checked.
    """
    if rounding is not Rounding.NEAREST or not isinstance(world, World):
        return
    largest = float(abs(world.reward).max())
    lost = [
        (alpha, number, error)
        for alpha, number in dict.fromkeys(pairs)
        if alpha and (error := dead_zone(number, rounding, alpha)[1]) > _LOST * largest > 0
    ]
    if lost:
        alpha, number, error = max(lost, key=lambda own: own[2])
        more = f" (pairs like it: {len(lost)})" if lost[1:] else ""
        message = (
            f"alpha is {alpha:g} in {number}{more}, so an update for an error below {error:.3g} rounds "
            f"to 0, and the largest reward is {largest:g}; use a format with more fraction bits, a "
            "larger alpha, or rounding 'stochastic'"
        )
        warnings.warn(message, PrecisionWarning, stacklevel=3)


def _integer_bits(largest: float) -> int:
    """Return the fewest integer bits, including the sign, for values of at most `largest`."""
    return 1 + math.ceil(math.log2(max(1.0, largest)))


def world_of_agents(
    world: AgentsWorld | str | gym.Env[Any, Any], env_kwargs: Mapping[str, Any] | None = None
) -> AgentsWorld | str:
    """Return the world in which agents act on a device, or the file of a circuit.

    Raises NoTableError for an environment in which only the host can act, and otherwise the errors of
    :meth:`qstep.World.of`.
    """
    if isinstance(world, str) and world.endswith(CIRCUITS):
        return world
    if isinstance(world, str) and world in INTEGER_WORLDS:
        if env_kwargs:
            raise ConfigError(f"env_kwargs are {dict(env_kwargs)}; {world} on a device takes none")
        return INTEGER_WORLDS[world]
    return world if isinstance(world, _TILED) else World.of(world, env_kwargs)


def planned(
    world: AgentsWorld | str | gym.Env[Any, Any],
    *,
    budget: Budget,
    agents: int | None = None,
    algorithm: Algorithm | str = Algorithm.Q_LEARNING,
    shared_table: bool = False,
    settings: AgentSettings | Sequence[AgentSettings] = _SETTINGS,
    number_format: QFormat | str | None = None,
    rounding: Rounding | str = Rounding.NEAREST,
    coefficient_bits: int | None = None,
    lanes: int | None = None,
    config: Config | None = None,
) -> AgentsPlan:
    """Return the plan of a run; the parameters are as for :func:`qstep.train`."""
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
            ("coefficient_bits", coefficient_bits, None, config.coefficient_bits),
            ("lanes", lanes, None, config.lanes),
        ):
            if given not in (default, own):  # a default is no contradiction
                raise ConfigError(f"{name} is {_plain(given)}; the configuration has {_plain(own)}")
    source = world_of_agents(world)
    known = None if isinstance(source, str) else source
    has = None if acting is None else acting.world
    if isinstance(source, str) and has != source:
        raise ConfigError(
            f"world is the circuit {source!r} and acting.world is {shown(has)}; a circuit needs the "
            f"configuration of a device that is built with it{module_hint(source)}"
        )
    if acting is not None and (isinstance(known, IntegerWorld) or acting.is_tiled):
        if not isinstance(known, IntegerWorld) or known.env_id != has:
            there = known.env_id if isinstance(known, IntegerWorld) else "a table"
            raise ConfigError(f"world is {there}; acting.world is {has!r}")
        known = replace(acting.integer_world, max_episode_steps=known.max_episode_steps)
    usual = (1 if isinstance(known, TiledEnv) else _AGENTS) if agents is None else agents
    settings = _settings(settings, usual if acting is None else acting.agents, budget)
    if not settings:
        raise ConfigError("settings is empty; it must contain at least one AgentSettings")
    if agents not in (None, len(settings)):
        raise ConfigError(f"agents is {agents}; settings are for {len(settings)}")
    if config is None:
        assert known is not None
        bits = usual_bits(known) if coefficient_bits is None else coefficient_bits
        integer("coefficient_bits", bits, COEFFICIENT_BITS, MOST_COEFFICIENT_BITS)
        if number_format is None:
            number_format = fitting_format(
                known,
                settings,
                on_policy=Algorithm.parse(algorithm).is_on_policy,
                coefficient_bits=bits,
            )
        config = Config(
            **_shape(known, len(settings), algorithm, shared_table),
            format=number_format,
            rounding=Rounding.parse(rounding),
            lanes=_lanes(known, len(settings), shared_table) if lanes is None else lanes,
            coefficient_bits=bits,
        )
    if isinstance(known, World):
        _check_episodes_end(known, budget)
    return AgentsPlan(known, config, tuple(_of_planes(own, config) for own in settings), budget)


def usual_settings(name: str) -> AgentSettings:
    """Return the default settings for the world with this name.

    Alpha is 0.5, gamma 0.9, and epsilon falls from 1 to 0.05 over the first half of the run. Some worlds
    have other defaults (``qstep train --help``).
    """
    own = defaults(name, on_host=False)
    options = {"start": "epsilon_start", "end": "epsilon_end", "over": "epsilon_share"}
    epsilon = {part: own[option] for part, option in options.items() if option in own}
    rates = {rate: own[rate] for rate in ("alpha", "gamma") if rate in own}
    return replace(_SETTINGS, **rates, epsilon=replace(FALLING, **epsilon))


def usual_bits(world: AgentsWorld) -> int:
    """Return the default number of fractional coefficient bits.

    With planes, extra bits preserve the precision of alpha, because the alpha of each plane is smaller.
    """
    planes = world.tiles.planes if isinstance(world, _TILED) else 1
    return COEFFICIENT_BITS + (planes - 1).bit_length()


def _shape(
    world: AgentsWorld, agents: int, algorithm: Algorithm | str, shared_table: bool
) -> dict[str, Any]:
    """Return the fields of the configuration that depend on the world."""
    if isinstance(world, World):
        acting = world.acting(agents=agents, algorithm=algorithm, shared_table=shared_table)
        return {"states": world.states, "actions": world.actions, "acting": acting}
    tiles = world.tiles
    where = world.env_id if isinstance(world, IntegerWorld) else "live"
    acting = Acting(agents, algorithm, shared_table, world=where, tiles=tiles)
    rows = max(2, tiles.rows)
    return {"states": rows, "actions": world.actions, "planes": tiles.planes, "acting": acting}


def _of_planes(settings: AgentSettings, config: Config) -> AgentSettings:
    """Return settings with alpha divided among the planes, which all learn from the same error."""
    bits, planes = config.coefficient_bits, config.planes
    alpha = alpha_of_planes(settings.alpha, settings.gamma, bits, planes)
    return replace(settings, alpha=alpha)


def _check_episodes_end(world: World, budget: Budget) -> None:
    """Raise ConfigError if the budget is in episodes and an episode may never end."""
    if budget.episodes is None or world.max_episode_steps:
        return
    stuck = endless(world)
    if len(stuck):
        raise ConfigError(
            f"episodes is {budget.episodes}, but no episode can end from state {stuck[0]} (number "
            f"of such states: {len(stuck)}); count the run in steps (--steps), or limit the steps "
            "of an episode (--max-episode-steps)"
        )


def _plain(value: object) -> str:
    """Return a value, or the name of a choice, as a user would type it."""
    return str(getattr(value, "value", value))


def _settings(
    settings: AgentSettings | Sequence[AgentSettings], agents: int, budget: Budget
) -> list[AgentSettings]:
    """Return the settings of each agent, with epsilon schedules that a device can count."""
    if isinstance(settings, AgentSettings):
        settings = [settings] * agents
    check_types("settings", settings, AgentSettings)
    return [
        replace(own, epsilon=own.epsilon.counted(budget.length, budget.unit)) for own in settings
    ]


def _lanes(world: AgentsWorld, agents: int, shared_table: bool) -> int:
    """Return the fewest lanes that divide the agents evenly; 1 for a shared table or if none do."""
    fewest = range(-(-agents // LANE_AGENTS), MOST_LANES + 1)
    fitting = (lanes for lanes in fewest if agents % lanes == 0)
    return 1 if shared_table or isinstance(world, TiledEnv) else next(fitting, 1)
