"""The common interface of models and devices with agents, and its argument checks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from qstep.errors import ConfigError
from qstep.mdp.memory import WorldTable
from qstep.mdp.tiled import TiledWorld
from qstep.spec.agents import Acting
from qstep.spec.checks import boolean, instance, integer, shown
from qstep.spec.config import Config, checked_config, checked_table
from qstep.spec.discount import warn_of_discounts
from qstep.spec.epsilon import EPSILON_BITS
from qstep.spec.settings import COUNTER_BITS, RETURN_BITS, AgentCounters, AgentSettings, AgentState

__all__ = ["Agents", "Closing", "check_types", "check_world", "checked_agents"]


class Closing(ABC):
    """Base class of objects that a ``with`` block closes at its end, even after an error."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources; calling it twice is harmless."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Agents(Closing):
    """Agents in a world, with separate tables or a shared one, run by a model, a simulation or a board.

    Raises ConfigError if `config` has no agents, if it lacks schedules or a step limit that `settings`
    or `world` need, if `world` does not fit, or if `settings` has the wrong length.

    Attributes
    ----------
    config : Config
        A configuration whose ``acting`` is not None.
    world : WorldTable, TiledWorld or int
        A world made for `config`. If the world exists only in the device, its step limit, or 0 for none.
    settings : tuple of AgentSettings
        One per agent.
    """

    def __init__(
        self,
        config: Config,
        world: WorldTable | TiledWorld | int,
        settings: Sequence[AgentSettings],
    ) -> None:
        self.world = world
        self._acting = checked_agents(config, settings, self._limit)
        self.config, self.settings = config, tuple(settings)

    def _first_states(self, settings: Sequence[AgentSettings]) -> list[AgentState]:
        """Return the agents' states before their first steps."""
        states = [AgentState.first(own, agent) for agent, own in enumerate(settings)]
        place = self._place
        return [replace(own, state=(0,) * len(place)) for own in states] if place else states

    @property
    def _place(self) -> Sequence[tuple[int, int]] | None:
        """The range of each number in an agent's state; None if the state is a single row."""
        if isinstance(self.world, TiledWorld):
            return self.world.world.limits
        planes = self.config.planes
        return None if planes == 1 else ((0, self.config.states - 1),) * planes

    @property
    def _limit(self) -> int:
        """The step limit of an episode; 0 for none."""
        return self.world if isinstance(self.world, int) else self.world.max_episode_steps

    @property
    @abstractmethod
    def table(self) -> NDArray[np.int32]:
        """All tables as raw values, shape ``(*Acting.tables, S, A)``."""

    @property
    @abstractmethod
    def states(self) -> list[AgentState]:
        """The state of each agent."""

    @property
    @abstractmethod
    def counters(self) -> list[AgentCounters]:
        """The counters of each agent."""

    def load(self, q_raw: NDArray[np.int32]) -> None:
        """Replace all tables with values of the same shape; raise TableError if they do not fit."""
        self._put_table(checked_table(self.config, q_raw))

    def restore(
        self,
        table: NDArray[np.int32],
        states: Sequence[AgentState],
        counters: Sequence[AgentCounters],
    ) -> None:
        """Restore earlier values of :attr:`table`, :attr:`states` and :attr:`counters`.

        Raises
        ------
        TableError
            The table does not fit.
        ConfigError
            The number of states or counters is not the number of agents, or a value is out of range
            (ranges may depend on the agent's settings and the step limit). Also raised if agents that
            share a table have taken different numbers of steps, because a turn is then incomplete.
            Nothing is changed.
        """
        acting = self._acting
        for what, given, kind in (
            ("states", states, AgentState),
            ("counters", counters, AgentCounters),
        ):
            check_types(what, given, kind)
            if len(given) != acting.agents:
                raise ConfigError(
                    f"{what} are for {len(given)} agents; the device has {acting.agents}"
                )
        q_raw = checked_table(self.config, table)
        states = [self._checked_state(agent, own) for agent, own in enumerate(states)]
        counters = [_checked_counters(acting, agent, own) for agent, own in enumerate(counters)]
        if acting.shared_table and not acting.is_live:
            # In a live world, the host decides which agent acts, so there are no turns.
            _check_equal_steps(counters)
        self._put_table(q_raw)
        self._put_agents(states, counters)

    def configure(self, settings: Sequence[AgentSettings]) -> None:
        """Change the settings: `alpha`, `gamma` and `epsilon` of each agent.

        Tables, states and counters are kept. An agent's epsilon restarts if its setting changes;
        otherwise it continues.

        Raises
        ------
        ConfigError
            The number of settings is not the number of agents, a seed differs, alpha does not fit the
            coefficients, the learned discount would be rounded to 0 or 1, or the configuration lacks
            schedules that the settings need. Nothing is changed.
        """
        checked_agents(self.config, settings, self._limit)
        pairs = ((own.alpha, own.gamma) for own in settings)
        warn_of_discounts(pairs, self.config.coefficient_bits, self.config.planes)
        for agent, (old, new) in enumerate(zip(self.settings, settings, strict=True)):
            if new.seed != old.seed:
                raise ConfigError(
                    f"seed of agent {agent} is {new.seed}; it must stay {old.seed}, "
                    "the seed with which its run began"
                )
        states = [
            replace(state)
            if new.epsilon == old.epsilon
            else replace(state, epsilon=new.epsilon.code.start, epsilon_count=0)
            for old, new, state in zip(self.settings, settings, self.states, strict=True)
        ]
        self._put_settings(settings, states)
        self.settings = tuple(settings)

    @abstractmethod
    def _put_table(self, table: NDArray[np.int32]) -> None:
        """Replace all tables with checked values."""

    @abstractmethod
    def _put_agents(self, states: list[AgentState], counters: list[AgentCounters]) -> None:
        """Set the agents' states and counters to checked values."""

    @abstractmethod
    def _put_settings(self, settings: Sequence[AgentSettings], states: list[AgentState]) -> None:
        """Apply checked settings, and the epsilons and counts in `states`."""

    def close(self) -> None:
        """Release the device; calling it twice is harmless."""

    def _checked_state(self, agent: int, state: AgentState) -> AgentState:
        # Hardware tests whether a count *equals* its bound, so a restored count must be below its bound.
        code = self.settings[agent].epsilon.code
        epsilon: _Range = (0, 1 << EPSILON_BITS)
        if not self._acting.schedules:
            epsilon = code.start, code.start, "", " where acting.schedules is false"
        steps: _Range = (0, self._limit - 1, "", ", less than the step limit")
        if not self._limit:
            steps = 0, 0, "", "; there is no step limit"
        ranges: dict[str, _Range] = {
            "word": (1, (1 << 64) - 1, "from 1 to 2^64-1"),
            "epsilon": epsilon,
            "epsilon_count": (0, code.period - 1, "", ", less than the period of its epsilon"),
            "action": (0, self.config.actions - 1),
            "episode_steps": steps,
        }
        limits = self._place
        if limits is None:
            ranges["state"] = 0, self.config.states - 1
            return _checked_fields(agent, state, ranges)
        if not isinstance(state.state, tuple) or len(state.state) != len(limits):
            raise ConfigError(
                f"state of agent {agent} is {shown(state.state)}; it must be a tuple of {len(limits)} "
                "integers"
            )
        place = tuple(
            integer(f"state[{k}] of agent {agent}", number, *limits[k])
            for k, number in enumerate(state.state)
        )
        ranges["state"] = 0, 0
        return replace(_checked_fields(agent, replace(state, state=0), ranges), state=place)


