"""The common interface of all devices: the model, a simulation or a board."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qstep.golden.contract import Closing
from qstep.mdp.transitions import Transitions
from qstep.spec.config import Config
from qstep.spec.random import NoiseState
from qstep.spec.settings import Hyperparameters

__all__ = ["Counters", "Device", "Status"]


@dataclass(frozen=True, slots=True)
class Status:
    """A device's progress since its reset.

    Attributes
    ----------
    applied : int
        Transitions applied, modulo 2^64.
    digest : int
        CRC-32 over the canonical records of all applied transitions in order (``docs/link.md``).
    noise : NoiseState
        State of the stochastic rounding generator.
    """

    applied: int
    digest: int
    noise: NoiseState


@dataclass(frozen=True, slots=True)
class Counters:
    """Hardware counters of a device since its reset; a model has none.

    Attributes
    ----------
    offered_clocks : int
        Clocks in which a transition was offered to the lane.
    accepted : int
        Transitions that the lane accepted. Its throughput in updates per clock is
        ``accepted / offered_clocks``.
    held : int
        Clocks in which a hazard stalled an offered transition.
    forwarded : int
        Transitions with at least one operand that was forwarded from a result in flight.
    saturated : int
        Updates whose result was clipped to the format's range.
    frame_errors : int
        Dropped frames: bad CRC, bad length, or overflow.
    refused : int
        Refused commands: sequence gap, unknown type, or value out of range.
    """

    offered_clocks: int
    accepted: int
    held: int
    forwarded: int
    saturated: int
    frame_errors: int
    refused: int


class Device(Closing):
    """A device that stores a Q-table and applies learning updates to it.

    A device is a context manager. Every method checks its arguments before it changes anything. If a
    value is illegal, the method raises a :class:`~qstep.errors.QStepError` that names the value.
    """

    config: Config

    @abstractmethod
    def configure(self, hyper: Hyperparameters) -> None:
        """Set learning rate, discount and rounding, and restart the rounding noise from its seed."""

    @abstractmethod
    def set_noise(self, noise: NoiseState) -> None:
        """Set the rounding noise to a saved state, for an exact resume."""

    @abstractmethod
    def clear(self) -> None:
        """Set the whole table to 0."""

    @abstractmethod
    def load(self, q_raw: NDArray[np.int32]) -> None:
        """Replace the table with raw values of shape (S, A); raise TableError if they do not fit."""

    @abstractmethod
    def apply(self, transitions: Transitions) -> None:
        """Apply transitions in order, each exactly once; return when all have been applied.

        Raises
        ------
        TransitionError
            The transitions are for another table type; nothing has been applied.
        DeviceError
            The device failed; the error's ``applied`` is the number of these transitions that are known
            to have been applied.
        """

    @abstractmethod
    def read(self) -> NDArray[np.int32]:
        """Return the table as raw values, shape (S, A), after all transitions so far."""

    @abstractmethod
    def status(self) -> Status:
        """Return the device's progress since its reset."""

    @abstractmethod
    def counters(self) -> Counters | None:
        """Return the hardware's counters, or None for a model."""

    def saturations(self) -> int:
        """Return the number of updates since the device's reset whose result did not fit the format."""
        counters = self.counters()
        return 0 if counters is None else counters.saturated

    @abstractmethod
    def close(self) -> None:
        """Release the port or the simulation; calling it twice is harmless.

        A closed device no longer has a table: :meth:`read` and similar methods raise a DeviceError.
        """
