"""Policies that act on a table, and their greedy evaluation: played, or computed exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from qstep.mdp.world import World
from qstep.spec.tiles import Tiles

__all__ = [
    "GREEDY",
    "Evaluation",
    "chooser",
    "epsilon_greedy",
    "evaluate",
    "evaluation_of",
    "greedy",
    "is_success",
    "played",
    "played_by_tiles",
    "share",
]

GREEDY = ("greedy_return", "greedy_success", "greedy_length")
"""The names of an evaluation's means in report and history."""

MAX_SEED = 2**31

_MOST_STEPS = 1000
_REST = 1e-12
_SAME = 1e-15
"""Relative difference up to which two probability vectors count as equal."""


def greedy(q: NDArray[Any], state: int) -> int:
    """Return the lowest action with the maximum value in a row of the table."""
    return int(q[state].argmax())


def chooser(q: NDArray[Any], tiles: Tiles | None = None) -> Callable[[Any], int]:
    """Return the greedy policy: a function from observation to action.

    Without tiles, `q` has shape (S, A), and an observation is a row number. With tiles, `q` has shape
    (T, S, A), or (S, A) for a single plane, and an observation is an array of real numbers.
    """
    if tiles is None:
        return lambda state: greedy(q, int(state))
    planes, weights = np.arange(tiles.planes), q.reshape(tiles.planes, *q.shape[-2:])

    def choose(seen: Any) -> int:
        rows = tiles.of(tiles.raw(seen).tolist())
        return int(weights[planes, list(rows)].sum(axis=0).argmax())

    return choose


