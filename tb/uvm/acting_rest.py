"""Predicts in which clock a lane whose agents have own tables comes to rest."""

from tb.uvm.acting_items import Emptied, Look

from qstep.golden.throughput import steps_per_clock
from qstep.spec.config import Config

__all__ = ["Rest"]

_STAGE = 10
"""In which slots are seen."""

_FOUND = 2
"""The stage in which a slot has found something to do."""

_PASS = 43
"""Clocks from a run or a stop until it is known whether steps are left that no agent holds."""

_MORE_TURNS = 7
"""A sweep of all counters takes a turn for each slot, and this is the way through all stages."""


class Rest:
    """The lane is busy until some turns after the last slot that has something to do.

    Attributes
    ----------
    drained : int
        Up to this edge, slots are seen that had begun before a reset.
    """

    def __init__(self, config: Config) -> None:
        assert config.acting is not None
        self._slots = round(config.acting.agents / steps_per_clock(config))  # of a rotation
        self._last = self._phase = 0
        self.drained = -1

    def note(self, edge: int, agent: int) -> None:
        """Take a slot that has something to do; `edge` is that of stage 10."""
        self._last = edge - _STAGE + _FOUND
        self._phase = agent + _STAGE - edge

    def compare(self, look: Look) -> None:
        """Check when the lane came to rest after a run."""
        known = [edge + _PASS for edge in (look.began, look.stopped) if edge is not None]
        self._check(look.name, max(self._last, *known), look.edge)

    def reset(self, emptied: Emptied) -> None:
        """Check when the lane came to rest after a reset, and that nobody has begun or drawn."""
        self.drained = emptied.edge + _STAGE - _FOUND + 1
        assert not any(emptied.flags), f"agents go on after a reset: {emptied.flags}"
        # Nobody acts for two turns.
        self._check("the reset", self._turn(emptied.edge) + self._slots, emptied.rests)

    def _check(self, name: str, last: int, seen: int) -> None:
        turns = self._slots + _MORE_TURNS
        right = self._turn(last) + (turns - 1) * self._slots + 1
        assert seen == right, f"{name}: the lane is busy until edge {seen}, not {right}"

    def _turn(self, edge: int) -> int:
        """Return the first edge after this one at which a turn ends."""
        return edge + 1 + (-1 - self._phase - edge - 1) % self._slots
