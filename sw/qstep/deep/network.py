"""The networks: multi-layer perceptrons, as PyTorch's modules and as one vector.

`modules` makes the usual modules. A `Stack` holds the same numbers flat: a layer is a view of
shape (out, in + 1) whose last column is the bias, so an optimiser step, or a copy of one network to
another, is one operation instead of one per tensor. It holds several networks of one shape, and a `Pass`
runs them all at once, on a fixed number of samples, without allocating anything.

Activations have one sample per column and a last row of ones, which the bias multiplies. With two or
three actions the matrix library is also fast at this layout: with samples as rows, the product of a tall
and a narrow matrix took three times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from qstep.errors import ConfigError

__all__ = ["Greedy", "Pass", "Product", "Stack", "greedy", "modules", "products", "through_copies"]

Product: TypeAlias = Callable[..., Tensor]
"""``product(a, b, out=c)`` writes the product of two matrices, or of stacks of them, and returns it."""


def through_copies(a: Tensor, b: Tensor, *, out: Tensor) -> Tensor:
    """Multiply whole tensors into a new one and copy it, so `a`, `b` and `out` may be any views."""
    return out.copy_(a.contiguous() @ b.contiguous())


def products(device: torch.device) -> tuple[Product, Product]:
    """Return the products of two matrices, and of two stacks of them, on a device; views are legal.

    Apple's GPU goes through copies: on several versions of macOS its products of views are silently
    wrong, both with gaps in the output and with repeated elements in an input.
    """
    if device.type == "mps":
        return through_copies, through_copies
    return torch.mm, torch.bmm


def modules(sizes: Sequence[int], seed: int, normalise: bool = False) -> nn.Sequential:
    """Make linear layers with ReLU between them, initialised as PyTorch does.

    The global generator is left as it was, so networks with the same seed are equal whatever else is
    drawn: every run of a comparison starts from the same network.

    Parameters
    ----------
    sizes : sequence of int
        Inputs, hidden units of each layer, actions; each 1 or more.
    seed : int
        0 or more.
    normalise : bool
        Normalise each hidden layer before its ReLU.

    Raises
    ------
    ConfigError
        There are fewer than two sizes, or one is not positive.
    """
    if len(sizes) < 2 or min(sizes) < 1:
        raise ConfigError(f"sizes are {tuple(sizes)}; they must be two or more, each 1 or more")
    layers: list[nn.Module] = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for inputs, outputs in pairwise(sizes):
            layers += [nn.Linear(inputs, outputs)]
            if normalise:
                layers += [nn.LayerNorm(outputs)]
            layers += [nn.ReLU()]
    return nn.Sequential(*layers[: -2 if normalise else -1])


def greedy(network: nn.Module) -> Callable[[NDArray[np.float32]], NDArray[np.int64]]:
    """Return the greedy policy of a network, read at each call; ties go to the lowest action.

    It takes N observations, shape (N, inputs), and returns N actions, whatever N.
    """
    device = next(network.parameters()).device

    def actions(observation: NDArray[np.float32]) -> NDArray[np.int64]:
        with torch.no_grad():
            value = network(torch.from_numpy(observation).to(device))
        best: NDArray[np.int64] = value.cpu().numpy().argmax(1)
        return best

    return actions


class Stack:
    """The parameters of several such networks, or anything of their shape, such as a gradient.

    Parameters
    ----------
    sizes : sequence of int
        As for :func:`modules`.
    flat : Tensor of float32, shape (N, P)
        Holds the parameters of N networks: the layers in order, row by row.

    Attributes
    ----------
    layers : list of Tensor, shapes (N, out, in + 1)
        Views of `flat`: weights, and the bias in the last column.
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
        """Return one of the networks, in the same memory."""
        return Stack(self.sizes, self.flat[index : index + 1])

    def copy_modules(self, source: nn.Sequential) -> None:
        """Copy the parameters of a network from :func:`modules`, of the same sizes, to every network."""
        with torch.no_grad():
            for layer, linear in zip(self.layers, _linear(source), strict=True):
                layer[:, :, :-1] = linear.weight
                layer[:, :, -1] = linear.bias

    def to_modules(self) -> nn.Sequential:
        """Return the first network as PyTorch's modules, on the CPU."""
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
    """The forward pass of N networks for a fixed number of samples.

    Parameters
    ----------
    networks : Stack
        N networks, read at each call.
    samples : int
        C, the number of columns.

    Attributes
    ----------
    hidden : list of Tensor of float32, shapes (N, units + 1, C)
        After ReLU. The last row is 1.
    values : Tensor of float32, shape (N, actions, C)
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
        """Compute and return :attr:`values`.

        Parameters
        ----------
        columns : Tensor of float32, shape (N, inputs + 1, C)
            Input of each network, one sample per column; the last row is 1.
        """
        layer, output = self._first
        self._bmm(layer, columns, out=output)
        output.relu_()
        for hidden, (layer, output) in self._inner:
            self._bmm(layer, hidden, out=output)
            output.relu_()
        return self._bmm(self._last, self.hidden[-1], out=self.values)


class Greedy:
    """The greedy actions of one network for N observations at once; ties go to the lowest action.

    Parameters
    ----------
    network : Stack
        A single network, read at each call.
    num_envs : int
        N.
    """

    def __init__(self, network: Stack, num_envs: int) -> None:
        device = network.flat.device
        self._pass = Pass(network, num_envs)
        rows = torch.ones(num_envs, network.sizes[0] + 1, device=device)
        self._seen, self._columns = rows[:, :-1], rows.t()[None]

    def __call__(self, observation: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the actions, shape (N,).

        Parameters
        ----------
        observation : ndarray of float32, shape (N, inputs)
        """
        self._seen.copy_(torch.from_numpy(observation))
        # NumPy is five times as fast at this as PyTorch.
        best: NDArray[np.int64] = self._pass(self._columns)[0].cpu().numpy().argmax(0)
        return best
