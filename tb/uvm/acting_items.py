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
"""Record of the slot in stage 10, with the layout of an item of ``seen_o`` in ``qs_agents_bench``.

The upper four bits of ``flags`` are the agent's number. ``result`` is a ``result_t`` from
``qs_agents_pkg``: the slot's task, which it performs only if it acts.
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
        All tables; if None, neither counters nor tables are written.
    states : sequence of AgentState, optional
        By default, the states before the first step.
    limit : int, optional
        Step limit of episodes from now on.
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
    """A run, followed by reading the complete state of the agents.

    Parameters
    ----------
    name : str
    steps : int
        Steps of each agent.
    late : int
        The world is late with probability `late` / 256.
    stop_after : int, optional
        Clocks from the start of the run to a stop.
    states_only : bool
        Read only the states.
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
    """A reset during a run, just after a step; a setup with tables must follow."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The agents' settings and state from `edge` on."""

    edge: int
    setup: Setup


@dataclass(frozen=True, slots=True)
class Emptied:
    """A reset at `edge`; the lane is idle from the clock after `rests`.

    Attributes
    ----------
    flags : list of int
        Each agent's flags after the reset: whether it has begun, and whether it has drawn.
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
        Steps requested of each agent; None after a stop.
    stopped : int or None
        The edge of the stop.
    drawn : list of bool
        Whether each agent has drawn for a step that it has not yet made.
    counters : list of AgentCounters
        Counters of each agent. Like `table`, empty if only the states were read.
    holds : int
        With a shared table, the number of slots held since the last reset.
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
    """A `Look` that the scoreboard has confirmed, for coverage.

    Attributes
    ----------
    look : Look
    first, turn : int
        With a shared table, the agent that began the run and the agent whose turn is next, respectively.
    """

    look: Look
    first: int
    turn: int


@dataclass(frozen=True, slots=True)
class Checked:
    """A step confirmed by the scoreboard, for coverage.

    Attributes
    ----------
    step : Step
    settings : AgentSettings
        The agent's settings.
    waits : int
        How often the world was late before it answered.
    epsilon : tuple of int
        Epsilon before and after the step.
    same : bool
        Whether the agent's next step uses the entry that this step wrote.
    last : bool
        Whether the step is the last one within the episode's limit.
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
