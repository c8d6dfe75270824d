"""The fast update of PQN gives the same as the plain one with autograd and PyTorch's RAdam."""

from functools import partial

import pytest
import torch
from torch import Tensor, nn

from qstep.deep import layer_norm, network
from qstep.deep import pqn_loss as fast_loss
from qstep.deep.layer_norm import CompiledNorm, TorchNorm
from qstep.deep.network import Stack, modules
from qstep.deep.pqn_loss import PqnLoss
from qstep.deep.pqn_plain import pqn_loss, update
from qstep.deep.radam import CompiledRAdam, RAdam, TorchRAdam, radam_for

pytestmark = pytest.mark.usefixtures("one_thread")

CPU = torch.device("cpu")
SHAPES = [((4, 128, 128, 2), 128), ((14, 32, 3), 5), ((1, 8, 8, 8, 4), 1)]
MINIBATCHES = 3
KINDS = [CompiledRAdam, TorchRAdam]

# float32: sums over up to 129 terms are taken in another order, and normalisation divides by a root.
TOLERANCE = 2e-6


@pytest.fixture(params=[CompiledNorm, TorchNorm])
def norm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type:
    """Let networks be normalised by each form in turn, and the loss be of the same form."""
    monkeypatch.setattr(network, "norm_for", request.param)
    if request.param is TorchNorm:
        monkeypatch.setattr(fast_loss, "_head_for", partial(partial, fast_loss._torch_head))
    kind: type = request.param
    return kind


def sample(sizes: tuple[int, ...], size: int) -> tuple[Tensor, Tensor, Tensor]:
    draw = torch.Generator().manual_seed(5)
    seen = torch.ones(sizes[0] + 1, MINIBATCHES * size)
    seen[:-1] = 3 * torch.randn(sizes[0], MINIBATCHES * size, generator=draw)
    action = torch.randint(sizes[-1], (MINIBATCHES * size,), generator=draw)
    return seen, action, 2 * torch.randn(MINIBATCHES * size, generator=draw)


def both(sizes: tuple[int, ...]) -> tuple[nn.Sequential, Stack]:
    """Return one network in both forms; gains and shifts are not those that it begins with."""
    made = modules(sizes, seed=1, normalise=True)
    draw = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for module in made:
            if isinstance(module, nn.LayerNorm):
                module.weight.uniform_(0.5, 2, generator=draw)
                module.bias.uniform_(-0.5, 0.5, generator=draw)
    stack = Stack.zeros(sizes, 1, CPU, normalise=True)
    stack.copy_modules(made)
    return made, stack


