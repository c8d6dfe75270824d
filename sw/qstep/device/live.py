"""Live worlds: the caller is the world; it reports the outcome of each action and gets the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Protocol, Self, cast

import numpy as np
from numpy.typing import NDArray

from qstep.device import is_model, open_port
from qstep.device.agents import LinkAgents
from qstep.device.base import Closing
from qstep.device.link.exchange import PATIENCE
from qstep.device.link.ports import Port
from qstep.device.registers import begin_write
from qstep.errors import ConfigError, TransitionError
from qstep.golden.agents import ActingModel
from qstep.golden.checks import Parts, checked_agents
from qstep.mdp.memory import Answer, WorldTable
from qstep.spec.checks import boolean, integer, shown
from qstep.spec.config import Config, checked_config
from qstep.spec.discount import warn_of_discounts
from qstep.spec.protocol import ANSWERS, ARGUMENTS, Request
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState

__all__ = [
    "LinkLive",
    "LiveDevice",
    "LiveModel",
    "answer_of",
    "check_begun",
    "check_live",
    "open_live",
]


class LiveDevice(Protocol):
    """Agents in a live world: the model, a simulation or a board.

    Attributes
    ----------
    config : Config
    """

    config: Config

    def begin(self, state: int, agent: int = 0) -> int:
        """Put an agent into the start state of an episode; return its first action there.

        An unfinished episode is abandoned without another update.

        Parameters
        ----------
        state : int
            0..S-1.
        agent : int
            0..P-1.

        Raises
        ------
        ConfigError
            A value is out of range; nothing was done.
        """

    def act(self, reward: float, next_state: int, terminated: bool, agent: int = 0) -> int:
        """Report the outcome of an agent's action, let it learn, and return its next action.

        Parameters
        ----------
        reward : float
            In real units; rounded to the nearest multiple of 2^-F.
        next_state : int
            0..S-1. If the episode terminated, the start state of the next one.
        terminated : bool
        agent : int
            0..P-1.

        Raises
        ------
        ConfigError, TransitionError
            A value is out of range, the reward does not fit the format, or the agent has not begun;
            nothing was done.
        """

    @property
    def table(self) -> NDArray[np.int32]:
        """A copy of all tables as raw values, shape ``(*Acting.tables, S, A)``."""

    @property
    def states(self) -> list[AgentState]:
        """The state of each agent."""

    @property
    def counters(self) -> list[AgentCounters]:
        """The counters of each agent."""

    def restore(
        self,
        table: NDArray[np.int32],
        states: Sequence[AgentState],
        counters: Sequence[AgentCounters],
    ) -> None:
        """Continue from earlier values of the properties with these names.

        Raises
        ------
        TableError, ConfigError
            The table does not fit, or a state or counter is out of range; nothing is changed.
        """

    def close(self) -> None:
        """Release the device."""

    def __enter__(self) -> Self:
        """Return the device, which closes at the end of the block."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        """Close the device."""


def open_live(url: str, config: Config, settings: Sequence[AgentSettings]) -> LiveDevice:
    """Open a device by name whose world is the caller; its tables are 0, and no agent has begun.

    Parameters
    ----------
    url : str
        As for :func:`qstep.open`.
    config : Config
        Its ``acting.world`` is ``live``.
    settings : sequence of AgentSettings
        One per agent.

    Raises
    ------
    ConfigError
        The name has none of these forms, the world of `config` is not live, `settings` are for another
        number of agents, hardware has no room for them, or gamma would be learned as 0 or 1.
    DeviceError, ToolMissingError
        As for :func:`qstep.open`.

    Examples
    --------
    >>> from qstep.spec.agents import Acting
    >>> config = Config(4, 2, acting=Acting(world="live"))
    >>> with open_live("model:", config, [AgentSettings()]) as device:
    ...     actions = [device.begin(0), device.act(1.0, 3, terminated=False)]
    """
    check_live(config)
    checked_agents(config, settings, 0)
    warn_of_discounts((own.alpha, own.gamma) for own in settings)
    if is_model(url):
        return LiveModel(config, settings)

    port, build = open_port(url, config)
    return LinkLive(port, config, settings, build=build)


def check_live(config: Config) -> None:
    """Raise ConfigError unless the world of a configuration is live."""
    checked_config(config)
    if config.acting is None or not config.acting.is_live:
        world = None if config.acting is None else config.acting.world
        raise ConfigError(f"acting.world is {world!r}; begin and act need 'live'")


def answer_of(
    config: Config, reward: float, next_state: int, terminated: bool, agent: int
) -> tuple[int, int, int]:
    """Return raw reward, next state and agent of an answer, checked as in :class:`LiveDevice`."""
    assert config.acting is not None
    agent = integer("agent", agent, 0, config.acting.agents - 1)
    next_state = integer("next_state", next_state, 0, config.states - 1)
    boolean("terminated", terminated)
    raw = config.format.quantise(reward)
    if raw.ndim:
        raise TransitionError(f"reward is {shown(reward)}; it must be a single number")
    return int(raw), next_state, agent


def check_begun(has_begun: Sequence[bool], agent: int) -> None:
    """Raise ConfigError unless an agent has begun."""
    if not has_begun[agent]:
        raise ConfigError(f"agent {agent} has not begun; begin(state) comes before the first act")


class _Said:
    """The last reported outcome, in place of a world."""

    max_episode_steps = 0
    now = Answer(0, 0, False)

    def answer(self, state: int, action: int, draw: int) -> Answer:
        return self.now

    def start(self, draw: int) -> int:
        return self.now.next_state


class LiveModel(ActingModel, Closing):
    """The model of a live world: the definition of :class:`LiveDevice`.

    Parameters
    ----------
    config : Config
        Its ``acting.world`` is ``live``.
    settings : sequence of AgentSettings
        One for each agent.

    Raises
    ------
    ConfigError
        The world of `config` is not live, or the number of settings is not that of its agents.
    """

    def __init__(self, config: Config, settings: Sequence[AgentSettings]) -> None:
        check_live(config)
        self._said = _Said()
        super().__init__(config, cast(WorldTable, self._said), settings)

    def begin(self, state: int, agent: int = 0) -> int:
        """As :meth:`LiveDevice.begin`."""
        agent = integer("agent", agent, 0, len(self.settings) - 1)
        self._said.now = Answer(0, integer("state", state, 0, self.config.states - 1), False)
        self._begin(agent)
        return self.states[agent].action

    def act(self, reward: float, next_state: int, terminated: bool, agent: int = 0) -> int:
        """As :meth:`LiveDevice.act`."""
        raw, next_state, agent = answer_of(self.config, reward, next_state, terminated, agent)
        check_begun([own.begun for own in self.states], agent)
        self._said.now = Answer(raw, next_state, bool(terminated))
        self._step(agent)
        return self.states[agent].action

    def close(self) -> None:
        """Do nothing."""


class LinkLive(LinkAgents):
    """The driver of a live world: same contract as :class:`qstep.device.live.LiveModel`.

    Parameters
    ----------
    port : Port
        Carries the bytes; closed with the device.
    config : Config
        The configuration that the device must have been built from; its ``acting.world`` is ``live``.
    settings : sequence of AgentSettings
        One for each agent.
    patience : float
        Seconds without an answer before the first retry, in addition to the time on the line.
    build : str, optional
        The required build; by default any.

    Raises
    ------
    ConfigError
        The world of `config` is not live.
    ConfigError, DeviceError
        As for :class:`~qstep.device.agents.LinkAgents`.
    """

    def __init__(
        self,
        port: Port,
        config: Config,
        settings: Sequence[AgentSettings],
        patience: float = PATIENCE,
        build: str | None = None,
    ) -> None:
        check_live(config)
        super().__init__(port, config, 0, settings, patience, build)

    def begin(self, state: int, agent: int = 0) -> int:
        """Put an agent into the start state of an episode; return its first action there.

        An unfinished episode is abandoned without another update.
        """
        agent = integer("agent", agent, 0, len(self.settings) - 1)
        state = integer("state", state, 0, self.config.states - 1)
        # A draw for a step that was not made is used for this.
        place = begin_write(agent, self._context(0, agent))
        self._store(0, [place])
        self._has_begun[agent] = True
        return self._asked(Request.BEGIN, agent, state)

    def act(self, reward: float, next_state: int, terminated: bool, agent: int = 0) -> int:
        """Report the outcome of an agent's action, let it learn, and return its next action."""
        raw, next_state, agent = answer_of(self.config, reward, next_state, terminated, agent)
        check_begun(self._has_begun, agent)
        return self._asked(Request.ACT, agent, next_state, int(terminated), raw & 0xFFFFFFFF)

    def _asked(self, kind: Request, *arguments: int) -> int:
        layout = ANSWERS[kind]
        data = self._session.ask(kind, layout.size, ARGUMENTS[kind].pack(*arguments))
        (action,) = layout.unpack(data)
        return action

    # On the device every agent has a state: one that has not begun would begin as soon as another acts.

    @property
    def states(self) -> list[AgentState]:
        """The states of the agents, as copies."""
        return [
            replace(state, begun=begun)
            for state, begun in zip(super().states, self._has_begun, strict=True)
        ]

    def _put(self, parts: Parts) -> None:
        super()._put(parts._replace(states=[replace(state, begun=True) for state in parts.states]))
        self._has_begun = [state.begun for state in parts.states]
