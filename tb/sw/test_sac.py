"""SAC: its update matches a plain one, its actions are right, bad spaces are rejected, and it learns."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from torch import Tensor, nn
from torch.distributions import Normal, TanhTransform, TransformedDistribution

import qstep
from qstep.deep import torch_device
from qstep.deep.algorithms import preset_of
from qstep.deep.config import SacConfig
from qstep.deep.network import BoxSpaces, Spaces, modules, play
from qstep.deep.sac import Critics, Sac, draw
from qstep.envs.pendulum_vector import PendulumVectorEnv
from qstep.errors import ConfigError, EnvironmentSpaceError

pytestmark = pytest.mark.usefixtures("one_thread")

CPU = torch.device("cpu")
SMALL = SacConfig(
    3_000, hidden=(16, 8), batch_size=32, gradient_steps=2, learning_starts=64, action_hold=3
)  # fmt: skip


def learner(config: SacConfig = SMALL, device: torch.device = CPU) -> Sac:
    return Sac(PendulumVectorEnv(4), config, device)


def moved(made: Sac, steps: int) -> Sac:
    while made.steps < steps:
        made.step()
    return made


def test_log_probability_is_that_of_a_squashed_gaussian() -> None:
    policy, seen = modules((3, 16, 4), seed=1), torch.randn(64, 3)
    noise = torch.randn(64, 2)
    mean, spread = policy(seen).chunk(2, -1)
    std = torch.exp(-5.0 + 3.5 * (torch.tanh(spread) + 1.0))  # from exp(-5) to exp(2)
    squashed = TransformedDistribution(Normal(mean, std), [TanhTransform(cache_size=1)])
    action, log_probability = draw(policy, seen, noise)
    torch.testing.assert_close(action, torch.tanh(mean + std * noise))
    wanted = squashed.log_prob(torch.tanh(mean + std * noise)).sum(-1)
    inside = action.abs().amax(-1) < 0.99  # elsewhere, float32's inverse tanh is inaccurate
    torch.testing.assert_close(log_probability[inside], wanted[inside], rtol=1e-3, atol=1e-3)
    assert int(inside.sum()) > 30


class Plain:
    """The update with a separate module for each network, and plain optimisers."""

    def __init__(self, made: Sac, config: SacConfig) -> None:
        self.config, self.actor = config, copy.deepcopy(made.actor)
        self.critics = [self.separate(made.critics, i) for i in range(2)]
        self.targets = [self.separate(made.targets, i) for i in range(2)]
        self.log_temperature = nn.Parameter(made.log_temperature.detach().clone())
        rate = config.critic_learning_rate
        both = [own for critic in self.critics for own in critic.parameters()]
        self.of_critics = torch.optim.Adam(both, lr=rate)
        self.of_actor = torch.optim.Adam(self.actor.parameters(), lr=config.learning_rate)
        self.of_temperature = torch.optim.Adam([self.log_temperature], lr=rate)

    @staticmethod
    def separate(critics: Critics, index: int) -> nn.Sequential:
        made = modules((4, 16, 8, 1), seed=0)
        linear = [layer for layer in made if isinstance(layer, nn.Linear)]
        with torch.no_grad():
            for layer, weight, bias in zip(linear, critics.weights, critics.biases, strict=True):
                layer.weight.copy_(weight[index].t())
                layer.bias.copy_(bias[index, 0])
        return made

    def update(self, batch: list[Tensor], noise: Tensor) -> None:
        seen, reached, action, reward, discount = batch
        config, temperature = self.config, self.log_temperature.detach().exp()
        with torch.no_grad():
            after, probability = draw(self.actor, reached, noise[0])
            pair = torch.cat((reached, after), 1)
            lower = torch.minimum(*(target(pair)[:, 0] for target in self.targets))
            wanted = reward + discount * (lower - temperature * probability)
        pair = torch.cat((seen, action), 1)
        loss = sum((((c(pair)[:, 0] - wanted) ** 2).mean() for c in self.critics), torch.zeros(()))
        self.step(self.of_critics, loss)
        for drawn in noise[1:]:
            self.update_policy(seen, drawn)
        with torch.no_grad():
            for critic, target in zip(self.critics, self.targets, strict=True):
                for own, slow in zip(critic.parameters(), target.parameters(), strict=True):
                    slow.mul_(1 - config.tau).add_(own, alpha=config.tau)

    def update_policy(self, seen: Tensor, noise: Tensor) -> None:
        temperature = self.log_temperature.detach().exp()
        chosen, probability = draw(self.actor, seen, noise)
        pair = torch.cat((seen, chosen), 1)
        lower = torch.minimum(*(critic(pair)[:, 0] for critic in self.critics))
        self.step(self.of_actor, (temperature * probability - lower).mean())
        if self.config.learn_temperature:
            gap = (probability.detach() - 1.0).mean()  # the target entropy is -1
            self.step(self.of_temperature, -self.log_temperature.exp() * gap)

    @staticmethod
    def step(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


@pytest.mark.parametrize(("learnt", "frequency"), [(True, 2), (False, 2), (True, 1)])
def test_updates_are_those_of_plain_code(learnt: bool, frequency: int) -> None:
    config = replace(
        SMALL,
        temperature=0.3,
        learn_temperature=learnt,
        tau=0.1,
        gradient_steps=3,
        policy_frequency=frequency,
    )
    made = moved(learner(config), 60)
    assert made.updates == 0
    plain, generator = Plain(made, config), copy.deepcopy(made.generator)
    made._learn()
    rows = generator.integers(len(made.replay), size=(3, 32))
    noise = torch.from_numpy(generator.standard_normal((3, 1 + frequency, 32, 1), np.float32))
    for k in range(3):
        sample = made.replay.sample(rows)
        both = torch.from_numpy(sample.seen[k, :, :-1].copy())
        rest = [torch.from_numpy(part[k].copy()) for part in sample[1:4]]
        policy_steps = 0 if k % frequency else frequency
        plain.update([both[:32], both[32:], *rest], noise[k, : 1 + policy_steps])
    assert made.updates == 3
    # Adam divides by the gradient's magnitude, so the order of float32 sums can matter in every step.
    close: dict[str, Any] = {"rtol": 1e-3, "atol": 1e-4}
    torch.testing.assert_close(
        list(made.actor.parameters()), list(plain.actor.parameters()), **close
    )
    torch.testing.assert_close(made.log_temperature, plain.log_temperature, **close)
    assert (made.log_temperature.item() == pytest.approx(np.log(0.3), abs=1e-6)) != learnt
    for stacked, own in ((made.critics, plain.critics), (made.targets, plain.targets)):
        for index, separate in enumerate(own):
            found = Plain.separate(stacked, index).parameters()
            torch.testing.assert_close(list(found), list(separate.parameters()), **close)


def test_random_actions_are_held_and_a_truncated_episode_goes_on_in_value() -> None:
    made = moved(learner(replace(SMALL, learning_starts=2_000, action_hold=7)), 4 * 201)
    actions = made.replay._action[: 4 * 201].reshape(201, 4)
    starts = np.arange(201) // 7 * 7
    assert (actions == actions[starts]).all()
    assert len(np.unique(actions)) == 4 * 29
    assert made.epsilon == 1.0
    assert made.episodes == 4
    assert (made.replay._discount[: 4 * 201] == np.float32(SMALL.gamma)).all()
    capacity, last = made.replay.capacity, 4 * 199
    reached = made.replay._seen[capacity + last : capacity + last + 4, :-1]
    begun = made.replay._seen[last + 4 : last + 8, :-1]
    assert (np.abs(reached - begun).max(1) > 0.01).all()  # not the observation after the reset


class Slope(gym.Env[Any, Any]):
    """Pays most for actions a third of the way above their lower bounds; some bounds are infinite."""

    def __init__(self) -> None:
        low, high = (np.array(bound, np.float32) for bound in ([-np.inf, 2, -3e38], [1, 6, 3e38]))
        self.observation_space = Box(low, high)
        self.action_space = Box(
            np.array([[-1.0], [10.0]]), np.array([[2.0], [30.0]]), dtype=np.float64
        )

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.seen = self.np_random.uniform(2, 6, 3).astype(np.float32) * [0.1, 1, 100]
        return self.seen.astype(np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        share = (action - np.array([[-1.0], [10.0]])) / np.array([[3.0], [20.0]])
        return self.seen.astype(np.float32), -float(np.abs(share - 1 / 3).sum()), True, False, {}


@pytest.mark.slow
def test_saved_network_gives_the_policys_mean_in_the_environments_units(tmp_path: Path) -> None:
    gym.register("qstep-test/Slope-v0", entry_point=Slope)  # type: ignore[arg-type]
    try:
        made = qstep.sac(
            "qstep-test/Slope-v0", total_timesteps=1_200, hidden=(16,), batch_size=32, num_envs=2,
            learning_starts=100, learning_rate=1e-2, critic_learning_rate=1e-2, evaluate_every=300,
        )  # fmt: skip
        assert made.report["greedy_score"] > -0.6  # mid-range actions would score -0.83
        made.save(tmp_path)
        loaded = qstep.load(tmp_path)
        seen = np.array([0.5, 4.0, 300.0], np.float32)
        action = made.act(seen)
        assert (action.shape, action.dtype) == ((2, 1), np.float64)
        assert (action == loaded.act(seen)).all()
        assert loaded.evaluate(episodes=20) == made.evaluate(episodes=20)
    finally:
        del gym.registry["qstep-test/Slope-v0"]
    spaces = BoxSpaces(Slope().observation_space, Slope().action_space)
    assert spaces.observed.inside(np.array([[5, 3, 7]], np.float32)).tolist() == [[5, -0.5, 7]]
    learnt = Sac(gym.vector.SyncVectorEnv([Slope], autoreset_mode="SameStep"), SMALL, CPU)
    with torch.no_grad():
        scaled = torch.from_numpy(learnt.spaces.observed.inside(seen[None]))
        mean = torch.tanh(learnt.actor(scaled)[0, :2]).numpy()
    np.testing.assert_allclose(
        learnt.policy(1)(seen[None]).ravel(), [0.5 + 1.5 * mean[0], 20 + 10 * mean[1]], rtol=1e-5
    )  # float32 sums in another order


SEEN = Box(-1.0, 1.0, (3,))


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (Discrete(3), r"the action space is Discrete\(3\); SAC needs a Box .* bounds: use DQN$"),
        (Box(0, 9, (2,), np.int64), r"is Box\(0, 9, \(2,\), int64\); SAC needs a Box of floats"),
        (
            Box(-np.inf, 1.0, (1,)),
            r"from \[-inf\] to \[1\.0\]; SAC needs finite bounds, with each low",
        ),
        (
            Box(0.5, 0.5, (1,)),
            r"from \[0\.5\] to \[0\.5\]; SAC needs finite bounds, with each low below",
        ),
        (Box(-3e38, 3e38, (1,)), "SAC needs finite bounds"),  # their difference overflows float32
    ],
)
def test_action_space_that_does_not_fit_is_refused(action: Any, message: str) -> None:
    with pytest.raises(EnvironmentSpaceError, match=message):
        BoxSpaces(SEEN, action)


def test_values_of_actions_need_a_discrete_space() -> None:
    with pytest.raises(EnvironmentSpaceError, match=r"Discrete one, or SAC for a bounded Box$"):
        Spaces(SEEN, Box(-1.0, 1.0, (1,)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"temperature": 0.0}, "temperature is 0.0; it must be above 0"),
        ({"temperature": np.nan}, "temperature is nan; it must be finite and at least 0"),
        (
            {"critic_learning_rate": -1.0},
            "critic_learning_rate is -1.0; it must be finite and at least 0",
        ),
        ({"tau": 1.5}, "tau is 1.5; it must be from 0 to 1"),
        ({"policy_frequency": 0}, "policy_frequency is 0; it must be an integer from 1 to"),
        ({"action_hold": 0}, "action_hold is 0; it must be an integer from 1 to"),
        ({"learn_temperature": 1}, "learn_temperature is 1; it must be"),
        (
            {"learning_starts": 31},
            "learning_starts is 31; it must be from batch_size, 32, to buffer",
        ),
        ({"buffer_size": 31}, "batch_size is 32, larger than buffer_size, 31; make it smaller"),
    ],
)
def test_illegal_configuration_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        replace(SMALL, **changes)


def test_more_environments_than_the_memory_holds_are_refused() -> None:
    with pytest.raises(ConfigError, match="num_envs is 65; it must be from 1 to buffer_size, 64"):
        Sac(PendulumVectorEnv(65), replace(SMALL, buffer_size=64), CPU)


@pytest.mark.slow
def test_it_learns_pendulum() -> None:
    """The mean return is -162 with this seed; policies that never swing up get -1200."""
    config = replace(preset_of("Pendulum-v1").settings["sac"].config, total_timesteps=6_000)
    made = moved(Sac(PendulumVectorEnv(1), config, CPU), 6_000)
    assert play(PendulumVectorEnv(50), made.policy(50), 1 << 32).score.mean() > -250


@pytest.mark.gpu
def test_first_updates_are_alike_on_an_accelerator() -> None:
    name = torch_device.present()[0]
    if name == "cpu":
        pytest.skip("PyTorch finds neither an NVIDIA nor an Apple GPU on this machine")
    made = [moved(learner(device=torch_device.choose(where)), 72) for where in (name, "cpu")]
    there, here = ([part.cpu() for part in own.actor.parameters()] for own in made)
    torch.testing.assert_close(there, here, rtol=1e-3, atol=1e-4)  # other order of sums
