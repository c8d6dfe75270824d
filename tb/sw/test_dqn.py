"""DQN in both forms: learns, repeats itself exactly, and refuses what it cannot learn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from tb.sw.torch_calls import Calls

from qstep import torch_device
from qstep.deep import backward, network, q_loss
from qstep.deep.adam import Adam
from qstep.deep.dqn import Dqn
from qstep.deep.dqn_config import DqnConfig
from qstep.deep.dqn_plain import PlainDqn
from qstep.deep.evaluate import play
from qstep.deep.network import Greedy, Stack, modules, products, through_copies
from qstep.deep.presets import PRESETS
from qstep.deep.q_head import TorchHead
from qstep.deep.ranges import learning_rate_at
from qstep.deep.replay import Replay
from qstep.deep.replay_plain import PlainReplay
from qstep.deep.run import Run
from qstep.envs.cartpole_vector import CartPoleVectorEnv
from qstep.envs.snake_vector import SnakeVectorEnv
from qstep.errors import ConfigError, EnvironmentSpaceError
from qstep.learn.schedule import EpsilonSchedule

pytestmark = pytest.mark.unit

CPU = torch.device("cpu")
SMALL = DqnConfig(
    total_timesteps=4_000,
    hidden=(16, 16),
    batch_size=16,
    gradient_steps=2,
    buffer_size=512,
    learning_starts=64,
    reward_scale=0.01,
)


def learner(config: DqnConfig = SMALL, num_envs: int = 8) -> Dqn:
    return Dqn(CartPoleVectorEnv(num_envs, seed=3), config, CPU)


def play_on(made: Dqn, steps: int) -> Dqn:
    while made.steps < steps:
        made.step()
    return made


def assert_same_parameters(*runs: Run) -> None:
    first, other = (run.learner for run in runs)
    assert isinstance(first, Dqn)
    assert isinstance(other, Dqn)
    assert torch.equal(first.networks.flat, other.networks.flat)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with torch_device.one_thread():
        yield


@pytest.mark.parametrize("prioritised", [False, True])
@pytest.mark.parametrize("variant", ["single", "target", "double"])
def test_a_seed_gives_the_same_network_bit_for_bit(variant: Any, prioritised: bool) -> None:
    config = replace(SMALL, variant=variant, prioritised=prioritised)
    first, again = play_on(learner(config), 1000), play_on(learner(config), 1000)
    other = play_on(learner(replace(config, seed=1)), 1000)
    assert torch.equal(first.networks.flat, again.networks.flat)
    assert not torch.equal(first.networks.flat, other.networks.flat)
    assert torch.isfinite(first.networks.flat).all()


def fast_score(prioritised: bool) -> float:
    """Return the greedy score after 20,000 steps: 150, prioritised 165; below 30 before the first."""
    changes: dict[str, Any] = {"total_timesteps": 20_000, "prioritised": prioritised}
    made = Dqn(
        CartPoleVectorEnv(32, seed=32),
        replace(PRESETS["cartpole"].configuration("fast", 1), **changes),
        CPU,
    )
    play_on(made, made.config.total_timesteps)
    return float(play(CartPoleVectorEnv(100), made.policy(100), 1 << 32).mean())


def plain_returns() -> list[float]:
    """Return those of 3,000 steps: 22 in the first 20 episodes, 172 in the last 5."""
    config = replace(
        PRESETS["cartpole"].configuration("plain", 0),
        total_timesteps=3_000,
        batch_size=64,
        gradient_steps=8,
        learning_starts=200,
        gamma=0.95,
        reward_scale=0.05,
        tau=0.2,
        learning_rate=4e-3,
        epsilon=EpsilonSchedule(1, 0.02, 0.4),
    )
    made = PlainDqn(gym.make("CartPole-v1"), config, CPU, num_envs=32)
    returns = [r for _ in range(config.total_timesteps) if (r := made.step()) is not None]
    assert made.episodes == len(returns)
    assert made.updates == (config.total_timesteps - config.learning_starts) // 4 + 1
    return returns


LEAST_FAST, LEAST_PLAIN = 112.0, 125.0
"""Three quarters of what is reached; another processor rounds otherwise."""


@pytest.mark.parametrize("prioritised", [False, True])
def test_fast_form_learns_cartpole_in_a_few_steps(prioritised: bool) -> None:
    assert fast_score(prioritised) > LEAST_FAST


def test_plain_form_learns_cartpole_in_a_few_steps() -> None:
    assert np.mean(plain_returns()[-5:]) > LEAST_PLAIN


@pytest.mark.parametrize("prioritised", [False, True])
def test_fast_form_does_not_learn_from_actions_of_another_environment(
    prioritised: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mixed_up(replay: Replay, seen: Any, action: Any, *rest: Any) -> Any:
        return push_batch(replay, seen, np.roll(action, 1), *rest)

    push_batch = Replay.push_batch
    monkeypatch.setattr(Replay, "push_batch", mixed_up)
    assert fast_score(prioritised) < LEAST_FAST  # 68, prioritised 33


def test_plain_form_does_not_learn_without_the_next_observation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def without(
        replay: PlainReplay, seen: Any, action: int, reward: float, following: Any, ended: bool
    ) -> None:
        push(replay, seen, action, reward, seen, ended)

    push = PlainReplay.push
    monkeypatch.setattr(PlainReplay, "push", without)
    assert np.mean(plain_returns()[-5:]) < LEAST_PLAIN  # 46


def test_plain_form_explores_and_replays_by_independent_generators() -> None:
    made = PlainDqn(gym.make("CartPole-v1"), SMALL, CPU, num_envs=8)
    explore, replay = (
        [generator.random() for _ in range(1000)]
        for generator in (made._random, made.replay._random)
    )
    # 1000 independent pairs: the standard deviation of their correlation is 0.03.
    assert abs(np.corrcoef(explore, replay)[0, 1]) < 0.15


def test_both_forms_begin_with_the_same_network() -> None:
    fast = learner()
    plain = PlainDqn(gym.make("CartPole-v1"), SMALL, CPU, num_envs=8)
    seen = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    assert torch.equal(fast.online.to_modules()(seen), plain.online(seen))
    assert torch.equal(fast.target.to_modules()(seen), plain.target(seen))


def test_fast_form_learns_as_often_as_it_is_told() -> None:
    made = learner()
    for _ in range(7):
        made.step()
    assert (made.steps, made.updates) == (56, 0)  # learning_starts is 64
    for _ in range(5):
        made.step()
    assert (made.steps, made.updates) == (96, 10)


def test_replay_gets_what_the_environments_showed() -> None:
    made = learner(replace(SMALL, buffer_size=4096))
    envs = CartPoleVectorEnv(8, seed=3)
    for first in range(0, 56, 8):
        made.step()
        kept = made.replay.checkpoint()
        rows = slice(first, first + 8)
        seen, next_seen = kept["seen"].reshape(2, 4096, -1)[:, rows, :-1]
        assert np.array_equal(seen, envs.observation)
        step = envs.step(kept["action"][rows])
        assert np.array_equal(next_seen, step.next_observation)


def test_discount_is_zero_only_where_an_episode_terminated() -> None:
    class Ends:
        """One environment whose steps terminate, are cut off, or go on, in turn."""

        inputs, actions = 1, 2

        def __init__(self) -> None:
            self.observation = np.zeros((1, 1), np.float32)
            self.count = 0

        @property
        def num_envs(self) -> int:
            return 1

        def step(self, actions: Any) -> Any:
            class Step:
                next_observation = np.full((1, 1), self.count, np.float32)
                reward = np.ones(1, np.float32)
                terminated = np.array([self.count % 3 == 0])
                truncated = np.array([self.count % 3 == 1])
                score = np.array([self.count], np.int32)

            self.count += 1
            return Step

    made = Dqn(Ends(), replace(SMALL, batch_size=8, learning_starts=64), CPU)  # type: ignore[arg-type]
    ended = [len(made.step().env) for _ in range(6)]
    kept = made.replay.checkpoint()
    gamma = np.float32(SMALL.gamma)
    assert kept["discount"][:6].tolist() == [0, gamma, gamma] * 2
    assert (kept["reward"][:6] == np.float32(SMALL.reward_scale)).all()
    assert ended == [1, 1, 0] * 2
    assert made.episodes == 4


def test_returns_are_those_of_each_environment() -> None:
    made = learner()
    ended = [made.step() for _ in range(100)]
    scores = np.concatenate([e.score for e in ended])
    assert len(scores) > 10
    assert np.array_equal(np.concatenate([e.episode_return for e in ended]), scores)  # 1 a step


def test_target_network_is_copied_when_it_is_time() -> None:
    made = learner(replace(SMALL, target_update_interval=4, tau=1.0))
    equal = []
    for _ in range(16):
        made.step()
        equal.append(torch.equal(made.online.flat, made.target.flat))
    # Learning begins with step 8, and step 8 copies.
    assert equal == [True] * 8 + [False, False, False, True] * 2


def test_target_network_follows_by_its_rate() -> None:
    made = play_on(learner(replace(SMALL, tau=0.25)), 64)
    before = made.target.flat.clone()
    made.step()
    expected = before + 0.25 * (made.online.flat - before)
    torch.testing.assert_close(made.target.flat, expected)


def test_learning_rate_and_epsilon_go_by_steps() -> None:
    config = DqnConfig(
        total_timesteps=1000,
        learning_rate=1.0,
        final_learning_rate=0.5,
        epsilon=EpsilonSchedule(1, 0, 0.5),
    )
    assert [learning_rate_at(config, f) for f in (0, 500, 1000, 2000)] == [1.0, 0.75, 0.5, 0.5]
    assert [config.epsilon.at(f, config.total_timesteps) for f in (0, 250, 500)] == [1.0, 0.5, 0.0]


def test_no_exploration_is_greedy() -> None:
    made = learner(replace(SMALL, epsilon=EpsilonSchedule(0, 0, 0)))
    network = made.online.to_modules()
    seen = made.envs.observation.copy()
    with torch.no_grad():
        best = network(torch.from_numpy(seen)).argmax(1)
    made.step()
    assert np.array_equal(made.replay.checkpoint()["action"][: len(seen)], best.numpy())


def test_evaluation_leaves_a_run_alone() -> None:
    runs = [
        Run("cartpole", "fast", replace(SMALL, total_timesteps=1000), CPU, evaluate_every=every)
        for every in (20, 1 << 30)
    ]
    for run in runs:
        assert list(run) != []
    often, never = runs
    assert len(often.scores) > len(never.scores) == 1
    assert_same_parameters(often, never)
    assert often.scores[-1].mean == never.scores[-1].mean
    assert often.returns == never.returns


def test_run_ends_after_its_episodes() -> None:
    run = Run("cartpole", "fast", SMALL, CPU, evaluate_every=10, episodes=20)
    for _ in run:
        assert run.learner.steps < SMALL.total_timesteps
    assert 20 <= run.learner.episodes < 20 + run.learner.envs.num_envs  # type: ignore[union-attr]
    assert len(run.returns) == run.learner.episodes
    assert run.scores[-1].episodes == run.learner.episodes


def test_greedy_ties_go_to_the_lowest_action() -> None:
    same = Stack.zeros((4, 8, 3), 1, CPU)
    assert Greedy(same, 5)(np.ones((5, 4), np.float32)).tolist() == [0] * 5


def test_greedy_scores_are_one_whole_episode_an_environment() -> None:
    network = Stack.zeros((4, 8, 2), 1, CPU)  # always to the left: falls within 11 steps
    network.copy_modules(modules((4, 8, 2), 0))
    network.flat.zero_()
    scores = play(CartPoleVectorEnv(50), Greedy(network, 50), 7)
    assert scores.shape == (50,)
    assert ((scores >= 8) & (scores <= 11)).all()
    assert np.array_equal(scores, play(CartPoleVectorEnv(50), Greedy(network, 50), 7))


def test_adam_is_that_of_pytorch_bit_for_bit() -> None:
    draw = torch.Generator().manual_seed(0)
    ours = torch.randn(1, 333, generator=draw)
    theirs = torch.nn.Parameter(ours.clone())
    optimizer = torch.optim.Adam([theirs], lr=1.0, fused=True)
    adam = Adam(ours)
    for k in range(20):
        gradient = torch.randn(1, 333, generator=draw)
        optimizer.param_groups[0]["lr"] = 0.1 / (k + 1)
        theirs.grad = gradient.clone()
        optimizer.step()
        adam.step(gradient, 0.1 / (k + 1))
        assert torch.equal(ours, theirs.detach())


def test_environments_that_show_an_index_are_refused() -> None:
    with pytest.raises(
        EnvironmentSpaceError, match="the environments show one index; a network needs"
    ):
        Dqn(SnakeVectorEnv(4, "state"), SMALL, CPU)


BOX = Box(-1, 1, (4,), np.float32)
SEEN = "; DQN needs a Box of float32 and one dimension"
ACTS = "; DQN needs a Discrete that starts at 0"


@pytest.mark.parametrize(
    ("seen", "acts", "message"),
    [
        (Discrete(16), Discrete(2), "the observation space is Discrete(16)" + SEEN),
        (Box(0, 1, (3, 3), np.float32), Discrete(2), "(3, 3), float32)" + SEEN),
        (Box(0, 1, (3,), np.float64), Discrete(2), "is Box(0.0, 1.0, (3,), float64)" + SEEN),
        (Box(0, 255, (3,), np.uint8), Discrete(2), "is Box(0, 255, (3,), uint8)" + SEEN),
        (
            BOX,
            Box(-2, 2, (1,), np.float32),
            "the action space is Box(-2.0, 2.0, (1,), float32)" + ACTS,
        ),
        (BOX, Discrete(2, start=1), "the action space is Discrete(2, start=1)" + ACTS),
    ],
)
def test_environment_whose_spaces_do_not_fit_is_refused_before_it_is_reset(
    seen: Any, acts: Any, message: str
) -> None:
    class Untouched(gym.Env[Any, Any]):
        observation_space, action_space = seen, acts

        def reset(self, **options: Any) -> Any:
            raise AssertionError("it was reset")

    with pytest.raises(EnvironmentSpaceError, match=re.escape(message)):
        PlainDqn(Untouched(), SMALL, CPU, num_envs=8)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_size": 600}, "batch_size is 600, larger than buffer_size, 512; make it smaller"),
        (
            {"learning_starts": 15},
            "learning_starts is 15; it must be from batch_size, 16, to buffer_size, 512",
        ),
        ({"learning_starts": 513}, "learning_starts is 513; it must be from batch_size"),
        ({"total_timesteps": 0}, "total_timesteps is 0; it must be 1 or more"),
        ({"gradient_steps": 0}, "gradient_steps is 0; it must be 1 or more"),
        ({"gamma": 1.5}, "gamma is 1.5; it must be from 0 to 1"),
        ({"tau": -0.1}, "tau is -0.1; it must be from 0 to 1"),
        ({"learning_rate": float("nan")}, "learning_rate is nan; it must be finite, 0 or more"),
        ({"reward_scale": float("inf")}, "reward_scale is inf; it must be finite"),
        ({"hidden": ()}, r"hidden is \(\); it must be one layer or more"),
        ({"hidden": (8, 0)}, r"hidden is \(8, 0\); it must be one layer or more"),
        ({"variant": "triple"}, "variant is 'triple'; it must be one of single, target, double"),
        ({"seed": -1}, r"seed is -1; it must be an integer from 0 to 2\^64-1"),
    ],
)
def test_illegal_configuration_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        replace(SMALL, **changes)


def test_plain_form_says_what_it_lacks() -> None:
    env = gym.make("CartPole-v1")
    with pytest.raises(ConfigError, match="prioritised replay is for the fast form"):
        PlainDqn(env, replace(SMALL, prioritised=True), CPU, num_envs=8)
    with pytest.raises(ConfigError, match="num_envs is 3; it must be a multiple of gradient_steps"):
        PlainDqn(env, SMALL, CPU, num_envs=3)


def test_more_environments_than_the_replay_has_rows_are_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"there are 600 environments; a step of theirs must fit .* 512"
    ):
        learner(num_envs=600)


@pytest.mark.gpu
@pytest.mark.parametrize("variant", ["single", "target", "double"])
def test_first_updates_are_alike_on_an_accelerator(variant: Any) -> None:
    name = torch_device.present()[0]
    if name == "cpu":
        pytest.skip("PyTorch finds neither an NVIDIA nor an Apple GPU on this machine")
    config = replace(SMALL, variant=variant, prioritised=True, epsilon=EpsilonSchedule(1, 1, 0))
    there = Dqn(CartPoleVectorEnv(8, seed=3), config, torch_device.choose(name))
    here = learner(config)
    for made in (there, here):
        play_on(made, 96)
    # ten updates in float32, sums in another order
    torch.testing.assert_close(there.networks.flat.cpu(), here.networks.flat, rtol=1e-3, atol=1e-4)


def test_loss_in_pytorchs_operations_learns_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = play_on(learner(), 200)
    monkeypatch.setattr(q_loss, "head", TorchHead)
    other = play_on(learner(), 200)
    # 36 updates in float32, sums in another order
    torch.testing.assert_close(other.networks.flat, compiled.networks.flat, rtol=1e-3, atol=1e-4)
    assert not torch.equal(other.networks.flat, learner().networks.flat)


class Products(Calls):
    """Counts products of matrices, and those of them that get or write a view with gaps."""

    def __init__(self) -> None:
        super().__init__()
        self.products = self.of_views = 0

    def note(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        if name in ("mm", "bmm"):
            self.products += 1
            self.of_views += not all(part.is_contiguous() for part in (*args, *kwargs.values()))


def counted(made: Dqn) -> Products:
    with Products() as counter:
        play_on(made, 200)
    return counter


@pytest.mark.parametrize("variant", ["single", "target", "double"])
def test_the_way_of_apples_gpu_multiplies_no_views_and_learns_the_same(
    variant: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(SMALL, variant=variant)
    views = learner(config)
    expected = counted(views)
    for module in (network, backward):
        monkeypatch.setattr(module, "products", lambda device: (through_copies, through_copies))
    copies = learner(config)
    found = counted(copies)
    assert found.products == expected.products > 300
    assert (found.of_views, expected.of_views > 0) == (0, True)
    # 36 updates in float32, sums in another order
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
    assert torch.equal(room[:, :-1], torch.bmm(a, b))  # integers: exact in any order
    assert (room[:, -1] == 1).all()