def minibatch(
    k: int, size: int, parts: tuple[Tensor, Tensor, Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    seen, action, returns = (part[..., k * size : (k + 1) * size] for part in parts)
    return seen[:-1].t(), action, returns


def gradient_of(made: nn.Sequential, sizes: tuple[int, ...]) -> Tensor:
    """Return what autograd left in the modules, in the layout of a stack."""
    with torch.no_grad():
        for parameter in made.parameters():
            assert parameter.grad is not None
            parameter.copy_(parameter.grad)
    stack = Stack.zeros(sizes, 1, CPU, normalise=True)
    stack.copy_modules(made)
    return stack.flat


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_loss_and_gradient_equal_autograds(shape: tuple[tuple[int, ...], int], norm: type) -> None:
    sizes, size = shape
    parts = sample(sizes, size)
    for k in range(MINIBATCHES):
        made, stack = both(sizes)
        fast = PqnLoss(stack, *parts, size=size)
        found = fast.gradient(k)
        assert found is not None
        expected = pqn_loss(made, *minibatch(k, size, parts))
        expected.backward()
        torch.testing.assert_close(fast.loss, expected.detach(), rtol=TOLERANCE, atol=0)
        wanted = gradient_of(made, sizes)
        assert wanted.abs().max() > 0.1
        torch.testing.assert_close(found, wanted, rtol=0, atol=TOLERANCE)


def test_the_comparison_notices_an_unnormalised_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    class Past(TorchNorm):
        """Returns the gradient through gain and ReLU, without subtracting the mean."""

        def _backward(self, back: Tensor, by_gain: Tensor, by_shift: Tensor) -> None:
            torch.ops.aten.threshold_backward.grad_input(back, self._output, 0, grad_input=back)
            back.mul_(self._gain).mul_(self._inverse)

    monkeypatch.setattr(network, "norm_for", Past)
    with pytest.raises(AssertionError, match="Tensor-likes are not close"):
        test_loss_and_gradient_equal_autograds(SHAPES[0], Past)


@pytest.mark.parametrize("max_grad_norm", [0.5, 1e9], ids=["shortened", "whole"])
@pytest.mark.parametrize("kind", KINDS)
def test_updates_are_those_of_pytorch(kind: type[RAdam], max_grad_norm: float, norm: type) -> None:
    sizes, size = SHAPES[0]
    parts = sample(sizes, size)
    made, stack = both(sizes)
    begun = stack.flat.clone()
    theirs = torch.optim.RAdam(made.parameters(), lr=1e-3)
    fast, ours = PqnLoss(stack, *parts, size=size), kind(stack.flat)
    for count in range(1, 31):  # from the sixth on RAdam looks at the squares
        k = count % MINIBATCHES
        update(made, theirs, *minibatch(k, size, parts), max_grad_norm)
        ours.step(fast.gradient(k), 1e-3, count, max_grad_norm)
    wanted = Stack.zeros(sizes, 1, CPU, normalise=True)
    wanted.copy_modules(made)
    # Thirty updates that amplify the differences of the gradients, and an update moves by up to 1e-3.
    torch.testing.assert_close(stack.flat, wanted.flat, rtol=0, atol=1e-5)
    assert (wanted.flat - begun).abs().max() > 2e-3


@pytest.mark.parametrize(("count", "change"), [(1, -0.1), (5, -0.1 / (1 - 0.9**5) * 0.1)])
@pytest.mark.parametrize("kind", KINDS)
def test_radam_uses_no_squares_in_five_steps(kind: type[RAdam], count: int, change: float) -> None:
    flat = torch.zeros(1, 2)
    kind(flat).step(torch.tensor([[1.0, 1.0]]), 0.1, count, 10.0)
    assert flat[0, 0].item() == pytest.approx(change, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_is_shortened_to_the_given_length_and_never_stretched(kind: type[RAdam]) -> None:
    for given, counted in (([3.0, 4.0], [0.6, 0.8]), ([0.3, 0.4], [0.3, 0.4])):
        made = kind(torch.zeros(1, 2))
        made.step(torch.tensor([given]), 0.1, 1, 1.0)
        torch.testing.assert_close(made.mean, 0.1 * torch.tensor([counted]))


def test_the_error_is_halved_so_that_the_gradient_by_a_value_is_the_error() -> None:
    class Constant(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.value = nn.Parameter(torch.tensor([5.0, 7.0]))

        def forward(self, seen: Tensor) -> Tensor:
            return self.value.expand(len(seen), 2)

    made = Constant()
    loss = pqn_loss(made, torch.zeros(1, 3), torch.tensor([1]), torch.tensor([4.0]))
    loss.backward()
    assert loss.item() == 4.5
    assert made.value.grad is not None
    assert made.value.grad.tolist() == [0.0, 3.0]


def test_the_forms_of_normalisation_and_optimiser_go_by_the_device() -> None:
    forms = {"cpu": (CompiledNorm, CompiledRAdam), "meta": (TorchNorm, TorchRAdam)}
    for device, (norm, optimiser) in forms.items():
        output = torch.empty(8, 5, device=device)
        assert type(layer_norm.norm_for(torch.empty(2, 8, device=device), output)) is norm
        assert type(radam_for(output)) is optimiser


def test_normalised_stack_gives_its_modules_back() -> None:
    made, stack = both((4, 8, 8, 2))
    seen = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
    assert torch.equal(stack.to_modules()(seen), made(seen))
