"""Checks whether a configuration's devices can have given agents, and continue from given values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep.errors import ConfigError
from qstep.mdp.memory import WorldTable
from qstep.spec.agents import Acting
from qstep.spec.checks import boolean, integer, shown
from qstep.spec.config import Config, checked_config, checked_table
from qstep.spec.discount import warn_of_discounts
from qstep.spec.epsilon import EPSILON_BITS
from qstep.spec.settings import COUNTER_BITS, RETURN_BITS, AgentCounters, AgentSettings, AgentState

__all__ = [
    "Parts",
    "check_types",
    "check_world",
    "checked_agents",
    "checked_parts",
    "reconfigured",
]


class Parts(NamedTuple):
    """Everything from which a run of agents continues."""

    table: NDArray[np.int32]
    states: list[AgentState]
    counters: list[AgentCounters]


def checked_agents(
    config: Config, settings: Sequence[AgentSettings], max_episode_steps: int
) -> Acting:
    """Return ``config.acting``.

    Parameters
    ----------
    config : Config
    settings : sequence of AgentSettings
    max_episode_steps : int
        The world's limit of steps, 0 for none.

    Raises
    ------
    ConfigError
        `config` has no agents, the number of settings is not that of its agents, it lacks the
        schedules or the limit of steps that they need.
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
        if not acting.schedules and own.epsilon.code.start != own.epsilon.code.end:
            raise ConfigError(
                f"epsilon kind of agent {agent} is {own.epsilon.kind!r}; it must be 'constant' where "
                "acting.schedules is false"
            )
    if max_episode_steps and not acting.step_limit:
        raise ConfigError(
            f"max_episode_steps is {max_episode_steps}; it must be 0 where acting.step_limit is false"
        )
    return acting


def check_world(config: Config, world: WorldTable) -> None:
    """Raise ConfigError unless a world is a table for `config`, or the world of `config` is live."""
    acting = checked_config(config).acting
    if acting is None or acting.is_live:
        return
    if not isinstance(world, WorldTable):
        raise ConfigError(
            f"world is {shown(world)}; it must be a WorldTable, which World.table(config) returns"
        )
    names = "states", "actions", "outcomes", "starts"
    there = *world.split.shape, *world.start_split.shape
    here = config.states, config.actions, acting.outcomes, acting.starts
    for name, found, wanted in zip(names, there, here, strict=True):
        if found != wanted:
            raise ConfigError(
                f"{name} of world is {found}; it must be {wanted}: use World.table(config)"
            )


def checked_parts(
    config: Config,
    settings: Sequence[AgentSettings],
    max_episode_steps: int,
    table: NDArray[np.int32],
    states: Sequence[AgentState],
    counters: Sequence[AgentCounters],
) -> Parts:
    """Return copies of what agents continue from, if all devices continue from it alike.

    Hardware tests whether a count *equals* its bound, so a count must be below its bound.

    Raises
    ------
    TableError
        The table does not fit `config`.
    ConfigError
        The states or counters are not one per agent; a value is out of range, which may depend on the
        agent's settings and the limit of steps; or agents of a shared table have made different numbers
        of steps, so a turn is incomplete.
    """
    acting = config.acting
    assert acting is not None
    for what, given, kind in (
        ("states", states, AgentState),
        ("counters", counters, AgentCounters),
    ):
        check_types(what, given, kind)
        if len(given) != acting.agents:
            raise ConfigError(f"{what} are of {len(given)} agents; these are {acting.agents}")
    found = Parts(
        checked_table(config, table),
        [
            _checked_state(config, own, max_episode_steps, agent, states[agent])
            for agent, own in enumerate(settings)
        ],
        [_checked_counters(acting, agent, own) for agent, own in enumerate(counters)],
    )
    if acting.shared_table and not acting.is_live:
        # In a live world the host decides who acts, so there are no turns.
        _check_equal("steps", found.counters, "where agents share a table; run(1) ends their turn")
    return found


