"""The bins of lanes in lockstep: what the tests of ``qs_lockstep`` must together do."""

from __future__ import annotations

from itertools import combinations, product

from tb.uvm.covergroup import Covergroup

from qstep.acting.agent import AgentCounters, AgentState
from qstep.acting.model import ActingModel, Step
from qstep.fixed import COEFFICIENT_BITS, Rounding
from qstep.model import exact_value
from qstep.protocol import Region

__all__ = ["AGENTS", "ALL", "PHASES", "LockstepBins", "field_of", "goes_to_all"]

AGENTS = 9
"""Agents of a lane, and clocks of a rotation."""

ALL = "all"
"""In place of a lane's number: a write to all of them."""

PHASES = ("idle", "waits", "runs", "drains")
"""Of a run, in the order of ``qs_lockstep_run``: none, before its first step, its steps, last counts."""

_ACTIONS = 4
_COUNTERS = {"steps": 3, "terminations": 3, "truncations": 3, "return_sum": 4, "saturations": 3}
"""Counters in their order, and how many words each has."""

_COUNTER_OF = [name for name, words in _COUNTERS.items() for _ in range(words)]
_CONTEXT = ("generator, low", "generator, high", "epsilon", "nothing in a context", "place")
_FIELDS = (
    *("alpha and kappa", "nothing in settings", *dict.fromkeys(_CONTEXT)),
    *(*_COUNTERS, "table", "world", "start"),
)
_HAZARDS = (
    *("same pair, value changed", "same pair, value kept", "same pair, first of a run"),
    *("same state", "same action", "other pair"),
)
_ONE = 1 << COEFFICIENT_BITS


def field_of(region: int, index: int) -> str:
    """Return what a word of the memory map is."""
    match region:
        case Region.SETTINGS:
            return "nothing in settings" if index & 7 else "alpha and kappa"
        case Region.CONTEXT:
            return _CONTEXT[index & 7] if index & 7 < len(_CONTEXT) else "nothing in a context"
        case Region.COUNTERS:
            return _COUNTER_OF[index & 15]
    return {Region.TABLE: "table", Region.WORLD: "world", Region.STARTS: "start"}[Region(region)]


def goes_to_all(field: str) -> bool:
    """Return whether a field may be written in all lanes at once."""
    return field not in ("generator, low", "generator, high", *_COUNTERS)


