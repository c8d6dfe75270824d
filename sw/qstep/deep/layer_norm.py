"""Layer normalisation with its ReLU, forwards and backwards, in place.

On the CPU both directions are one compiled loop over each column; elsewhere they are PyTorch operations.
Both compute, for the sums z of one layer and one sample (a column),

    normalised = (z - mean z) / sqrt(var z + 1e-5)
    output = max(0, gain * normalised + shift)

and, from the gradient by the output, g where the output is positive and 0 elsewhere,

    by gain: sum over samples of g * normalised
    by shift: sum over samples of g
    by z: (e - mean e - normalised * mean (e * normalised)) / sqrt(var z + 1e-5), with e = gain * g

References
----------
J. L. Ba, J. R. Kiros, G. E. Hinton, "Layer Normalization", arXiv 1607.06450, 2016.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from qstep._io.compiled import compiled

__all__ = ["CompiledNorm", "TorchNorm", "norm_for"]

_EPSILON = 1e-5
"""That of PyTorch's LayerNorm."""


class TorchNorm:
    """The normalisation of one layer in PyTorch operations, for any device.

    Parameters
    ----------
    parameters : Tensor of float32, shape (2, units)
        Gain and shift. Read at each call.
    output : Tensor of float32, shape (units, C)
        Holds the sums before :meth:`forward` and the output after it.
    """

    def __init__(self, parameters: Tensor, output: Tensor) -> None:
        self._gain, self._shift = parameters[0][:, None], parameters[1][:, None]
        self._output = output
        self._normalised = torch.empty_like(output, memory_format=torch.contiguous_format)
        self._scratch = torch.empty_like(self._normalised)
        self._mean, self._inverse = (torch.empty_like(self._normalised[:1]) for _ in range(2))

    def forward(self) -> None:
        """Normalise, in place."""
        output, normalised = self._output, self._normalised
        torch.mean(output, 0, keepdim=True, out=self._mean)
        torch.sub(output, self._mean, out=normalised)
        torch.mul(normalised, normalised, out=output)
        torch.mean(output, 0, keepdim=True, out=self._inverse).add_(_EPSILON).rsqrt_()
        normalised.mul_(self._inverse)
        torch.mul(normalised, self._gain, out=output).add_(self._shift).relu_()

    def backward(self, back: Tensor, gradient: Tensor) -> Callable[[], object]:
        """Return the gradient through the last :meth:`forward`.

        Parameters
        ----------
        back : Tensor of float32, shape (units, C)
            Holds the gradient by the output before the call, by the sums after it.
        gradient : Tensor of float32, shape (2, units)
            To be written: by gain and shift.
        """
        return partial(self._backward, back, *gradient)

    def _backward(self, back: Tensor, by_gain: Tensor, by_shift: Tensor) -> None:
        normalised, scratch = self._normalised, self._scratch
        torch.ops.aten.threshold_backward.grad_input(back, self._output, 0, grad_input=back)
        torch.sum(back, 1, out=by_shift)
        torch.mul(back, normalised, out=scratch)
        torch.sum(scratch, 1, out=by_gain)
        back.mul_(self._gain)
        scratch.mul_(self._gain)
        torch.mean(scratch, 0, keepdim=True, out=self._mean)
        torch.mul(normalised, self._mean, out=scratch)
        torch.mean(back, 0, keepdim=True, out=self._mean)
        back.sub_(scratch).sub_(self._mean).mul_(self._inverse)


class CompiledNorm:
    """The compiled normalisation of one layer, for the CPU. Parameters as for :class:`TorchNorm`."""

    def __init__(self, parameters: Tensor, output: Tensor) -> None:
        self._parameters, self._output = parameters.numpy(), output.numpy()
        self._normalised = np.empty(self._output.shape, np.float32)
        self._columns = np.empty((3, self._output.shape[1]), np.float32)

    def forward(self) -> None:
        """Normalise, in place."""
        _forward(self._parameters, self._output, self._normalised, self._columns)

    def backward(self, back: Tensor, gradient: Tensor) -> Callable[[], object]:
        """Return the gradient through the last :meth:`forward`; see :meth:`TorchNorm.backward`."""
        kept = (self._parameters, self._output, self._normalised, self._columns)
        return partial(_backward, *kept, back.numpy(), gradient.numpy())


def norm_for(parameters: Tensor, output: Tensor) -> TorchNorm | CompiledNorm:
    """Return the normalisation for the device of the tensors."""
    kind = CompiledNorm if output.device.type == "cpu" else TorchNorm
    return kind(parameters, output)


# Sums over the samples of a row are taken in the processor's fastest order.
@compiled(fastmath={"reassoc", "contract"})
def _forward(
    parameters: NDArray[np.float32],
    output: NDArray[np.float32],
    normalised: NDArray[np.float32],
    columns: NDArray[np.float32],
) -> None:
    units, samples = output.shape
    mean, square, inverse = columns[0], columns[1], columns[2]
    share = np.float32(1 / units)
    mean[:] = 0
    square[:] = 0
    for u in range(units):
        for j in range(samples):
            mean[j] += output[u, j]
    for j in range(samples):
        mean[j] *= share
    for u in range(units):
        for j in range(samples):
            apart = output[u, j] - mean[j]
            normalised[u, j] = apart
            square[j] += apart * apart
    for j in range(samples):
        inverse[j] = np.float32(1) / np.sqrt(square[j] * share + np.float32(_EPSILON))
    for u in range(units):
        gain, shift = parameters[0, u], parameters[1, u]
        for j in range(samples):
            normalised[u, j] *= inverse[j]
            output[u, j] = max(gain * normalised[u, j] + shift, np.float32(0))


@compiled(fastmath={"reassoc", "contract"})
def _backward(
    parameters: NDArray[np.float32],
    output: NDArray[np.float32],
    normalised: NDArray[np.float32],
    columns: NDArray[np.float32],
    back: NDArray[np.float32],
    gradient: NDArray[np.float32],
) -> None:
    units, samples = output.shape
    mean, along, inverse = columns[0], columns[1], columns[2]
    share = np.float32(1 / units)
    mean[:] = 0
    along[:] = 0
    for u in range(units):
        gain, by_gain, by_shift = parameters[0, u], np.float32(0), np.float32(0)
        for j in range(samples):
            through = back[u, j] if output[u, j] > 0 else np.float32(0)
            by_shift += through
            by_gain += through * normalised[u, j]
            back[u, j] = gain * through
        gradient[0, u], gradient[1, u] = by_gain, by_shift
        for j in range(
            samples
        ):  # a separate loop: together with the one above, neither would be vectorised
            mean[j] += back[u, j]
            along[j] += back[u, j] * normalised[u, j]
    for j in range(samples):
        mean[j] *= share
        along[j] *= share
    for u in range(units):
        for j in range(samples):
            back[u, j] = (back[u, j] - mean[j] - normalised[u, j] * along[j]) * inverse[j]
