"""The three variants of the Q-loss, in plain and in fast code."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from qstep.deep import torch_device
from qstep.deep.config import VARIANTS, Variant
from qstep.deep.dqn_plain import Batch, q_loss
from qstep.deep.fast.network import Stack
from qstep.deep.fast.q_loss import QLoss
from qstep.deep.network import modules
from qstep.deep.replay import Batches
from qstep_bench.checks import WrongTableError
from qstep_bench.measure import Benchmark, Form

__all__ = ["benchmark"]

_SIZES = (4, 64, 64, 2)
_BATCH = 64
_GAMMA = 0.99
_TOLERANCE = 1e-5  # for float32 sums of 64 errors up to 5, in any order
_LEAST = 20


def benchmark(device: str) -> Benchmark:
    """Return the benchmark of the Q-loss of CartPole's network on a device.

    A call computes the loss and the TD errors of a batch that is already on the device. The plain code
    also converts the loss to a Python number, as typical code does to log it after every call; the fast
    code leaves it in memory.
    """
    on = torch_device.choose(device)
    forms: list[Form] = []
    for variant in VARIANTS:
        pair = _Pair(variant, on)
        passes = "three" if variant == "double" else "two"  # each through one network
        for gradient, suffix, more in ((False, "", ""), (True, "-grad", ", and the gradient")):
            plain = f"qloss-{variant}-plain{suffix}"
            forms += [
                Form(
                    plain,
                    f"{variant}: {passes} passes, autograd{more}",
                    _calls(pair.plain_gradient if gradient else pair.plain, on),
                    pair.check_gradient if gradient else pair.check,
                    least=_LEAST,
                ),
                Form(
                    f"qloss-{variant}{suffix}",
                    f"{variant}: one pass, nothing allocated{more}",
                    _calls(pair.fast_gradient if gradient else pair.fast, on),
                    pair.check_gradient if gradient else pair.check,
                    base=plain,
                    least=_LEAST,
                ),
            ]
    layers = "-".join(map(str, _SIZES))
    return Benchmark(
        "qloss",
        f"the Q-loss of {_BATCH} transitions, network {layers}, PyTorch on {on.type}",
        "calls",
        tuple(forms),
    )


class _Pair:
    """Plain and fast code for one variant of the Q-loss, on the same networks and transitions."""

    def __init__(self, variant: Variant, device: torch.device) -> None:
        self._variant = variant
        self._online, self._target = (modules(_SIZES, seed).to(device) for seed in (1, 2))
        networks = Stack.zeros(_SIZES, 2, device)
        networks[0].copy_modules(self._online)
        networks[1].copy_modules(self._target)
        draw = torch.Generator().manual_seed(3)
        seen = torch.ones(1, 2 * _BATCH, _SIZES[0] + 1)
        seen[:, :, :-1].normal_(generator=draw)
        action = torch.randint(_SIZES[-1], (1, _BATCH), generator=draw)
        reward = torch.randn(1, _BATCH, generator=draw)
        terminated = torch.rand(1, _BATCH, generator=draw) < 0.1
        weight = torch.full((1, _BATCH), 1 / _BATCH)
        columns = (seen, action, reward, _GAMMA * (~terminated).float(), weight)
        self._fast = QLoss(variant, networks, Batches(*(part.numpy() for part in columns)))
        before, after = seen[0, :_BATCH, :-1], seen[0, _BATCH:, :-1]
        parts = (before, action[0], reward[0], after, terminated[0])
        self._batch = Batch(*(part.contiguous().to(device) for part in parts))

    def _plain(self) -> tuple[Tensor, Tensor]:
        return q_loss(self._variant, self._online, self._target, self._batch, _GAMMA)

    def plain(self) -> None:
        self._plain()[0].item()

    def plain_gradient(self) -> None:
        self._online.zero_grad()
        loss, _ = self._plain()
        loss.backward()  # type: ignore[no-untyped-call]  # PyTorch has no types for it
        loss.item()

    def fast(self) -> None:
        self._fast.forward()

    def fast_gradient(self) -> None:
        self._fast.forward()
        self._fast.backward()

    def check(self) -> str:
        loss, td_error = self._plain()
        ours = self._fast.forward()
        return _equal(
            "losses or TD errors",
            (ours - loss.detach().cpu(), self._fast.td_error[0] - td_error.cpu()),
        )

    def check_gradient(self) -> str:
        self.plain_gradient()
        self.fast_gradient()
        differences: list[Tensor] = []
        linears = [module for module in self._online if isinstance(module, nn.Linear)]
        for layer, linear in zip(self._fast.gradient.layers, linears, strict=True):
            assert linear.weight.grad is not None
            assert linear.bias.grad is not None
            differences += [
                layer[0, :, :-1] - linear.weight.grad,
                layer[0, :, -1] - linear.bias.grad,
            ]
        return _equal("gradients", differences)


def _equal(what: str, differences: Iterable[Tensor]) -> str:
    worst = max(float(difference.abs().max()) for difference in differences)
    if not worst <= _TOLERANCE:
        raise WrongTableError(f"{what} differ by {worst:.1e}, more than {_TOLERANCE:.0e}")
    return f"{what} equal to {_TOLERANCE:.0e}"


def _calls(call: Callable[[], None], device: torch.device) -> Callable[[int], int]:
    def run(amount: int) -> int:
        with torch_device.one_thread():
            for _ in range(amount):
                call()
            torch_device.synchronise(device)
        return amount

    return run
