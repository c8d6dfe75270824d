"""`World`: its sources, the input that it rejects, and its file."""

import re
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.toy_text import FrozenLakeEnv
from gymnasium.spaces import Discrete
from gymnasium.wrappers import (
    PassiveEnvChecker,
    RecordEpisodeStatistics,
    TimeAwareObservation,
    TimeLimit,
    TransformReward,
)
from hypothesis import given
from hypothesis import strategies as st

from qstep import World
from qstep.envs import GridWorld, make, table_size
from qstep.errors import (
    ConfigError,
    EnvironmentSpaceError,
    FileFormatError,
    NoTableError,
    QStepError,
    WorldError,
    WorldWarning,
)

COIN: dict[str, Any] = {
    "state": [0, 0, 0, 1, 1],
    "action": [0, 1, 1, 0, 1],
    "next_state": [0, 1, 0, 1, 1],
    "reward": [-1.0, 1.0, -1.0, 0.0, 0.0],
    "terminated": [False, True, False, True, True],
    "start_state": [0],
}
"""In state 0, action 0 stays; action 1 stays or moves to state 1, where the episode ends."""

HALF: dict[str, Any] = {**COIN, "probability": [1.0, 0.5, 0.5, 1.0, 1.0]}


def test_rows_are_ordered_and_weighted() -> None:
    world = World.from_arrays(**HALF, max_episode_steps=7)
    assert (world.states, world.actions, world.max_episode_steps) == (2, 2, 7)
    assert world.next_state.tolist() == [0, 0, 1, 1, 1]
    assert world.weight.tolist() == [65536, 32768, 32768, 65536, 65536]
    assert world.probability.tolist() == [1.0, 0.5, 0.5, 1.0, 1.0]
    assert world.first.tolist() == [0, 1, 3, 4]
    assert (world.start_state.tolist(), world.start_weight.tolist()) == ([0], [65536])


@given(st.permutations(range(5)))
def test_the_order_of_rows_does_not_matter(order: list[int]) -> None:
    shuffled: dict[str, Any] = {
        n: np.array(v)[order] for n, v in HALF.items() if n != "start_state"
    }
    world = World.from_arrays(**shuffled, start_state=[0])
    assert world.digest == World.from_arrays(**HALF).digest


def test_equal_outcomes_become_one() -> None:
    rows: dict[str, Any] = {name: [*values, values[-1]] for name, values in COIN.items()}
    rows |= {"weight": [65536, 1, 65535, 65536, 536, 65000], "start_state": [1, 0, 1]}
    world = World.from_arrays(**rows)
    assert world.weight.tolist() == [65536, 65535, 1, 65536, 65536]
    assert world.outcomes == 2
    assert world.start_weight.tolist() == [21845, 43691]
    assert world.digest != World.from_arrays(**HALF).digest


def test_nothing_of_a_world_can_be_changed() -> None:
    reward = np.array(COIN["reward"])
    world = World.from_arrays(**{**HALF, "reward": reward})
    reward[:] = 5
    assert world.reward.max() == 1
    with pytest.raises(ValueError, match="read-only"):
        world.weight[0] = 1
    with pytest.raises(AttributeError):
        world.states = 3  # type: ignore[misc]
    with pytest.raises(WorldError, match=r"a world is made by World\.from_arrays"):
        World(2, 2)


