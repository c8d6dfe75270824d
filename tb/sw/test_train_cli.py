"""`qstep train` where the host acts, end to end on the model: files, summary, interruption, errors."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from qstep import cli
from qstep.config import Config
from qstep.devices.model_device import ModelDevice
from qstep.errors import (
    CheckpointError,
    ConfigError,
    EnvironmentSpaceError,
    FileFormatError,
    LinkError,
    QStepError,
    RunFolderError,
)
from qstep.fixed import Rounding
from qstep.model import Model
from qstep.npz import load_arrays
from qstep.transitions import Transitions
from qstep_fpga.board import load

pytestmark = pytest.mark.unit

FILES = {"table.npz", "history.json", "learning_curve.png", "policy.png", "checkpoint.npz"}
SHORT = ("--episodes", "80", "--evaluate-every", "20", "--epsilon-share", "0.2")


def train(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli._qstep, ["train", *map(str, arguments), "--act", "host"])


def written(config: Config, file: Path) -> Path:
    file.write_text(config.to_toml(), encoding="utf-8")
    return file


def fail_at(monkeypatch: pytest.MonkeyPatch, batch: int, error: BaseException) -> None:
    """Make the model raise instead of applying one batch, counted from 0."""
    apply = ModelDevice.apply
    count = 0

    def failing(device: ModelDevice, transitions: Transitions) -> None:
        nonlocal count
        count += 1
        if count == batch + 1:
            raise error
        apply(device, transitions)

    monkeypatch.setattr(ModelDevice, "apply", failing)


def test_run_writes_its_files_and_says_how_it_went(tmp_path: Path) -> None:
    result = train("gridworld", "--out", tmp_path / "run", *SHORT)
    assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "run").iterdir()} == FILES
    assert "gridworld on model: 80 episodes" in result.stdout
    assert "greedy action optimal in" in result.stdout
    assert "episode 20: greedy return" in result.stderr
    history = json.loads((tmp_path / "run" / "history.json").read_text(encoding="utf-8"))
    assert history["episodes"]["number"] == list(range(1, 81))
    assert [entry["episode"] for entry in history["evaluations"]] == [20, 40, 60, 80]


def test_json_summary_agrees_with_the_files(tmp_path: Path) -> None:
    result = train("gridworld", "--out", tmp_path, "--json", "--alpha", "0.25", *SHORT)
    report = json.loads(result.stdout)
    assert report["alpha"] == 0.25
    assert report["format"] == "Q8.8"
    assert report["evaluation"]["episode"] == 80
    history = json.loads((tmp_path / "history.json").read_text(encoding="utf-8"))
    assert report["steps"] == sum(history["episodes"]["length"])
    q_raw = load_arrays(report["files"]["table"], ("q_raw",))["q_raw"]
    assert q_raw.shape == (25, 4)
    assert report["optimum"]["start_value"] == q_raw[0].max() / 256


def test_results_go_to_a_folder_named_after_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("corridor.txt").write_text("S..G\n", encoding="utf-8")
    assert train("corridor.txt", *SHORT).exit_code == 0
    assert {path.name for path in Path("runs/corridor").iterdir()} == FILES


def test_same_command_gives_the_same_files(tmp_path: Path) -> None:
    for name in ("one", "other"):
        train("gridworld", "--out", tmp_path / name, "--rounding", "stochastic", *SHORT)
    for file in FILES:
        one, other = ((tmp_path / name / file).read_bytes() for name in ("one", "other"))
        assert one == other, file


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was never interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    assert train("gridworld", "--out", folder, *SHORT).exit_code == 0
    return folder


@pytest.mark.parametrize("batch", [0, 12])
def test_interrupted_run_resumes_to_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: Path, batch: int
) -> None:
    here = ("gridworld", "--out", tmp_path / "cut", *SHORT)
    with monkeypatch.context() as patch:
        fail_at(patch, batch, KeyboardInterrupt())
        stopped = train(*here)
    assert stopped.exit_code == 130
    assert "stopped after episode" in stopped.stderr
    assert "to resume, run: qstep train gridworld" in stopped.stderr
    assert "--episodes 80" in stopped.stderr
    assert stopped.stderr.rstrip().endswith("--resume")
    assert {path.name for path in (tmp_path / "cut").iterdir()} == {"checkpoint.npz"}
    assert train(*here, "--resume").exit_code == 0
    for file in FILES:
        assert (whole / file).read_bytes() == (tmp_path / "cut" / file).read_bytes(), file


@pytest.mark.parametrize("more", [(), ("--seed", "1")])
def test_run_is_not_replaced_without_a_word(tmp_path: Path, more: tuple[str, ...]) -> None:
    train("gridworld", "--out", tmp_path, *SHORT)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    refused = train("gridworld", "--out", tmp_path, *SHORT, *more)
    assert isinstance(refused.exception, RunFolderError)
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert train("gridworld", "--out", tmp_path, "--overwrite", *SHORT, *more).exit_code == 0
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert (before == after) == (not more)


def test_picture_of_a_replaced_run_does_not_stay(tmp_path: Path) -> None:
    train("gridworld", "--out", tmp_path, *SHORT)
    assert (tmp_path / "policy.png").exists()
    words = ("Taxi-v3", "--out", tmp_path, "--overwrite", "--episodes", "1")
    assert train(*words).exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == FILES - {"policy.png"}


def test_start_that_fails_leaves_no_folder(tmp_path: Path) -> None:
    train("gridworld", "--device", "serial:/dev/absent", "--out", tmp_path / "runs" / "x")
    assert list(tmp_path.iterdir()) == []


def test_command_that_goes_on_does_not_overwrite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_at(monkeypatch, 1, KeyboardInterrupt())
    stopped = train("gridworld", "--overwrite", "--out", tmp_path, *SHORT)
    assert "to resume, run: qstep train gridworld --out" in stopped.stderr


def test_device_failure_leaves_a_checkpoint_and_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_at(monkeypatch, 5, LinkError("port is gone", applied=0))
    result = train("gridworld", "--out", tmp_path, *SHORT)
    assert isinstance(result.exception, LinkError)
    assert "to resume, run: qstep train gridworld" in result.stderr
    assert (tmp_path / "checkpoint.npz").exists()


def test_resume_of_another_run_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    train("gridworld", "--out", tmp_path, *SHORT)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    result = train("gridworld", "--out", tmp_path, *SHORT, "--resume", "--gamma", "0.5")
    assert isinstance(result.exception, CheckpointError)
    assert "gamma is 0.9 in it and 0.5 here" in str(result.exception)
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def test_resume_refuses_a_map_that_was_changed(tmp_path: Path) -> None:
    board = tmp_path / "board.txt"
    board.write_text("S.G\n", encoding="utf-8")
    train(board, "--out", tmp_path / "run", *SHORT)
    board.write_text("SHG\n", encoding="utf-8")
    result = train(board, "--out", tmp_path / "run", *SHORT, "--resume")
    assert isinstance(result.exception, CheckpointError)
    assert "map.0 is 'S.G' in it and 'SHG' here" in str(result.exception)


def test_environment_without_a_goal_reports_its_return_and_no_success(tmp_path: Path) -> None:
    result = train("snake", "--out", tmp_path, *SHORT)
    assert "episode 80: greedy return " in result.stdout
    assert "success" not in result.output
    assert {path.name for path in tmp_path.iterdir()} == FILES - {"policy.png"}
    history = json.loads((tmp_path / "history.json").read_text(encoding="utf-8"))
    assert set(history["episodes"]["success"]) == {None}
    assert {entry["success"] for entry in history["evaluations"]} == {None}
    again = train("snake", "--out", tmp_path, *SHORT, "--resume")
    assert again.exit_code == 0, again.output


def test_frozen_lake_takes_its_own_defaults_unless_they_are_given(tmp_path: Path) -> None:
    words = ("FrozenLake-v1", "--out", tmp_path, "--json", "--episodes", "20")
    report = json.loads(train(*words, "--gamma", "0.5").stdout)
    assert (report["alpha"], report["gamma"], report["episodes"]) == (0.1, 0.5, 20)


def test_table_of_a_board_learns_the_same_and_its_other_rows_stay_zero(
    tmp_path: Path, whole: Path
) -> None:
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
    words += ("--overwrite", "--rounding", "nearest")
    assert json.loads(train(*words).stdout)["rounding"] == "nearest"


@pytest.mark.parametrize(
    ("env_id", "more", "error", "message"),
    [
        ("gridworld-16x16", (), EnvironmentSpaceError, "at least 256 rows and of 4 columns"),
        ("cartpole", (), EnvironmentSpaceError, "and the device's has 64 and 4"),
        ("gridworld", ("--format", "Q8.8"), ConfigError, "--config was given together with format"),
    ],
)
def test_configuration_that_does_not_suit_is_refused(
    tmp_path: Path, env_id: str, more: tuple[str, ...], error: type[QStepError], message: str
) -> None:
    file = written(Config(64, 4), tmp_path / "board.toml")
    result = train(env_id, "--out", tmp_path, "--config", file, *more)
    assert isinstance(result.exception, error)
    assert message in str(result.exception)
    assert not {path.name for path in tmp_path.iterdir()} & FILES


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            ("CartPole-v1",),
            EnvironmentSpaceError,
            "space is Box.*; cartpole is the same task",
        ),
        (
            ("gridworld", "--episodes", "0"),
            ConfigError,
            "episodes is 0; .* integer of 1 or more",
        ),
        (("gridworld", "--alpha", "1.5"), ConfigError, "alpha is 1.5; it must be from 0 to 1"),
        (("gridworld", "--epsilon-end", "2"), ConfigError, "epsilon end is 2.0"),
        (("gridworld", "--format", "8.8"), ConfigError, "format is '8.8'"),
        (("gridworld", "--seed", "-1"), ConfigError, "seed is -1"),
        (("gridworld", "--device", "nothing"), ConfigError, "device is 'nothing'"),
        (("gridworld", "--resume"), CheckpointError, "cannot be read"),
        (("CliffWalking-v1", "--format", "Q4.4"), QStepError, "-100.0; Q4.4 holds"),
    ],
)
def test_bad_option_is_a_typed_error(
    tmp_path: Path, arguments: tuple[str, ...], error: type[QStepError], message: str
) -> None:
    result = train(*arguments, "--out", tmp_path)
    assert isinstance(result.exception, error)
    assert re.search(message, str(result.exception))
    assert not {path.name for path in tmp_path.iterdir()} & FILES


def test_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = train("gridworld", "--out", tmp_path / "file" / "run", *SHORT)
    assert isinstance(result.exception, FileFormatError)
    assert "cannot be made" in str(result.exception)


def test_help_shows_examples() -> None:
    assert "qstep train Taxi-v3" in train("--help").stdout


def test_run_that_goes_on_for_longer_gives_the_files_of_the_longer_run(
    tmp_path: Path, whole: Path
) -> None:
    shorter = (*SHORT[2:], "--episodes", "50", "--out", tmp_path)
    train("gridworld", *shorter, "--epsilon-episodes", "80")
    result = train("gridworld", "--out", tmp_path, *SHORT, "--resume")
    assert result.exit_code == 0, result.output
    for file in FILES:
        assert (whole / file).read_bytes() == (tmp_path / file).read_bytes(), file
    refused = train("gridworld", *shorter, "--resume")
    assert "has 80 episodes already; episodes is 50" in str(refused.exception)


def test_epsilon_of_a_longer_run_goes_on_as_it_was_planned(tmp_path: Path) -> None:
    train("gridworld", "--out", tmp_path, "--episodes", "20")
    words = ("gridworld", "--out", tmp_path, "--episodes", "40", "--resume")
    refused = train(*words, "--epsilon-episodes", "40")
    assert "epsilon_episodes is 20 in it and 40 here" in str(refused.exception)
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
