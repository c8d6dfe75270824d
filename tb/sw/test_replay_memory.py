"""The replay memories return what was stored, and never grow."""

import numpy as np
import pytest
import torch

from qstep.deep.dqn_plain import stacked
from qstep.deep.replay import Batches, Replay


def numbered(first: int, count: int, inputs: int = 3) -> tuple[np.ndarray, ...]:
    """Return transitions in which every part encodes the transition's number."""
    n = np.arange(first, first + count)
    seen = np.repeat(n[:, None], inputs, 1).astype(np.float32)
    reward, discount = (10 * n).astype(np.float32), (100 * n).astype(np.float32)
    return seen, n % 2, reward, seen + 0.5, discount


def numbers(sample: Batches) -> np.ndarray:
    """Return the transition numbers of a sample, shape (K, B), after checking that its parts agree."""
    size = sample.action.shape[1]
    n = sample.seen[:, :size, 0]
    for column in range(sample.seen.shape[2] - 1):
        assert np.array_equal(sample.seen[:, :size, column], n)
        assert np.array_equal(sample.seen[:, size:, column], n + 0.5)
    assert (sample.seen[:, :, -1] == 1).all()
    assert np.array_equal(sample.action, n % 2)
    assert np.array_equal(sample.reward, 10 * n)
    assert np.array_equal(sample.discount, 100 * n)
    assert (sample.weight == np.float32(1 / size)).all()
    return n


@pytest.mark.parametrize("push", [1, 3, 4, 7, 10])
def test_ring_holds_the_last_transitions(push: int) -> None:
    replay = Replay(10, 3, 2, 5)
    for first in range(0, 60, push):
        rows = replay.push_batch(*numbered(first, push))
        last = first + push
        assert np.array_equal(rows, np.arange(first, last) % 10)
        assert len(replay) == min(last, 10)
        rows = np.resize(np.arange(len(replay)), (2, 5))
        assert set(numbers(replay.sample(rows)).ravel()) == set(range(max(0, last - 10), last))


def test_uniform_sampling_reaches_every_transition_alike() -> None:
    replay = Replay(16, 1, 4, 16)
    replay.push_batch(*numbered(0, 8, inputs=1))
    generator = np.random.default_rng(3)
    drawn = np.concatenate([numbers(replay.uniform(generator)).ravel() for _ in range(100)])
    counts = np.bincount(drawn.astype(int), minlength=8)
    # In 6400 draws, each transition is expected 800 times, give or take five standard deviations of 26.
    assert counts.sum() == 6400
    assert (np.abs(counts - 800) < 130).all()


def test_sampling_writes_to_the_same_arrays() -> None:
    replay = Replay(8, 3, 1, 4)
    replay.push_batch(*numbered(0, 8))
    first = replay.uniform(np.random.default_rng(0))
    again = replay.uniform(np.random.default_rng(1))
    assert all(a is b for a, b in zip(first, again, strict=True))


def test_restored_replay_goes_on_alike() -> None:
    replay, other = Replay(10, 3, 1, 5), Replay(10, 3, 1, 5)
    replay.push_batch(*numbered(0, 10))
    replay.push_batch(*numbered(10, 4))
    other.restore(replay.checkpoint())
    for memory in (replay, other):
        memory.push_batch(*numbered(14, 3))
    rows = np.arange(10).reshape(2, 5)[:1]
    assert np.array_equal(replay.sample(rows).seen, other.sample(rows).seen)
    for name, array in replay.checkpoint().items():
        assert np.array_equal(array, other.checkpoint()[name]), name


def test_plain_form_stacks_the_transitions_of_a_batch() -> None:
    seen = [np.full(2, k, np.float32) for k in range(4)]
    transitions = [(seen[k], k % 2, float(k), seen[k] + 0.5, k == 3) for k in (2, 3, 1)]
    batch = stacked(transitions, torch.device("cpu"))
    n = torch.tensor([2.0, 3.0, 1.0])
    assert torch.equal(batch.observation, n[:, None].expand(-1, 2))
    assert torch.equal(batch.next_observation, batch.observation + 0.5)
    assert torch.equal(batch.action, n.long() % 2)
    assert torch.equal(batch.reward, n)
    assert torch.equal(batch.terminated, n == 3)
