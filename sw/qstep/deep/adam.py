"""Adam for one flat vector of parameters.

`torch.optim.Adam` is made for many tensors: in each step it groups them and their state, which took ten
times as long as the step itself for a network of 5,000 parameters. This class calls the same fused
kernel once, and gives the same numbers.

References
----------
D. P. Kingma, J. Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["BETAS", "EPSILON", "Adam"]

BETAS = (0.9, 0.999)
EPSILON = 1e-8


class Adam:
    """The optimiser and its state.

    Parameters
    ----------
    parameters : Tensor of float32, shape (P,)
        Changed in place by every step.

    Attributes
    ----------
    mean, square : Tensor of float32, shape (P,)
        Running means of the gradient and of its square.
    count : Tensor of float32, shape ()
        Steps taken.
    """

    def __init__(self, parameters: Tensor) -> None:
        self._parameters = parameters
        self.mean = torch.zeros_like(parameters)
        self.square = torch.zeros_like(parameters)
        self.count = torch.zeros((), device=parameters.device)

    def step(self, gradient: Tensor, rate: float) -> None:
        """Take one step.

        Parameters
        ----------
        gradient : Tensor of float32, shape (P,)
        rate : float
            Learning rate, 0 or more.
        """
        self.count += 1
        # The function that torch.optim.Adam(fused=True) finally calls; there is no public access to it.
        torch._fused_adam_(
            [self._parameters],
            [gradient],
            [self.mean],
            [self.square],
            [],
            [self.count],
            lr=rate,
            beta1=BETAS[0],
            beta2=BETAS[1],
            weight_decay=0.0,
            eps=EPSILON,
            amsgrad=False,
            maximize=False,
        )
