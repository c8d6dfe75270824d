"""Environments are created by name, checked, and described correctly."""

import inspect
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from tb.sw.command_line import ran

from qstep.envs import STEP_CAP, GridWorld, make, make_any, table_size
from qstep.errors import ConfigError, EnvironmentSpaceError


class Shifted(gym.Env[Any, Any]):
    """A world with states 10 to 12 and actions 5 and 6: 6 moves up by one; state 12 ends the episode."""

    P: dict[int, Any] = {10: {}}  # noqa: RUF012 - as Gymnasium's toy text has it
    initial_state_distrib = np.ones(1)

    def __init__(self) -> None:
        self.observation_space = Discrete(3, start=10)
        self.action_space = Discrete(2, start=5)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.state = 10
        return self.state, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        assert action in (5, 6)
        self.state += action - 5
        return self.state, 0.0, self.state == 12, False, {}


@pytest.fixture
def shifted() -> Iterator[gym.Env[Any, Any]]:
    gym.register("qstep-test/Shifted-v0", entry_point=Shifted)  # type: ignore[arg-type]
    yield make("qstep-test/Shifted-v0", 0)
    del gym.registry["qstep-test/Shifted-v0"]


@pytest.mark.parametrize(
    ("env_id", "states", "actions"),
    [
        ("gridworld", 25, 4),
        ("gridworld-8x8", 64, 4),
        ("gridworld-16x16", 256, 4),
        ("FrozenLake-v1", 16, 4),
        ("CliffWalking-v1", 48, 4),
        ("Taxi-v3", 500, 6),
    ],
)
def test_environment_is_made_by_name(env_id: str, states: int, actions: int) -> None:
    assert table_size(make(env_id, 0)) == (states, actions)


def test_spaces_are_shifted_to_start_at_0(shifted: gym.Env[Any, Any]) -> None:
    assert table_size(shifted) == (3, 2)
    assert shifted.reset()[0] == 0
    assert shifted.step(0)[0] == 0
    assert shifted.step(1)[0] == 1
    assert shifted.step(1)[:3] == (2, 0.0, True)
    assert shifted.observation_space == Discrete(3)
    assert shifted.action_space == Discrete(2)


def test_environment_without_a_limit_is_truncated_at_the_cap(shifted: gym.Env[Any, Any]) -> None:
    shifted.reset()
    ends = [shifted.step(0)[2:4] for _ in range(STEP_CAP)]
    assert ends == [(False, False)] * (STEP_CAP - 1) + [(False, True)]


def test_limit_of_an_environment_is_kept() -> None:
    env = make("Taxi-v3", 0)
    env.reset(seed=0)
    ends = [env.step(0)[3] for _ in range(200)]
    assert ends == [False] * 199 + [True]


@pytest.mark.parametrize(
    ("env_id", "message"),
    [
        (
            "CartPole-v1",
            r"CartPole-v1: the observation space is Box\(.*; use cartpole$",
        ),
        (
            "Acrobot-v1",
            r"Acrobot-v1: the observation space is Box\(.*: qstep train Acrobot-v1 --tiles 8",
        ),
        ("Pendulum-v1", r"Pendulum-v1: the observation space is Box\(.*: qstep sac Pendulum-v1$"),
        ("Nothing-v0", "Nothing-v0: no such environment. Give .* one of gridworld, "),
        ("no id!", "no id!: no such environment"),
        ("no_such_module:Thing-v0", "'no_such_module' cannot be imported: No module named"),
        ("gridwrld", r"gridwrld: no such environment\. Did you mean gridworld or gridworld-8x8\?"),
        ("frozenlake-v1", r"no such environment\. Did you mean FrozenLake-v1 or FrozenLake8x8"),
        (
            "worlds/snake.sv",
            r"worlds/snake\.sv is a circuit, in which only the agents of its device can .* device$",
        ),
        (
            "a/tank.py",
            r"is read as a circuit \(Amaranth\), so .* give tank:ID, such as tank:Tank-v0$",
        ),
        (
            "world",
            r"learned in a world made in Python, .* save the world \(world\.save\('mine\.npz'\)",
        ),
        (GridWorld("S.G"), r"environment is <.*; it must be the name of one"),
    ],
)
def test_unfit_environment_is_refused_by_name(env_id: Any, message: str) -> None:
    with pytest.raises(EnvironmentSpaceError, match=message):
        make(env_id, 0)


@pytest.mark.parametrize("seed", [-1, None, 0.5], ids=repr)
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(ConfigError, match=f"seed is {seed}; it must be an integer of 0 or more"):
        make("gridworld", seed)


class Walk(gym.Env[Any, Any]):
    """Five cells in a row, the last one terminal; `changes` replaces results of step and reset."""

    def __init__(self, **changes: Any) -> None:
        self.observation_space, self.action_space = Discrete(5), Discrete(2)
        self.observation_space = changes.pop("space", self.observation_space)
        self.changes = changes

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.cell = 0
        return self.changes.get("first", (0, {}))

    def step(self, action: int) -> Any:
        self.cell = max(self.cell + (1 if action else -1), 0)
        made = {
            "observation": self.cell,
            "reward": -1.0,
            "terminated": self.cell == 4,
            "truncated": False,
            "info": {},
        }
        made |= {k: v(made[k]) if callable(v) else v for k, v in self.changes.items() if k in made}
        return tuple(own for own in made.values() if own is not ...)


WALK = "qstep-test/Walk-v0"


@pytest.fixture
def walk() -> Iterator[Any]:
    """Return a function that registers a changed :class:`Walk` and returns its id."""

    def register(**changes: Any) -> str:
        gym.register(WALK, entry_point=Walk, kwargs=changes, max_episode_steps=50)
        return WALK

    yield register
    gym.registry.pop(WALK, None)