_Part = TypeVar("_Part", AgentState, AgentCounters)
_Range = tuple[int, int] | tuple[int, int, str] | tuple[int, int, str, str]
"""The arguments of :func:`integer` after name and value."""


def _checked_counters(acting: Acting, agent: int, own: AgentCounters) -> AgentCounters:
    most, half = (1 << COUNTER_BITS) - 1, 1 << RETURN_BITS - 1
    names = "steps", "terminations", "truncations", "saturations"
    ranges: dict[str, _Range] = dict.fromkeys(names, (0, most, f"from 0 to 2^{COUNTER_BITS}-1"))
    if not acting.step_limit:
        ranges["truncations"] = 0, 0, "", " where acting.step_limit is false"
    ranges["return_sum"] = -half, half - 1, "from -2^63 to 2^63-1"
    return _checked_fields(agent, own, ranges)


def _checked_fields(agent: int, part: _Part, ranges: dict[str, _Range]) -> _Part:
    """Return a copy with checked fields: integers within `ranges`, and booleans in all other fields."""
    checked: dict[str, Any] = {}
    for field in fields(part):
        what, value = f"{field.name} of agent {agent}", getattr(part, field.name)
        if field.name in ranges:
            checked[field.name] = integer(what, value, *ranges[field.name])
        else:
            checked[field.name] = boolean(what, value)
    return replace(part, **checked)


