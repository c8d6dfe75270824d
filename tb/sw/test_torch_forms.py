"""The PyTorch implementations with a shared table learn, and they count and truncate their episodes."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch")

from tb.sw.torch_calls import Calls  # noqa: E402

from qstep.deep import torch_device  # noqa: E402
from qstep.envs.gridworld import DeterministicModel, GridWorld  # noqa: E402
from qstep.envs.maps import MAPS  # noqa: E402
from qstep.errors import TorchDeviceError  # noqa: E402
from qstep.mdp.solve import solve  # noqa: E402
from qstep.mdp.world import World  # noqa: E402
from qstep_bench.baselines import torch_batched, torch_graph, torch_plain  # noqa: E402
from qstep_bench.baselines.learning import (  # noqa: E402
    AgentsLearning,
    AgentsProgress,
    LearnTogether,
    Watch,
)
from qstep_bench.baselines.problem import winning  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

FORMS = {"plain": torch_plain.learn, "fast": torch_batched.learn}
EVERY_FORM = pytest.mark.parametrize("learn", FORMS.values(), ids=FORMS)

NO_CUDA = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="no CUDA device on this machine: graphs are NVIDIA's"
)
NO_MPS = pytest.mark.skipif(
    not torch.backends.mps.is_available(), reason="no MPS device on this machine: it is Apple's"
)
ELSEWHERE = [
    pytest.param(torch_batched.learn, "cuda", id="fast-cuda", marks=[NO_CUDA, pytest.mark.gpu]),
    pytest.param(torch_plain.learn, "cuda", id="plain-cuda", marks=[NO_CUDA, pytest.mark.gpu]),
    pytest.param(torch_graph.learn, "cuda", id="graph-cuda", marks=[NO_CUDA, pytest.mark.gpu]),
    pytest.param(torch_batched.learn, "mps", id="fast-mps", marks=[NO_MPS, pytest.mark.gpu]),
    pytest.param(torch_plain.learn, "mps", id="plain-mps", marks=[NO_MPS, pytest.mark.gpu]),
]


def board(name: str = "gridworld") -> DeterministicModel:
    env = GridWorld(MAPS[name])
    return env.deterministic_model()


def optimal() -> tuple[NDArray[np.bool_], float]:
    """Return the optimal actions of every state and the exact value of the start."""
    env = GridWorld(MAPS["gridworld"])
    model = World.from_env(env)
    solution = solve(model, 0.9)
    return solution.optimal, float(solution.values[env.start])


def corridor(length: int) -> DeterministicModel:
    """Return states in a row with one action, forward; a step pays -1, or 1 if it ends the episode."""
    ahead = np.arange(1, length + 1)[:, None].astype(np.int32)
    ahead[-1] = length - 1
    ends = ahead == length - 1
    ends[-1] = True
    return DeterministicModel(ahead, np.where(ends, 1.0, -1.0), ends, 0)


def treadmill() -> DeterministicModel:
    """Return a world that never ends: one state with one action, where each step pays 1."""
    return DeterministicModel(
        np.zeros((1, 1), np.int32), np.ones((1, 1)), np.zeros((1, 1), bool), 0
    )


def reports(
    learn: LearnTogether,
    world: DeterministicModel,
    updates: int,
    how: AgentsLearning,
    device: str = "cpu",
    **options: Any,
) -> Any:
    """Return the table and everything that was reported."""
    told: list[AgentsProgress] = []
    return learn(world, updates, how, device, Watch(report=told.append, **options)), told


def assert_learnt(table: Any, told: list[AgentsProgress]) -> None:
    q = torch_batched.to_array(table)
    actions, start = optimal()
    assert actions[np.arange(len(q)), q.argmax(axis=1)].all()
    # In float32, each of the seven steps to the goal may be off by a unit in the last place.
    assert told[-1].start_value == pytest.approx(start, abs=1e-5)


@EVERY_FORM
def test_the_greedy_policy_becomes_that_of_value_iteration(learn: LearnTogether) -> None:
    assert_learnt(*reports(learn, board(), 300_000, AgentsLearning(epsilon=0.5, seed=1)))


@pytest.mark.parametrize(("learn", "device"), ELSEWHERE)
def test_every_device_learns_the_same_policy(learn: LearnTogether, device: str) -> None:
    table, told = reports(learn, board(), 300_000, AgentsLearning(epsilon=0.5, seed=1), device)
    assert table.device.type == device
    assert_learnt(table, told)


def test_the_check_of_the_policy_can_fail() -> None:
    with pytest.raises(AssertionError):
        assert_learnt(*reports(torch_plain.learn, board(), 2000, AgentsLearning(seed=1)))


@EVERY_FORM
def test_learning_shows_as_it_goes(learn: LearnTogether) -> None:
    _, told = reports(learn, board(), 400_000, AgentsLearning(seed=3), every=1 << 15)
    assert told[0].win_rate < told[-1].win_rate
    # Each of the 8 moves may explore, so the rate is 0.85 to 0.88, depending on which shortest path
    # was learned.
    assert 0.75 < told[-1].win_rate < 0.95
    assert [t.updates for t in told] == sorted({t.updates for t in told})
    assert len(told) > 8
    assert all(t.wins <= t.episodes for t in told)


@pytest.mark.parametrize("name", MAPS)
def test_both_forms_win_about_as_often(name: str) -> None:
    fast, plain = (
        reports(learn, board(name), 600_000, AgentsLearning(episode_cap=100), every=200_000)[1][
            -1
        ].win_rate
        for learn in FORMS.values()
    )
    # Both play thousands of episodes, but equally short paths pass different numbers of holes.
    assert fast == pytest.approx(plain, abs=0.08)


@EVERY_FORM
def test_every_episode_of_a_corridor_is_counted_as_won(learn: LearnTogether) -> None:
    # Each of 8 agents makes 30 moves; 5 moves reach the end, so it plays 6 episodes.
    table, told = reports(learn, corridor(6), 8 * 30, AgentsLearning(agents=8, alpha=1.0))
    assert told == [AgentsProgress(240, 48, 48, table[0, 0].item())]
    exact = -1 - 0.9 - 0.81 - 0.729 + 0.6561
    assert told[0].start_value == pytest.approx(exact, abs=1e-6)  # float32


@EVERY_FORM
def test_an_episode_is_cut_off_at_the_cap_and_counted_as_not_won(learn: LearnTogether) -> None:
    _, told = reports(learn, corridor(6), 8 * 30, AgentsLearning(agents=8, episode_cap=3))
    assert told[0][:3] == (240, 80, 0)
    _, told = reports(learn, corridor(6), 8 * 30, AgentsLearning(agents=8, episode_cap=5))
    assert told[0][:3] == (240, 48, 48)  # the last allowed step still wins


@EVERY_FORM
def test_agents_that_never_finish_do_not_stop_the_rest(learn: LearnTogether) -> None:
    _, told = reports(learn, treadmill(), 4 * 500, AgentsLearning(agents=4))
    assert told[0][:3] == (2000, 4 * 10, 0)


@EVERY_FORM
def test_a_cut_off_episode_still_bootstraps(learn: LearnTogether) -> None:
    table = learn(treadmill(), 8 * 400, AgentsLearning(agents=8, episode_cap=1))
    assert table.item() == pytest.approx(1 / (1 - 0.9), rel=1e-5)  # float32


@EVERY_FORM
def test_a_seed_decides_the_table(learn: LearnTogether) -> None:
    first, again, other = (
        learn(board(), 3000, AgentsLearning(seed=seed, agents=16)) for seed in (3, 3, 4)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("learn", [*FORMS.values(), torch_graph.learn])
def test_an_absent_device_is_refused(learn: LearnTogether, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_device, "present", lambda: ["cpu"])
    with pytest.raises(TorchDeviceError, match="no device 'cuda' on this machine; it has cpu"):
        learn(board(), 1, AgentsLearning(), "cuda")


def test_a_graph_is_refused_on_the_processor() -> None:
    with pytest.raises(TorchDeviceError, match="needs the device 'cuda', not 'cpu'; PyTorch has"):
        torch_graph.learn(board(), 1, AgentsLearning(), "cpu")


@NO_CUDA
@pytest.mark.gpu
def test_a_graph_learns_what_the_fast_form_learns() -> None:
    steps = torch_batched.DRAWN_STEPS * 20
    given = AgentsLearning(agents=64, seed=5), "cuda"
    table, told = reports(torch_graph.learn, board(), 64 * steps, *given)
    expected, known = reports(torch_batched.learn, board(), 64 * steps, *given)
    assert torch.equal(table, expected)
    assert told == known


class Questions(Calls):
    """Records operations that make the host wait for the device; recorded graphs cannot contain them."""

    WAITING = ("_local_scalar_dense", "nonzero", "_to_copy", "is_nonzero", "equal")

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def note(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        boolean_index = name in ("index", "index_put_") and any(
            part is not None and part.dtype == torch.bool for part in args[1]
        )
        if name in self.WAITING or boolean_index:
            self.asked.append(name)


def fast_agents(agents: int = 32) -> torch_batched.Agents:
    return torch_batched.Agents(board(), AgentsLearning(agents=agents), torch.device("cpu"))


def test_the_fast_loop_asks_the_device_nothing() -> None:
    walkers = fast_agents()
    with Questions() as questions:
        walkers.walk(3 * torch_batched.DRAWN_STEPS)
    assert questions.calls > 3 * 64 * 10
    assert questions.asked == []


def test_questions_to_the_device_are_noticed() -> None:
    with Questions() as questions:
        torch_plain.learn(board(), 100, AgentsLearning(agents=8))
    assert {"_local_scalar_dense", "index_put_"} <= set(questions.asked)


def test_the_fast_loop_writes_to_the_same_memory_in_every_step() -> None:
    # A recorded graph contains memory addresses.
    def addresses() -> dict[str, int]:
        held = vars(walkers).items()
        return {name: part.data_ptr() for name, part in held if isinstance(part, torch.Tensor)}

    walkers = fast_agents()
    before = addresses()
    assert len(before) > 15
    walkers.walk(torch_batched.DRAWN_STEPS + 1)
    assert addresses() == before


def test_winning_is_entering_the_goal_and_nothing_else() -> None:
    world = board()
    assert [tuple(place) for place in np.argwhere(winning(world))] == [(19, 1), (23, 3)]
    assert not winning(treadmill()).any()
