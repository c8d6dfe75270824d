"""A run's result in Python: its policy, its files, and loading it from a folder."""

import json
import re
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import qstep
from qstep.errors import ConfigError, EnvironmentSpaceError, FileFormatError


@pytest.fixture(scope="module", params=["agents", "host", "sweep"])
def result(request: pytest.FixtureRequest) -> qstep.Result:
    if request.param == "sweep":
        given: dict[str, Any] = {"alphas": [0.5, 0.1], "gammas": [0.9, 1], "seeds": [3, 4]}
        return qstep.sweep("FrozenLake-v1", steps=100_000, workers=qstep.Here(), **given)
    if request.param == "agents":
        return qstep.train("FrozenLake-v1", steps=200_000, agents=3)
    return qstep.train("gridworld", act="host", episodes=300)


def test_result_acts_as_its_greedy_policy(result: qstep.Result) -> None:
    env = qstep.envs.make(result.name, 0)
    best = result.evaluate(env, episodes=50)
    assert best == result.evaluate(episodes=50)
    returns = []
    for seed in range(50):
        state, _ = env.reset(seed=seed)
        total, ended = 0.0, False
        while not ended:
            state, reward, terminated, truncated, _ = env.step(result.act(state))
            total, ended = total + float(reward), terminated or truncated
        returns.append(total)
    assert (
        abs(np.mean(returns) - best["greedy_return"]) < 0.2
    )  # FrozenLake is slippery, and these are two samples


def test_saved_result_is_given_back_by_its_folder(result: qstep.Result, tmp_path: Path) -> None:
    files = result.save(tmp_path / "run")
    assert {path.name for path in files.values()} == {p.name for p in (tmp_path / "run").iterdir()}
    again = qstep.load(tmp_path / "run")
    assert again.summary() == json.loads(json.dumps(result.summary()))
    assert repr(again).partition(" ")[2] == repr(result).partition(" ")[2]
    for group, columns in result.history.items():
        for name, column in columns.items():
            assert np.array_equal(again.history[group][name], column, equal_nan=True), name
    assert [again.act(state) for state in range(16)] == [result.act(state) for state in range(16)]
    assert again.evaluate(episodes=20) == result.evaluate(episodes=20)
    second = again.save(tmp_path / "again")
    for what, path in files.items():
        assert path.read_bytes() == second[what].read_bytes(), what
    assert again.plot().axes


def test_network_is_learned_saved_and_loaded(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    seen: list[float] = []
    made = qstep.dqn(
        gym.make("CartPole-v1"),
        total_timesteps=2000,
        num_envs=8,
        evaluate_every=1000,
        seed=3,
        progress=lambda progress: seen.append(progress.done),
    )
    assert seen == sorted(seen)
    assert seen[-1] == made.summary()["steps"] >= 2000
    assert (made.summary()["algorithm"], made.summary()["seed"]) == ("dqn", 3)
    assert repr(made).startswith("<NetworkResult CartPole-v1: dqn (network), 2000 steps, ")
    made.save(tmp_path)
    again = qstep.load(tmp_path)
    assert again.summary() == json.loads(json.dumps(made.summary()))
    observation = np.array([0.01, -0.2, 0.03, 0.4], np.float32)
    assert again.act(observation) == made.act(observation)
    for wrong in (observation[:3], np.full(4, np.nan), "x", 3):
        with pytest.raises(ConfigError, match=r"observation is .*; it must be one of Box"):
            made.act(wrong)
    found = again.evaluate(episodes=20, seed=1)
    assert found == made.evaluate(gym.make("CartPole-v1"), episodes=20, seed=1)
    assert found["greedy_return"] == found["greedy_length"] == found["greedy_score"] > 5
    (tmp_path / "network.safetensors").write_bytes(b"none")
    with pytest.raises(FileFormatError, match="cannot be read as a network"):
        qstep.load(tmp_path)


def test_setting_that_an_algorithm_does_not_have_is_named() -> None:
    pytest.importorskip("torch")
    with pytest.raises(
        ConfigError, match=r"dqn has no setting 'bufer_size'\. Did you mean buffer_s"
    ):
        qstep.dqn("cartpole", bufer_size=3)
    for name, value in (("gamma", 2), ("episodes", 0), ("evaluate_every", 0), ("num_envs", 0)):
        settings: Any = {name: value}
        with pytest.raises(ConfigError, match=f"{name} is {value}; it must be"):
            qstep.pqn("cartpole", **settings)
    with pytest.raises(EnvironmentSpaceError, match=r"that gymnasium\.make can create again"):
        qstep.dqn(5)  # type: ignore[arg-type]


def test_path_that_is_not_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "table.npz").touch()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "checkpoint.npz").touch()
    with pytest.raises(
        FileFormatError, match="run: contains an interrupted run; finish it with --"
    ):
        qstep.load(tmp_path / "run")
    for name in ("table.npz", "absent"):
        with pytest.raises(
            FileFormatError, match=f"{name}: is not a folder; give the folder of a run"
        ):
            qstep.load(tmp_path / name)


def test_folder_of_another_version_is_refused(result: qstep.Result, tmp_path: Path) -> None:
    report = result.save(tmp_path)["report"]
    for text, said in (
        ('{"version": 0}', "has version 0; this QStep reads version 1; train it again"),
        ("[]", "has version None"),
        ("{", "cannot be read as JSON"),
    ):
        report.write_text(text, encoding="utf-8")
        with pytest.raises(FileFormatError, match=re.escape(f"{report}: {said}")):
            qstep.load(tmp_path)


