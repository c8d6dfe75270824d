"""Functional coverage of the interleaved lane; its stimuli must hit every bin."""

from collections.abc import Hashable, Sequence
from itertools import product

import numpy as np
from tb.uvm.acting_items import Checked, Compared
from tb.uvm.acting_order import Reach, Slot, distances
from tb.uvm.components import Coverage
from tb.uvm.covergroup import Covergroup

from qstep import Config
from qstep.mdp.memory import WorldTable
from qstep.spec.agents import Algorithm
from qstep.spec.epsilon import EpsilonCode

__all__ = ["ActingCoverage", "acting_bins", "order_bins", "reachable"]

_SCHEDULES = ("constant", "linear", "exponential")


def reachable(world: WorldTable) -> set[tuple[int, int]]:
    """Return every state-action pair that an agent can reach."""
    most = 65536 // world.split.shape[-1]
    states = _chosen(world.start_split, world.start_state, 65536 // len(world.start_split))
    todo = list(states)
    while todo:
        state = todo.pop()
        for action in range(world.split.shape[1]):
            place = world.split[state, action], world.next_state[state, action]
            # A step that ends its episode leads only to start states, which are already in the set.
            ends = world.terminated[state, action]
            for slot, side in product(range(len(place[0])), range(2)):
                happens = place[0][slot] > 0 if side == 0 else place[0][slot] < most
                following = int(place[1][slot, side])
                if happens and not ends[slot, side] and following not in states:
                    states.add(following)
                    todo.append(following)
    return set(product(states, range(world.split.shape[1])))


def _chosen(split: np.ndarray, items: np.ndarray, most: int) -> set[int]:
    """Return the items that at least one draw selects from the alias slots."""
    first, second = items[split > 0, 0], items[split < most, 1]
    return set(first.tolist()) | set(second.tolist())


def acting_bins(config: Config, world: WorldTable) -> dict[str, Sequence[Hashable]]:
    """Return the coverage bins for a configuration in a given world."""
    acting = config.acting
    assert acting is not None
    double = acting.algorithm is Algorithm.DOUBLE_Q_LEARNING
    return {
        "pair": sorted(reachable(world)),
        "agent": list(range(acting.agents)),
        "algorithm": [(acting.algorithm.value, config.rounding.value)],
        "end": ["none", "terminated", "truncated", "both at once"],
        "choice": list(product(("explored", "greedy"), ("goes on", "same entry"))),
        "saturation": ["none", "up", "down"],
        "world": ["in time", "late once", "late more often"],
        "epsilon": [
            ("constant", "stays"),
            *product(_SCHEDULES[1:], ("steps", "episodes"), ("falls", "at its end")),
        ],
        "alpha": ["0", "one", "other"],
        "kappa": ["0", "alpha", "between"],
        "table": [0, 1] if double else [0],
        "stop": ["while late", "with nobody waiting", "agents apart"],
    }


def order_bins(config: Config, reach: Reach) -> dict[str, Sequence[Hashable]]:
    """Return the bins for a shared table; its stop bins replace those for separate tables."""
    assert config.acting is not None
    far = distances(reach, config.acting.agents)
    return {
        "slot": [
            *("acts", "held by a row", "held by its entry", "held by both"),
            *("not its turn", "behind a truncated step"),
        ],
        "row distance": list(far["row"]),
        "entry distance": list(far["entry"]),
        "stop": ["after whole turns", "within a turn"],
        "run": ["from agent 0", "from the agent that waited"],
    }


class ActingCoverage(Coverage):
    """Samples steps, runs and (with a shared table) slots that the scoreboard has confirmed."""

    def build_phase(self) -> None:
        self.config: Config = self.cdb_get("CONFIG")
        bins = acting_bins(self.config, self.cdb_get("WORLD"))
        self.reach = self.cdb_get("REACH")
        more = order_bins(self.config, self.reach) if self.reach else {}
        self.group = Covergroup({**bins, **more})

    def write(self, found: Checked | Slot | Compared) -> None:
        match found:
            case Checked():
                self._step(found)
            case Slot():
                self._slot(found)
            case Compared():
                self._look(found)

    def _step(self, checked: Checked) -> None:
        step, hit = checked.step, self.group.hit
        acting = self.config.acting
        assert acting is not None
        hit("pair", (step.state, step.action))
        hit("agent", step.agent)
        hit("algorithm", (acting.algorithm.value, self.config.rounding.value))
        both = step.terminated and checked.last
        ends = "terminated" if step.terminated else "truncated" if step.truncated else "none"
        hit("end", "both at once" if both else ends)
        choice = "explored" if step.explored else "greedy"
        hit("choice", (choice, "same entry" if checked.same else "goes on"))
        hit("saturation", checked.saturated)
        hit("world", ("in time", "late once", "late more often")[min(checked.waits, 2)])
        self._epsilon(checked.settings.epsilon.code, checked.epsilon)
        c = checked.settings.coefficients_for(self.config)
        alpha, kappa = c.alpha, c.kappa
        hit("alpha", {0: "0", 1 << 15: "one"}.get(alpha, "other"))
        hit("kappa", "0" if not kappa else "alpha" if kappa == alpha else "between")
        hit("table", step.table)

    def _epsilon(self, code: EpsilonCode, epsilon: tuple[int, int]) -> None:
        if not code.shift and not code.decrement:
            self.group.hit("epsilon", ("constant", "stays"))
            return
        kind = "exponential" if code.shift else "linear"
        unit = "episodes" if code.by_episodes else "steps"
        if epsilon[1] < epsilon[0]:
            self.group.hit("epsilon", (kind, unit, "falls"))
        elif epsilon[0] == code.end:
            self.group.hit("epsilon", (kind, unit, "at its end"))

    def _slot(self, slot: Slot) -> None:
        hit = self.group.hit
        if not slot.turn:
            hit("slot", "behind a truncated step" if slot.second else "not its turn")
            return
        causes = {
            (False, False): "acts",
            (True, False): "held by a row",
            (False, True): "held by its entry",
            (True, True): "held by both",
        }
        hit("slot", causes[slot.held_by])
        for distance in slot.row:
            hit("row distance", distance)
        for distance in slot.entry:
            hit("entry distance", distance)

    def _look(self, compared: Compared) -> None:
        look, hit = compared.look, self.group.hit
        if self.reach:
            hit("run", "from the agent that waited" if compared.first else "from agent 0")
            if look.steps is None:
                hit("stop", "within a turn" if compared.turn else "after whole turns")
        elif look.steps is None:
            hit("stop", "while late" if any(look.drawn) else "with nobody waiting")
            if len({counters.steps for counters in look.counters}) > 1:
                hit("stop", "agents apart")
