"""PQN's returns match their definition."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from qstep.deep.pqn import lambda_returns


def mixture(
    reward: list[float], value: list[float], end: str, gamma: float, decay: float
) -> list[float]:
    """Return the lambda return of each step of an episode by definition: a mixture of n-step returns.

    The return of n rewards and then the network's estimate has the weight ``(1 - decay) * decay **
    (n - 1)``. The longest return, up to the end, has the remaining weight.
    """
    length = len(reward)
    worth = []
    for t in range(length):
        total, weight_left = 0.0, 1.0
        for n in range(1, length - t + 1):
            last = t + n == length
            opinion = 0.0 if last and end == "terminated" else value[t + n - 1]
            after_n = sum(gamma**k * reward[t + k] for k in range(n)) + gamma**n * opinion
            weight = weight_left if last else weight_left * (1 - decay)
            total += weight * after_n
            weight_left -= weight
        worth.append(total)
    return worth


def drawn(seed: int) -> tuple[Any, ...]:
    """Return random rewards, values and ends for 12 steps of 5 environments."""
    rng = np.random.default_rng(seed)
    reward, value = rng.normal(size=(2, 12, 5)).astype(np.float32)
    end = rng.choice(["", "terminated", "truncated"], p=[0.6, 0.2, 0.2], size=(12, 5))
    return reward, value, end


def by_definition(
    reward: NDArray[Any], value: NDArray[Any], end: NDArray[Any], gamma: float, decay: float
) -> NDArray[np.float64]:
    expected = np.zeros(reward.shape)
    for env in range(reward.shape[1]):
        first = 0
        for t in range(len(reward)):
            if end[t, env] or t == len(reward) - 1:
                here = slice(first, t + 1)
                expected[here, env] = mixture(
                    reward[here, env].tolist(), value[here, env].tolist(), end[t, env], gamma, decay
                )
                first = t + 1
    return expected


def computed(
    reward: NDArray[Any], value: NDArray[Any], end: NDArray[Any], gamma: float, decay: float
) -> NDArray[Any]:
    terminated, truncated = (torch.from_numpy(end == kind) for kind in ("terminated", "truncated"))
    returns = lambda_returns(
        torch.from_numpy(reward), terminated, truncated, torch.from_numpy(value), gamma, decay
    )
    array: NDArray[Any] = returns.numpy()
    return array


@pytest.mark.parametrize("decay", [0.0, 0.65, 1.0])
@pytest.mark.parametrize("gamma", [0.9, 1.0])
def test_returns_are_mixtures_of_n_step_returns(gamma: float, decay: float) -> None:
    for seed in range(5):
        reward, value, end = drawn(seed)
        expected = by_definition(reward, value, end, gamma, decay)
        # float32 sums of up to 12 numbers of magnitude 1, compared with float64
        found = computed(reward, value, end, gamma, decay)
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_comparison_of_returns_notices_a_truncation_taken_for_a_termination() -> None:
    reward, value, end = drawn(0)
    wrong = np.where(end == "truncated", "terminated", end)
    expected = by_definition(reward, value, end, 0.9, 0.65)
    assert np.abs(computed(reward, value, wrong, 0.9, 0.65) - expected).max() > 0.1
