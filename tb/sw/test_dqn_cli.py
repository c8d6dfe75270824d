"""`qstep dqn` end to end: files, summary, interruption, errors."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result
from safetensors.torch import load_file

from qstep import cli
from qstep.cli import _networks
from qstep.deep.dqn import Dqn
from qstep.deep.dqn_plain import PlainDqn
from qstep.deep.network import modules
from qstep.errors import CheckpointError, ConfigError, QStepError, RunFolderError, TorchDeviceError

pytestmark = pytest.mark.unit

FILES = {"network.safetensors", "history.json", "learning_curve.png", "checkpoint.npz"}
SHORT = ("--total-timesteps", "3000", "--evaluate-every", "50")


def dqn(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli._qstep, ["dqn", *map(str, arguments)])


def report(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def interrupt_at(monkeypatch: pytest.MonkeyPatch, kind: type[Dqn | PlainDqn], steps: int) -> None:
    """Press Ctrl-C within a step, counted from 1: learnt by the learner, not yet recorded by the run."""
    step = kind.step
    count = 0

    def interrupted(learner: Any) -> Any:
        nonlocal count
        count += 1
        ended = step(learner)
        if count == steps:
            os.kill(os.getpid(), signal.SIGINT)
        return ended

    monkeypatch.setattr(kind, "step", interrupted)


def test_run_writes_its_files_and_says_how_it_went(tmp_path: Path) -> None:
    result = dqn("cartpole", "--out", tmp_path / "run", *SHORT)
    assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "run").iterdir()} == FILES
    assert "cartpole seed 0, fast: 3008 steps" in result.stdout
    assert "greedy score of the last network: mean" in result.stdout
    assert "; not solved" in result.stdout
    assert (tmp_path / "run" / "learning_curve.png").read_bytes().startswith(b"\x89PNG")


def test_json_summary_agrees_with_the_files(tmp_path: Path) -> None:
    said = report(dqn("cartpole", "--out", tmp_path, "--json", "--seed", "3", *SHORT))
    assert (said["environment"], said["form"], said["seed"]) == ("cartpole", "fast", 3)
    assert said["device"] == "cpu"
    assert said["solved"] is False
    history = json.loads(Path(said["files"]["history"]).read_text(encoding="utf-8"))
    assert len(history["returns"]) == said["episodes_played"]
    assert history["evaluations"][-1] == said["score"]
    assert len(history["evaluations"]) >= said["episodes_played"] // 50
    network = modules((4, *said["hidden"], 2), seed=0)
    network.load_state_dict(load_file(said["files"]["network"]))
    assert network(torch.zeros(1, 4)).shape == (1, 2)
    assert "from the first thousand" not in _networks._in_words(said)
    said["first_and_last"] = {"us_per_step": [3.0, 4.5], "peak_mib": [300, 310]}
    assert "last: 3.0 to 4.5 us of processor time a step, 300 to 310 MiB" in _networks._in_words(
        said
    )


def test_largest_seed_is_the_one_that_is_reported(tmp_path: Path) -> None:
    largest = str(2**64 - 1)
    said = report(dqn("cartpole", "--out", tmp_path / "a", "--json", "--seed", largest, *SHORT))
    assert said["seed"] == 2**64 - 1
    refused = dqn("cartpole", "--out", tmp_path / "b", "--seed", str(2**64), *SHORT)
    assert refused.exit_code == 2
    assert "18446744073709551616 is not in the range" in refused.stderr


def test_seeds_run_one_after_the_other_each_in_its_folder(tmp_path: Path) -> None:
    both = report(dqn("cartpole", "--seeds", "2", "--out", tmp_path, "--json", *SHORT))
    assert [said["seed"] for said in both] == [0, 1]
    assert {path.name for path in tmp_path.iterdir()} == {"seed-0", "seed-1"}
    alone = report(dqn("cartpole", "--seed", "1", "--out", tmp_path / "x", "--json", *SHORT))
    assert alone["score"]["mean"] == both[1]["score"]["mean"]
    words = dqn("cartpole", "--seeds", "2", "--out", tmp_path, "--overwrite", *SHORT)
    assert "2 seeds: mean score" in words.stdout
    assert "solved by 0 of 2" in words.stdout


def test_run_is_saved_where_it_is_interrupted_and_resumed_to_the_same_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = report(dqn("cartpole", "--out", tmp_path / "whole", "--json", *SHORT))
    here = ("cartpole", *SHORT, "--out", str(tmp_path / "run"))
    with monkeypatch.context() as patch:
        interrupt_at(patch, Dqn, 60)
        stopped = dqn(*here)
    command_line = shlex.join(["qstep", "dqn", *here, "--resume"])
    assert stopped.exit_code == 130
    assert stopped.stderr.endswith(
        f"stopped after {60 * 32} steps; to resume, run: {command_line}\n"
    )
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"checkpoint.npz"}
    resumed = report(dqn(*here, "--resume", "--json"))
    first, second = (load_file(said["files"]["network"]) for said in (whole, resumed))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert resumed["score"]["mean"] == whole["score"]["mean"]
    assert resumed["updates"] == whole["updates"]


@pytest.mark.parametrize(
    ("kind", "step", "arguments", "said"),
    [
        (PlainDqn, 60, ("--form", "plain"), "stopped; nothing is kept\n"),
        (PlainDqn, 3001, ("--form", "plain", "--seeds", "2"), "stopped; finished: run/seed-0\n"),
    ],
)
def test_interrupted_run_that_cannot_be_resumed_says_what_is_there(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: Any,
    step: int,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    interrupt_at(monkeypatch, kind, step)
    result = dqn("cartpole", "--out", "run", *arguments, *SHORT)
    assert result.exit_code == 130
    assert result.stderr.endswith(said)


def test_bar_counts_what_ends_the_run(tmp_path: Path) -> None:
    result = dqn("snake-features", "--out", tmp_path, "--total-timesteps", "600")
    assert result.exit_code == 0, result.output
    (line,) = (line for line in result.stderr.splitlines() if "seed 0" in line)
    assert re.match(r"snake-features seed 0, steps .* \d+/600 ", line)
    result = dqn("cartpole", "--out", tmp_path / "other", "--episodes", "30")
    (line,) = (line for line in result.stderr.splitlines() if "seed 0" in line)
    assert re.match(r"cartpole seed 0, episodes .* \d+/30 ", line)


def test_finished_run_can_be_resumed_and_stays_as_it_was(tmp_path: Path) -> None:
    first = report(dqn("cartpole", "--out", tmp_path, "--json", *SHORT))
    again = report(dqn("cartpole", "--out", tmp_path, "--resume", "--json", *SHORT))
    assert again["score"] == first["score"]
    assert again["updates"] == first["updates"]


def test_plain_form_writes_the_same_files_but_no_checkpoint(tmp_path: Path) -> None:
    said = report(
        dqn("cartpole", "--form", "plain", "--total-timesteps", "1200", "--out", tmp_path, "--json")
    )
    assert said["form"] == "plain"
    assert {path.name for path in tmp_path.iterdir()} == FILES - {"checkpoint.npz"}
    history = json.loads((tmp_path / "history.json").read_text(encoding="utf-8"))
    evaluated = [score["episodes"] for score in history["evaluations"][:-1]]
    assert np.array_equal(evaluated, 10 * np.arange(1, len(evaluated) + 1))


def test_seeds_are_resumed_and_those_that_are_finished_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    whole = report(dqn("cartpole", "--seeds", "3", "--out", "whole", "--json", *SHORT))
    here = ("cartpole", *SHORT, "--seeds", "3", "--out", "run")
    with monkeypatch.context() as patch:
        interrupt_at(patch, Dqn, 100)  # 94 steps a seed
        stopped = dqn(*here)
    command_line = shlex.join(["qstep", "dqn", *here, "--resume"])
    assert stopped.stderr.endswith(
        f"stopped after {6 * 32} steps; finished: run/seed-0; to resume, run: {command_line}\n"
    )
    taken = []
    with monkeypatch.context() as patch:
        step = Dqn.step
        patch.setattr(Dqn, "step", lambda learner: (taken.append(learner), step(learner))[1])
        resumed = report(dqn(*here, "--resume", "--json"))
    assert len(taken) == 88 + 94  # of seeds 1 and 2; none of seed 0
    for first, second in zip(whole, resumed, strict=True):
        assert (first["seed"], first["score"]["mean"]) == (second["seed"], second["score"]["mean"])
        networks = [load_file(said["files"]["network"]) for said in (first, second)]
        assert all(torch.equal(networks[0][name], networks[1][name]) for name in networks[0])


def test_resume_of_seeds_that_have_not_begun_is_refused(tmp_path: Path) -> None:
    error = raised("cartpole", "--seeds", "2", "--resume", "--out", tmp_path / "none", *SHORT)
    assert isinstance(error, CheckpointError)
    assert f"{tmp_path / 'none' / 'seed-0' / 'checkpoint.npz'}: cannot be read: " in str(error)


def test_resume_of_what_has_no_checkpoint_is_refused() -> None:
    result = dqn("cartpole", "--form", "plain", "--resume")
    assert result.exit_code == 2
    assert "--resume needs the fast form" in result.stderr


def raised(*arguments: str | Path) -> QStepError:
    error = dqn(*arguments).exception
    assert isinstance(error, QStepError)
    return error


def test_resume_of_another_run_is_refused(tmp_path: Path) -> None:
    assert dqn("cartpole", "--out", tmp_path, *SHORT).exit_code == 0
    error = raised("cartpole", "--out", tmp_path, "--resume", "--variant", "single", *SHORT)
    assert isinstance(error, CheckpointError)
    assert "variant is 'double' in it and 'single' here" in str(error)


def test_run_is_not_replaced_without_a_word(tmp_path: Path) -> None:
    assert dqn("cartpole", "--out", tmp_path, *SHORT).exit_code == 0
    plain = ("cartpole", "--form", "plain", "--out", tmp_path, *SHORT)
    assert isinstance(dqn(*plain).exception, RunFolderError)
    assert dqn(*plain, "--overwrite").exit_code == 0
    # The plain form has no checkpoint, and that of another run is not among its results.
    assert {path.name for path in tmp_path.iterdir()} == FILES - {"checkpoint.npz"}


def test_resume_without_a_checkpoint_is_refused(tmp_path: Path) -> None:
    error = raised("cartpole", "--out", tmp_path / "none", "--resume")
    assert isinstance(error, CheckpointError)
    assert f"{tmp_path / 'none' / 'checkpoint.npz'}: cannot be read: " in str(error)
    assert not (tmp_path / "none").exists()


def test_absent_device_is_refused_and_those_that_exist_are_named(tmp_path: Path) -> None:
    error = raised("cartpole", "--torch-device", "tpu", "--out", tmp_path)
    assert isinstance(error, TorchDeviceError)
    assert "it has" in str(error)
    assert "cpu" in str(error)


def test_plain_form_with_priorities_is_refused(tmp_path: Path) -> None:
    error = raised("cartpole", "--form", "plain", "--prioritised", "--out", tmp_path)
    assert isinstance(error, ConfigError)
    assert str(error) == "prioritised replay is for the fast form; the plain one has none"
