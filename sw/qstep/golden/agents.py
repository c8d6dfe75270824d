"""Model of agents that act and learn on the device; this code is the definition.

It is written to be read, not to be fast. The compiled version, the hardware and every board produce
bit-identical tables, counters and states after any number of steps. docs/acting.md explains the model in
prose.

The algorithms: Q-learning (Watkins, 1989), SARSA (Rummery and Niranjan, 1994), Expected SARSA (van
Seijen et al., 2009) and Double Q-learning (van Hasselt, 2010); Sutton and Barto, 2018, chapter 6. With
several planes (docs/features.md), a value is a sum of weights, all changed by the same increment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep.golden.contract import Agents, check_world
from qstep.golden.lane import exact_value
from qstep.mdp.memory import WorldTable
from qstep.mdp.tiled import TiledWorld
from qstep.spec.agents import Algorithm
from qstep.spec.checks import integer
from qstep.spec.config import Config
from qstep.spec.epsilon import threshold
from qstep.spec.protocol import MOST_STEPS
from qstep.spec.random import DRAW_BITS, Draw, advanced, draw
from qstep.spec.settings import AgentCounters, AgentSettings, AgentState

__all__ = ["ActingModel", "Step", "expected"]

Row = list[int]


class Step(NamedTuple):
    """One step of an agent, as a row of a trace. The reward is raw."""

    agent: int
    state: Any
    action: int
    reward: int
    next_state: Any
    terminated: bool
    truncated: bool
    explored: bool
    table: int


def expected(row: Row, epsilon: int) -> int:
    """Return the expectation of a row under the epsilon-greedy policy, for Expected SARSA.

    With epsilon's threshold t, ``share = (t * round(2^16 / A)) >> 16`` is the probability, as a multiple
    of 2^-16, that an agent explores with a given action. The result is ``max - ((share * (A * max - sum)
    + 2^15) >> 16)``. It is never more than 1 below the row's minimum.
    """
    actions = len(row)
    share = (threshold(epsilon) * ((2 * (1 << 16) + actions) // (2 * actions))) >> 16
    below = actions * max(row) - sum(row)
    return max(row) - ((share * below + (1 << 15)) >> 16)


class ActingModel(Agents):
    """The model; `world` is a WorldTable or a TiledWorld, and :meth:`run` yields each step."""

    world: WorldTable | TiledWorld

    def __init__(
        self, config: Config, world: WorldTable | TiledWorld, settings: Sequence[AgentSettings]
    ) -> None:
        check_world(config, world)
        super().__init__(config, world, settings)
        self._q = np.zeros(config.table_shape, np.int32).tolist()
        self._states = self._first_states(settings)
        self._counters = [AgentCounters() for _ in settings]

    @property
    def table(self) -> NDArray[np.int32]:
        """A copy of all tables as raw values."""
        return np.array(self._q, dtype=np.int32)

    @property
    def states(self) -> list[AgentState]:
        return self._states

    @property
    def counters(self) -> list[AgentCounters]:
        return self._counters

    def _put_table(self, table: NDArray[np.int32]) -> None:
        self._q = table.tolist()

    def _put_agents(self, states: list[AgentState], counters: list[AgentCounters]) -> None:
        self._states, self._counters = states, counters

    def _put_settings(self, settings: Sequence[AgentSettings], states: list[AgentState]) -> None:
        self._states = states

    def run(self, steps: int) -> Iterator[Step]:
        """Step the agents round-robin, `steps` times each; yield each step."""
        steps = integer("steps", steps, 0, MOST_STEPS, "from 0 to 2^48-1")
        return (self._step(agent) for _ in range(steps) for agent in range(len(self.states)))

    def _step(self, agent: int) -> Step:
        own, counters, settings = self.states[agent], self.counters[agent], self.settings[agent]
        tables = self._tables_of(agent)
        if not own.begun:
            self._begin(agent)
        state, action, explored = own.state, own.action, own.explored
        drawn = self._draw(own)
        reward, next_state, terminated = self.world.answer(state, action, drawn.outcome)
        start = self.world.start(drawn.start)

        limit = self._limit
        own.episode_steps += limit > 0
        truncated = not terminated and limit > 0 and own.episode_steps == limit
        ended = terminated or truncated

        # All reads below precede this step's write.
        next_action, _ = self._chosen(tables, next_state, drawn, own.epsilon)
        number = drawn.table if self._is_double else 0
        target = self._target(tables, number, next_state, next_action, own.epsilon)
        own.state = start if ended else next_state
        own.action, own.explored = self._chosen(tables, own.state, drawn, own.epsilon)

        planes = [tables[number]] if self._is_double else tables
        rows = [plane[row] for plane, row in zip(planes, self.world.rows(state), strict=True)]
        value = sum(row[action] for row in rows)
        exact = exact_value(
            settings.coefficients_for(self.config),
            value,
            reward,
            0 if terminated else target,
            self._bias(drawn),
        )
        number_format, saturated = self.config.format, False
        for row in rows:
            learned = row[action] + exact - value
            row[action] = max(number_format.minimum, min(number_format.maximum, learned))
            saturated |= row[action] != learned

        counters.steps += 1
        counters.terminations += terminated
        counters.truncations += truncated
        counters.saturations += saturated
        counters.return_sum += reward
        counters.wrap()
        if ended:
            own.episode_steps = 0
        self.lower_epsilon(own, settings, ended)
        return Step(
            agent, state, action, reward, next_state, terminated, truncated, explored, number
        )

    def _begin(self, agent: int) -> None:
        own = self.states[agent]
        drawn = self._draw(own)
        own.state = self.world.start(drawn.start)
        own.action, own.explored = self._chosen(
            self._tables_of(agent), own.state, drawn, own.epsilon
        )
        own.begun = True

    @property
    def _is_double(self) -> bool:
        return self._acting.algorithm is Algorithm.DOUBLE_Q_LEARNING

    def _tables_of(self, agent: int) -> list[list[Row]]:
        """Return the tables that an agent updates: one, two in Double Q-learning, or one per plane."""
        acting = self._acting
        tables = self._q if acting.agents == 1 or acting.shared_table else self._q[agent]
        return tables if self._is_double or self.config.planes > 1 else [tables]

    def _sums(self, tables: list[list[Row]], state: Any) -> Row:
        """Return the value of each action in a state: the sum over the agent's rows."""
        rows = self.world.rows(state) * (2 if self._is_double else 1)
        held = (table[row] for table, row in zip(tables, rows, strict=True))
        return [sum(values) for values in zip(*held, strict=True)]

    @staticmethod
    def _draw(own: AgentState) -> Draw:
        own.word = advanced(own.word)
        return draw(own.word)

    def _chosen(
        self, tables: list[list[Row]], state: Any, drawn: Draw, epsilon: int
    ) -> tuple[int, bool]:
        """Return the action of the epsilon-greedy policy and whether it explored."""
        if drawn.explore < threshold(epsilon):
            return (drawn.action * self.config.actions) >> DRAW_BITS, True
        row = self._sums(tables, state)
        return row.index(max(row)), False

    def _target(
        self, tables: list[list[Row]], number: int, state: Any, action: int, epsilon: int
    ) -> int:
        """Return m, the value of the next state, for a step that does not terminate."""
        row = tables[number][state] if self._is_double else self._sums(tables, state)
        match self._acting.algorithm:
            case Algorithm.Q_LEARNING:
                return max(row)
            case Algorithm.SARSA:
                return row[action]
            case Algorithm.EXPECTED_SARSA:
                return expected(row, epsilon)
            case Algorithm.DOUBLE_Q_LEARNING:  # pragma: no branch: the last, as mypy checks
                other: Row = tables[1 - number][state]
                return other[row.index(max(row))]

    def _bias(self, drawn: Draw) -> int:
        bits = self.config.coefficient_bits
        bias = self.config.rounding.bias(bits)
        return drawn.noise(bits) if bias is None else bias

    @staticmethod
    def lower_epsilon(own: AgentState, settings: AgentSettings, ended: bool) -> None:
        """Count a completed step or episode of the schedule; lower epsilon at the end of a period."""
        code = settings.epsilon.code
        own.epsilon_count += ended or not code.by_episodes
        if own.epsilon_count == code.period:
            own.epsilon_count = 0
            fall = code.decrement + (own.epsilon >> code.shift if code.shift else 0)
            own.epsilon = max(code.end, own.epsilon - fall)
