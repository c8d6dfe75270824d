"""`qstep dqn` and `qstep pqn` accept any suitable environment, and every hyperparameter as an option."""

import itertools
import math
import re
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete, Tuple
from tb.sw.command_line import invoke, refused, told

import qstep
from qstep.cli import dqn, pqn, sac
from qstep.cli._networks import changes
from qstep.deep.config import DqnConfig, PqnConfig, SacConfig
from qstep.deep.network import Spaces
from qstep.envs import make, make_vector
from qstep.envs.checked import flattened
from qstep.errors import (
    CheckpointError,
    ConfigError,
    DivergedError,
    EnvironmentSpaceError,
    QStepError,
)
from qstep.learn.table import load_table

MAP = "S..\n.#.\n..G\n"
"""The shortest path pays -1 three times, then +1."""


def learnt(command: str, folder: Path) -> float:
    """Return the greedy score on a map that the network observes through one input per cell."""
    path = folder / "map.txt"
    path.write_text(MAP, encoding="utf-8")
    words = "--total-timesteps 8000 --num-envs 16 --evaluate-every 100000 --overwrite"
    if command == "dqn":
        words += " --gradient-steps 2"
    said = told(f"{command} {path} {words} --out", folder / "run")
    assert said["num_envs"] == 16
    return float(said["greedy_score"])


@pytest.mark.slow
@pytest.mark.parametrize("command", ["dqn", "pqn"])
def test_network_learns_a_map_of_ones_own(command: str, tmp_path: Path) -> None:
    assert learnt(command, tmp_path) == -2.0
    assert (tmp_path / "run" / "network.safetensors").exists()
    assert (tmp_path / "run" / "checkpoint.npz").exists()


@pytest.mark.slow
def test_blind_network_learns_no_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(spaces: Spaces, observations: Any) -> Any:
        return np.zeros((len(observations), spaces.inputs), np.float32)

    monkeypatch.setattr(Spaces, "numbers", nothing)
    assert learnt("pqn", tmp_path) < -30.0


SHORT = "--learning-starts 64 --total-timesteps 200"