def test_a_world_reads_short() -> None:
    assert repr(World.from_arrays(**HALF)) == "World(states=2, actions=2, max_episode_steps=0)"


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=40))
def test_probabilities_become_weights_by_largest_remainder(shares: list[int]) -> None:
    n, whole = len(shares), sum(shares)
    world = World.from_arrays(
        state=[0] * n + [0] + list(range(1, n + 1)) * 2,
        action=[0] * n + [1] + [0] * n + [1] * n,
        next_state=[*range(1, n + 1), 0, *range(1, n + 1), *range(1, n + 1)],
        reward=[0.0] * (3 * n + 1),
        terminated=[True] * (3 * n + 1),
        probability=[share / whole for share in shares] + [1.0] * (2 * n + 1),
        start_state=[0],
    )
    # in integers: shares are rounded down, and those with the largest remainders get one more
    parts = [divmod(65536 * share, whole) for share in shares]
    left = 65536 - sum(floor for floor, _ in parts)
    most = sorted(range(n), key=lambda i: (-parts[i][1], i))[:left]
    assert world.weight[:n].tolist() == [parts[i][0] + (i in most) for i in range(n)]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"probability": None, "weight": [65536, 1, 2, 65536, 65536]}, WorldError,
         r"the weights of state 0, action 1 sum to 3, 65533 too little; they must sum to 65536"),
        ({"probability": [1, 0.5, 0.6, 1, 1]}, WorldError,
         r"the probabilities of state 0, action 1 sum to 1.1, 0.1 too much; they must sum to 1$"),
        ({"probability": [1, 0.5, 0.499, 1, 1]}, WorldError, "sum to 0.999, 0.001 too little"),
        ({"probability": [1, 1.5, -0.5, 1, 1]}, WorldError,
         r"probability\[1\] is 1.5; it must be from 0 to 1"),
        ({"probability": [1, float("nan"), 0.5, 1, 1]}, WorldError,
         r"probability\[1\] is nan; it must be finite"),
        ({"probability": [1, 1 - 1e-6, 1e-6, 1, 1]}, WorldError,
         "an outcome of state 0, action 1 has the probability 1e-06, which would be rounded to 0; it "
         r"must be 0 or at least 2\^-16, 1.526e-05"),
        ({"probability": None, "weight": [65536, 65537, -1, 65536, 65536]}, WorldError,
         r"weight\[1\] is 65537; it must be from 0 to 65536"),
        ({"probability": None, "weight": [65536, 65536, -1, 65536, 65536]}, WorldError,
         r"weight\[2\] is -1; it must be from 0 to 65536"),
        ({"probability": None}, WorldError,
         "state 0, action 1 has 2 outcomes, but neither probability nor weight was given"),
        ({"weight": [65536] * 5}, WorldError,
         "weight and probability are both given; give one of them"),
        ({"start_weight": [65536], "start_probability": [1.0]}, WorldError,
         "start_weight and start_probability are both given"),
        ({"start_weight": [65535]}, WorldError,
         "the weights of the start states sum to 65535, 1 too little; they must sum to 65536"),
        ({"start_state": []}, WorldError, "start_state is empty; a world needs a state to start in"),
        ({"start_state": [2]}, WorldError, r"start_state\[0\] is 2; it must be from 0 to 1"),
        ({"next_state": [0, 1, 0, 1, 2]}, WorldError,
         r"state 2, action 0 has no outcome \(missing pairs: 2\); each pair of the 3 states and 2 "
         "actions needs one"),
        ({"next_state": [0, 1, 0, 1, -1]}, WorldError,
         r"next_state\[4\] is -1; it must be from 0 to 65535"),
        ({"state": [0, 0, 0, 1, 0.5]}, WorldError, "state has dtype float64; it must be integers"),
        ({"action": [0, 1, 1, 0, 64]}, WorldError, r"action\[4\] is 64; it must be from 0 to 63"),
        ({"action": [0] * 5}, ConfigError, "actions is 1; it must be an integer from 2 to 64"),
        ({"state": [0] * 5, "next_state": [0] * 5}, ConfigError,
         "states is 1; it must be an integer from 2 to 65536"),
        ({"reward": [0, 0, float("inf"), 0, 0]}, WorldError, r"reward\[2\] is inf; it must be finite"),
        ({"reward": ["a"] * 5}, WorldError, "reward has dtype <U1; it must be real numbers"),
        ({"terminated": [0, 1, 0, 1, 1]}, WorldError, "terminated has dtype int64; it must be bool"),
        ({"reward": [0.0]}, WorldError, r"arrays differ in length \(state 5, .*reward 1"),
        ({"reward": [[0.0]]}, WorldError, r"reward has shape \(1, 1\); it must be one-dimensional"),
        ({name: [] for name in HALF}, WorldError, "there are no rows"),
        ({"max_episode_steps": -1}, ConfigError,
         "max_episode_steps is -1; it must be an integer from 0 to"),
    ],
)  # fmt: skip
def test_a_bad_world_fails(change: dict[str, Any], error: type[QStepError], message: str) -> None:
    with pytest.raises(error, match=message):
        World.from_arrays(**{**HALF, **change})