def _checked_state(
    config: Config, own: AgentSettings, max_episode_steps: int, agent: int, state: AgentState
) -> AgentState:
    acting, code = config.acting, own.epsilon.code
    assert acting is not None
    number = partial(_number, agent, state)
    least, most, why = 0, 1 << EPSILON_BITS, ""
    if not acting.schedules:
        least, most, why = code.start, code.start, " where acting.schedules is false"
    last, limit = max_episode_steps - 1, "less than the limit of steps"
    if not max_episode_steps:
        last, limit = 0, "there is no limit of steps"
    return AgentState(
        word=number("word", 1, (1 << 64) - 1, legal="from 1 to 2^64-1"),
        epsilon=number("epsilon", least, most, why=why),
        epsilon_count=number(
            "epsilon_count", 0, code.period - 1, why=", less than the period of its epsilon"
        ),
        begun=boolean(f"begun of agent {agent}", state.begun),
        state=number("state", 0, config.states - 1),
        action=number("action", 0, config.actions - 1),
        explored=boolean(f"explored of agent {agent}", state.explored),
        episode_steps=number("episode_steps", 0, last, why=f", {limit}"),
    )


def _checked_counters(acting: Acting, agent: int, own: AgentCounters) -> AgentCounters:
    number = partial(_number, agent, own)
    count = partial(
        number, low=0, high=(1 << COUNTER_BITS) - 1, legal=f"from 0 to 2^{COUNTER_BITS}-1"
    )
    half = 1 << RETURN_BITS - 1
    return AgentCounters(
        steps=count("steps"),
        terminations=count("terminations"),
        truncations=(
            count("truncations")
            if acting.step_limit
            else number("truncations", 0, 0, why=" where acting.step_limit is false")
        ),
        saturations=count("saturations"),
        return_sum=number("return_sum", -half, half - 1, legal="from -2^63 to 2^63-1"),
    )


def _number(agent: int, part: object, name: str, low: int, high: int, **words: str) -> int:
    """Return a field of an agent's part as an int."""
    return integer(f"{name} of agent {agent}", getattr(part, name), low, high, **words)


def check_types(what: str, given: object, kind: type) -> None:
    """Raise ConfigError unless `given` is a sequence of this `kind`."""
    if not isinstance(given, Sequence):
        raise ConfigError(
            f"{what} is {shown(given)}; it must be a sequence of {kind.__name__}, one per agent"
        )
    for number, part in enumerate(given):
        if not isinstance(part, kind):
            raise ConfigError(f"{what}[{number}] is {shown(part)}; it must be an {kind.__name__}")


def _check_equal(name: str, parts: Sequence[Any], where: str) -> None:
    first = getattr(parts[0], name)
    for agent, part in enumerate(parts):
        value = getattr(part, name)
        if value != first:
            raise ConfigError(
                f"{name} of agent {agent} is {value}; it must be that of agent 0, {first}, {where}"
            )


def reconfigured(
    config: Config,
    before: Sequence[AgentSettings],
    settings: Sequence[AgentSettings],
    max_episode_steps: int,
    states: Sequence[AgentState],
) -> list[AgentState]:
    """Return what agents go on from with other settings than before, between two steps.

    Where an agent's epsilon is another, it begins at its start; else it goes on. All else stays.

    Raises
    ------
    ConfigError
        As for :func:`checked_agents` or :func:`~qstep.spec.discount.check_discount`;
        or a seed is another, of which a run can only begin.
    """
    checked_agents(config, settings, max_episode_steps)
    warn_of_discounts((own.alpha, own.gamma) for own in settings)
    for agent, (old, new) in enumerate(zip(before, settings, strict=True)):
        if new.seed != old.seed:
            raise ConfigError(
                f"seed of agent {agent} is {new.seed}; it must stay {old.seed}, which its run began with"
            )
    return [
        replace(state)
        if new.epsilon == old.epsilon
        else replace(state, epsilon=new.epsilon.code.start, epsilon_count=0)
        for old, new, state in zip(before, settings, states, strict=True)
    ]
