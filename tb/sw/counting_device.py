"""A stand-in for a simulated device."""

from qstep.device import Counters
from qstep.device.model import ModelDevice
from qstep.mdp.transitions import Transitions

__all__ = ["CountingDevice"]


class CountingDevice(ModelDevice):
    """A model with hardware-like counters: one hold per four transitions, six clocks per transition."""

    accepted = 0

    def apply(self, transitions: Transitions) -> None:
        super().apply(transitions)
        self.accepted += len(transitions)

    def counters(self) -> Counters:  # type: ignore[override]
        held = self.accepted // 4
        return Counters(self.accepted + held, self.accepted, held, 7, 0, 0, 0)

    def clocks(self) -> int:
        return 1000 + 6 * self.accepted
