"""`qstep dqn` and `qstep pqn` on any environment that fits, with every hyperparameter as an option."""

import json
import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from click.testing import CliRunner, Result
from gymnasium.spaces import Discrete

from qstep.cli import dqn, pqn
from qstep.cli._hyperparameters import changed
from qstep.deep.dqn_config import DqnConfig
from qstep.deep.pqn_config import PqnConfig
from qstep.deep.spaces import Spaces
from qstep.envs.vector import make_vector
from qstep.errors import ConfigError, EnvironmentSpaceError, QStepError

MAP = "S..\n.#.\n..G\n"
"""Three steps of -1, then +1."""


def run(command: Any, *arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def report(command: Any, *arguments: str | Path) -> Any:
    result = run(command, *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def learnt(command: Any, folder: Path) -> float:
    """Return the greedy score on a map that a network sees as one number per cell."""
    path = folder / "map.txt"
    path.write_text(MAP, encoding="utf-8")
    words = ["--total-timesteps", "8000", "--num-envs", "16", "--evaluate-every", "100000"]
    if command is dqn.command:
        words += ["--gradient-steps", "2"]
    said = report(command, path, "--out", folder / "run", "--overwrite", *words)
    assert said["num_envs"] == 16
    return float(said["score"]["mean"])


@pytest.mark.parametrize("command", [dqn.command, pqn.command], ids=["dqn", "pqn"])
def test_network_learns_a_map_of_ones_own(command: Any, tmp_path: Path) -> None:
    assert learnt(command, tmp_path) == -2.0
    assert (tmp_path / "run" / "network.safetensors").exists()
    assert not (tmp_path / "run" / "checkpoint.npz").exists()


def test_blind_network_does_not_learn_the_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(spaces: Spaces, observations: Any) -> Any:
        return np.zeros((len(observations), spaces.inputs), np.float32)

    monkeypatch.setattr(Spaces, "numbers", nothing)
    assert learnt(pqn.command, tmp_path) < -30.0


@pytest.mark.parametrize(
    ("command", "env_id", "more"),
    [
        (dqn.command, "Acrobot-v1", ("--learning-starts", "64", "--total-timesteps", "200")),
        (
            dqn.command,
            "FrozenLake-v1",
            ("--form", "plain", "--learning-starts", "64", "--total-timesteps", "200"),
        ),
        (pqn.command, "qstep/Snake-v0", ("--total-timesteps", "100")),
        (pqn.command, "CliffWalking-v0", ("--total-timesteps", "100", "--episodes", "1")),
    ],
    ids=["box", "plain", "ours", "renamed"],
)
def test_other_environments_are_learnt_too(
    command: Any,
    env_id: str,
    more: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("qstep.deep.run.GAMES", 3)
    said = report(command, env_id, "--out", tmp_path, *more)
    assert said["environment"] == env_id
    assert said["updates"] > 0


@pytest.mark.parametrize(
    ("command", "env_id", "message"),
    [
        (
            dqn.command,
            "Pendulum-v1",
            "the action space is Box(-2.0, 2.0, (1,), float32); a network",
        ),
        (pqn.command, "Blackjack-v1", "the observation space is Tuple("),
        (dqn.command, "Nothing-v0", "Nothing-v0: no such environment"),
    ],
)
def test_environment_that_does_not_fit_is_refused_before_a_folder_is_made(
    command: Any, env_id: str, message: str, tmp_path: Path
) -> None:
    error = run(command, env_id, "--out", tmp_path / "run").exception
    assert isinstance(error, EnvironmentSpaceError)
    assert message in str(error)
    assert not (tmp_path / "run").exists()


class Broken(gym.Env[Any, Any]):
    """Pays no reward that is a number."""

    def __init__(self, reward: Any) -> None:
        self.observation_space, self.action_space = Discrete(5, start=-2), Discrete(2)
        self.reward = reward

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        return -2, {}

    def step(self, action: int) -> tuple[int, Any, bool, bool, dict[str, Any]]:
        return 2, self.reward, True, False, {}


@pytest.mark.parametrize("words", ["dqn", "dqn --form plain", "pqn"])
def test_reward_that_is_no_number_ends_the_run(words: str, tmp_path: Path) -> None:
    name, *form = words.split()
    command = {"dqn": dqn, "pqn": pqn}[name].command
    args = [*form, "--total-timesteps", "512", "--out", tmp_path / "run", "--overwrite"]
    try:
        for reward in (math.nan, None):
            gym.register("qstep-test/Broken-v0", entry_point=Broken, kwargs={"reward": reward})
            error = run(command, "qstep-test/Broken-v0", *args).exception
            assert isinstance(error, EnvironmentSpaceError)
            assert f"its reward is {reward}; it must be a finite number" in str(error)
            del gym.registry["qstep-test/Broken-v0"]
        gym.register("qstep-test/Broken-v0", entry_point=Broken, kwargs={"reward": 1})
        result = run(command, "qstep-test/Broken-v0", *args, "--json")
        assert json.loads(result.stdout)["score"]["mean"] == 1.0, result.output
    finally:
        gym.registry.pop("qstep-test/Broken-v0", None)


def test_resume_where_the_environments_cannot_say_their_state_is_refused(tmp_path: Path) -> None:
    error = run(dqn.command, "CartPole-v1", "--resume", "--out", tmp_path / "run").exception
    assert isinstance(error, ConfigError)
    assert "--resume was given; a run on CartPole-v1 has no checkpoints" in str(error)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("command", "kind"), [(dqn.command, DqnConfig), (pqn.command, PqnConfig)], ids=["dqn", "pqn"]
)
def test_every_hyperparameter_is_an_option_with_its_description(command: Any, kind: type) -> None:
    options = {option.name: option for option in command.params}
    epsilon = {"epsilon_start", "epsilon_end", "epsilon_share"}
    wanted = ({field.name for field in fields(kind)} - {"epsilon"}) | epsilon
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
    said = report(dqn.command, "cartpole", "--out", tmp_path, *words.split())
    assert (said["learning_rate"], said["gamma"], said["tau"]) == (0.002, 0.5, 0.1)
    assert (said["batch_size"], said["buffer_size"], said["learning_starts"]) == (32, 640, 64)
    assert (said["hidden"], said["variant"], said["num_envs"]) == ([8, 4], "single", 7)
    assert said["target_update_interval"] == 3
    assert said["epsilon"] == {"start": 1.0, "end": 0.25, "share": 0.2}
    assert said["steps_played"] == 700


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--gamma 1.5", "gamma is 1.5; it must be from 0 to 1"),
        ("--batch-size 0", "batch_size is 0; it must be 1 or more"),
        ("--epsilon-end -1", "epsilon end is -1"),
        ("--hidden 8,0", r"hidden is \(8, 0\); it must be one layer or more of 1 or more"),
        ("--hidden 2147483648", r"hidden is .*; a layer must have at most 2147483647"),
        ("--buffer-size 2147483648", "buffer_size is 2147483648; it must be at most 2147483647"),
        ("--hidden 9999999,9999999", "the run does not fit into memory; 32 environments and"),
        ("--gradient-steps 999999999", "the run does not fit into memory; .* or the replay or a"),
    ],
)
def test_value_out_of_range_is_refused_by_the_configuration(words: str, message: str) -> None:
    error = run(dqn.command, "cartpole", *words.split()).exception
    assert isinstance(error, QStepError)
    with pytest.raises(QStepError, match=message):
        raise error


def test_layers_that_are_no_numbers_are_refused() -> None:
    result = run(dqn.command, "cartpole", "--hidden", "8x4")
    assert result.exit_code == 2
    assert "'8x4' is not a list of integers such as 64,64" in result.stderr


def test_what_is_not_given_stays() -> None:
    assert changed(DqnConfig(gamma=0.5), {"gamma": None, "epsilon_end": None}) == DqnConfig(
        gamma=0.5
    )


def test_vector_form_is_the_compiled_one_where_there_is_one() -> None:
    names = [
        type(make_vector(name, 2)).__name__ for name in ("qstep/Snake-v0", "snake", "gridworld")
    ]
    assert names == ["SnakeVectorEnv", "SyncVectorEnv", "SyncVectorEnv"]
    with pytest.raises(
        EnvironmentSpaceError, match="num_envs is 0; it must be an integer, 1 or more"
    ):
        make_vector("gridworld", 0)