def epsilon_greedy(
    q: NDArray[Any], state: int, epsilon: float, generator: np.random.Generator
) -> int:
    """Return a uniformly random action with probability `epsilon`, otherwise the greedy one.

    The function draws one random number, and a second one if it explores.
    """
    if generator.random() < epsilon:
        return int(generator.integers(q.shape[1]))
    return greedy(q, state)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Means over the episodes of one evaluation, which follows `episode` training episodes.

    `mean_return` is undiscounted, and `mean_length` is in steps. `success` and `terminated` are shares,
    0..1; `success` is None if :func:`is_success` is None for an episode.
    """

    episode: int
    mean_return: float
    success: float | None
    terminated: float
    mean_length: float

    @property
    def columns(self) -> dict[str, float | None]:
        """The means, keyed by their names in :data:`GREEDY`."""
        means = (self.mean_return, self.success, self.mean_length)
        return dict(zip(GREEDY, means, strict=True))

    @property
    def in_words(self) -> str:
        """The evaluation as one line for the terminal."""
        rate = "" if self.success is None else f"success {self.success:.0%}, "
        return (
            f"episode {self.episode}: greedy return {self.mean_return:.2f}, {rate}"
            f"length {self.mean_length:.1f}"
        )


def is_success(
    info: dict[str, Any], terminated: bool, reward: float, success_reward: float | None
) -> bool | None:
    """Return whether an episode whose last step was this one reached its goal.

    An environment may report success in ``info["is_success"]``. Otherwise an episode succeeds if it
    terminates with the highest terminal reward: at the goal, not in a hole. The result is None if
    no transition table gives that reward (`success_reward` is None), because failure also terminates.
    """
    if "is_success" in info:
        return bool(info["is_success"])
    if success_reward is None:
        return None
    return terminated and reward == success_reward


def share(successes: Sequence[bool | None]) -> float | None:
    """Return the share of episodes that succeeded; None if success is unknown for any of them."""
    known = [success for success in successes if success is not None]
    return sum(known) / len(known) if known and len(known) == len(successes) else None


def evaluate(
    env: gym.Env[Any, Any],
    choose: Callable[[Any], int],
    episodes: int,
    generator: np.random.Generator,
    success_reward: float | None,
    episode: int = 0,
) -> Evaluation:
    """Play episodes with a policy, such as one from :func:`chooser`.

    `env` has actions numbered from 0 and is reseeded for each episode from `generator`;
    `success_reward` is as for :func:`is_success`.
    """
    ends = []
    for _ in range(episodes):
        state, _ = env.reset(seed=int(generator.integers(MAX_SEED)))
        total, length, terminated, truncated = 0.0, 0, False, False
        while not (terminated or truncated):
            state, reward, terminated, truncated, info = env.step(choose(state))
            total += float(reward)
            length += 1
        success = is_success(info, terminated, float(reward), success_reward)
        ends.append((total, length, terminated, success))
    return evaluation_of(episode, ends)


def evaluation_of(episode: int, ends: Iterable[tuple[float, int, bool, bool | None]]) -> Evaluation:
    """Return the means over episodes, each given as return, length, terminated and success."""
    returns, lengths, terminations, successes = zip(*ends, strict=True)
    return Evaluation(
        episode,
        float(np.mean(returns)),
        share(successes),
        float(np.mean(terminations)),
        float(np.mean(lengths)),
    )


def played_by_tiles(
    envs: gym.vector.VectorEnv[Any, Any, Any], q: NDArray[Any], tiles: Tiles, seed: int
) -> list[Evaluation]:
    """Play an episode in each environment with greedy policies, and close the environments.

    `q` has shape (policies, T, S, A); the environments are divided evenly among the policies.
    """
    count = envs.num_envs
    episodes = count // len(q)
    seen, _ = envs.reset(seed=seed)
    policy, plane = np.repeat(np.arange(len(q)), episodes)[:, None], np.arange(q.shape[1])
    total, length = np.zeros(count), np.zeros(count, np.int64)
    going, terminated = np.ones(count, np.bool_), np.zeros(count, np.bool_)
    while going.any():
        actions = q[policy, plane, tiles.many(tiles.raw(seen))].sum(axis=1).argmax(axis=1)
        seen, reward, ends, cuts, _ = envs.step(actions)
        total += reward * going
        length += going
        terminated |= going & ends
        going &= ~(ends | cuts)
    envs.close()
    # None of these environments defines success.
    ends_of = (column.tolist() for column in (total, length, terminated))
    played = list(zip(*ends_of, [None] * count, strict=True))
    return [evaluation_of(0, played[at : at + episodes]) for at in range(0, count, episodes)]


def played(world: World, policy: NDArray[np.int64]) -> Evaluation:
    """Return the exact evaluation of a policy, shape (S,), up to the step limit or 1000 steps.

    No episode is played, so success and termination are probabilities, and `episode` is 0. The
    probability of being in each visited state is propagated step by step. Once these probabilities equal
    earlier ones up to a common factor, the remaining steps are a geometric series.
    """
    visited = world.visited(np.eye(world.actions, dtype=np.bool_)[policy])
    chosen = visited[world.state] & (policy[world.state] == world.action)
    goes_on = ~world.terminated[chosen]
    number = np.cumsum(visited) - 1
    state, following = number[world.state[chosen]], number[world.next_state[chosen]] * goes_on
    probability, reward = world.probability[chosen], world.reward[chosen]
    goal = world.success_reward
    wins = ~goes_on & (reward == goal)
    limit = world.max_episode_steps or _MOST_STEPS
    at, step = world.start[visited], 0
    found = np.zeros(3)  # return, success, length
    earlier, found_earlier, earlier_step = at, found, 0
    periodic = False
    while step < limit:
        flow = at[state] * probability
        found = found + np.array([flow @ reward, flow[wins].sum(), at.sum()])
        at = np.bincount(following, flow * goes_on, len(at)).astype(np.float64)
        step += 1
        mass = float(at.sum())
        if mass < _REST:
            break
        factor = mass / float(earlier.sum())
        if not periodic and np.abs(at - factor * earlier).sum() <= _SAME * mass:
            periodic = True
            periods = (limit - step) // (step - earlier_step)
            found = found + (found - found_earlier) * _powers(factor, periods)
            at = at * factor**periods
            step += periods * (step - earlier_step)
        elif step >= 2 * earlier_step:
            earlier, found_earlier, earlier_step = at, found, step
    total, success, length = (float(value) for value in found)
    terminated = 1 - float(at.sum())
    return Evaluation(0, total, None if goal is None else success, terminated, length)


def _powers(factor: float, most: int) -> float:
    """Return the sum of the 1st to the `most`-th power of a positive factor."""
    if factor == 1:
        return most
    return factor * math.expm1(most * math.log(factor)) / (factor - 1)
