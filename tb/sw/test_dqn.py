"""Both DQN implementations learn, are reproducible, and reject what they cannot learn."""

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from tb.sw.dqn_learner import CPU, SMALL, learner, play_on, run_of
from tb.sw.vector_steps import poles, stepped
from torch import Tensor

from qstep.deep import dqn_plain
from qstep.deep.algorithms import ALGORITHMS, preset_of
from qstep.deep.config import DqnConfig
from qstep.deep.dqn import Dqn
from qstep.deep.dqn_plain import Batch, PlainDqn, stacked
from qstep.deep.fast.network import Adam, Greedy, Stack
from qstep.deep.network import Games, modules, play
from qstep.deep.replay import Replay
from qstep.deep.run import NetworkRun
from qstep.envs.cartpole_vector import CartPoleVectorEnv
from qstep.spec.epsilon import Epsilon

pytestmark = pytest.mark.usefixtures("one_thread")


def assert_same_parameters(*runs: NetworkRun) -> None:
    first, other = (run.learner for run in runs)
    assert isinstance(first, Dqn)
    assert isinstance(other, Dqn)
    assert torch.equal(first.networks.flat, other.networks.flat)


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
    """Return the greedy score after 20,000 steps: 150, or 165 if prioritised; untrained below 30."""
    config = ALGORITHMS["dqn"].settings_for(preset_of("cartpole"), 1).config
    config = replace(config, total_timesteps=20_000, prioritised=prioritised)
    made = Dqn(CartPoleVectorEnv(32), config, CPU)
    play_on(made, made.config.total_timesteps)
    return float(play(CartPoleVectorEnv(100), made.policy(100), 1 << 32).score.mean())


def plain_returns() -> list[float]:
    """Return the episode returns over 3,000 steps: on average 22 in the first 20, 172 in the last 5."""
    config = replace(
        preset_of("cartpole").settings["dqn"].config, total_timesteps=3_000, batch_size=64,
        gradient_steps=8, learning_starts=200, gamma=0.95, reward_scale=0.05, tau=0.2,
        learning_rate=4e-3, epsilon=Epsilon(1, 0.02, "linear", 0.4, "run")
    )  # fmt: skip
    made = PlainDqn(gym.make("CartPole-v1"), config, CPU, num_envs=32)
    returns = [r for _ in range(config.total_timesteps) for r in made.step().episode_return]
    assert made.episodes == len(returns)
    assert made.updates == (config.total_timesteps - config.learning_starts) // 4 + 1
    return returns


LEAST_FAST, LEAST_PLAIN = 112.0, 125.0
"""Three quarters of the results reached on one machine, because other CPUs round differently."""


@pytest.mark.parametrize("prioritised", [False, True])
def test_fast_form_learns_cartpole_in_a_few_steps(prioritised: bool) -> None:
    assert fast_score(prioritised) > LEAST_FAST


@pytest.mark.slow
def test_plain_form_learns_cartpole_in_a_few_steps() -> None:
    assert np.mean(plain_returns()[-5:]) > LEAST_PLAIN


