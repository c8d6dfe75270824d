"""The scoreboard of the interleaved lane, which checks every step and its clock against a model."""

from collections import deque
from dataclasses import astuple, replace

import numpy as np
from numpy.typing import NDArray
from tb.uvm.acting_items import (
    ACTS,
    ASKED,
    CHOOSES,
    FINISH,
    LATE,
    READY,
    STEP,
    TERMINATED,
    Checked,
    Compared,
    Emptied,
    Look,
    Setting,
    Setup,
)
from tb.uvm.acting_model import Agents, after_setup
from tb.uvm.acting_order import Order
from tb.uvm.acting_rest import Rest
from tb.uvm.components import EdgeScoreboard

from qstep.golden.agents import Step

__all__ = ["ActingScoreboard"]


class ActingScoreboard(EdgeScoreboard):
    """Checks each world request, each step, and the agents' state after each run against the model.

    With a shared table, agents must also act in exactly the clocks that :class:`Order` predicts.
    """

    def build_phase(self) -> None:
        super().build_phase()
        self.world = self.cdb_get("WORLD")
        self.steps = self.looks = 0
        self._name = "before the first setting"
        self._model: Agents | None = None
        self._reach = self.cdb_get("REACH")
        self._order = Order(self.config, self._reach) if self._reach else None
        self._rest = Rest(self.config)
        self._slots: deque[np.void] = deque()
        self._where = ""

    def add(self, clocks: NDArray[np.void]) -> None:
        self._slots.extend(clocks[(clocks["flags"] & ASKED != 0) | (clocks["result"] != 0)])

    def check_until(self, edge: int) -> None:
        while self._slots and int(self._slots[0]["edge"]) <= edge:
            self._check(self._slots.popleft())

    def conclude(self) -> None:
        super().conclude()
        assert not self._slots, "the world is asked after the last look"
        assert self.steps, "no step was checked"
        assert self.looks, "nothing was read back"

    def take_event(self, event: Setting | Look | Emptied) -> None:
        if isinstance(event, Setting):
            self._set(event.setup)
        elif isinstance(event, Emptied):
            self._name, self._model = "the reset", None
            self._order = Order(self.config, self._reach) if self._reach else None
            self._rest.reset(event)
        else:
            self._name = event.name
            self._compare(event)

    def _set(self, setup: Setup) -> None:
        self._model = after_setup(setup, self._model, self.config, self.world)
        self._made = [0] * len(setup.settings)
        self._waits = [0] * len(setup.settings)
        self._first = 0
        if self._order:
            self._order.restart()

    def _compare(self, look: Look) -> None:
        model = self._model
        assert model is not None, f"{look.name} before a setting"
        self._compare_turns(look)
        if not self._order:
            self._rest.compare(look)
        for agent, seen in enumerate(look.states):
            right = model.states[agent]
            assert seen == right, f"{look.name}: state of agent {agent} is {seen}, not {right}"
        for agent, counters in enumerate(look.counters):
            sums = model.counters[agent]
            assert counters == sums, (
                f"{look.name}: counters of agent {agent} are {counters}, not {sums}"
            )
        wrong = np.argwhere(look.table != model.table) if look.table.size else np.empty((0, 1))
        assert not len(wrong), (
            f"{look.name}: {len(wrong)} entries differ, the first at {wrong[0]}: "
            f"{look.table[tuple(wrong[0])]}, not {model.table[tuple(wrong[0])]}"
        )
        self._made = [0] * len(self._made)
        self.looks += 1
        turn = self._order.turn if self._order else 0
        self.ap.write(Compared(look, self._first, turn))
        self._first = turn

    def _compare_turns(self, look: Look) -> None:
        turn, holds = (self._order.turn, self._order.holds) if self._order else (0, 0)
        assert look.holds == holds, f"{look.name}: {look.holds} slots were held, not {holds}"
        if look.steps is not None:
            # Completing a stopped turn counts as the run's first turn.
            right = [look.steps - (agent < self._first) for agent in range(len(self._made))]
            assert self._made == right, f"{look.name}: {self._made} steps were made, not {right}"
        elif self._order:
            assert look.stopped is not None
            assert self._order.stopped(look.stopped), f"{look.name}: more than two turns follow"
            assert not turn or self._waits[turn], (
                f"{look.name}: ends before agent {turn}, though the world is not late"
            )

    def _check(self, clock: np.void) -> None:
        model, flags, result = self._model, int(clock["flags"]), int(clock["result"])
        agent, edge, acts = flags >> 4, int(clock["edge"]), bool(flags & ACTS)
        self._where = f"after {self._name}, edge {edge}: agent {agent}"
        if edge <= self._rest.drained:
            return
        self._rest.note(edge, agent)
        assert model is not None, f"{self._where} does something before a setting"
        assert agent < len(model.states), f"{self._where} is not there, and does something"
        if flags & ASKED:
            self._question(model, agent, clock)
        elif result & FINISH:
            assert acts, f"{self._where} is held in the second slot of its step"
            if self._order:
                assert self._order.pending, f"{self._where} finishes a step that is over"
                self._order.finish(edge)
        elif result & CHOOSES:
            own = model.states[agent]
            start = self.world.start(model.drawn(agent).start)
            assert not own.begun, f"{self._where} begins again"
            if self._let(agent, edge, start, (own.state, own.action), acts):
                model.begin(agent)

    def _let(self, agent: int, edge: int, x: int, entry: tuple[int, int], acts: bool) -> bool:
        """Return whether a slot acts, after checking this against the predicted order."""
        if self._order:
            slot = self._order.slot(edge, agent, x, entry)
            assert acts == slot.acts, (
                f"{self._where} {'acts' if acts else 'is held'}; next is {self._order.turn}, "
                f"writes due for its row are {slot.row} slots ahead, for its entry {slot.entry}"
            )
            self.ap.write(slot)
        return acts

    def _question(self, model: Agents, agent: int, clock: np.void) -> None:
        own, flags, edge = model.states[agent], int(clock["flags"]), int(clock["edge"])
        entry = int(clock["state"]), int(clock["action"])
        assert own.begun, f"{self._where} asks before it has begun"
        assert entry == (own.state, own.action), (
            f"{self._where} asks for {entry}, not for {(own.state, own.action)}"
        )
        late = bool(int(clock["result"]) & LATE)
        assert late != bool(flags & READY), f"{self._where} takes an answer that is late, or none"
        if not flags & READY:
            self._waits[agent] += self._order is None or self._order.turn == agent
            return
        drawn = model.drawn(agent)
        answer = int(clock["reward"]), int(clock["next_state"]), bool(flags & TERMINATED)
        right = self.world.answer(*entry, drawn.outcome)
        assert answer == right, f"{self._where} is answered {answer}, not {right}"
        assert int(clock["result"]) & STEP, f"{self._where} is answered, and makes no step"
        x = self.world.start(drawn.start) if answer[2] else answer[1]
        if not self._let(agent, edge, x, entry, bool(flags & ACTS)):
            return
        before, counters = replace(own), astuple(model.counters[agent])
        step = model.step(agent)
        if self._order:
            self._order.step(edge, entry, step.truncated)
        saturated = model.counters[agent].saturations > counters[3]
        self._made[agent] += 1
        self.steps += 1
        self.ap.write(
            Checked(
                step,
                model.settings[agent],
                self._waits[agent],
                (before.epsilon, own.epsilon),
                (own.state, own.action) == entry,
                before.episode_steps == model.world.max_episode_steps - 1,
                self._side(step, agent) if saturated else "none",
            )
        )
        self._waits[agent] = 0

    def _side(self, step: Step, agent: int) -> str:
        assert self._model is not None
        tables = self._model._tables_of(agent)
        value = tables[step.table][step.state][step.action]
        return "up" if value == self.config.format.maximum else "down"