def checked_agents(
    config: Config, settings: Sequence[AgentSettings], max_episode_steps: int
) -> Acting:
    """Return ``config.acting``; raise ConfigError unless its devices support these agents.

    `max_episode_steps` is the world's step limit, 0 for none.
    """
    acting = checked_config(config).acting
    if not isinstance(acting, Acting):
        raise ConfigError("acting is None; agents need a configuration that has it")
    check_types("settings", settings, AgentSettings)
    if len(settings) != acting.agents:
        raise ConfigError(
            f"settings are for {len(settings)} agents; the configuration has {acting.agents}"
        )
    for agent, own in enumerate(settings):
        code = own.epsilon.code  # raises if its length is still a share of the run
        own.coefficients_for(config)  # raises if alpha does not fit
        if not acting.schedules and code.start != code.end:
            raise ConfigError(
                f"epsilon kind of agent {agent} is {own.epsilon.kind!r}; it must be 'constant' where "
                "acting.schedules is false"
            )
    if max_episode_steps and not acting.step_limit:
        raise ConfigError(
            f"max_episode_steps is {max_episode_steps}; it must be 0 where acting.step_limit is false"
        )
    return acting


def check_world(config: Config, world: WorldTable | TiledWorld) -> None:
    """Raise ConfigError unless `world` was made for `config`, or `config` has a live world."""
    acting = checked_config(config).acting
    if isinstance(world, TiledWorld):
        if world.config != config:
            both = world.config, config
            values = (
                (field.name, *(getattr(own, field.name) for own in both))
                for field in fields(config)
            )
            name, its, ours = next(each for each in values if each[1] != each[2])
            raise ConfigError(
                f"world is a TiledWorld for another configuration: its {name} is {shown(its)}, not "
                f"{shown(ours)}"
            )
        return
    if acting is None or acting.is_live:
        return
    if config.planes > 1:
        raise ConfigError(f"planes is {config.planes}; it must be 1 where the world is not tiled")
    instance("world", world, WorldTable, ", which World.table(config) returns")
    names = "states", "actions", "outcomes", "starts"
    there = *world.split.shape, *world.start_split.shape
    here = config.states, config.actions, acting.outcomes, acting.starts
    for name, found, wanted in zip(names, there, here, strict=True):
        if found != wanted:
            raise ConfigError(
                f"{name} of world is {found}; it must be {wanted}: use World.table(config)"
            )


def check_types(what: str, given: object, kind: type) -> None:
    """Raise ConfigError unless `given` is a sequence of this `kind`."""
    if not isinstance(given, Sequence):
        raise ConfigError(
            f"{what} is {shown(given)}; it must be a sequence of {kind.__name__}, one per agent"
        )
    for number, part in enumerate(given):
        instance(f"{what}[{number}]", part, kind)


def _check_equal_steps(counters: Sequence[AgentCounters]) -> None:
    first = counters[0].steps
    for agent, own in enumerate(counters):
        if own.steps != first:
            raise ConfigError(
                f"steps of agent {agent} is {own.steps}; it must be {first}, as for agent 0, "
                "where agents share a table; run(1) completes their turn"
            )
