"""Checks whether a configuration's devices can have given agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from qstep.acting.agent import AgentCounters, AgentSettings, AgentState
from qstep.acting.config import Acting
from qstep.config import Config
from qstep.errors import ConfigError

__all__ = ["check_parts", "checked_agents", "reconfigured"]


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
        schedules or the limit of steps that they need, or agents in lockstep have different ones.
    """
    acting = config.acting
    if not isinstance(acting, Acting):
        raise ConfigError("acting is None; agents need a configuration that has it")
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
        for name in ("alpha", "gamma", "epsilon") if acting.lockstep else ():
            given, first = getattr(own, name), getattr(settings[0], name)
            if given != first:
                raise ConfigError(
                    f"{name} of agent {agent} is {given}; it must be that of agent 0, {first}, where "
                    "acting.lockstep is true"
                )
    if max_episode_steps and not acting.step_limit:
        raise ConfigError(
            f"max_episode_steps is {max_episode_steps}; it must be 0 where acting.step_limit is false"
        )
    return acting


def check_parts(
    config: Config,
    settings: Sequence[AgentSettings],
    states: Sequence[AgentState],
    counters: Sequence[AgentCounters],
) -> None:
    """Raise ConfigError unless each agent has a valid state and counters."""
    acting = config.acting
    assert acting is not None
    for what, given in (("states", states), ("counters", counters)):
        if len(given) != acting.agents:
            raise ConfigError(f"{what} are of {len(given)} agents; these are {acting.agents}")
    for agent, (own, state) in enumerate(zip(settings, states, strict=True)):
        if acting.lockstep and state.begun != states[0].begun:
            raise ConfigError(
                f"begun of agent {agent} is {state.begun}; it must be that of agent 0, "
                f"{states[0].begun}, where acting.lockstep is true"
            )
        # Values that a device without the switch does not count, and epsilon, which never falls there.
        stays = {
            "schedules": {"epsilon": own.epsilon.code.start, "epsilon_count": 0},
            "step_limit": {"episode_steps": 0},
        }
        for switch, fields in stays.items():
            for name, value in fields.items():
                found = getattr(state, name)
                if found != value and not getattr(acting, switch):
                    raise ConfigError(
                        f"{name} of agent {agent} is {found}; it must be {value} where acting.{switch} "
                        "is false"
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
        As for :func:`checked_agents`; or a seed is another, of which a run can only begin.
    """
    checked_agents(config, settings, max_episode_steps)
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