def chain(*, ends: bool, reward: float = 0.0, start: int = 0) -> World:
    """Return a row of 3 states: action 1 moves on, action 0 stays, and the last state is never left."""
    return World.from_arrays(
        state=[0, 0, 1, 1, 2, 2], action=[0, 1, 0, 1, 0, 1], next_state=[0, 1, 1, 2, 2, 2],
        reward=[0, 0, 0, 0, 0, reward], terminated=[False, False, False, ends, False, ends],
        start_state=[start], start_weight=[65536],
    )  # fmt: skip


def test_a_state_that_nobody_gets_to_is_warned_of() -> None:
    chain(ends=True)
    with pytest.warns(
        WorldWarning,
        match=r"state 0 cannot be reached from a start state, though it can be left "
        r"\(number of such states: 1\)",
    ):
        chain(ends=True, start=1)


def test_a_state_that_cannot_be_left_is_warned_of() -> None:
    chain(ends=False, reward=1.0)  # the action in state 2 matters
    with pytest.warns(
        WorldWarning,
        match=r"state 2 can never be left, and every action has the same reward there "
        r"\(1 such state\); should transitions into it be marked `terminated`\?",
    ) as caught:
        chain(ends=False)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("name", ["FrozenLake-v1", "Taxi-v4", "gridworld-8x8"])
def test_file_of_a_world_is_the_world(tmp_path: Path, name: str) -> None:
    world = World.named(name)
    path = tmp_path / "world.npz"
    world.save(path)
    content = path.read_bytes()
    again = World.named(str(path))
    assert again.digest == world.digest
    assert again.max_episode_steps == world.max_episode_steps > 0
    again.save(path)
    assert path.read_bytes() == content
    with np.load(path, allow_pickle=False) as arrays:
        assert set(arrays) == {
            "state", "action", "weight", "next_state", "reward", "terminated",
            "start_state", "start_weight", "max_episode_steps",
        }  # fmt: skip
        assert (arrays["weight"].dtype, arrays["reward"].dtype) == (np.int32, np.float64)


def written(path: Path, **change: Any) -> Path:
    arrays = {**COIN, "weight": [65536, 1, 65535, 65536, 65536], "start_weight": [65536], **change}
    given: dict[str, Any] = {name: array for name, array in arrays.items() if array is not None}
    np.savez(path, **given)
    return path


def test_a_file_needs_no_limit_of_steps(tmp_path: Path) -> None:
    world = World.from_file(written(tmp_path / "world.npz"))
    assert (world.max_episode_steps, world.weight.tolist()) == (0, [65536, 65535, 1, 65536, 65536])
    assert World.from_file(written(tmp_path / "b.npz", max_episode_steps=9)).max_episode_steps == 9


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"weight": None}, FileFormatError, r"world.npz: lacks weight; it must contain state, action, "),
        ({"weight": [65536, 1, 1, 65536, 65536]}, WorldError, r"world.npz: the weights of state 0, "),
        ({"max_episode_steps": [1, 2]}, WorldError, "max_episode_steps has shape .2,. and dtype int64"),
        ({"max_episode_steps": 0.5}, WorldError, "and dtype float64; it must be one integer"),
        ({"max_episode_steps": -2}, WorldError, r"world.npz: max_episode_steps is -2; it must be an"),
    ],
)  # fmt: skip
def test_a_file_of_no_world_is_refused(
    tmp_path: Path, change: dict[str, Any], error: type[QStepError], message: str
) -> None:
    with pytest.raises(error, match=message):
        World.from_file(written(tmp_path / "world.npz", **change))
    with pytest.raises(FileFormatError, match=r"absent.npz: no such file"):
        World.named(str(tmp_path / "absent.npz"))


def test_a_map_is_a_world(tmp_path: Path) -> None:
    path = tmp_path / "corridor.txt"
    path.write_text("S.G\n", encoding="utf-8")
    world = World.named(str(path))
    assert (world.states, world.actions, world.max_episode_steps) == (3, 4, 12)
    assert world.reward[world.action == 3].tolist() == [-1.0, 1.0, 0.0]
    with pytest.raises(EnvironmentSpaceError, match="no such environment"):
        World.named("Nothing-v0")


@pytest.mark.parametrize(("name", "inner"), [("snake", "Snake"), ("cartpole", "CartPoleTable")])
def test_an_environment_without_a_table_says_so(name: str, inner: str) -> None:
    with pytest.raises(NoTableError, match=f"^{name}: {inner} has no transition table, P and init"):
        World.named(name)


