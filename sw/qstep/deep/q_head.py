"""The head of the Q-loss: from the networks' values to loss, TD errors and the gradient by them.

It takes about ten operations on a few dozen numbers each: one compiled loop on the CPU, PyTorch's
operations elsewhere. Both compute, for the transition of each column,

    error = reward + discount * judge[argmax chooser] - value[action]
    slope = clamp(error, -1, 1)
    loss  = sum over weight * slope * (error - slope / 2)      (smooth L1)
    back[action] = -weight * slope, 0 for the other actions    (its gradient by the values)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from qstep._io.compiled import compiled

__all__ = ["Columns", "CompiledHead", "TorchHead", "Values", "head"]


class Values(NamedTuple):
    """The networks' values for B transitions, as views of shape (actions, B).

    Attributes
    ----------
    value : Tensor of float32
        Of the observations.
    chooser, judge : Tensor of float32
        Of the next observations: `chooser` chooses the best action, `judge` gives its value. They are
        the same tensor where one network does both.
    """

    value: Tensor
    chooser: Tensor
    judge: Tensor


class Columns(NamedTuple):
    """B transitions and what is computed from them, each of shape (B,) except the loss."""

    action: Tensor
    reward: Tensor
    discount: Tensor
    weight: Tensor
    td_error: Tensor
    loss: Tensor


class TorchHead:
    """The head in PyTorch's operations, for any device.

    Parameters
    ----------
    values : Values
    batches : list of Columns
    back : Tensor of float32, shape (actions, B)
    """

    def __init__(self, values: Values, batches: list[Columns], back: Tensor) -> None:
        self._values, self._back = values, back
        self._batches = [
            Columns(*(tensor.view(1, -1) for tensor in columns))._replace(loss=columns.loss)
            for columns in batches
        ]
        row = back[:1]
        self._taken, self._best, self._slope, self._rest = (torch.empty_like(row) for _ in range(4))
        self._choice = torch.empty_like(row, dtype=torch.int64)

    def __call__(self, batch: int) -> None:
        """Compute TD errors and loss of a batch, and `back`."""
        action, reward, discount, weight, error, loss = self._batches[batch]
        value, chooser, judge = self._values
        torch.gather(value, 0, action, out=self._taken)
        if chooser is judge:
            torch.amax(judge, 0, keepdim=True, out=self._best)
        else:
            torch.argmax(chooser, 0, keepdim=True, out=self._choice)
            torch.gather(judge, 0, self._choice, out=self._best)
        torch.addcmul(reward, discount, self._best, out=error)
        error.sub_(self._taken)
        torch.clamp(error, -1, 1, out=self._slope)
        torch.sub(error, self._slope, alpha=0.5, out=self._rest)
        self._slope.mul_(weight)
        torch.dot(self._slope[0], self._rest[0], out=loss)
        self._back.zero_().scatter_(0, action, self._slope.neg_())


class CompiledHead:
    """The head as one compiled loop, for the CPU. Parameters as for :class:`TorchHead`."""

    def __init__(self, values: Values, batches: list[Columns], back: Tensor) -> None:
        shared = [tensor.numpy() for tensor in values]
        self._arguments = [
            (*shared, *(part.numpy() for part in columns), back.numpy()) for columns in batches
        ]

    def __call__(self, batch: int) -> None:
        """Compute TD errors and loss of a batch, and `back`."""
        _head(*self._arguments[batch])


def head(values: Values, batches: list[Columns], back: Tensor) -> TorchHead | CompiledHead:
    """Return the head for the device of the tensors."""
    kind = CompiledHead if back.device.type == "cpu" else TorchHead
    return kind(values, batches, back)


@compiled
def _head(
    value: NDArray[np.float32],
    chooser: NDArray[np.float32],
    judge: NDArray[np.float32],
    action: NDArray[np.int64],
    reward: NDArray[np.float32],
    discount: NDArray[np.float32],
    weight: NDArray[np.float32],
    td_error: NDArray[np.float32],
    loss: NDArray[np.float32],
    back: NDArray[np.float32],
) -> None:
    actions = len(value)
    back[:] = 0
    total = np.float32(0)
    for j in range(len(action)):
        best = 0
        for a in range(1, actions):
            if chooser[a, j] > chooser[best, j]:
                best = a
        error = reward[j] + discount[j] * judge[best, j] - value[action[j], j]
        slope = min(max(error, np.float32(-1)), np.float32(1))
        total += weight[j] * slope * (error - np.float32(0.5) * slope)
        back[action[j], j] = -weight[j] * slope
        td_error[j] = error
    loss[()] = total
