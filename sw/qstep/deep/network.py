"""The network of every learner here: a multi-layer perceptron, as PyTorch's modules and as one vector.

`modules` makes the one that people write. `Network` holds the same numbers in one flat vector, a
layer being a view of shape (out, in + 1) whose last column is the bias: an optimiser, a copy or a blend
of two networks is then one operation instead of one a tensor. `Pass` runs it on a fixed number of
columns without allocating anything.

Activations are kept with one sample a column and a last row of ones, which the bias multiplies. With
two or three actions that is also what the matrix library is quick at: the product of a wide row and a
narrow matrix, samples being rows, took it three times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from qstep.errors import ConfigError

__all__ = ["Network", "Pass", "modules"]


def modules(sizes: Sequence[int], seed: int) -> nn.Sequential:
    """Make linear layers with ReLU between them, initialised as PyTorch does.

    The global generator is left as it was, so networks made with one seed are equal whatever else is
    drawn: every run of a comparison starts from the same one.

    Parameters
    ----------
    sizes : sequence of int
        Inputs, hidden units of each layer, actions; each 1 or more.
    seed : int
        0 or more.

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
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Network:
    """The parameters of such a perceptron, or anything of the same shape: its gradient, for one.

    Parameters
    ----------
    sizes : sequence of int
        As for :func:`modules`.
    device : torch.device

    Attributes
    ----------
    flat : Tensor of float32, shape (P,)
        All of them, 0 at first; layer after layer, row after row.
    layers : list of Tensor, shapes (out, in + 1)
        Views of it: weights, and the bias in the last column.
    """

    def __init__(self, sizes: Sequence[int], device: torch.device) -> None:
        self.sizes = tuple(sizes)
        shapes = [(outputs, inputs + 1) for inputs, outputs in pairwise(sizes)]
        counts = [rows * columns for rows, columns in shapes]
        self.flat = torch.zeros(sum(counts), device=device)
        self.layers = [
            part.view(shape) for part, shape in zip(self.flat.split(counts), shapes, strict=True)
        ]

    def copy_modules(self, source: nn.Sequential) -> None:
        """Take the parameters of a network from :func:`modules` of the same sizes."""
        with torch.no_grad():
            for layer, linear in zip(self.layers, _linear(source), strict=True):
                layer[:, :-1].copy_(linear.weight)
                layer[:, -1].copy_(linear.bias)

    def to_modules(self) -> nn.Sequential:
        """Return the same function as PyTorch's modules, on the CPU."""
        made = modules(self.sizes, seed=0)
        with torch.no_grad():
            for layer, linear in zip(self.layers, _linear(made), strict=True):
                linear.weight.copy_(layer[:, :-1])
                linear.bias.copy_(layer[:, -1])
        return made


def _linear(source: nn.Sequential) -> list[nn.Linear]:
    return [module for module in source if isinstance(module, nn.Linear)]


class Pass:
    """What a network computes on the way from a fixed number of samples to their values.

    Parameters
    ----------
    sizes : sequence of int
    samples : int
        Columns, C.
    device : torch.device

    Attributes
    ----------
    inputs : Tensor of float32, shape (C, inputs + 1)
        One sample a row. The last column is 1; write to the others.
    hidden : list of Tensor of float32, shapes (units + 1, C)
        After ReLU. The last row is 1.
    values : Tensor of float32, shape (actions, C)
    """

    def __init__(self, sizes: Sequence[int], samples: int, device: torch.device) -> None:
        first, *units, actions = sizes
        self.inputs = torch.ones(samples, first + 1, device=device)
        self.hidden = [torch.ones(n + 1, samples, device=device) for n in units]
        self.values = torch.empty(actions, samples, device=device)
        self._outputs = [h[:-1] for h in self.hidden]

    def __call__(self, network: Network, inputs: Tensor | None = None) -> Tensor:
        """Compute the values, of :attr:`inputs` or of others shaped like them, and return them."""
        seen = (self.inputs if inputs is None else inputs).t()
        for layer, hidden, output in zip(network.layers, self.hidden, self._outputs, strict=False):
            torch.mm(layer, seen, out=output).relu_()
            seen = hidden
        return torch.mm(network.layers[-1], seen, out=self.values)