class Tabled(gym.Env[Any, Any]):
    """An environment that follows its own table unless its arguments make it deviate."""

    def __init__(self, table: Any, first: int = 0, reward: float = 0.0, start: int = 0) -> None:
        self.P, self.initial_state_distrib = table, [1.0, 0.0]
        self.observation_space, self.action_space = Discrete(2), Discrete(2, start=first)
        self.bonus, self.first_index = reward, start

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.state = sorted(self.P)[self.first_index]
        return self.state, {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        rows = self.P[self.state][action]
        _, self.state, reward, ended = rows[self.np_random.integers(len(rows))]
        return self.state, reward + self.bonus, ended, False, {}


PAIR: dict[int, Any] = {0: [(0.5, 1, 0.0, True), (0.5, 1, 0, True)], 1: [(1.0, 0, 1, False)]}


def test_the_documented_example_is_a_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "acting.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(from qstep import .*?)^```", page, re.M | re.S)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(example, names)
    assert World.named("machine.npz").digest == names["world"].digest
    assert names["world"].weight.tolist() == [58982, 6554, 65536, 19661, 45875, 65536]
    assert names["memories"].split.shape == (2, 2, 2)


def test_the_nearest_limit_of_steps_counts() -> None:
    env = Tabled({0: PAIR, 1: PAIR})
    assert World.from_env(env).max_episode_steps == 0
    assert World.from_env(TimeLimit(TimeLimit(env, 70), 90)).max_episode_steps == 70
    assert World.from_env(env).weight.tolist() == [65536] * 4
    assert World.from_env(TimeLimit(GridWorld("S.G"), 5)).max_episode_steps == 5
    assert World.from_env(TimeLimit(GridWorld("S.G"), 50)).max_episode_steps == 12


class Unknown(gym.Wrapper[Any, Any, Any, Any]):
    """A wrapper that changes nothing, although `World` cannot know that."""


class Windy(FrozenLakeEnv):
    """A FrozenLake whose moves differ from its table."""

    def step(self, a: int) -> Any:
        return super().step((a + 1) % 4)


class OwnTable(FrozenLakeEnv):
    """A FrozenLake that follows its changed table."""

    def __init__(self) -> None:
        super().__init__(is_slippery=False)
        self.P[14][2] = [(1.0, 15, 7.0, True)]


def patched() -> FrozenLakeEnv:
    env = FrozenLakeEnv()
    env.reset = lambda **_: (5, {})  # type: ignore[method-assign]
    return env


def newer() -> gym.Env[Any, Any]:
    """Return an environment with an argument from a later version of Gymnasium."""
    env = gym.make("CliffWalking-v1")
    assert env.unwrapped.spec is not None
    env.unwrapped.spec.kwargs["gusts"] = True
    return env


def fickle() -> gym.Env[Any, Any]:
    return gym.make("Taxi-v4", fickle_passenger=True)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (TransformReward(GridWorld("S.G"), lambda reward: 2 * float(reward)),
         "TransformReward may change how GridWorld behaves, which the transition table would not"),
        (Unknown(gym.make("FrozenLake-v1")), "Unknown may change how FrozenLakeEnv behaves"),
        (TimeAwareObservation(gym.make("FrozenLake-v1")), "TimeAwareObservation may change"),
        (fickle(), "fickle_passenger is true; the passenger then changes the destination, which"),
        (Windy(), r"Windy replaces step of FrozenLakeEnv, so its .* table may describe another game"),
        (newer(),
         "CliffWalkingEnv was made with gusts, and it is not known whether the transition"),
        (patched(), "FrozenLakeEnv replaces reset of FrozenLakeEnv, so its transition table may"),
        (Tabled({0: PAIR, 1: PAIR}, reward=1.5),
         r"step gave state [01], reward [12].5, terminated \w+ for action [01] in state 0, which"),
        (Tabled({0: PAIR, 1: PAIR}, start=1),
         "Tabled: reset gave state 1, in which no episode starts"),
    ],
    ids=lambda own: "" if isinstance(own, str) else type(own).__name__,
)  # fmt: skip
def test_a_table_that_may_not_be_the_game_is_refused(env: gym.Env[Any, Any], message: str) -> None:
    with pytest.raises(WorldError, match=message) as caught:
        World.from_env(TimeLimit(env, 50))
    assert type(caught.value) is WorldError
    assert "let the host act (qstep train --act host)" in str(caught.value)


