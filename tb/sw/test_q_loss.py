"""The fast Q-loss gives the same results as the plain one with autograd."""

from itertools import product
from typing import Any

import pytest
import torch
from tb.sw.torch_calls import Calls
from torch.utils._pytree import tree_leaves

from qstep.deep.config import VARIANTS, Variant
from qstep.deep.dqn_plain import Batch, q_loss
from qstep.deep.fast import q_loss as fast
from qstep.deep.fast.network import Stack
from qstep.deep.network import modules
from qstep.deep.replay import Batches
from qstep.errors import ConfigError

CPU = torch.device("cpu")
GAMMA = 0.99
COUNT = 3
SHAPES = [((4, 64, 64, 2), 64), ((14, 32, 3), 5), ((1, 8, 8, 8, 4), 1)]

# Float32 sums over up to 65 terms are taken in another order; TD errors reach 30.
TOLERANCE = 1e-5


def sample(sizes: tuple[int, ...], size: int) -> tuple[Batches, list[Batch]]:
    """Return K random batches in both layouts; a third of the transitions terminate."""
    draw = torch.Generator().manual_seed(5)
    inputs, actions = sizes[0], sizes[-1]
    seen = torch.ones(COUNT, 2 * size, inputs + 1)
    seen[:, :, :-1] = 3 * torch.randn(COUNT, 2 * size, inputs, generator=draw)
    action = torch.randint(actions, (COUNT, size), generator=draw)
    reward = 4 * torch.randn(COUNT, size, generator=draw)
    terminated = torch.rand(COUNT, size, generator=draw) < 1 / 3
    weight = torch.full((COUNT, size), 1 / size)
    columns = (seen, action, reward, GAMMA * (~terminated).float(), weight)
    batches = Batches(*(part.numpy() for part in columns))
    plain = [
        Batch(s[:size, :-1], a, r, s[size:, :-1], t)
        for s, a, r, t in zip(seen, action, reward, terminated, strict=True)
    ]
    return batches, plain


def networks(sizes: tuple[int, ...]) -> tuple[torch.nn.Sequential, torch.nn.Sequential, Stack]:
    online, target = modules(sizes, seed=1), modules(sizes, seed=2)
    stack = Stack.zeros(sizes, 2, CPU)
    stack[0].copy_modules(online)
    stack[1].copy_modules(target)
    return online, target, stack


def gradient_of(online: torch.nn.Sequential) -> torch.Tensor:
    """Return the modules' gradients from autograd, in the layout of a stack."""
    grads: list[Any] = [parameter.grad for parameter in online.parameters()]
    flat = Stack.zeros([grads[0].shape[1], *map(len, grads[1::2])], 1, CPU)
    for layer, weight, bias in zip(flat.layers, grads[::2], grads[1::2], strict=True):
        layer[0, :, :-1] = weight
        layer[0, :, -1] = bias
    return flat.flat


@pytest.mark.parametrize(("variant", "shape"), list(product(VARIANTS, SHAPES)))
def test_fast_loss_equals_autograd(variant: Variant, shape: tuple[tuple[int, ...], int]) -> None:
    sizes, size = shape
    batches, plain = sample(sizes, size)
    online, target, stack = networks(sizes)
    loss = fast.QLoss(variant, stack, batches)
    for k, batch in enumerate(plain):
        online.zero_grad()
        expected, td_error = q_loss(variant, online, target, batch, GAMMA)
        expected.backward()
        torch.testing.assert_close(loss.forward(k), expected.detach(), rtol=TOLERANCE, atol=0)
        torch.testing.assert_close(loss.td_error[k], td_error, rtol=0, atol=TOLERANCE)
        torch.testing.assert_close(loss.backward(k), gradient_of(online), rtol=0, atol=TOLERANCE)


