"""RAdam for one flat vector of parameters, like `adam` for Adam, with clipping of the gradient.

The numbers are those of `torch.nn.utils.clip_grad_norm_` and `torch.optim.RAdam`, except that factors
are multiplied together before they are applied to the vectors. On the CPU the vectors stay in the cache
and each pass over them takes as long as all the arithmetic, so a step is two compiled loops: one for
the gradient's length, one for the rest. Elsewhere it is PyTorch operations.

References
----------
L. Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond", ICLR 2020.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from qstep._io.compiled import compiled
from qstep.deep.adam import BETAS, EPSILON

__all__ = ["CompiledRAdam", "RAdam", "TorchRAdam", "radam_for"]

_LONGEST = 2 / (1 - BETAS[1]) - 1
"""Length of the simple moving average that the running mean of squares approximates in the end."""

_NO_ZERO = 1e-6
"""Added to the length of a gradient before dividing by it, as PyTorch does."""


class RAdam(ABC):
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

    def step(self, gradient: Tensor, learning_rate: float, count: int, max_norm: float) -> None:
        """Take one step.

        Parameters
        ----------
        gradient : Tensor of float32, shape (1, P)
            May be shortened in place.
        learning_rate : float
            0 or more.
        count : int
            Number of the step, from 1.
        max_norm : float
            A longer gradient is scaled down to this length; above 0.
        """
        unseen_mean, unseen_square = 1 - BETAS[0] ** count, 1 - BETAS[1] ** count
        change = -learning_rate / unseen_mean
        length = _LONGEST - 2 * count * BETAS[1] ** count / unseen_square
        divide = length > 5.0  # sooner, the mean of squares says too little
        if divide:
            change *= _rectified(length) * math.sqrt(unseen_square)
        self._apply(gradient, max_norm, change, divide)

    @abstractmethod
    def _apply(self, gradient: Tensor, max_norm: float, change: float, divide: bool) -> None:
        """Update the means, and add `change` times the step that they give to the parameters."""


class TorchRAdam(RAdam):
    """RAdam in PyTorch operations, for any device."""

    def __init__(self, parameters: Tensor) -> None:
        super().__init__(parameters)
        self._root = torch.empty_like(parameters)

    def _apply(self, gradient: Tensor, max_norm: float, change: float, divide: bool) -> None:
        length = torch.linalg.vector_norm(gradient)
        gradient.mul_((max_norm / (length + _NO_ZERO)).clamp_(max=1.0))
        self.mean.lerp_(gradient, 1 - BETAS[0])
        self.square.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        if divide:
            torch.sqrt(self.square, out=self._root).add_(EPSILON)
            self._parameters.addcdiv_(self.mean, self._root, value=change)
        else:
            self._parameters.add_(self.mean, alpha=change)


class CompiledRAdam(RAdam):
    """Compiled RAdam, for the CPU."""

    def __init__(self, parameters: Tensor) -> None:
        super().__init__(parameters)
        kept = (parameters, self.mean, self.square)
        self._vectors = tuple(vector.numpy()[0] for vector in kept)

    def _apply(self, gradient: Tensor, max_norm: float, change: float, divide: bool) -> None:
        _step(*self._vectors, gradient.numpy()[0], np.float32(max_norm), np.float32(change), divide)


def radam_for(parameters: Tensor) -> RAdam:
    """Return the optimiser for the device of the parameters."""
    kind = CompiledRAdam if parameters.device.type == "cpu" else TorchRAdam
    return kind(parameters)


def _rectified(length: float) -> float:
    numerator = (length - 4) * (length - 2) * _LONGEST
    return math.sqrt(numerator / ((_LONGEST - 4) * (_LONGEST - 2) * length))


_MEAN_SHARE, _SQUARE_SHARE = np.float32(1 - BETAS[0]), np.float32(1 - BETAS[1])
_SQUARE_KEPT, _ROOT_ADDED = np.float32(BETAS[1]), np.float32(EPSILON)
_LENGTH_ADDED = np.float32(_NO_ZERO)


# Division by 0 raises no error, as in PyTorch: a check would prevent vectorising.
@compiled(fastmath={"reassoc", "contract"}, error_model="numpy")
def _step(
    parameters: NDArray[np.float32],
    mean: NDArray[np.float32],
    square: NDArray[np.float32],
    gradient: NDArray[np.float32],
    max_norm: np.float32,
    change: np.float32,
    divide: bool,
) -> None:
    total = np.float32(0)
    for i in range(len(gradient)):
        total += gradient[i] * gradient[i]
    scale = min(max_norm / (np.sqrt(total) + _LENGTH_ADDED), np.float32(1))
    for i in range(len(gradient)):
        by = gradient[i] * scale
        mean[i] += (by - mean[i]) * _MEAN_SHARE
        square[i] = square[i] * _SQUARE_KEPT + by * by * _SQUARE_SHARE
        moved = change * mean[i]
        parameters[i] += moved / (np.sqrt(square[i]) + _ROOT_ADDED) if divide else moved