class LockstepBins:
    """Counts what is found to be as in the model.

    Parameters
    ----------
    lanes, states : int
        Of the bench.
    """

    def __init__(self, lanes: int, states: int) -> None:
        each, agents = range(lanes), range(AGENTS)
        ties = [set(some) for n in range(1, 5) for some in combinations(range(_ACTIONS), n)]
        self.steps = 0
        self.sweep = 6 * (lanes * AGENTS + 1)
        self._last: dict[tuple[int, int], tuple[Step, bool]] = {}
        self.group = Covergroup(
            {
                "place": list(product(each, agents, range(states))),
                "choice": list(product(each, ("explored", "greedy"), range(_ACTIONS))),
                "greatest": [(lane, _text(tied)) for lane, tied in product(each, ties)],
                "hazard": list(product(each, _HAZARDS)),
                "row": list(product(each, ("written before", "written now", "another"))),
                "end": list(product(each, ("none", "one", "one after another"))),
                "target": list(product(each, ("0 by an end", "lowest", "highest", "between"))),
                "saturation": list(product(each, ("none", "up", "down"))),
                "rounding": list(product("+-", ("exact", "below half", "half", "above half"))),
                "alpha": ["0", "one", "other"],
                "kappa": ["0", "alpha", "between"],
                "epsilon": ["0", "one", "between"],
                "begin": ["first start state", "goes on"],
                "run": ["1", "2", "less than a sweep", "a sweep", "more than a sweep"],
                "stop": list(product(PHASES, agents)),
                "reset": [*product(PHASES, agents), "in an access"],
                "write": [
                    (field, lane)
                    for field, lane in product(_FIELDS, (*each, ALL))
                    if lane != ALL or goes_to_all(field)
                ],
                "read": list(product(_FIELDS, each)),
                "copy": list(PHASES),
                "carry": [
                    (name, word, how)
                    for name, words in _COUNTERS.items()
                    for word, how in product(range(1, words), ("up", "down"))
                    if name != "truncations" and (how == "up" or name == "return_sum")
                ],
            }
        )

    def forget(self) -> None:
        """Agents are elsewhere than after their last step."""
        self._last.clear()

    def settings(self, model: ActingModel) -> None:
        """Count the settings of a run."""
        own, hit = model.settings[0], self.group.hit
        alpha, kappa = own.coefficients.alpha, own.coefficients.kappa
        hit("alpha", {0: "0", _ONE: "one"}.get(alpha, "other"))
        hit("kappa", "0" if not kappa else "alpha" if kappa == alpha else "between")
        hit("epsilon", {0.0: "0", 1.0: "one"}.get(own.epsilon.start, "between"))

    def run(self, steps: int, begun: bool) -> None:
        """Count a run."""
        length = "less than a sweep" if steps < self.sweep else "more than a sweep"
        named = {1: "1", 2: "2", self.sweep: "a sweep"}
        self.group.hit("run", named.get(steps, length))
        self.group.hit("begin", "goes on" if begun else "first start state")

    def rotation(self, lane: int, model: ActingModel, is_first: bool) -> None:
        """Let each agent of a lane's model make a step, and count what happens in it."""
        rows = model.table.tolist()
        for step in model.run(1):
            self._step(lane, model, step, rows[step.agent], is_first)

    def _step(
        self, lane: int, model: ActingModel, step: Step, rows: list[list[int]], is_first: bool
    ) -> None:
        self.steps += 1
        hit, after = self.group.hit, model.states[step.agent]
        lowest, highest = model.config.format.minimum, model.config.format.maximum
        hit("place", (lane, step.agent, step.state))
        hit("choice", (lane, "explored" if after.explored else "greedy", after.action))
        row = rows[after.state]
        if not after.explored:
            tied = {action for action, value in enumerate(row) if value == max(row)}
            hit("greatest", (lane, _text(tied)))
        ends = {lowest: "lowest", highest: "highest"}
        target = 0 if step.terminated else max(rows[step.next_state])
        hit("target", (lane, "0 by an end" if step.terminated else ends.get(target, "between")))

        old, c = rows[step.state][step.action], model.settings[step.agent].coefficients
        bias = _ONE // 2 if model.config.rounding is Rounding.NEAREST else 0
        exact = exact_value(c, old, step.reward, target, bias)
        new = min(max(exact, lowest), highest)
        hit("saturation", (lane, "none" if new == exact else "up" if new == highest else "down"))
        lost = (c.beta * old + c.alpha * step.reward + c.kappa * target) % _ONE
        half = "half" if lost == _ONE // 2 else "below half" if lost < _ONE // 2 else "above half"
        hit("rounding", ("-" if exact < 0 else "+", half if lost else "exact"))
        self._neighbours(lane, step, after, new != old, is_first)

    def _neighbours(
        self, lane: int, step: Step, after: AgentState, changes: bool, is_first: bool
    ) -> None:
        """Count how a step lies to the agent's last one."""
        hit, who = self.group.hit, (lane, step.agent)
        end = "one" if step.terminated else "none"
        if who in self._last:
            last, changed = self._last[who]
            same_state, same_action = last.state == step.state, last.action == step.action
            if same_state and same_action:
                kind = "value changed" if changed else "value kept"
                hit("hazard", (lane, f"same pair, {'first of a run' if is_first else kind}"))
            else:
                kind = "same state" if same_state else "same action" if same_action else ""
                hit("hazard", (lane, kind or "other pair"))
            if after.state == last.state and not is_first:
                hit("row", (lane, "written before"))
            if last.terminated and step.terminated:
                end = "one after another"
        hit("end", (lane, end))
        hit("row", (lane, "written now" if after.state == step.state else "another"))
        self._last[who] = step, changes

    def counters(self, before: AgentCounters, after: AgentCounters) -> None:
        """Count which words of an agent's counters others have been carried into."""
        for name, words in _COUNTERS.items():
            old, new = getattr(before, name), getattr(after, name)
            for word in range(1, words):
                if old >> 16 * word != new >> 16 * word:
                    self.group.hit("carry", (name, word, "up" if new > old else "down"))


def _text(actions: set[int]) -> str:
    return " ".join(map(str, sorted(actions)))
