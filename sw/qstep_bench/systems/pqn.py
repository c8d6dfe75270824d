"""The update of PQN: its loss, gradient and RAdam, in usual and in fast code."""

from __future__ import annotations

from collections.abc import Callable

import torch

from qstep.deep import torch_device
from qstep.deep.network import Stack, modules
from qstep.deep.pqn_config import PqnConfig
from qstep.deep.pqn_loss import PqnLoss
from qstep.deep.pqn_plain import update
from qstep.deep.radam import radam_for
from qstep_bench.checks import WrongTableError
from qstep_bench.measure import Benchmark, Form

__all__ = ["benchmark"]

_SIZES = (4, *PqnConfig().hidden, 2)
_BATCH = 128
_RATE, _MAX_GRAD_NORM = PqnConfig().learning_rate, PqnConfig().max_grad_norm
_CHECKED = 30
_TOLERANCE = 1e-5  # float32: another order of sums rounds differently, and updates amplify it
_LEAST = 20


def benchmark(device: str) -> Benchmark:
    """Return the update of CartPole's network on a device, from a minibatch already there."""
    on = torch_device.choose(device)
    pair = _Pair(on)
    return Benchmark(
        "pqn",
        f"an update of PQN with {_BATCH} transitions, network {'-'.join(map(str, _SIZES))}, layers "
        f"normalised, PyTorch on {on.type}",
        "updates",
        (
            Form(
                "pqn-update-plain",
                "autograd, PyTorch's LayerNorm, clip_grad_norm_ and RAdam",
                pair.timed(pair.plain),
                pair.check,
                least=_LEAST,
            ),
            Form(
                "pqn-update",
                "gradient and RAdam by hand on one flat vector",
                pair.timed(pair.fast),
                pair.check,
                base="pqn-update-plain",
                least=_LEAST,
            ),
        ),
    )


class _Pair:
    """Both forms, each with its own network, on the same minibatch."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        draw = torch.Generator().manual_seed(3)
        seen = torch.ones(_SIZES[0] + 1, _BATCH)
        seen[:-1].normal_(generator=draw)
        action = torch.randint(_SIZES[-1], (_BATCH,), generator=draw)
        returns = torch.randn(_BATCH, generator=draw)
        self._seen, self._action, self._returns = (
            part.to(device) for part in (seen, action, returns)
        )
        self._observation = self._seen[:-1].t().contiguous()
        self._begin()

    def _begin(self) -> None:
        """Start both from the same new network."""
        self._modules = modules(_SIZES, 1, normalise=True).to(self._device)
        self._theirs = torch.optim.RAdam(self._modules.parameters(), lr=_RATE)
        self._stack = Stack.zeros(_SIZES, 1, self._device, normalise=True)
        self._stack.copy_modules(self._modules)
        self._ours, self._count = radam_for(self._stack.flat), 0
        self._loss = PqnLoss(self._stack, self._seen, self._action, self._returns, _BATCH)

    def plain(self) -> None:
        seen = self._observation
        update(self._modules, self._theirs, seen, self._action, self._returns, _MAX_GRAD_NORM)

    def fast(self) -> None:
        gradient = self._loss.gradient(0)
        self._count += 1
        self._ours.step(gradient, _RATE, self._count, _MAX_GRAD_NORM)

    def check(self) -> str:
        """Start again, and compare the networks after a few updates."""
        self._begin()
        before = self._stack.flat.clone()
        for _ in range(_CHECKED):
            self.plain()
            self.fast()
        wanted = Stack.zeros(_SIZES, 1, self._device, normalise=True)
        wanted.copy_modules(self._modules)
        worst = float((wanted.flat - self._stack.flat).abs().max())
        moved = float((wanted.flat - before).abs().max())
        if not worst <= _TOLERANCE < moved:
            raise WrongTableError(
                f"after {_CHECKED} updates parameters differ by {worst:.1e}, and have moved by up to "
                f"{moved:.1e}; at most {_TOLERANCE:.0e} may lie between the forms"
            )
        return f"{_CHECKED} updates equal to {_TOLERANCE:.0e}"

    def timed(self, call: Callable[[], None]) -> Callable[[int], int]:
        """Return a function that makes a given number of updates."""

        def run(amount: int) -> int:
            with torch_device.one_thread():
                for _ in range(amount):
                    call()
                torch_device.synchronise(self._device)
            return amount

        return run
