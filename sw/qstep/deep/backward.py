"""The gradient of a network by hand: two matrix products per layer, and no allocation."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from qstep.deep.network import Pass, Stack, products

__all__ = ["Backward"]


class Backward:
    """The gradient of one network, written out by hand.

    Parameters
    ----------
    network : Stack
        A single network, read at each call.
    forward : Pass
        Its pass, or a pass whose first network it is.
    samples : int
        B: this many columns of the pass are used, from the first.

    Attributes
    ----------
    gradient : Stack
        Result of the last call; a single network.
    """

    def __init__(self, network: Stack, forward: Pass, samples: int) -> None:
        device = network.flat.device
        self.gradient = Stack.zeros(network.sizes, 1, device)
        self._mm, _ = products(device)
        self._first = self.gradient.layers[0][0]
        self._layers = []
        for k in range(len(forward.hidden), 0, -1):
            hidden = forward.hidden[k - 1][0][:, :samples]
            back = torch.empty(network.sizes[k], samples, device=device)
            self._layers.append(
                _Layer(
                    self.gradient.layers[k][0],
                    hidden.t(),
                    network.layers[k][0][:, :-1].t(),
                    back,
                    hidden[:-1],
                )
            )

    def __call__(self, handed: Tensor, observations: Tensor) -> Tensor:
        """Compute and return :attr:`gradient`, flat, shape (1, P).

        Parameters
        ----------
        handed : Tensor of float32, shape (actions, B)
            Gradient with respect to the values of the last call of the pass.
        observations : Tensor of float32, shape (B, inputs + 1)
            Observations of that call, one sample per row.
        """
        for gradient, hidden, weights, back, output in self._layers:
            self._mm(handed, hidden, out=gradient)
            self._mm(weights, handed, out=back)
            back.mul_(torch.sign(output, out=output))  # through ReLU: its output is 0 or positive
            handed = back
        self._mm(handed, observations, out=self._first)
        return self.gradient.flat


class _Layer(NamedTuple):
    """The views for the backward pass through a layer.

    Attributes
    ----------
    gradient : Tensor, shape (out, in + 1)
        Written.
    hidden : Tensor, shape (B, in + 1)
        The layer's inputs, one sample per row.
    weights : Tensor, shape (in, out)
    back : Tensor, shape (in, B)
        Written: the gradient for the layer below.
    output : Tensor, shape (in, B)
        The layer's inputs as the ReLU below gave them.
    """

    gradient: Tensor
    hidden: Tensor
    weights: Tensor
    back: Tensor
    output: Tensor
