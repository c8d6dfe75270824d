"""Live worlds: the caller is the world; it reports the outcome of each action and gets the next one."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self, cast

import numpy as np
from numpy.typing import NDArray

from qstep.acting.agent import AgentCounters, AgentSettings, AgentState
from qstep.acting.checks import checked_agents
from qstep.acting.model import ActingModel
from qstep.acting.world_table import Answer, WorldTable
from qstep.checks import boolean, integer, shown
from qstep.closing import Closing
from qstep.config import Config, checked_config
from qstep.devices import is_model, open_port
from qstep.discount import warn_of_discounts
from qstep.errors import ConfigError, TransitionError

__all__ = ["LiveDevice", "LiveModel", "answer_of", "check_begun", "check_live", "open_live"]


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
    >>> from qstep.acting.config import Acting
    >>> config = Config(4, 2, acting=Acting(world="live"))
    >>> with open_live("model:", config, [AgentSettings()]) as device:
    ...     actions = [device.begin(0), device.act(1.0, 3, terminated=False)]
    """
    check_live(config)
    checked_agents(config, settings, 0)
    warn_of_discounts((own.alpha, own.gamma) for own in settings)
    if is_model(url):
        return LiveModel(config, settings)
    from qstep.devices.live_device import LinkLive

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
