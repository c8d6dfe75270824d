"""The scoreboard of the interleaved lane: every step, when it is made, against the plain model."""

from __future__ import annotations

from collections import deque
from dataclasses import astuple, replace

import numpy as np
from numpy.typing import NDArray
from pyuvm import ConfigDB, uvm_analysis_port, uvm_scoreboard, uvm_subscriber
from tb.uvm.acting_items import ASKED, READY, TERMINATED, Checked, Look, Setting

from qstep.acting.model import ActingModel, Step

__all__ = ["ActingScoreboard"]


class _Agents(ActingModel):
    """The plain model, an agent at a time: those with tables of their own are independent."""

    def step(self, agent: int) -> Step:
        return self._step(agent)

    def begin(self, agent: int) -> None:
        """Draw the first start state and the action there, as the first step does before all else."""
        own = self.states[agent]
        drawn = self._draw(own)
        own.state = self.world.start(drawn.start)
        tables = self._tables_of(agent)
        own.action, own.explored = self._chosen(tables, own.state, drawn, own.epsilon)
        own.begun = True


class _Inbox(uvm_subscriber):
    """Takes what the driver publishes."""

    def build_phase(self) -> None:
        self.events: deque[Setting | Look] = deque()

    def write(self, event: Setting | Look) -> None:
        self.events.append(event)


class ActingScoreboard(uvm_scoreboard):
    """Compares each question to the world, each step, and what all agents have after each run.

    Clocks come from the monitor, settings and looks from the driver; both are merged by the number of
    the clock edge.
    """

    def build_phase(self) -> None:
        self.config = ConfigDB().get(self, "", "CONFIG")
        self.world = ConfigDB().get(self, "", "WORLD")
        self.inbox = _Inbox("inbox", self)
        self.clocks_in = _Clocks("clocks_in", self)
        self.ap = uvm_analysis_port("ap", self)
        self.looks_out = uvm_analysis_port("looks_out", self)
        self.passed: bool | None = None
        self.steps = self.looks = 0
        self._name = "before the first setting"
        self._model: _Agents | None = None
        self._questions: deque[np.void] = deque()

    def write(self, clocks: NDArray[np.void]) -> None:
        """Take clocks from the monitor and check all that is complete."""
        self._questions.extend(clocks[(clocks["flags"] & ASKED) != 0])
        self._settle(int(clocks["edge"][-1]))

    def check_phase(self) -> None:
        self._settle(1 << 32)
        assert not self._questions, "the world is asked after the last look"
        assert self.steps, "no step was checked"
        assert self.looks, "nothing was read back"
        self.passed = True

    def _settle(self, edge: int) -> None:
        """Check what is complete when all clocks up to an edge are known."""
        events = self.inbox.events
        while events and events[0].edge <= edge:
            event = events.popleft()
            while self._questions and int(self._questions[0]["edge"]) <= event.edge:
                self._check(self._questions.popleft())
            self._take(event)

    def _take(self, event: Setting | Look) -> None:
        if isinstance(event, Setting):
            self._model = _Agents(self.config, self.world, event.settings)
            self._model.load(event.table)
            self._made = [0] * len(event.settings)
            self._waits = [0] * len(event.settings)
        else:
            self._name = event.name
            self._compare(event)

    def _compare(self, look: Look) -> None:
        model = self._model
        assert model is not None, f"{look.name} before a setting"
        assert look.steps is None or self._made == [look.steps] * len(self._made), (
            f"{look.name}: {self._made} steps were made, not {look.steps} each"
        )
        for agent, seen in enumerate(look.states):
            if seen.begun and not model.states[agent].begun:
                model.begin(agent)
            right = model.states[agent]
            assert seen == right, f"{look.name}: state of agent {agent} is {seen}, not {right}"
            counters = look.counters[agent], model.counters[agent]
            assert counters[0] == counters[1], (
                f"{look.name}: counters of agent {agent} are {counters[0]}, not {counters[1]}"
            )
        wrong = np.argwhere(look.table != model.table)
        assert not len(wrong), (
            f"{look.name}: {len(wrong)} entries differ, the first at {wrong[0]}: "
            f"{look.table[tuple(wrong[0])]}, not {model.table[tuple(wrong[0])]}"
        )
        self._made = [0] * len(self._made)
        self.looks += 1
        self.looks_out.write(look)

    def _check(self, clock: np.void) -> None:
        model, flags, agent = self._model, int(clock["flags"]), int(clock["flags"]) >> 4
        edge = int(clock["edge"])
        assert model is not None, f"the world is asked at edge {edge}, before a setting"
        assert agent < len(model.states), f"agent {agent}, which there is not, asks at edge {edge}"
        if not model.states[agent].begun:
            model.begin(agent)
        before, counters = replace(model.states[agent]), astuple(model.counters[agent])
        asked = int(clock["state"]), int(clock["action"])
        assert asked == (before.state, before.action), (
            f"after {self._name}, edge {edge}: agent {agent} asks for {asked}, not for "
            f"{(before.state, before.action)}"
        )
        if not flags & READY:
            self._waits[agent] += 1
            return
        table = before.state, before.action
        step = model.step(agent)
        answer = int(clock["reward"]), int(clock["next_state"]), bool(flags & TERMINATED)
        right = step.reward, step.next_state, step.terminated
        assert answer == right, (
            f"after {self._name}, edge {edge}: agent {agent} is answered {answer}, not {right}"
        )
        after = model.states[agent]
        saturated = model.counters[agent].saturations > counters[3]
        self._made[agent] += 1
        self.steps += 1
        self.ap.write(
            Checked(
                step,
                model.settings[agent],
                self._waits[agent],
                (before.epsilon, after.epsilon),
                (after.state, after.action) == table,
                before.episode_steps == self.world.max_episode_steps - 1,
                self._side(step, agent) if saturated else "none",
            )
        )
        self._waits[agent] = 0

    def _side(self, step: Step, agent: int) -> str:
        assert self._model is not None
        tables = self._model._tables_of(agent)
        value = tables[step.table][step.state][step.action]
        return "up" if value == self.config.format.maximum else "down"


class _Clocks(uvm_subscriber):
    """Takes what the monitor publishes, for the scoreboard that holds it."""

    def write(self, clocks: NDArray[np.void]) -> None:
        self.parent.write(clocks)
