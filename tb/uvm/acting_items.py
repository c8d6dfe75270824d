"""Items exchanged between the parts of the interleaved lane's pyuvm environment."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyuvm import uvm_sequence_item

from qstep.golden.agents import Step
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState

__all__ = [
    "ACTS",
    "ASKED",
    "CHOOSES",
    "CLOCK",
    "FINISH",
    "LATE",
    "READY",
    "STEP",
    "TERMINATED",
    "Checked",
    "Compared",
    "Emptied",
    "Job",
    "Look",
    "Reset",
    "Setting",
    "Setup",
]

CLOCK = np.dtype(
    [
        ("edge", "<u4"),
        ("flags", "u1"),
        ("action", "u1"),
        ("result", "<u2"),
        ("state", "<u2"),
        ("next_state", "<u2"),
        ("reward", "<i4"),
    ]
)
"""A slot in stage 10, as ``seen_o`` of ``qs_agents_bench`` lays it out.

``flags`` has the agent in its upper half. ``result`` is ``result_t`` of ``qs_agents_pkg``: what the
slot is to do, done only if it acts.
"""

ASKED, READY, TERMINATED, ACTS = 1, 2, 4, 8
"""Bits of ``flags``."""

LATE, CHOOSES, FINISH, STEP = 1, 1 << 2, 1 << 3, 1 << 6
"""Bits of ``result``."""


class Setup(uvm_sequence_item):
    """Writes settings, states, counters and tables of all agents.

    Parameters
    ----------
    name : str
    settings : sequence of AgentSettings
        One for each agent.
    table : ndarray of int32, optional
        All tables; without it, counters and tables stay as they are.
    states : sequence of AgentState, optional
        By default, those before the first step.
    limit : int, optional
        Steps of an episode from now on.
    """

    def __init__(
        self,
        name: str,
        settings: Sequence[AgentSettings],
        table: NDArray[np.int32] | None = None,
        *,
        states: Sequence[AgentState] | None = None,
        limit: int | None = None,
    ) -> None:
        super().__init__(name)
        self.settings, self.table, self.limit = settings, table, limit
        first = [AgentState.first(own, agent) for agent, own in enumerate(settings)]
        self.states = first if states is None else states


class Job(uvm_sequence_item):
    """A run, followed by a look at the whole state of the agents.

    Parameters
    ----------
    name : str
    steps : int
        Of each agent.
    late : int
        The world is late with probability `late` / 256.
    stop_after : int, optional
        Stop so many clocks after the run began.
    states_only : bool
        Look only at the states.
    """

    def __init__(
        self,
        name: str,
        steps: int,
        *,
        late: int = 0,
        stop_after: int | None = None,
        states_only: bool = False,
    ) -> None:
        super().__init__(name)
        self.steps, self.late, self.stop_after = steps, late, stop_after
        self.states_only = states_only


class Reset(uvm_sequence_item):
    """A reset within a run, behind the next step; a setup with tables must follow."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The agents' settings and state from `edge` on."""

    edge: int
    setup: Setup


@dataclass(frozen=True, slots=True)
class Emptied:
    """A reset at `edge`, after which the lane is idle from the clock after `rests` on.

    Attributes
    ----------
    flags : list of int
        What is left of each agent's flags: it has begun, it has drawn.
    """

    edge: int
    rests: int
    flags: list[int]


@dataclass(frozen=True, slots=True)
class Look:
    """State of the agents after `edge`, the last clock in which the lane was busy.

    Attributes
    ----------
    began : int
        The edge at which the run began.
    steps : int or None
        What each agent was to make; None after a stop.
    stopped : int or None
        The edge of the stop.
    drawn : list of bool
        The agent has drawn for a step that it has not made.
    counters : list of AgentCounters
        Empty if only the states were looked at; likewise `table`.
    holds : int
        Slots of a shared table that were held since reset.
    """

    edge: int
    name: str
    began: int
    steps: int | None
    stopped: int | None
    states: list[AgentState]
    drawn: list[bool]
    counters: list[AgentCounters]
    table: NDArray[np.int32]
    holds: int


@dataclass(frozen=True, slots=True)
class Compared:
    """A look that the scoreboard found correct, for coverage.

    Attributes
    ----------
    look : Look
    first, turn : int
        Agents of a shared table: the one that began the run, and the next one.
    """

    look: Look
    first: int
    turn: int


@dataclass(frozen=True, slots=True)
class Checked:
    """A step that the scoreboard found correct, for coverage.

    Attributes
    ----------
    step : Step
    settings : AgentSettings
        Of its agent.
    waits : int
        How often the world was late before it answered.
    epsilon : tuple of int
        Before the step and after it.
    same : bool
        The agent's next step uses the entry that the step wrote.
    last : bool
        The step is the last one that the limit of the episode allows.
    saturated : str
        ``none``, ``up`` or ``down``.
    """

    step: Step
    settings: AgentSettings
    waits: int
    epsilon: tuple[int, int]
    same: bool
    last: bool
    saturated: str
