"""The loss of PQN, fast: the gradient that autograd gives `pqn_plain`, written out by hand.

As in `q_loss`, every result has a place that was allocated before, a pass is two operations a layer
(a product of matrices, and normalisation with its ReLU), and nothing becomes a Python number.
"""

from __future__ import annotations

import torch
from torch import Tensor

from qstep.deep.backward import Backward
from qstep.deep.network import Pass, Stack

__all__ = ["PqnLoss"]


class PqnLoss:
    """Loss and gradient for minibatches that always lie in the same place.

    Parameters
    ----------
    network : Stack
        One. Read at each call.
    seen : Tensor of float32, shape (inputs + 1, K B)
        Observations of K minibatches of B, a sample a column; the last row is 1. Read at each call, as
        are the next two.
    action : Tensor of int64, shape (K B,)
    returns : Tensor of float32, shape (K B,)
        What the action was worth.
    size : int
        B.
    """

    def __init__(
        self, network: Stack, seen: Tensor, action: Tensor, returns: Tensor, size: int
    ) -> None:
        self._pass = Pass(network, size)
        self._backward = Backward(network, self._pass, size)
        self._value = self._pass.values[0]
        self._error = torch.zeros(1, size, device=seen.device)
        self._back = torch.zeros_like(self._value)
        # All views are made here: cutting one out takes as long as computing with it.
        parts = (torch.split(part, size, -1) for part in (seen, action[None], returns[None]))
        self._minibatches = list(zip(*parts, strict=True))

    @property
    def loss(self) -> Tensor:
        """Half of the mean squared error of the last :meth:`gradient`, shape ()."""
        return self._error.square().mean() / 2

    def gradient(self, minibatch: int) -> Tensor:
        """Return the gradient of the loss of a minibatch, shape (1, P), overwritten by the next call."""
        seen, action, returns = self._minibatches[minibatch]
        self._pass(seen[None])
        torch.gather(self._value, 0, action, out=self._error).sub_(returns)
        self._back.zero_().scatter_(0, action, self._error / returns.shape[1])
        return self._backward(self._back, seen.t())
