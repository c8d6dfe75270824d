"""Networks stored as one vector: forward and backward passes without memory allocation, and Adam.

A `Stack` stores the parameters of `deep.network.modules` in a flat vector. Each layer is a view of shape
(out, in + 1) with the bias in its last column. So an optimiser step, or a copy between networks, is one
operation, not one per tensor. A stack contains several networks of the same shape. A `Pass` evaluates
them all at once on a fixed number of samples; `Backward` computes the gradient of the first network.

Activations have one sample per column and a last row of ones for the bias. In this layout, the matrix
library is fast even with two or three actions: with one sample per row, the product of a tall and a
narrow matrix took three times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim.adam import adam

from qstep.deep.network import modules

__all__ = ["Adam", "Backward", "Greedy", "Pass", "Product", "Stack", "products", "through_copies"]

Product: TypeAlias = Callable[..., Tensor]
"""``product(a, b, out=c)`` writes and returns the product of two matrices, or of two stacks of them."""


def through_copies(a: Tensor, b: Tensor, *, out: Tensor) -> Tensor:
    """Multiply contiguous copies of `a` and `b`, and copy the product to `out`; all may be views."""
    return out.copy_(a.contiguous() @ b.contiguous())


def products(device: torch.device) -> tuple[Product, Product]:
    """Return a device's product functions for matrices and for stacks of matrices; they accept views.

    On Apple's GPU, they work on copies, because several versions of macOS silently compute wrong
    products of views with gaps in the output or repeated elements in an input.
    """
    if device.type == "mps":
        return through_copies, through_copies
    return torch.mm, torch.bmm


class Stack:
    """The parameters of N networks of one shape, or a quantity of the same shape, such as a gradient.

    `flat`, float32 of shape (N, P), contains the layers in order, row by row. `layers` are its views of
    shape (N, out, in + 1): weights, and the bias in the last column.
    """

    def __init__(self, sizes: Sequence[int], flat: Tensor) -> None:
        self.sizes, self.flat = tuple(sizes), flat
        shapes = _shapes(sizes)
        parts = torch.split(flat, [rows * columns for rows, columns in shapes], 1)
        self.layers = [part.view(-1, *shape) for part, shape in zip(parts, shapes, strict=True)]

    @classmethod
    def zeros(cls, sizes: Sequence[int], count: int, device: torch.device) -> Stack:
        """Return `count` networks whose parameters are all 0."""
        width = sum(rows * columns for rows, columns in _shapes(sizes))
        return cls(sizes, torch.zeros(count, width, device=device))

    def __getitem__(self, index: int) -> Stack:
        """Return a view of one network."""
        return Stack(self.sizes, self.flat[index : index + 1])

    def copy_modules(self, source: nn.Sequential) -> None:
        """Copy the parameters of a same-sized network from :func:`modules` to every network."""
        with torch.no_grad():
            for layer, linear in zip(self.layers, _linear(source), strict=True):
                layer[:, :, :-1] = linear.weight
                layer[:, :, -1] = linear.bias

    def to_modules(self) -> nn.Sequential:
        """Return the first network as PyTorch modules on the CPU."""
        made = modules(self.sizes, seed=0)
        with torch.no_grad():
            for layer, linear in zip(self.layers, _linear(made), strict=True):
                linear.weight.copy_(layer[0, :, :-1])
                linear.bias.copy_(layer[0, :, -1])
        return made


def _shapes(sizes: Sequence[int]) -> list[tuple[int, int]]:
    return [(outputs, inputs + 1) for inputs, outputs in pairwise(sizes)]


def _linear(source: nn.Sequential) -> list[nn.Linear]:
    return [module for module in source if isinstance(module, nn.Linear)]


class Pass:
    """The forward pass of N networks for C samples.

    `values` has shape (N, actions, C); each of `hidden`, after ReLU, has shape (N, units + 1, C) and a
    last row of ones.
    """

    def __init__(self, networks: Stack, samples: int) -> None:
        count, device = len(networks.flat), networks.flat.device
        *units, actions = networks.sizes[1:]
        self.hidden = [torch.ones(count, n + 1, samples, device=device) for n in units]
        self.values = torch.empty(count, actions, samples, device=device)
        outputs = [hidden[:, :-1] for hidden in self.hidden]
        _, self._bmm = products(device)
        layers = list(zip(networks.layers[:-1], outputs, strict=True))
        self._first, self._inner = layers[0], list(zip(self.hidden[:-1], layers[1:], strict=True))
        self._last = networks.layers[-1]

    def __call__(self, columns: Tensor) -> Tensor:
        """Compute and return `values` from inputs of shape (N, inputs + 1, C), whose last row is 1."""
        layer, output = self._first
        self._bmm(layer, columns, out=output)
        output.relu_()
        for hidden, (layer, output) in self._inner:
            self._bmm(layer, hidden, out=output)
            output.relu_()
        return self._bmm(self._last, self.hidden[-1], out=self.values)


class Backward:
    """The hand-coded gradient of the first network of a pass over the first B samples."""

    def __init__(self, network: Stack, forward: Pass, samples: int) -> None:
        device = network.flat.device
        self.gradient = Stack.zeros(network.sizes, 1, device)
        self._mm, _ = products(device)
        self._first = self.gradient.layers[0][0]
        self._layers = []
        for k in range(len(forward.hidden), 0, -1):
            hidden = forward.hidden[k - 1][0][:, :samples]
            back = torch.empty(network.sizes[k], samples, device=device)
            gradient, weights = self.gradient.layers[k][0], network.layers[k][0][:, :-1].t()
            self._layers.append(_Layer(gradient, hidden.t(), weights, back, hidden[:-1]))

    def __call__(self, handed: Tensor, observations: Tensor) -> Tensor:
        """Compute `gradient` for the last forward pass; return it flat, with shape (1, P).

        `handed`, shape (actions, B), is the gradient with respect to the values; `observations`, shape
        (B, inputs + 1), are the samples of that pass, one per row.
        """
        for gradient, hidden, weights, back, output in self._layers:
            self._mm(handed, hidden, out=gradient)
            self._mm(weights, handed, out=back)
            back.mul_(torch.sign(output, out=output))  # through ReLU: its output is 0 or positive
            handed = back
        self._mm(handed, observations, out=self._first)
        return self.gradient.flat


class _Layer(NamedTuple):
    """The views for the backward pass through a layer."""

    gradient: Tensor  # (out, in + 1), written
    hidden: Tensor  # (B, in + 1), the layer's inputs
    weights: Tensor  # (in, out)
    back: Tensor  # (in, B), written: the gradient for the layer below
    output: Tensor  # (in, B), the layer's inputs, as the ReLU below returned them


class Greedy:
    """The greedy policy of one network for N observations at once; ties go to the lowest action."""

    def __init__(self, network: Stack, num_envs: int) -> None:
        device = network.flat.device
        self._pass = Pass(network, num_envs)
        rows = torch.ones(num_envs, network.sizes[0] + 1, device=device)
        self._seen, self._columns = rows[:, :-1], rows.t()[None]

    def __call__(self, observation: NDArray[np.float32]) -> NDArray[np.int64]:
        self._seen.copy_(torch.from_numpy(observation))
        # NumPy's argmax is five times as fast as PyTorch's.
        best: NDArray[np.int64] = self._pass(self._columns)[0].cpu().numpy().argmax(0)
        return best


class Adam:
    """Adam for one flat parameter vector, with the same results as ``torch.optim.Adam(fused=True)``.

    In each step, PyTorch's class groups tensors and their state, which takes three times as long as the
    step itself for a network of 5,000 parameters. Its functional form, called with one tensor of each
    kind, avoids this.
    """

    def __init__(self, parameters: Tensor, gradient: Tensor) -> None:
        self.mean, self.square = torch.zeros_like(parameters), torch.zeros_like(parameters)
        self.count = torch.zeros((), device=parameters.device)
        without: list[Tensor] = []
        self._tensors = [parameters], [gradient], [self.mean], [self.square], without, [self.count]

    def step(self, rate: float) -> None:
        """Take one step with a learning rate of 0 or more."""
        adam(
            *self._tensors,
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=rate,
            weight_decay=0.0,
            eps=1e-8,
            maximize=False,
        )