BAD_RESULTS = [
    ({"observation": -1}, r"its observation is -1; it must be an integer in Discrete\(5\) \(step 1 of"),
    ({"observation": 5}, "its observation is 5; "),
    ({"observation": 0.5}, r"its observation is 0\.5; "),
    ({"observation": None}, "its observation is None; "),
    ({"observation": np.arange(2)}, r"its observation is array\(\[0, 1\]\); "),
    ({"reward": math.nan}, "its reward is nan; it must be a finite number"),
    ({"reward": -math.inf}, "its reward is -inf; "),
    ({"reward": 1e39}, r"its reward is 1e\+39; "),
    ({"reward": None}, "its reward is None; "),
    ({"reward": "1"}, "its reward is '1'; "),
    ({"terminated": None}, "its terminated is None; it must be true or false"),
    ({"truncated": 2}, "its truncated is 2; "),
    ({"info": None}, "its info is None; it must be a dictionary"),
    ({"truncated": ...},
     "its step must return observation, reward, terminated, truncated and info"),
    ({"first": 0}, "its reset must return an observation and an info"),
    ({"first": (9, {})}, r"its observation is 9; .* \(step 0 of an episode\)$"),
    ({"space": Box(0.0, 4.0), "first": (np.full(1, np.nan), {})},
     r"its observation is array\(\[nan"),
    ({"space": Box(0.0, 4.0), "first": (np.zeros(2), {})},
     r"its observation is .* it must have shape \(1,\) and"),
    ({"space": None}, "it has no observation_space, which must be a space of Gymnasium$"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), BAD_RESULTS, ids=lambda own: str(own)[:24])
def test_result_that_contradicts_the_environment_is_refused(
    walk: Any, changes: dict[str, Any], message: str
) -> None:
    env_id = walk(**changes)
    with pytest.raises(EnvironmentSpaceError, match=f"^{WALK}: {message}"):  # noqa: PT012
        env = make_any(env_id)
        env.reset(seed=0)
        env.step(1)


def test_suggestion_comes_from_the_module_that_is_named(walk: Any) -> None:
    walk()
    with pytest.raises(
        EnvironmentSpaceError, match=rf"\. Did you mean {WALK}\? Give a Gymnasium id"
    ):
        make_any("json:qstep-test/Wlak-v0")


def test_environment_without_a_seed_is_refused(walk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Walk, "reset", lambda self: (0, {}))
    with pytest.raises(EnvironmentSpaceError, match="its reset takes no seed"):
        make_any(walk())
    monkeypatch.setattr(Walk, "__init__", lambda self, size: None)
    with pytest.raises(
        EnvironmentSpaceError, match=r"Walk-v0: cannot be made: TypeError: .*'size'"
    ):
        make_any(WALK)


KINDS: dict[str, dict[str, Any]] = {
    "numpy": {
        "observation": np.int64,
        "reward": np.float32,
        "terminated": np.bool_,
        "truncated": np.bool_,
    },
    "integers": {"reward": int, "terminated": int, "truncated": int},
    "arrays": {name: lambda own: np.array([own]) for name in ("observation", "reward")},
}


@pytest.mark.parametrize("kind", KINDS)
def test_results_of_any_type_are_learnt_alike(kind: str, walk: Any, tmp_path: Path) -> None:
    def learnt(folder: Path) -> list[bytes]:
        ran(f"train {WALK} --episodes 60 --overwrite --out", folder)
        return [(folder / name).read_bytes() for name in ("table.npz", "history.json")]

    walk()
    plain = learnt(tmp_path / "plain")
    gym.registry.pop(WALK)
    walk(**KINDS[kind])
    assert learnt(tmp_path / "other") == plain
    assert json.loads(plain[1])["episodes"]


@pytest.mark.parametrize("action", [-1, 99, 0.5, math.nan, None, "x", 10**30], ids=repr)
@pytest.mark.parametrize(
    ("env_id", "most"), [("gridworld", 3), ("snake", 2), ("cartpole", 1), ("FrozenLake-v1", 3)]
)
def test_action_out_of_range_is_refused(env_id: str, most: int, action: Any) -> None:
    env = make(env_id, 0)
    message = f"action is {action!r}; it must be an integer from 0 to {most}"
    with pytest.raises(EnvironmentSpaceError, match=message):
        env.step(action)
    env.step(np.int64(1))


@pytest.mark.slow
def test_module_in_the_current_folder_is_found_by_the_installed_command(tmp_path: Path) -> None:
    code = "import gymnasium\ngymnasium.register('My/Walk-v0', entry_point='my_walk:Walk')\n"
    own = inspect.getsource(Walk)
    imports = (
        "from typing import Any\nimport gymnasium as gym\nfrom gymnasium.spaces import Discrete\n"
    )
    (tmp_path / "my_walk.py").write_text(f"{imports}{code}{own}", encoding="utf-8")
    (tmp_path / "my_bad.py").write_text("import absent_thing\n", encoding="utf-8")
    script = [sys.executable, "-P", "-c", "import qstep_command; qstep_command.main()"]

    def qstep(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*script, *words], cwd=tmp_path, capture_output=True, text=True)

    done = qstep("train", "my_walk:My/Walk-v0", "--episodes", "10", "--json")
    assert (done.returncode, json.loads(done.stdout)["episodes"]) == (0, 10), done.stderr
    done = qstep("train", "my_bad:My/Walk-v0")
    assert done.stderr == (
        "error: my_bad:My/Walk-v0: module 'my_bad' cannot be imported: No module named 'absent_thing'\n"
    )