def test_the_comparison_notices_another_variant() -> None:
    batches, plain = sample(*SHAPES[0])
    online, target, stack = networks(SHAPES[0][0])
    for mine, other in product(VARIANTS, VARIANTS):
        _, td_error = q_loss(other, online, target, plain[0], GAMMA)
        loss = fast.QLoss(mine, stack, batches)
        loss.forward()
        close = torch.allclose(loss.td_error[0], td_error, rtol=0, atol=TOLERANCE)
        assert close == (mine == other)


def test_weights_multiply_each_transition() -> None:
    batches, plain = sample(*SHAPES[0])
    online, target, stack = networks(SHAPES[0][0])
    weight = torch.linspace(0, 1, SHAPES[0][1]) / SHAPES[0][1]
    batches.weight[0] = weight.numpy()
    _, error = q_loss("target", online, target, plain[0], GAMMA)
    zeros = torch.zeros_like(error)
    each = torch.nn.functional.smooth_l1_loss(error, zeros, reduction="none")
    found = fast.QLoss("target", stack, batches).forward()
    torch.testing.assert_close(found, (each * weight).sum(), rtol=TOLERANCE, atol=0)


def test_batches_and_networks_are_read_again_at_each_call() -> None:
    batches, _ = sample(*SHAPES[0])
    _, _, stack = networks(SHAPES[0][0])
    loss = fast.QLoss("double", stack, batches)
    before = loss.forward().item()
    batches.reward[:] += 1
    changed = loss.forward().item()
    stack[1].flat.zero_()
    assert len({before, changed, loss.forward().item()}) == 3


class Allocations(Calls):
    """Records the operations that return newly allocated memory."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[str] = []

    def note(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        if not places(result) <= places((args, kwargs)):
            self.made.append(name)


def places(tree: Any) -> set[int]:
    """Return the start addresses of the memory of all tensors in a tree."""
    tensors = (leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor))
    return {tensor.untyped_storage().data_ptr() for tensor in tensors}


@pytest.mark.parametrize("variant", VARIANTS)
def test_calls_allocate_nothing(variant: Variant) -> None:
    batches, _ = sample(*SHAPES[0])
    _, _, stack = networks(SHAPES[0][0])
    loss = fast.QLoss(variant, stack, batches)
    with Allocations() as allocations:
        for k in range(COUNT):
            loss.forward(k)
            loss.backward(k)
    assert allocations.calls > COUNT * 10
    assert allocations.made == []


def test_allocations_are_noticed() -> None:
    _, plain = sample(*SHAPES[0])
    online, target, _ = networks(SHAPES[0][0])
    with Allocations() as allocations:
        loss, _ = q_loss("double", online, target, plain[0], GAMMA)
        loss.backward()
    assert {"addmm", "gather", "smooth_l1_loss_backward", "mm"} <= set(allocations.made)


def test_unknown_variant_is_refused() -> None:
    batches, _ = sample(*SHAPES[0])
    _, _, stack = networks(SHAPES[0][0])
    with pytest.raises(ConfigError, match="variant is 'triple'; it must be one of single, target"):
        fast.QLoss("triple", stack, batches)  # type: ignore[arg-type]


@pytest.mark.parametrize("normalise", [False, True])
def test_networks_of_one_seed_are_equal_and_leave_the_generator_alone(normalise: bool) -> None:
    torch.manual_seed(3)
    first = torch.rand(1)
    torch.manual_seed(3)
    made = (modules((4, 8, 2), s, normalise=normalise) for s in (7, 7, 8))
    ours, again, other = (next(network.parameters()) for network in made)
    assert torch.equal(torch.rand(1), first)
    assert torch.equal(ours, again)
    assert not torch.equal(ours, other)


def test_stack_gives_its_modules_back() -> None:
    online, target, stack = networks((4, 8, 8, 2))
    seen = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
    assert torch.equal(stack.to_modules()(seen), online(seen))
    assert torch.equal(stack[1].to_modules()(seen), target(seen))


def test_sizes_that_are_no_network_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"sizes are \(4, 0, 2\); there must be two or more"):
        modules((4, 0, 2), seed=0)