def test_folder_with_a_damaged_report_or_history_is_refused(
    result: qstep.Result, tmp_path: Path
) -> None:
    files = result.save(tmp_path)
    report = files["report"].read_bytes()
    for text, said in (
        ('{"version": 1}', "of an unnamed command; qstep.load reads only reports of train, sweep"),
        ('{"version": 1, "command": "sweep", "world": "x"}',
         r"does not hold a sweep of version 1 \(KeyError: 'points'\); sweep it again"),
    ):  # fmt: skip
        files["report"].write_text(text, encoding="utf-8")
        with pytest.raises(FileFormatError, match=said):
            qstep.load(tmp_path)
    files["report"].write_bytes(report)
    for text in (
        '{"version": 1, "episodes": 5}',
        '{"version": 1, "episodes": {"return": [[1], 2]}}',
    ):
        files["history"].write_text(text, encoding="utf-8")
        with pytest.raises(FileFormatError, match="contains no history"):
            qstep.load(tmp_path)


def test_wrong_observations_and_numbers_of_episodes_are_refused(result: qstep.Result) -> None:
    for observation in (-1, 999, "x", 0.5):
        with pytest.raises(
            ConfigError, match=r"observation is .*; it must be an integer from 0 to"
        ):
            result.act(observation)
    for episodes in (0, -1):
        with pytest.raises(ConfigError, match=f"episodes is {episodes}"):
            result.evaluate(episodes=episodes)


def test_engine_is_chosen_as_by_the_command() -> None:
    assert qstep.train("snake", episodes=20).summary()["engine"] == "host"
    lake = gym.make("FrozenLake-v1")
    assert qstep.train(lake, episodes=20).summary()["engine"] == "agents"
    host = qstep.train(lake, act="host", episodes=20).summary()
    assert (host["engine"], host["alpha"], host["gamma"]) == ("host", 0.1, 0.99)  # its own defaults
    own = qstep.AgentSettings(0.25, 0.5, qstep.Epsilon(1.0, 0.5, "linear", 10, "episodes"), seed=3)
    host = qstep.train("gridworld", act="host", episodes=20, settings=own).summary()
    assert [host[name] for name in ("alpha", "gamma", "seed")] == [0.25, 0.5, 3]
    assert host["epsilon"] == {"start": 1.0, "end": 0.5, "share": 0.5}


def test_world_without_a_name_is_plotted_saved_and_loaded(tmp_path: Path) -> None:
    grid, env = qstep.World.named("gridworld"), qstep.envs.GridWorld("S.H\n..G\n")
    for made in (
        qstep.train(grid, steps=3000, agents=2),
        qstep.train(env, steps=3000, agents=2),
        qstep.sweep(grid, alphas=[0.5], gammas=[0.9], steps=2000, workers=qstep.Here()),
    ):
        assert made.plot().axes
        made.save(tmp_path / "run")
        again = qstep.load(tmp_path / "run")
        assert again.summary() == json.loads(json.dumps(made.summary()))
        with pytest.raises(
            EnvironmentSpaceError,
            match=r"learned in a world made in Python, .*; pass an environment to evaluate",
        ):
            again.evaluate()
    assert again.summary()["train"] is None
    result = qstep.train(grid, steps=3000)
    assert result.evaluate(episodes=3) == result.evaluate(
        qstep.envs.make("gridworld", 0), episodes=3
    )
    grid.save(tmp_path / "own.npz")
    assert qstep.train(str(tmp_path / "own.npz"), steps=3000).evaluate(episodes=3)["greedy_length"]


class Endless(gym.Env[Any, Any]):
    """An environment with two states whose episodes never end."""

    observation_space = gym.spaces.Discrete(2)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return action, 1.0, False, False, {}


def test_evaluation_in_an_environment_without_a_limit_ends() -> None:
    result = qstep.train(
        qstep.World.from_arrays(
            state=[0, 0, 1, 1], action=[0, 1, 0, 1], next_state=[0, 1, 0, 1], reward=[1.0] * 4,
            terminated=[False] * 4, start_state=[0],
        ),
        steps=1000,
    )  # fmt: skip
    assert result.evaluate(Endless(), episodes=2)["greedy_length"] == 1000
    own = gym.wrappers.TimeLimit(Endless(), 1200)
    assert result.evaluate(own, episodes=2)["greedy_length"] == 1200


def test_what_the_host_cannot_do_is_refused() -> None:
    for given, said in (
        ({"agents": 3}, "agents is 3; it is for runs in which the device acts, but act is 'host'$"),
        ({"steps": 9, "episodes": None}, "device acts, but act is 'host'; give episodes$"),
        (
            {"world": "Blackjack-v1", "act": None, "agents": 2},
            "agents is 2; it is for runs in which the device acts, but Blackjack-v1 has no transition",
        ),
        ({"algorithm": "sarsa"}, "algorithm is 'sarsa'; it is for runs in which the device acts"),
        ({"shared_table": True}, "shared_table is True; it is for runs in which the device acts"),
        (
            {"settings": [qstep.AgentSettings()]},
            "settings has several entries; where the host acts, there is only one agent: call train "
            "once for each",
        ),
        (
            {"settings": qstep.AgentSettings(epsilon=qstep.Epsilon(1.0, 0.1, "linear", 9))},
            "epsilon is linear by steps; where the host acts .* must be constant, or linear by a",
        ),
        ({"world": qstep.World.named("gridworld")}, "gymnasium.make can create again"),
    ):
        with pytest.raises(ConfigError, match=said):
            qstep.train(**{"world": "gridworld", "act": "host", "episodes": 5, **given})  # type: ignore[arg-type]
