"""`qstep dqn` end to end: files, summary, interruption and errors."""

import json
import re
import shlex
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from click.testing import Result
from safetensors.torch import load_file
from tb.sw.command_line import after_pieces, ctrl_c, invoke, refused, told

from qstep.cli import _networks
from qstep.deep.dqn import Dqn
from qstep.deep.network import modules
from qstep.errors import CheckpointError, ConfigError, RunFolderError, TorchDeviceError

FILES = {
    "network.safetensors",
    "history.json",
    "learning_curve.png",
    "checkpoint.npz",
    "report.json",
}
SHORT = ("--total-timesteps", "3000", "--evaluate-every", "50")


STEP = "qstep.deep.dqn.Dqn.step"
PLAIN_STEP = "qstep.deep.dqn_plain.PlainDqn.step"


def dqn(*arguments: str | Path) -> Result:
    return invoke("dqn", *arguments)


def test_json_summary_agrees_with_the_files(tmp_path: Path) -> None:
    largest = 2**64 - 1
    said = told("dqn cartpole", "--out", tmp_path, "--seed", largest, *SHORT)
    assert (said["world"], said["algorithm"], said["seed"]) == ("cartpole", "dqn", largest)
    assert (said["command"], said["engine"]) == ("dqn", "network")
    assert said["hint"].startswith("try a larger --total-timesteps")
    assert said["device"] == "cpu"
    assert said["solved"] is False
    history = json.loads(Path(said["files"]["history"]).read_text(encoding="utf-8"))
    assert len(history["episodes"]["return"]) == said["episodes"]
    found = history["evaluations"]
    best = max(found["greedy_score"])
    assert (said["last_score"], said["kept_at"]) == (
        found["greedy_score"][-1],
        max(
            at
            for at, score in zip(found["steps"], found["greedy_score"], strict=True)
            if score == best
        ),
    )
    assert len(found["steps"]) >= said["episodes"] // 50
    network = modules((4, *said["hidden"], 2), seed=0)
    network.load_state_dict(load_file(said["files"]["network"]))
    assert network(torch.zeros(1, 4)).shape == (1, 2)
    assert "from the first thousand" not in " ".join(_networks._in_words(said, Mock()))
    said["first_and_last"] = {"us_per_step": [3.0, 4.5], "peak_mib": [300, 310]}
    words = "last: 3.0 to 4.5 us of processor time per step, 300 to 310 MiB"
    assert words in " ".join(_networks._in_words(said, Mock()))


@pytest.mark.slow
def test_seeds_run_one_after_the_other_each_in_its_folder(tmp_path: Path) -> None:
    both = told("dqn cartpole", "--seeds", "2", "--out", tmp_path, *SHORT)
    assert [said["seed"] for said in both] == [0, 1]
    assert {path.name for path in tmp_path.iterdir()} == {"seed-0", "seed-1"}
    alone = told("dqn cartpole", "--seed", "1", "--out", tmp_path / "x", *SHORT)
    assert alone["greedy_score"] == both[1]["greedy_score"]
    words = dqn("cartpole", "--seeds", "2", "--out", tmp_path, "--overwrite", *SHORT)
    assert "2 seeds: mean score" in words.stdout
    assert "solved by 0 of 2" in words.stdout


@pytest.mark.parametrize(
    ("step", "seeds", "said"),
    [(60, "1", "stopped; nothing is kept\n"), (3001, "2", "stopped; finished: run/seed-0\n")],
)
def test_interrupted_run_that_cannot_be_resumed_says_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, seeds: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    after_pieces(monkeypatch, PLAIN_STEP, step, ctrl_c)
    result = dqn("cartpole", "--out", "run", "--code", "plain", "--seeds", seeds, *SHORT)
    assert result.exit_code == 130
    assert result.stderr.endswith(said)


