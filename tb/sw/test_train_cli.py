"""End-to-end tests of `qstep train` with the host acting: files, summary, interruption and errors."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from tb.sw.command_line import invoke, refused, told

from qstep._io.npz import load_arrays
from qstep.errors import CheckpointError, ConfigError, EnvironmentSpaceError, LinkError, QStepError
from qstep.golden.lane import Model
from qstep.mdp.transitions import Transitions
from qstep.spec.config import Config
from qstep.spec.fixed import Rounding
from qstep_fpga.board import load

FILES = {
    "table.npz",
    "history.json",
    "learning_curve.png",
    "policy.png",
    "checkpoint.npz",
    "report.json",
}
SHORT = ("--episodes", "80", "--evaluate-every", "20", "--epsilon-share", "0.2")


def written(config: Config, file: Path) -> Path:
    file.write_text(config.to_toml(), encoding="utf-8")
    return file


def train(*arguments: str | Path) -> Result:
    return invoke("train --act host", *arguments)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that was never interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    result = train("gridworld", "--out", folder, *SHORT)
    assert result.exit_code == 0, result.output
    assert "gridworld on model: 1 agent, q-learning, Q8.8: " in result.stdout
    assert "\n80 episodes; greedy: return " in result.stdout
    assert "greedy action optimal in" in result.stdout
    assert "episode 20: greedy return" in result.stderr
    return folder


def test_json_summary_agrees_with_the_files(tmp_path: Path) -> None:
    report = told("train gridworld --act host --alpha 0.25", *SHORT, "--out", tmp_path)
    assert report["alpha"] == 0.25
    assert report["format"] == "Q8.8"
    history = json.loads((tmp_path / "history.json").read_text(encoding="utf-8"))
    assert history["episodes"]["number"] == list(range(1, 81))
    assert history["evaluations"]["episodes"] == [20, 40, 60, 80]
    assert history["evaluations"]["greedy_return"][-1] == report["greedy_return"]
    assert report["steps"] == sum(history["episodes"]["length"])
    q_raw = load_arrays(report["files"]["table"], ("q_raw",))["q_raw"]
    assert q_raw.shape == (25, 4)
    assert report["optimum"]["start_value"] == q_raw[0].max() / 256


def test_picture_of_a_replaced_run_does_not_stay(tmp_path: Path) -> None:
    train("gridworld", "--out", tmp_path, *SHORT)
    assert (tmp_path / "policy.png").exists()
    words = ("Taxi-v3", "--out", tmp_path, "--overwrite", "--episodes", "1")
    assert train(*words).exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == FILES - {"policy.png"}


def test_resume_refuses_a_map_that_was_changed(own_folder: Path) -> None:
    Path("board.txt").write_text("S.G\n", encoding="utf-8")
    assert train("board.txt", *SHORT).exit_code == 0
    Path("board.txt").write_text("SHG\n", encoding="utf-8")
    resume = f"train board.txt --act host {' '.join(SHORT)} --out runs/board --resume"
    refused(resume, CheckpointError, "map.0 is 'S.G' there and 'SHG' here")


def test_environment_without_a_goal_reports_its_return_and_no_success(tmp_path: Path) -> None:
    result = train("snake", "--out", tmp_path, *SHORT)
    assert "80 episodes; greedy: return " in result.stdout
    assert "success" not in result.output
    assert {path.name for path in tmp_path.iterdir()} == FILES - {"policy.png"}
    history = json.loads((tmp_path / "history.json").read_text(encoding="utf-8"))
    assert set(history["episodes"]["success"]) == {None}
    assert set(history["evaluations"]["greedy_success"]) == {None}
    again = train("snake", "--out", tmp_path, *SHORT, "--resume")
    assert again.exit_code == 0, again.output


def test_table_learns_to_eat(tmp_path: Path) -> None:
    report = told("train snake --episodes 300 --evaluate-every 300 --out", tmp_path)
    assert report["greedy_return"] > 40  # 5 meals per game; untrained, there are none


def test_frozen_lake_takes_its_own_defaults_unless_they_are_given(tmp_path: Path) -> None:
    words = ("FrozenLake-v1", "--out", tmp_path, "--json", "--episodes", "20")
    report = json.loads(train(*words, "--gamma", "0.5").stdout)
    assert (report["alpha"], report["gamma"], report["episodes"]) == (0.1, 0.5, 20)


def test_table_of_a_board_learns_the_same_and_the_rest_is_0(tmp_path: Path, whole: Path) -> None:
    board = written(load("icebreaker").config, tmp_path / "icebreaker.toml")
    result = train("gridworld", "--out", tmp_path, "--config", board, "--json", *SHORT)
    assert result.exit_code == 0, result.output
    wide = load_arrays(tmp_path / "table.npz", ("q_raw",))["q_raw"]
    fitting = load_arrays(whole / "table.npz", ("q_raw",))["q_raw"]
    assert wide.shape == (64, 4)
    assert (wide[:25] == fitting).all()
    assert not wide[25:].any()
    for file in ("history.json", "learning_curve.png", "policy.png"):
        assert (tmp_path / file).read_bytes() == (whole / file).read_bytes(), file
    assert json.loads(result.stdout)["optimum"]["start_value"] == fitting[0].max() / 256


def test_rounding_is_that_of_the_configuration_unless_given(tmp_path: Path) -> None:
    file = written(Config(25, 4, rounding=Rounding.FLOOR), tmp_path / "floor.toml")
    words = ("gridworld", "--out", tmp_path, "--config", file, "--json", *SHORT)
    assert json.loads(train(*words).stdout)["rounding"] == "floor"
    nearest = train(*words, "--overwrite", "--rounding", "nearest")
    assert json.loads(nearest.stdout)["rounding"] == "nearest"


def test_run_that_goes_on_for_longer_has_the_files_of_that(tmp_path: Path, whole: Path) -> None:
    shorter = (*SHORT[2:], "--episodes", "50", "--out", tmp_path)
    train("gridworld", *shorter, "--epsilon-episodes", "80")
    result = train("gridworld", "--out", tmp_path, *SHORT, "--resume")
    assert result.exit_code == 0, result.output
    for file in FILES - {"report.json"}:  # the report has times
        assert (whole / file).read_bytes() == (tmp_path / file).read_bytes(), file
    refused = train("gridworld", *shorter, "--resume")
    assert "already has 80 episodes; episodes is 50" in str(refused.exception)


def test_epsilon_of_a_longer_run_goes_on_as_it_was_planned(tmp_path: Path) -> None:
    train("gridworld", "--out", tmp_path, "--episodes", "20")
    words = ("gridworld", "--out", tmp_path, "--episodes", "40", "--resume")
    refused = train(*words, "--epsilon-episodes", "40")
    assert "epsilon_episodes is 20 there and 40 here" in str(refused.exception)
    assert train(*words).exit_code == 0
    history = json.loads((tmp_path / "history.json").read_text(encoding="utf-8"))
    assert history["episodes"]["epsilon"][5] == 1.0 - 0.95 * 5 / 10
    assert set(history["episodes"]["epsilon"][10:]) == {0.05}


def test_table_is_the_one_that_the_run_learnt(whole: Path) -> None:
    table = load_arrays(whole / "table.npz", ("q_raw", "q"))
    model = Model(Config(25, 4))
    saved = np.load(whole / "checkpoint.npz")
    model.load(saved["table"])
    pending = (saved[f"pending_{k}"] for k in range(5))
    model.apply(Transitions.from_arrays(model.config, *pending))
    assert (table["q_raw"] == model.table).all()
    assert (table["q"] == model.table / 256).all()
    assert np.count_nonzero(model.table) > 20


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        ("CartPole-v1", EnvironmentSpaceError, "space is Box.*; use cartpole"),
        ("gridworld --episodes 0", ConfigError, "episodes is 0; .* integer of 1 or more"),
        ("gridworld --alpha 1.5", ConfigError, "alpha is 1.5; it must be from 0 to 1"),
        ("gridworld --epsilon-end 2", ConfigError, "epsilon end is 2.0"),
        ("gridworld --format 8.8", ConfigError, "format is '8.8'"),
        ("gridworld --seed -1", ConfigError, "seed is -1"),
        ("gridworld --device nothing", ConfigError, "device is 'nothing'"),
        ("gridworld --device serial:/dev/absent", LinkError, "/dev/absent: cannot be opened"),
        ("CliffWalking-v1 --format Q4.4", QStepError, "-100.0; Q4.4 holds"),
        ("gridworld-16x16 --config board.toml", EnvironmentSpaceError,
         "at least 256 rows and exactly 4 columns"),
        ("cartpole --config board.toml", EnvironmentSpaceError, "but the device's has 64 and 4"),
        ("gridworld --config board.toml --format Q8.8", ConfigError,
         "--config cannot be combined with --format"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_refused_and_leaves_nothing(
    words: str, error: type[QStepError], text: str, own_folder: Path
) -> None:
    written(Config(64, 4), Path("board.toml"))
    refused(f"train --act host {words}", error, text)
    assert [path.name for path in own_folder.iterdir()] == ["board.toml"]
