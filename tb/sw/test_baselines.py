"""The software implementations learn correct values, and the sequential ones agree with each other."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from qstep.envs.gridworld import DeterministicModel, GridWorld
from qstep.envs.maps import MAPS
from qstep.envs.splitmix import SplitMix64
from qstep.mdp.solve import solve
from qstep.mdp.world import World
from qstep_bench.baselines import dictionary, numba_table, numpy_table, random_walk
from qstep_bench.baselines.learning import AgentsLearning, Learning
from qstep_bench.baselines.problem import Stream

STATES, ACTIONS = 64, 4


@pytest.fixture(scope="module")
def env() -> GridWorld:
    return GridWorld(MAPS["gridworld"])


@pytest.fixture(scope="module")
def world(env: GridWorld) -> DeterministicModel:
    return env.deterministic_model()


@pytest.fixture(scope="module")
def optimal(env: GridWorld) -> NDArray[np.bool_]:
    model = World.from_env(env)
    return solve(model, 0.9).optimal


@pytest.fixture(scope="module")
def torch_batched() -> Any:
    pytest.importorskip("torch")
    from qstep_bench.baselines import torch_batched

    return torch_batched


@pytest.fixture(scope="module")
def torch_replay() -> Any:
    pytest.importorskip("torch")
    from qstep_bench.baselines import torch_replay

    return torch_replay


def array(table: Any) -> NDArray[np.float64]:
    """Return the table of any implementation as an array."""
    if isinstance(table, dict):
        table = dictionary.to_array(table)
    return np.asarray(table, np.float64)


def greedy_is_optimal(table: Any, optimal: NDArray[np.bool_]) -> bool:
    q = array(table)
    return bool(optimal[np.arange(len(q)), q.argmax(axis=1)].all())


def random_stream(count: int = 3000, seed: int = 5) -> Stream:
    rng = np.random.default_rng(seed)
    return Stream(
        rng.integers(STATES, size=count, dtype=np.int32),
        rng.integers(ACTIONS, size=count, dtype=np.int32),
        rng.normal(size=count),
        rng.integers(STATES, size=count, dtype=np.int32),
        rng.random(count) < 0.1,
    )


def replay_dictionary(q: NDArray[np.float64], stream: Stream, **hyper: float) -> None:
    table = {(s, a): float(q[s, a]) for s, a in np.ndindex(*q.shape)}
    rows = zip(*(column.tolist() for column in stream), strict=True)
    dictionary.replay(table, rows, q.shape[1], **hyper)
    q[:] = dictionary.to_array(table)


EXACT_REPLAYS = {
    "dictionary": replay_dictionary,
    "numpy": numpy_table.replay,
    "numba": numba_table.replay,
}


@pytest.mark.parametrize(
    ("learn", "updates"),
    [
        pytest.param(dictionary.learn, 60_000, id="dictionary"),
        pytest.param(numpy_table.learn, 60_000, id="numpy"),
        pytest.param(numba_table.learn, 300_000, id="numba"),
    ],
)
def test_learning_the_grid_world_ends_with_an_optimal_action_in_every_state(
    learn: Callable[..., Any], updates: int, world: DeterministicModel, optimal: NDArray[np.bool_]
) -> None:
    assert greedy_is_optimal(learn(world, updates, Learning(epsilon=0.5, seed=1)), optimal)


def test_the_optimum_check_can_fail(world: DeterministicModel, optimal: NDArray[np.bool_]) -> None:
    assert not greedy_is_optimal(numba_table.learn(world, 100, Learning(seed=1)), optimal)


@pytest.mark.parametrize("learn", [dictionary.learn, numpy_table.learn, numba_table.learn])
def test_a_seed_decides_the_table(learn: Callable[..., Any], world: DeterministicModel) -> None:
    first, again, other = (array(learn(world, 2000, Learning(seed=seed))) for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("form", ["numpy", "numba"])
def test_replays_equal_the_dictionary_bit_for_bit(form: str) -> None:
    stream = random_stream()
    expected, given = np.zeros((STATES, ACTIONS)), np.zeros((STATES, ACTIONS))
    replay_dictionary(expected, stream, alpha=0.3, gamma=0.95)
    EXACT_REPLAYS[form](given, stream, alpha=0.3, gamma=0.95)
    assert np.array_equal(given, expected)


@pytest.mark.parametrize("updates", [1, 9, 200, 5000])
def test_without_exploration_all_forms_walk_the_same_way(
    updates: int, world: DeterministicModel, torch_batched: Any
) -> None:
    # Nothing is random, so one wrong tie, unmasked end or missed restart leads to a different table.
    expected = array(dictionary.learn(world, updates, Learning(epsilon=0.0)))
    assert np.array_equal(numpy_table.learn(world, updates, Learning(epsilon=0.0)), expected)
    assert np.array_equal(numba_table.learn(world, updates, Learning(epsilon=0.0)), expected)
    table = torch_batched.learn(
        world, updates, AgentsLearning(epsilon=0.0, agents=1, episode_cap=updates + 1)
    )
    # float32 versus float64: each of an entry's few updates may differ by a unit in the last place.
    assert np.allclose(table.numpy(), expected, rtol=0, atol=1e-5)


def test_ties_go_to_the_lowest_action(world: DeterministicModel) -> None:
    # Up into the border, then down into the hole: the first two actions are both worse than 0.
    q = numba_table.learn(world, 2, Learning(epsilon=0.0))
    assert q[0].tolist() == [-0.5, -2.5, 0.0, 0.0]


def test_two_transitions_in_another_order_give_another_table() -> None:
    stream = random_stream()
    swapped = Stream(*(column[::-1].copy() for column in stream))  # type: ignore[arg-type]
    one, two = np.zeros((STATES, ACTIONS)), np.zeros((STATES, ACTIONS))
    numba_table.replay(one, stream)
    numba_table.replay(two, swapped)
    assert not np.array_equal(one, two)


@pytest.mark.parametrize(("terminated", "expected"), [(True, 1.0), (False, 5.5)])
@pytest.mark.parametrize("form", EXACT_REPLAYS)
def test_only_terminal_states_have_no_value(form: str, terminated: bool, expected: float) -> None:
    q = np.array([[0.0, 0.0], [10.0, -3.0]])
    zero, one = np.array([0], np.int32), np.array([1], np.int32)
    single = Stream(zero, one, np.array([2.0]), one, np.array([terminated]))
    EXACT_REPLAYS[form](q, single, alpha=0.5, gamma=0.9)
    assert q.tolist() == [[0.0, expected], [10.0, -3.0]]


def test_a_walk_follows_the_environment_and_tries_every_pair(world: DeterministicModel) -> None:
    walk = random_walk.walk(world, 20_000, seed=2)
    assert walk.state[0] == world.start
    assert np.array_equal(walk.next_state, world.next_state[walk.state, walk.action])
    assert np.array_equal(walk.reward, world.reward[walk.state, walk.action])
    assert np.array_equal(walk.terminated, world.terminated[walk.state, walk.action])
    follows = np.where(walk.terminated, world.start, walk.next_state)
    assert np.array_equal(walk.state[1:], follows[:-1])
    assert np.unique(walk.state * 4 + walk.action).size == 20 * 4  # 25 cells, 4 holes, 1 goal


def test_a_walker_draws_its_actions_from_splitmix64(world: DeterministicModel) -> None:
    chance = SplitMix64(0)
    chance.word = 7
    actions = random_walk.walk(world, 1000, seed=7).action
    assert actions.tolist() == [chance.below(4) for _ in range(1000)]


def test_a_replayed_walk_is_optimal(world: DeterministicModel, optimal: NDArray[np.bool_]) -> None:
    q = np.zeros(world.next_state.shape)
    numba_table.replay(q, random_walk.walk(world, 1_000_000))
    assert greedy_is_optimal(q, optimal)


def test_equal_pairs_in_one_batch_move_the_entry_by_their_mean_error(torch_replay: Any) -> None:
    import torch

    stream = Stream(
        np.array([0, 0, 1, 0], np.int32),
        np.array([1, 1, 0, 1], np.int32),
        np.array([1.0, 3.0, 5.0, 8.0]),
        np.array([1, 1, 0, 1], np.int32),
        np.array([True, True, False, True]),
    )
    table = torch.zeros(2, 2)
    torch_replay.replay(table, torch_replay.upload(stream), alpha=0.5, batch=4)
    # The third transition reads row 0 as it was before the batch: 0.
    assert table.tolist() == [[0.0, 0.5 * (1 + 3 + 8) / 3], [2.5, 0.0]]


def test_a_batch_of_one_is_sequential_q_learning(torch_replay: Any) -> None:
    import torch

    stream = random_stream(500)
    # NumPy in float32 rounds like PyTorch, because alpha is a power of two and multiplies exactly.
    expected = np.zeros((STATES, ACTIONS), np.float32)
    numpy_table.replay(expected, stream._replace(reward=stream.reward.astype(np.float32)))  # type: ignore[arg-type]
    table = torch.zeros(STATES, ACTIONS)
    torch_replay.replay(table, torch_replay.upload(stream), batch=1)
    assert np.array_equal(table.numpy(), expected)
    torch_replay.replay(table.zero_(), torch_replay.upload(stream), batch=64)
    assert not np.allclose(table.numpy(), expected, rtol=0, atol=1e-5)


def test_the_last_batch_may_be_short(torch_replay: Any) -> None:
    import torch

    stream = torch_replay.upload(random_stream(100))
    whole, split = torch.zeros(STATES, ACTIONS), torch.zeros(STATES, ACTIONS)
    torch_replay.replay(whole, stream, batch=64)
    for part in (slice(0, 64), slice(64, 100)):
        torch_replay.replay(split, tuple(column[part] for column in stream), batch=64)
    assert torch.equal(whole, split)


def corridor() -> DeterministicModel:
    """Return a never-ending world: three states in a row, one action, forward; each step pays 1."""
    return DeterministicModel(
        np.array([[1], [2], [2]], np.int32), np.ones((3, 1)), np.zeros((3, 1), bool), 0
    )


def test_the_episode_cap_sends_agents_back_to_the_start(torch_batched: Any) -> None:
    def visited(cap: int) -> list[bool]:
        table = torch_batched.learn(corridor(), 80, AgentsLearning(agents=8, episode_cap=cap))
        return [value != 0 for [value] in table.tolist()]

    assert visited(1) == [True, False, False]
    assert visited(2) == [True, True, False]
    assert visited(50) == [True, True, True]


def test_updates_are_rounded_up_to_whole_rounds_of_agents(torch_batched: Any) -> None:
    one, two = (
        torch_batched.learn(corridor(), n, AgentsLearning(agents=8, alpha=1.0)) for n in (8, 9)
    )
    assert [bool(value) for [value] in one.tolist()] == [True, False, False]
    assert [bool(value) for [value] in two.tolist()] == [True, True, False]
