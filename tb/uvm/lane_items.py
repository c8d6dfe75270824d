"""Items exchanged between the parts of the lane's pyuvm environment."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyuvm import uvm_sequence_item

from qstep import Hyperparameters, Transitions
from qstep.spec.random import NoiseState

__all__ = ["Batch", "Checked", "Readback", "Setting"]


class Batch(uvm_sequence_item):
    """Transitions offered as one batch; the lane is idle before and after it.

    Parameters
    ----------
    name : str
        Purpose of the batch, under which errors and figures are reported.
    transitions : Transitions
    hyper : Hyperparameters, optional
        Settings to write before the transitions; None keeps the previous ones.
    table : ndarray of int32, shape (S, A), optional
        Table to write through the host port before the transitions; None keeps the previous one.
    gaps : ndarray of int, optional
        Idle clocks before each transition; None means no gaps.
    reset_after : int, optional
        Reset the lane this many clocks after the first offer, and drop transitions not yet accepted.
    read_back : bool
        Read the whole table through the host port afterwards.
    """

    def __init__(
        self,
        name: str,
        transitions: Transitions,
        *,
        hyper: Hyperparameters | None = None,
        table: NDArray[np.int32] | None = None,
        gaps: NDArray[np.int64] | None = None,
        reset_after: int | None = None,
        read_back: bool = False,
    ) -> None:
        super().__init__(name)
        self.transitions = transitions
        self.hyper = hyper
        self.table = table
        self.gaps = np.zeros(len(transitions), np.int64) if gaps is None else gaps
        self.reset_after = reset_after
        self.read_back = read_back


@dataclass(frozen=True, slots=True)
class Setting:
    """The lane's settings from `edge` on; None means unchanged."""

    edge: int
    batch: str
    hyper: Hyperparameters | None
    table: NDArray[np.int32] | None


@dataclass(frozen=True, slots=True)
class Readback:
    """Output of the host port and the noise registers after `edge`, while the lane was idle."""

    edge: int
    table: NDArray[np.int32]
    noise: NoiseState


@dataclass(frozen=True, slots=True)
class Checked:
    """Transitions confirmed by the scoreboard, for coverage; arrays have one entry per transition.

    Attributes
    ----------
    hyper : Hyperparameters
        Settings with which the transitions were applied.
    offers : ndarray of CLOCK
        The clocks in which the transitions were accepted.
    issue : ndarray of int
        The edge at which each left the issue register; later than ``edge + 1`` if it was held.
    ties : list of int
        For each transition, a mask of the actions that attain the maximum of the next row.
    rounded : ndarray of int
        The rounded sum before saturation; `surplus` contains the bits that rounding removed.
    reset : bool
        Whether a reset occurred while the lane was busy.
    """

    hyper: Hyperparameters
    offers: NDArray[np.void]
    issue: NDArray[np.int64]
    ties: list[int]
    rounded: NDArray[np.int64]
    surplus: NDArray[np.int64]
    reset: bool
