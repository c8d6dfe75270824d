"""Devices whose agents act on their own, opened by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qstep.device import is_model, open_port
from qstep.errors import ConfigError
from qstep.golden.agents_fast import FastActingModel, Trace
from qstep.golden.checks import checked_agents
from qstep.mdp.memory import WorldTable
from qstep.spec.config import Config
from qstep.spec.discount import warn_of_discounts
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState

__all__ = ["AgentsDevice", "open_agents"]


class AgentsDevice(Protocol):
    """Agents in a world: the compiled model, a simulation or a board.

    Attributes
    ----------
    config : Config
    """

    config: Config

    @property
    def table(self) -> NDArray[np.int32]:
        """A copy of all tables as raw values, shape (*Acting.tables, S, A)."""

    @property
    def states(self) -> list[AgentState]:
        """The state of each agent."""

    @property
    def counters(self) -> list[AgentCounters]:
        """The counters of each agent."""

    def run(self, steps: int, *, trace: bool) -> Trace | None:
        """Let every agent make `steps` steps and wait for the last; return them if requested."""

    def configure(self, settings: Sequence[AgentSettings]) -> None:
        """Continue with other settings: `alpha`, `gamma` and `epsilon` of each agent.

        Tables, states and counters stay. An agent's epsilon starts over if its setting changes;
        otherwise it continues.

        Raises
        ------
        ConfigError
            They are for another number of agents, a seed differs, or the configuration lacks schedules
            that they need. Nothing is changed.
        """

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
            As for :func:`~qstep.golden.checks.checked_parts`; nothing is changed.
        """

    def close(self) -> None:
        """Release the device."""


def open_agents(
    url: str, config: Config, world: WorldTable | int, settings: Sequence[AgentSettings]
) -> AgentsDevice:
    """Open a device by name, with a world and settings for each agent; its tables are 0.

    Parameters
    ----------
    url : str
        As for :func:`qstep.open`.
    config : Config
    world : WorldTable or int
        For a circuit or a world at pins, which only hardware has: the limit of steps, 0 for none.
    settings : sequence of AgentSettings

    Raises
    ------
    ConfigError
        The name has none of these forms, `settings` are for another number of agents, hardware has no
        room for them, the model does not have such a world, or gamma would be learned as 0 or 1.
    DeviceError, ToolMissingError
        As for :func:`qstep.open`.

    Warns
    -----
    PrecisionWarning
        The discount that is learned differs from gamma (:mod:`qstep.spec.discount`).
    """
    checked_agents(config, settings, 0)
    warn_of_discounts((own.alpha, own.gamma) for own in settings)
    if is_model(url):
        if not isinstance(world, WorldTable):
            raise ConfigError(
                f"device is {url!r}, which has worlds from tables only; circuits are in sim: and boards"
            )
        model = FastActingModel(config, world, settings)
        model.run(0)  # loads the machine code now, not in the first step
        return model
    from qstep.device.agents import LinkAgents

    port, build = open_port(url, config)
    return LinkAgents(port, config, world, settings, build=build)