@pytest.mark.slow
@pytest.mark.parametrize("prioritised", [False, True])
def test_fast_form_does_not_learn_from_actions_of_another_environment(
    prioritised: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mixed_up(replay: Replay, seen: Any, action: Any, *rest: Any) -> Any:
        return push_batch(replay, seen, np.roll(action, 1), *rest)

    push_batch = Replay.push_batch
    monkeypatch.setattr(Replay, "push_batch", mixed_up)
    assert fast_score(prioritised) < LEAST_FAST  # 68; if prioritised, 33


@pytest.mark.slow
def test_plain_form_needs_the_next_observation(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(transitions: Any, device: torch.device) -> Batch:
        batch = stacked(transitions, device)
        return batch._replace(next_observation=batch.observation)

    monkeypatch.setattr(dqn_plain, "stacked", without)
    assert np.mean(plain_returns()[-5:]) < LEAST_PLAIN  # 46


def test_plain_form_explores_and_replays_by_independent_generators() -> None:
    made = PlainDqn(gym.make("CartPole-v1"), SMALL, CPU, num_envs=8)
    explore, replay = (
        [generator.random() for _ in range(1000)]
        for generator in (made._exploring, made._replaying)
    )
    # For 1000 pairs of independent draws, the standard deviation of the correlation is 0.03.
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
    envs = poles(8)
    for first in range(0, 56, 8):
        made.step()
        kept = made.replay.checkpoint()
        rows = slice(first, first + 8)
        seen, next_seen = kept["seen"].reshape(2, 4096, -1)[:, rows, :-1]
        assert np.array_equal(seen, envs.observation)
        step = stepped(envs, kept["action"][rows])
        assert np.array_equal(next_seen, step.next_observation)


def test_discount_is_zero_only_where_an_episode_terminated() -> None:
    class Ends(gym.Env[Any, Any]):
        """An environment whose successive steps terminate, truncate and continue the episode in turn."""

        observation_space, action_space = Box(0, 1, (1,)), Discrete(2)
        count = 0

        def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
            return np.ones(1, np.float32), {}

        def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            self.count += 1
            left = self.count % 3
            return np.zeros(1, np.float32), 1.0, left == 1, left == 2, {}

    envs = SyncVectorEnv([Ends], autoreset_mode=AutoresetMode.SAME_STEP)
    made = Dqn(envs, replace(SMALL, batch_size=8, learning_starts=64), CPU)
    ended = [len(made.step().env) for _ in range(6)]
    kept = made.replay.checkpoint()
    gamma = np.float32(SMALL.gamma)
    assert kept["discount"][:6].tolist() == [0, gamma, gamma] * 2
    assert (kept["reward"][:6] == np.float32(SMALL.reward_scale)).all()
    next_seen = kept["seen"].reshape(2, SMALL.buffer_size, -1)[1, :6, 0]
    assert (next_seen == 0).all()  # not the next episode's first observation
    assert ended == [1, 1, 0] * 2
    assert made.episodes == 4


def test_returns_are_those_of_each_environment() -> None:
    made = learner()
    began = np.zeros(8, np.int64)
    ends = 0
    for step in range(1, 101):
        ended = made.step()
        assert (ended.episode_return == step - began[ended.env]).all()  # each step pays 1
        began[ended.env] = step
        ends += len(ended.env)
    assert ends > 10


def test_target_network_is_copied_when_it_is_time() -> None:
    made = learner(replace(SMALL, target_update_interval=4, tau=1.0))
    equal = []
    for _ in range(16):
        made.step()
        equal.append(torch.equal(made.online.flat, made.target.flat))
    # Learning starts in step 8, which also copies the weights to the target network.
    assert equal == [True] * 8 + [False, False, False, True] * 2


def test_target_network_follows_by_its_rate() -> None:
    made = play_on(learner(replace(SMALL, tau=0.25)), 64)
    before = made.target.flat.clone()
    made.step()
    expected = before + 0.25 * (made.online.flat - before)
    torch.testing.assert_close(made.target.flat, expected)


def test_learning_rate_and_epsilon_go_by_steps() -> None:
    falling = Epsilon(1, 0, "linear", 0.5, "run")
    config = DqnConfig(1000, learning_rate=1.0, final_learning_rate=0.5, epsilon=falling)
    assert [config.learning_rate_at(f) for f in (0, 500, 1000, 2000)] == [1.0, 0.75, 0.5, 0.5]
    assert [config.epsilon.at(f, config.total_timesteps) for f in (0, 250, 500)] == [1.0, 0.5, 0.0]


def test_no_exploration_is_greedy() -> None:
    made = learner(replace(SMALL, epsilon=Epsilon(0, 0, "linear", 0, "run")))
    network = made.online.to_modules()
    seen = made.observation
    with torch.no_grad():
        best = network(torch.from_numpy(seen)).argmax(1)
    made.step()
    assert np.array_equal(made.replay.checkpoint()["action"][: len(seen)], best.numpy())


def test_evaluation_leaves_a_run_alone() -> None:
    runs = [
        run_of("cartpole", "dqn", replace(SMALL, total_timesteps=1000), evaluate_every=every)
        for every in (20, 1 << 30)
    ]
    for run in runs:
        assert list(run) != []
    often, never = runs
    assert len(often.evaluations) > len(never.evaluations) == 1
    assert_same_parameters(often, never)
    assert often.evaluations[-1][:7] == never.evaluations[-1][:7]
    assert often.returns == never.returns


@pytest.mark.slow
def test_latest_of_the_best_networks_is_kept_and_scored_on_other_episodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scores = [30.0, 90.0, 20.0, 90.0, 80.0]
    played: list[list[Tensor]] = []

    def scored(envs: Any, policy: Any, seed: int) -> Games:
        played.append([part.clone() for part in run.learner.monitored()])
        score = np.full(100, scores[min(len(played), len(scores)) - 1])
        return Games(score, score, score)

    monkeypatch.setattr("qstep.deep.run.play", scored)
    run = run_of("cartpole", "dqn plain", SMALL, evaluate_every=10, num_envs=8)
    assert len(list(run)) == SMALL.total_timesteps
    result = run.result()
    assert all(map(torch.equal, run.network.parameters(), played[3]))
    assert not any(map(torch.equal, run.network.parameters(), run.learner.monitored()))
    report = result.summary()
    assert report["last_score"] == scores[-1]
    assert report["kept_at"] == run.evaluations[3].steps
    assert report["greedy_score"] not in scores  # it comes from new episodes
    assert report["greedy_score"] == result.evaluate(seed=1 << 33)["greedy_score"]


def test_run_ends_after_its_episodes() -> None:
    run = run_of("cartpole", "dqn", SMALL, evaluate_every=10, episodes=20)
    for _ in run:
        assert run.learner.steps < SMALL.total_timesteps
    assert 20 <= run.learner.episodes < 20 + run.learner.num_envs
    assert len(run.returns) == run.learner.episodes
    assert run.evaluations[-1].episodes == run.learner.episodes


def test_greedy_ties_go_to_the_lowest_action() -> None:
    same = Stack.zeros((4, 8, 3), 1, CPU)
    assert Greedy(same, 5)(np.ones((5, 4), np.float32)).tolist() == [0] * 5


def test_greedy_scores_are_one_whole_episode_an_environment() -> None:
    network = Stack.zeros((4, 8, 2), 1, CPU)  # always left: falls within 11 steps
    network.copy_modules(modules((4, 8, 2), 0))
    network.flat.zero_()
    scores = play(CartPoleVectorEnv(50), Greedy(network, 50), 7).score
    assert scores.shape == (50,)
    assert ((scores >= 8) & (scores <= 11)).all()
    assert np.array_equal(scores, play(CartPoleVectorEnv(50), Greedy(network, 50), 7).score)


def test_adam_is_that_of_pytorch_bit_for_bit() -> None:
    draw = torch.Generator().manual_seed(0)
    ours = torch.randn(1, 333, generator=draw)
    theirs = torch.nn.Parameter(ours.clone())
    optimizer = torch.optim.Adam([theirs], lr=1.0, fused=True)
    gradient = torch.empty_like(ours)
    adam = Adam(ours, gradient)
    for k in range(20):
        gradient.copy_(torch.randn(1, 333, generator=draw))
        optimizer.param_groups[0]["lr"] = 0.1 / (k + 1)
        theirs.grad = gradient.clone()
        optimizer.step()
        adam.step(0.1 / (k + 1))
        assert torch.equal(ours, theirs.detach())