@pytest.mark.parametrize(
    "words",
    [
        f"dqn Acrobot-v1 {SHORT}",
        f"dqn FrozenLake-v1 --code plain {SHORT}",
        "pqn qstep/Snake-v0 --total-timesteps 100",
        "pqn CliffWalking-v0 --total-timesteps 100 --episodes 1",
    ],
    ids=["box", "plain", "ours", "renamed"],
)
def test_other_environments_are_learnt_too(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qstep.deep.run.GAMES", 3)
    said = told(f"{words} --out", tmp_path)
    assert said["world"] == words.split()[1]
    assert said["updates"] > 0


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        ("dqn Pendulum-v1", EnvironmentSpaceError,
         r"the action space is Box\(-2.0, 2.0, \(1,\), float32\); a network"),
        ("pqn Blackjack-v1", EnvironmentSpaceError, r"the observation space is Tuple\("),
        ("dqn Nothing-v0", EnvironmentSpaceError, "Nothing-v0: no such environment"),
        ("dqn CartPole-v1 --resume", CheckpointError, "there is no checkpoint to resume"),
        ("dqn cartpole --gamma 1.5", QStepError, "gamma is 1.5; it must be from 0 to 1"),
        ("dqn cartpole --batch-size 0", QStepError,
         "batch_size is 0; it must be an integer from 1 to 2147483647"),
        ("dqn cartpole --epsilon-end -1", QStepError, "epsilon end is -1"),
        ("dqn cartpole --hidden 8,0", QStepError,
         r"a layer of hidden is 0; it must be an integer from 1"),
        ("dqn cartpole --hidden 2147483648", QStepError,
         "a layer of hidden is 2147483648; it must be an integer from 1 to"),
        ("dqn cartpole --buffer-size 2147483648", QStepError,
         "buffer_size is 2147483648; it must be an integer from 1 to 2147483647"),
        ("dqn cartpole --hidden 9999999,9999999", QStepError,
         r"the run does not fit into memory; reduce the environments \(32\), the"),
        ("dqn cartpole --gradient-steps 999999999", QStepError,
         "the run does not fit into memory; .* the replay buffer or the"),
        ("dqn cartpole --hidden 8x4", SystemExit,
         "'8x4' is not a list of integers such as 64,64"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_before_a_folder_is_made(
    words: str, error: type[BaseException], text: str, own_folder: Path
) -> None:
    refused(words, error, text)
    assert list(own_folder.iterdir()) == []


class Broken(gym.Env[Any, Any]):
    """Episodes of two steps; the last one pays `reward` and has `score` in its info."""

    sizes: Iterator[int] = itertools.repeat(5)
    """Sizes of the observation spaces of successive copies."""

    def __init__(self, reward: Any = 2, score: Any = 3.0) -> None:
        self.observation_space = Discrete(next(self.sizes), start=-2)
        self.action_space = Discrete(2)
        self.reward, self.score = reward, score

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.begun = False
        return -2, {}

    def step(self, action: int) -> tuple[int, Any, bool, bool, dict[str, Any]]:
        last, self.begun = self.begun, True
        return 2, self.reward if last else 0, last, False, {"score": self.score} if last else {}


@pytest.mark.parametrize(
    ("words", "copies"),  # copies made before those for evaluations
    [("dqn", 34), ("dqn --code plain", 3), ("pqn", 34)],
)
def test_environment_whose_results_or_spaces_are_wrong_ends_the_run(
    words: str, copies: int, own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words += " qstep-test/Broken-v0 --total-timesteps 512 --overwrite --out run"
    spaces = r"its observation_space is Discrete\(\d+\) in one copy and Discrete\(\d+\) in another"
    cases: list[tuple[dict[str, Any], Iterator[int], str]] = [
        *(({"reward": value}, itertools.repeat(5),
           rf"its reward is {value}; it must be a finite number \(step 2 of an episode\)$")
          for value in (math.nan, None)),
        *(({"score": value}, itertools.repeat(5),
           f"score in an episode's last info is {value}; it must be a finite number$")
          for value in (math.inf, None)),  # only evaluations read the score
        ({}, itertools.count(5), spaces),
        ({}, itertools.chain(itertools.repeat(5, copies), itertools.repeat(6)),
         r"are Discrete\(6\) and Discrete\(2\); the network was made for Discrete\(5\) and D"),
    ]  # fmt: skip
    try:
        for kwargs, sizes, text in cases:
            monkeypatch.setattr(Broken, "sizes", sizes)
            gym.register("qstep-test/Broken-v0", entry_point=Broken, kwargs=kwargs)  # type: ignore[arg-type]
            refused(words, EnvironmentSpaceError, text)
            del gym.registry["qstep-test/Broken-v0"]
        monkeypatch.setattr(Broken, "sizes", itertools.repeat(5))
        gym.register("qstep-test/Broken-v0", entry_point=Broken)  # type: ignore[arg-type]
        assert told(words)["greedy_return"] == 2.0
    finally:
        gym.registry.pop("qstep-test/Broken-v0", None)


@pytest.mark.parametrize(
    ("words", "files"),  # PQN learns in its first step, and the plain code has no checkpoints
    [("dqn --prioritised", ["checkpoint.npz"]), ("dqn --code plain", []), ("pqn", [])],
)
def test_network_that_diverges_ends_the_run_and_leaves_the_checkpoint_before(
    words: str, files: list[str], own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: 1e4 * clock())  # as many checkpoints as possible
    words += " cartpole --total-timesteps 6000 --learning-rate 1e13"
    error = invoke(f"{words} --out run").exception
    assert isinstance(error, DivergedError)
    assert re.match(
        r"after \d+ steps, parameters or losses of the network add up to (nan|inf|-inf); use a smaller "
        r"learning_rate \(1e\+13\) or reward_scale \(0\.\d+\)$",
        str(error),
    )
    assert [path.name for path in Path("run").glob("*")] == files


@pytest.mark.parametrize(
    ("command", "kind"),
    [(dqn.command, DqnConfig), (pqn.command, PqnConfig), (sac.command, SacConfig)],
    ids=["dqn", "pqn", "sac"],
)
def test_every_hyperparameter_is_an_option_with_its_description(command: Any, kind: type) -> None:
    options = {option.name: option for option in command.params}
    wanted = {field.name for field in fields(kind)}
    if "epsilon" in wanted:
        wanted = (wanted - {"epsilon"}) | {"epsilon_start", "epsilon_end", "epsilon_share"}
    assert wanted <= set(options)
    assert all(options[name].help for name in wanted)
    assert options["learning_rate"].opts == ["--learning-rate"]
    assert options["gamma"].help == "Discount, 0..1.  [default: 0.99]"
    assert options["hidden"].help.endswith(f"  [default: {','.join(map(str, kind().hidden))}]")
    words = [options[name].help for name in wanted - {"total_timesteps", "seed"}]
    assert len(set(words)) == len(words)
    assert not any(
        " see " in text or "_" in text.replace("gradient_steps / N", "") for text in words
    )


def test_options_reach_the_run(tmp_path: Path) -> None:
    words = (
        "--total-timesteps 700 --evaluate-every 100000 --learning-rate 0.002 --gamma 0.5 --tau 0.1"
        " --batch-size 32 --buffer-size 640 --learning-starts 64 --hidden 8,4 --no-prioritised"
        " --target-update-interval 3 --epsilon-end 0.25 --variant single --num-envs 7"
    )
    said = told(f"dqn cartpole {words} --out", tmp_path)
    assert (said["learning_rate"], said["gamma"], said["tau"]) == (0.002, 0.5, 0.1)
    assert (said["batch_size"], said["buffer_size"], said["learning_starts"]) == (32, 640, 64)
    assert (said["hidden"], said["variant"], said["num_envs"]) == ([8, 4], "single", 7)
    assert said["target_update_interval"] == 3
    assert said["epsilon"] == {"start": 1.0, "end": 0.25, "share": 0.2}
    assert said["steps"] == 700


def test_what_is_not_given_stays() -> None:
    config = DqnConfig()
    assert changes(config, {"gamma": None, "epsilon_end": None}) == {}
    given = changes(config, {"gamma": 0.0, "epsilon_end": 0.0})
    assert given == {"gamma": 0.0, "epsilon": replace(config.epsilon, end=0.0)}


def test_vector_form_is_the_compiled_one_where_there_is_one() -> None:
    names = [
        type(make_vector(name, 2, env_kwargs)).__name__
        for name, env_kwargs in (
            ("qstep/Snake-v0", None),
            ("snake", {"observation": "flood"}),
            ("snake", {"max_episode_steps": 5}),
            ("qstep/CartPole-v0", None),
            ("CartPole-v1", None),  # its start states differ
            ("gridworld", None),
        )
    ]
    assert [name[:-9] for name in names] == [
        "Snake", "Snake", "Repeatable", "CartPole", "Repeatable", "Repeatable"
    ]  # fmt: skip
    with pytest.raises(ConfigError, match="num_envs is 0; it must be an integer of 1 or more"):
        make_vector("gridworld", 0)


def test_parts_of_an_observation_are_digits_of_its_number() -> None:
    parts = Tuple((Discrete(3, start=-1), Discrete(2), Discrete(4, start=5)))

    class Dials(gym.Env[Any, Any]):
        observation_space: Any = parts
        action_space = Discrete(2)
        seen: Any = (-1, 0, 5)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return self.seen, {}

    dials = Dials()
    env = flattened(dials)
    assert env.observation_space == Discrete(24)
    numbers = []
    for dials.seen in itertools.product((-1, 0, 1), (0, 1), (5, 6, 7, 8)):
        numbers.append(env.reset()[0])
    assert numbers == list(range(24))
    for dials.seen in ((2, 0, 5), (-1, 0), (-1, 0, 4), (0.5, 0, 5), 7):
        with pytest.raises(EnvironmentSpaceError, match="it must be in Tuple"):
            env.reset()
    dials.observation_space = MultiDiscrete([2, 3], start=[0, 1])
    dials.seen = np.array([1, 2])
    assert flattened(dials).reset()[0] == 4
    dials.observation_space = Tuple((Discrete(2), Box(0, 1)))
    assert flattened(dials) is dials


def test_blackjack_is_learned_and_played(own_folder: Path) -> None:
    report = told("train Blackjack-v1 --alpha 0.05 --gamma 1 --episodes 3000 --out run")
    assert (report["engine"], report["format"]) == ("host", "Q8.8")
    assert told("play run/table.npz --episodes 500")["mean_return"] > -0.35
    result = qstep.load("run")
    env = gym.make("Blackjack-v1")
    seen, _ = env.reset(seed=1)
    assert result.act(seen) == result.act(flattened(make("Blackjack-v1", 0)).observation(seen))  # type: ignore[attr-defined]
    assert result.evaluate(env, episodes=100)["greedy_length"] >= 1


def test_arguments_of_an_environment_are_part_of_its_run(own_folder: Path) -> None:
    dry = "train FrozenLake-v1 --steps 50000 --env-kwargs is_slippery=false --out run"
    assert told(dry)["greedy_success"] == 1.0
    assert told("play run/table.npz --episodes 5")["mean_return"] == 1.0
    refused("train FrozenLake-v1 --steps 50000 --out run --resume", CheckpointError, "world is ")
    small = "train FrozenLake-v1 --act host --episodes 20 --out host --env-kwargs map_name=8x8"
    assert told(small)["env_kwargs"] == {"map_name": "8x8"}
    assert load_table("host/table.npz").config.states == 64
    found = qstep.train("FrozenLake-v1", steps=50_000, env_kwargs={"is_slippery": False})
    assert found.evaluate(episodes=5)["greedy_return"] == 1.0
    lake = gym.make("FrozenLake-v1", map_name="8x8")
    host = qstep.train(lake, act="host", episodes=5)
    assert host.table.shape == (64, 4)
    other = small + " --env-kwargs is_slippery=false --resume"
    refused(other, CheckpointError, r"env_kwargs\.is_slippery is ")
    refused("train FrozenLake-v1 --env-kwargs slip", SystemExit, "'slip' is not KEY=VALUE")
    for given, error, said in (
        (
            {"world": lake, "env_kwargs": {"a": 1}},
            ConfigError,
            "are only for a world given by name",
        ),
        ({"env_kwargs": 5}, ConfigError, "env_kwargs is 5; it must be a mapping"),
        ({"world": "a.txt", "env_kwargs": {"a": 1}}, ConfigError, "which takes none"),
    ):
        with pytest.raises(error, match=said):
            qstep.train(**{"world": "FrozenLake-v1", "steps": 9, **given})  # type: ignore[arg-type]


@pytest.mark.slow
def test_arguments_of_an_environment_reach_networks(own_folder: Path) -> None:
    big = "dqn FrozenLake-v1 --env-kwargs map_name=8x8 --num-envs 4 --out run " + SHORT
    assert told(big)["env_kwargs"] == {"map_name": "8x8"}
    made = qstep.load("run")
    assert made.act(63) in range(4)  # the small lake has no state 63
    assert made.evaluate(episodes=2) == made.evaluate(gym.make("FrozenLake8x8-v1"), episodes=2)
    refused("dqn cartpole --env-kwargs a=1", ConfigError, "takes no argument 'a'")
    short = "pqn cartpole --env-kwargs max_episode_steps=7 --out short --total-timesteps 600"
    assert told(short + " --num-envs 4")["greedy_score_high"] == 7.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train FrozenLake-v1 --env-kwargs is_slipery=1",
         r"takes no argument 'is_slipery'\. Did you mean is_slippery\? It takes .*map_name.* "
         "max_episode_steps"),
        ("train snake --env-kwargs size=5",
         "snake takes no argument 'size'. It takes observation, "),
        ("train snake --env-kwargs observation=flood", "observation is 'flood'; snake needs 'state'"),
        ("dqn snake --env-kwargs observation=state", "observation is 'state'; snake needs 'flood'"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("own_folder")
def test_argument_that_an_environment_does_not_take_is_refused(words: str, message: str) -> None:
    refused(words, ConfigError, message)


@pytest.mark.usefixtures("own_folder")
@pytest.mark.parametrize("limit", [0, "x"])
def test_limit_that_gymnasium_refuses_is_refused(limit: Any) -> None:
    words = f"train cartpole --env-kwargs max_episode_steps={limit}"
    refused(words, EnvironmentSpaceError, "cannot be made: .*max_episode_steps")


def test_arguments_that_cannot_be_known_are_named_by_python(own_folder: Path) -> None:
    gym.register("qstep-test/Any-v0", entry_point=lambda **given: Broken(**given))
    try:
        with pytest.raises(EnvironmentSpaceError, match=r"cannot be made: TypeError: .*'size'"):
            make("qstep-test/Any-v0", 0, env_kwargs={"size": 1})
    finally:
        del gym.registry["qstep-test/Any-v0"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "env_id"), [("snake", "qstep/Snake-v0"), ("cartpole", "qstep/CartPoleTable-v0"),
                         ("gridworld", "qstep:qstep/GridWorld-v0")]
)  # fmt: skip
def test_id_of_an_environment_is_learnt_as_its_short_name(
    name: str, env_id: str, own_folder: Path
) -> None:
    reports = [
        told(f"train {world} --episodes 60 --out {k}") for k, world in enumerate((name, env_id))
    ]
    tables = [qstep.load(str(k)).table for k in range(2)]  # type: ignore[attr-defined]
    assert (tables[0] == tables[1]).all()
    differing = {key for key in reports[0] if reports[0][key] != reports[1][key]}
    assert differing <= {"world", "hint", "files", "seconds", "steps_per_second"}
    assert (qstep.train(env_id, episodes=60).table == tables[0]).all()


class Dials(gym.Env[Any, Any]):
    """Two dials, from 0 to 2 and from 1 to 2; each action turns one, and the goal is 2 on both."""

    observation_space: Any = MultiDiscrete([3, 2], start=[0, 1])
    action_space = Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.seen = np.array([0, 1])
        return self.seen.copy(), {}

    def step(self, action: int) -> Any:
        self.seen[action] = min(self.seen[action] + 1, 2)
        ended = bool((self.seen == 2).all())
        return self.seen.copy(), float(ended) - 1, ended, False, {"is_success": ended}


def test_several_small_observations_are_learnt_as_one(own_folder: Path) -> None:
    gym.register("qstep-test/Dials-v0", entry_point=Dials)  # type: ignore[arg-type]
    try:
        assert make("qstep-test/Dials-v0", 0).reset()[0] == 0
        report = told("train qstep-test/Dials-v0 --episodes 60 --out run")
    finally:
        del gym.registry["qstep-test/Dials-v0"]
    assert report["greedy_length"] == 3.0
    assert load_table("run/table.npz").config.states == 6
