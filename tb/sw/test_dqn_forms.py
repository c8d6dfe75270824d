"""DQN learns the same values on an accelerator, and if matrix products first copy their operands."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from tb.sw.dqn_learner import SMALL, learner, play_on
from tb.sw.torch_calls import Calls

from qstep.deep import torch_device
from qstep.deep.dqn import Dqn
from qstep.deep.fast import network
from qstep.deep.fast.network import products, through_copies
from qstep.envs.cartpole_vector import CartPoleVectorEnv
from qstep.spec.epsilon import Epsilon

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.gpu
@pytest.mark.parametrize("variant", ["single", "target", "double"])
def test_first_updates_are_alike_on_an_accelerator(variant: Any) -> None:
    name = torch_device.present()[0]
    if name == "cpu":
        pytest.skip("PyTorch finds neither an NVIDIA nor an Apple GPU on this machine")
    config = replace(
        SMALL, variant=variant, prioritised=True, epsilon=Epsilon(1, 1, "linear", 0, "run")
    )
    there = Dqn(CartPoleVectorEnv(8), config, torch_device.choose(name))
    here = learner(config)
    for made in (there, here):
        play_on(made, 96)
    # ten updates in float32, with sums in another order
    torch.testing.assert_close(there.networks.flat.cpu(), here.networks.flat, rtol=1e-3, atol=1e-4)


class Products(Calls):
    """Counts all matrix products, and the products that read or write a non-contiguous view."""

    def __init__(self) -> None:
        super().__init__()
        self.products = self.of_views = 0

    def note(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        if name in ("mm", "bmm"):
            self.products += 1
            self.of_views += not all(part.is_contiguous() for part in (*args, *kwargs.values()))


def counted(made: Dqn) -> Products:
    counter = Products()
    with counter:
        play_on(made, 200)
    return counter


@pytest.mark.parametrize("variant", ["single", "target", "double"])
def test_the_way_of_apples_gpu_multiplies_no_views_and_learns_the_same(
    variant: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(SMALL, variant=variant)
    views = learner(config)
    expected = counted(views)
    monkeypatch.setattr(network, "products", lambda device: (through_copies, through_copies))
    copies = learner(config)
    found = counted(copies)
    assert found.products == expected.products > 300
    assert (found.of_views, expected.of_views > 0) == (0, True)
    # 36 updates in float32, with sums in another order
    torch.testing.assert_close(copies.networks.flat, views.networks.flat, rtol=1e-3, atol=1e-4)
    assert not torch.equal(copies.networks.flat, learner(config).networks.flat)


def test_only_apples_gpu_goes_through_copies() -> None:
    assert products(torch.device("mps")) == (through_copies, through_copies)
    for name in ("cpu", "cuda"):
        assert products(torch.device(name)) == (torch.mm, torch.bmm)


def test_a_product_through_copies_may_write_and_read_views() -> None:
    draw = torch.Generator().manual_seed(0)
    a = torch.randint(-9, 10, (3, 7, 5), generator=draw).float()[:2]
    b = torch.randint(-9, 10, (4, 5), generator=draw).float().t().expand(2, -1, -1)
    room = torch.ones(2, 8, 4)
    through_copies(a, b, out=room[:, :-1])
    assert torch.equal(room[:, :-1], torch.bmm(a, b))  # integer sums are exact in any order
    assert (room[:, -1] == 1).all()