def test_bar_counts_what_ends_the_run(tmp_path: Path) -> None:
    result = dqn("snake-features", "--out", tmp_path, "--total-timesteps", "600")
    assert result.exit_code == 0, result.output
    (line,) = (line for line in result.stderr.splitlines() if "snake" in line)
    assert re.match(r"snake-features .* \d+/600 ", line)
    result = dqn("cartpole", "--out", tmp_path / "other", "--episodes", "30")
    (line,) = (line for line in result.stderr.splitlines() if "cartpole" in line)
    assert re.match(r"cartpole .* \d+/30 ", line)


def test_plain_form_writes_the_same_files_but_no_checkpoint(tmp_path: Path) -> None:
    said = told("dqn cartpole --code plain --total-timesteps 1200 --out", tmp_path)
    assert said["algorithm"] == "dqn plain"
    assert {path.name for path in tmp_path.iterdir()} == FILES - {"checkpoint.npz"}
    history = json.loads((tmp_path / "history.json").read_text(encoding="utf-8"))
    evaluated = history["evaluations"]["episodes"][:-1]
    assert np.array_equal(evaluated, 10 * np.arange(1, len(evaluated) + 1))


@pytest.mark.slow
def test_unfinished_seeds_are_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    whole = told("dqn cartpole", "--seeds", "3", "--out", "whole", *SHORT)
    here = ("cartpole", *SHORT, "--seeds", "3", "--out", "run")
    with monkeypatch.context() as patch:
        after_pieces(patch, STEP, 100, ctrl_c)  # each seed takes 94 steps
        stopped = dqn(*here)
    command_line = shlex.join(["qstep", "dqn", *here, "--resume"])
    assert stopped.stderr.endswith(
        f"stopped after {6 * 32} steps; finished: run/seed-0; to resume, run: {command_line}\n"
    )
    taken = []
    with monkeypatch.context() as patch:
        step = Dqn.step
        patch.setattr(Dqn, "step", lambda learner: (taken.append(learner), step(learner))[1])
        resumed = told("dqn", *here, "--resume")
    assert len(taken) == 88 + 94  # for seeds 1 and 2; none for seed 0
    for first, second in zip(whole, resumed, strict=True):
        assert (first["seed"], first["greedy_score"]) == (second["seed"], second["greedy_score"])
        networks = [load_file(said["files"]["network"]) for said in (first, second)]
        assert all(torch.equal(networks[0][name], networks[1][name]) for name in networks[0])


def test_run_says_how_it_went_and_is_not_replaced_without_a_word(tmp_path: Path) -> None:
    result = dqn("cartpole", "--out", tmp_path, *SHORT)
    assert result.exit_code == 0
    assert "cartpole seed 0, dqn: 3008 steps" in result.stdout
    assert "greedy score of the best network, from step " in result.stdout
    assert "; not solved" in result.stdout
    plain = ("cartpole", "--code", "plain", "--out", tmp_path, *SHORT)
    assert isinstance(dqn(*plain).exception, RunFolderError)
    assert dqn(*plain, "--overwrite").exit_code == 0
    # The plain code has no checkpoint, and another run's checkpoint is removed.
    assert {path.name for path in tmp_path.iterdir()} == FILES - {"checkpoint.npz"}


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ("--code plain --resume", ConfigError,
         "--resume was given; a run of the plain code has no checkpoints"),
        ("--code plain --prioritised", ConfigError,
         "prioritised is true; it must be false with plain code"),
        ("--torch-device tpu", TorchDeviceError, "it has cpu"),
        ("--seeds 2 --resume --out none", CheckpointError,
         "none/seed-0/checkpoint.npz: there is no checkpoint to resume"),
        ("--seed 18446744073709551616", SystemExit, "18446744073709551616 is not in the range"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_refused(
    options: str, error: type[BaseException], text: str, own_folder: Path
) -> None:
    refused(f"dqn cartpole {options}", error, text)
    assert list(own_folder.iterdir()) == []
