"""Predicts in which clock a lane with a separate table for each agent becomes idle."""

from tb.uvm.acting_items import Emptied, Look

from qstep.golden.throughput import steps_per_clock
from qstep.spec.config import Config

__all__ = ["Rest"]

_STAGE = 10
"""The stage in which slots are observed."""

_FOUND = 2
"""The stage in which it is known whether a slot has work to do."""

_PASS = 43
"""Clocks from the start of a run, or from a stop, until it is known whether unassigned steps remain."""

_MORE_TURNS = 7
"""Rotations for passing all stages after the sweep of all counters, which takes a rotation per slot."""


class Rest:
    """Predicts for how many rotations the lane stays busy after the last slot with work to do.

    Attributes
    ----------
    drained : int
        Last edge at which slots from before a reset are observed.
    """

    def __init__(self, config: Config) -> None:
        assert config.acting is not None
        self._slots = round(config.acting.agents / steps_per_clock(config))  # per rotation
        self._last = self._phase = 0
        self.drained = -1

    def note(self, edge: int, agent: int) -> None:
        """Record a slot with work to do, observed in stage 10 at `edge`."""
        self._last = edge - _STAGE + _FOUND
        self._phase = agent + _STAGE - edge

    def compare(self, look: Look) -> None:
        """Check the edge at which the lane became idle after a run."""
        known = [edge + _PASS for edge in (look.began, look.stopped) if edge is not None]
        self._check(look.name, max(self._last, *known), look.edge)

    def reset(self, emptied: Emptied) -> None:
        """Check when the lane became idle after a reset, and that no agent has begun or drawn."""
        self.drained = emptied.edge + _STAGE - _FOUND + 1
        assert not any(emptied.flags), f"agents go on after a reset: {emptied.flags}"
        # No agent acts for two rotations.
        self._check("the reset", self._turn(emptied.edge) + self._slots, emptied.rests)

    def _check(self, name: str, last: int, seen: int) -> None:
        turns = self._slots + _MORE_TURNS
        right = self._turn(last) + (turns - 1) * self._slots + 1
        assert seen == right, f"{name}: the lane is busy until edge {seen}, not {right}"

    def _turn(self, edge: int) -> int:
        """Return the first edge after this one at which a rotation ends."""
        return edge + 1 + (-1 - self._phase - edge - 1) % self._slots
