"""RAdam for one flat vector of parameters, as `adam` is Adam, and what shortens a gradient before it.

The numbers are those of `torch.optim.RAdam` and `torch.nn.utils.clip_grad_norm_`, but that the factors
of a step are multiplied before they meet the vectors: half as many operations.

References
----------
L. Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond", ICLR 2020.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from qstep.deep.adam import BETAS, EPSILON

__all__ = ["RAdam", "shorten"]

_LONGEST = 2 / (1 - BETAS[1]) - 1
"""Of the simple moving average that the running mean of squares stands for, after many steps."""


def shorten(gradient: Tensor, max_norm: float) -> None:
    """Scale a gradient, in place, down to a length of at most `max_norm`."""
    length = torch.linalg.vector_norm(gradient)
    gradient.mul_((max_norm / (length + 1e-6)).clamp_(max=1.0))


class RAdam:
    """The optimiser and its state.

    Parameters
    ----------
    parameters : Tensor of float32, shape (1, P)
        Changed in place by every step.

    Attributes
    ----------
    mean, square : Tensor of float32, shape (1, P)
        Running means of the gradient and of its square.
    """

    def __init__(self, parameters: Tensor) -> None:
        self._parameters = parameters
        self.mean, self.square = torch.zeros_like(parameters), torch.zeros_like(parameters)
        self._root = torch.empty_like(parameters)

    def step(self, gradient: Tensor, learning_rate: float, count: int) -> None:
        """Take one step.

        Parameters
        ----------
        gradient : Tensor of float32, shape (1, P)
        learning_rate : float
            0 or more.
        count : int
            Which step it is, 1 or more.
        """
        unseen_mean, unseen_square = 1 - BETAS[0] ** count, 1 - BETAS[1] ** count
        self.mean.lerp_(gradient, 1 - BETAS[0])
        self.square.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        change = -learning_rate / unseen_mean
        length = _LONGEST - 2 * count * BETAS[1] ** count / unseen_square
        if length > 5.0:
            torch.sqrt(self.square, out=self._root).add_(EPSILON)
            change *= _rectified(length) * math.sqrt(unseen_square)
            self._parameters.addcdiv_(self.mean, self._root, value=change)
        else:  # nothing can be said of the squares yet
            self._parameters.add_(self.mean, alpha=change)


def _rectified(length: float) -> float:
    numerator = (length - 4) * (length - 2) * _LONGEST
    return math.sqrt(numerator / ((_LONGEST - 4) * (_LONGEST - 2) * length))
