"""The loss of PQN, fast: the gradient that autograd gives `pqn_plain`, written out by hand.

As in `q_loss`, memory for every result is allocated once, a pass takes two operations per layer (a
matrix product, and normalisation with its ReLU), the step from values to gradient is one compiled loop
on the CPU, and nothing becomes a Python number.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from qstep._io.compiled import compiled
from qstep.deep.backward import Backward
from qstep.deep.network import Pass, Stack

__all__ = ["PqnLoss"]


class PqnLoss:
    """Loss and gradient for minibatches that always lie in the same place.

    Parameters
    ----------
    network : Stack
        A single network, read at each call.
    seen : Tensor of float32, shape (inputs + 1, K B)
        Observations of K minibatches of B, one sample per column; the last row is 1. This and the next
        two are read at each call.
    action : Tensor of int64, shape (K B,)
    returns : Tensor of float32, shape (K B,)
        Target value of the action.
    size : int
        B.
    """

    def __init__(
        self, network: Stack, seen: Tensor, action: Tensor, returns: Tensor, size: int
    ) -> None:
        self._pass = Pass(network, size)
        self._backward = Backward(network, self._pass, size)
        value = self._pass.values[0]
        self._error = torch.zeros(1, size, device=seen.device)
        self._back = torch.zeros_like(value)
        # All views are made once: making one takes as long as computing with it.
        parts = (torch.split(part, size, -1) for part in (seen, action[None], returns[None]))
        self._minibatches = [
            (seen[None], _head_for(value, action, returns, self._error, self._back), seen.t())
            for seen, action, returns in zip(*parts, strict=True)
        ]

    @property
    def loss(self) -> Tensor:
        """Half of the mean squared error of the last :meth:`gradient`, shape ()."""
        return self._error.square().mean() / 2

    def gradient(self, minibatch: int) -> Tensor:
        """Return the gradient of the loss of a minibatch, shape (1, P), overwritten by the next call."""
        columns, head, rows = self._minibatches[minibatch]
        self._pass(columns)
        head()
        return self._backward(self._back, rows)


def _head_for(
    value: Tensor, action: Tensor, returns: Tensor, error: Tensor, back: Tensor
) -> Callable[[], object]:
    """Return the function that computes errors and the gradient by each value, for the device.

    Parameters
    ----------
    value, back : Tensor of float32, shape (actions, B)
        `back` is written.
    action : Tensor of int64, shape (1, B)
    returns, error : Tensor of float32, shape (1, B)
        `error` is written.
    """
    parts = value, action, returns, error, back
    if value.device.type == "cpu":
        return partial(_compiled_head, *(part.numpy() for part in parts))
    return partial(_torch_head, *parts)  # pragma: no cover: needs a GPU


def _torch_head(
    value: Tensor, action: Tensor, returns: Tensor, error: Tensor, back: Tensor
) -> None:
    torch.gather(value, 0, action, out=error).sub_(returns)
    back.zero_().scatter_(0, action, error / returns.shape[1])


@compiled(error_model="numpy")
def _compiled_head(
    value: NDArray[np.float32],
    action: NDArray[np.int64],
    returns: NDArray[np.float32],
    error: NDArray[np.float32],
    back: NDArray[np.float32],
) -> None:
    size = action.shape[1]
    back[:] = 0
    for j in range(size):
        taken = action[0, j]
        error[0, j] = value[taken, j] - returns[0, j]
        back[taken, j] = error[0, j] / np.float32(size)