def played(env: gym.Env[Any, Any], steps: int) -> list[tuple[int, int, int, float, bool]]:
    """Return the transitions of a random walk."""
    made, draw = [], np.random.default_rng(1)
    state, _ = env.reset(seed=2)
    for _ in range(steps):
        action = int(draw.integers(table_size(env)[1]))
        following, reward, terminated, truncated, _ = env.step(action)
        made.append((state, action, following, float(reward), terminated))
        state = env.reset()[0] if terminated or truncated else following
    return made


@pytest.mark.parametrize(
    "env",
    [
        gym.make("Taxi-v4", is_rainy=True),
        gym.make("FrozenLake-v1", success_rate=0.8, reward_schedule=(5, -3, 0)),
        gym.make("CliffWalking-v1", is_slippery=True),
        TimeLimit(OwnTable(), 90),
        RecordEpisodeStatistics(PassiveEnvChecker(gym.make("FrozenLake8x8-v1"))),
    ],
    ids=lambda env: type(env.unwrapped).__name__,
)
def test_a_world_that_is_accepted_is_the_game(env: gym.Env[Any, Any]) -> None:
    world = World.from_env(env)
    names = ("state", "action", "next_state", "reward", "terminated")
    rows = zip(*(getattr(world, name).tolist() for name in names), strict=True)
    assert set(played(env, 2000)) <= set(rows)


def test_the_fickle_taxi_leaves_its_table() -> None:
    """With a fickle passenger, the taxi deviates from its table, so the check above can fail."""
    world = World.from_env(gym.make("Taxi-v4"))
    names = ("state", "action", "next_state")
    rows = set(zip(*(getattr(world, name).tolist() for name in names), strict=True))
    assert {row[:3] for row in played(fickle(), 30_000)} - rows


def test_a_file_of_a_world_is_an_environment(tmp_path: Path) -> None:
    path = tmp_path / "COIN.NPZ"
    world = World.from_arrays(**{**HALF, "max_episode_steps": 7})
    world.save(path)
    env = make(str(path), 0)
    assert World.from_env(env).digest == world.digest == World.named(str(path)).digest
    rows = [row for row in played(env, 4000) if row[:2] == (0, 1)]
    assert {row[2:] for row in rows} == {(1, 1.0, True), (0, -1.0, False)}
    assert 0.45 < np.mean([row[2] for row in rows]) < 0.55
    env.reset(seed=0)
    assert [env.step(0)[3] for _ in range(7)] == [False] * 6 + [True]
    with pytest.raises(
        EnvironmentSpaceError, match="action is 2; it must be an integer from 0 to 1"
    ):
        env.step(2)


def test_spaces_of_a_table_may_start_anywhere() -> None:
    shifted = {
        s - 2: {a + 1: [(p, t - 2, r, e) for p, t, r, e in rows] for a, rows in PAIR.items()}
        for s in range(2)
    }
    env = Tabled(shifted, first=1)
    env.observation_space = Discrete(2, start=-2)
    assert World.from_env(env).digest == World.from_env(Tabled({0: PAIR, 1: PAIR})).digest


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (Tabled({0: PAIR}), r"state 1, action 0 has no outcome \(missing pairs: 2\)"),
        (Tabled({0: PAIR, 1: PAIR}, first=1), r"P has the action 0; the action space is Disc"),
        (Tabled({0: PAIR, 1: [3]}), "Tabled: P is not a transition table, a dictionary of dictionaries"),
        (Tabled({0: PAIR, 1: {0: [(1.0, 0)], 1: []}}), "Tabled: P is not a transition table, "),
        (Tabled({0: PAIR, "1": PAIR}), "Tabled: P has observations of <U21; they must be integers"),
        (Tabled({0: PAIR, 1.5: PAIR}), r"P has observations of float64; they must be integers"),
        (Tabled({0: PAIR, 1: {0: [(1.0, 0, None, True)], 1: []}}), r"reward\[3\] is nan; it must be"),
        (Tabled({0: PAIR, 1: {0: [(1.0, 2, 0, True)], 1: [(1.0, 0, 0, True)]}}),
         r"P has the observation 2; the observation space is Discrete\(2\)"),
    ],
)  # fmt: skip
def test_a_table_that_is_no_world_is_refused(env: Tabled, message: str) -> None:
    with pytest.raises(WorldError, match=message):
        World.from_env(env)
