"""`qstep agents` shows that it learns, says how well, and refuses what it cannot do."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("torch")

from qstep import cli, extras, torch_device
from qstep.baselines import torch_agents
from qstep.cli import _agents
from qstep.cli.agents import command
from qstep.errors import (
    CheckpointError,
    ConfigError,
    EnvironmentSpaceError,
    FileFormatError,
    QStepError,
    ToolMissingError,
    TorchDeviceError,
)

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def agents(*words: str) -> Result:
    return CliRunner().invoke(cli._qstep, ["agents", *words, "--torch-device", "cpu"])


def refused(*words: str) -> None:
    command.main([*words, "--torch-device", "cpu"], standalone_mode=False)


def test_it_shows_ten_times_how_it_learns_and_ends_with_value_iteration() -> None:
    result = agents("--updates", "200000")
    assert result.exit_code == 0, result.output
    lines = result.stderr.splitlines()
    assert [line for line in lines if "episodes won, start worth -4.7387" in line]
    assert sum("episodes won" in line for line in lines) == 10
    assert "gridworld, 512 agents on cpu, fast: 200,192 updates" in result.stdout
    assert "greedy action optimal in 8 of the 8 states" in result.stdout
    assert "value of the start -4.739, exact -4.739" in result.stdout


@pytest.mark.parametrize("form", ["plain", "fast"])
def test_json_says_what_was_done_and_what_came_of_it(form: str) -> None:
    words = ("gridworld-8x8", "--form", form, "--agents", "64", "--updates", "20000", "--json")
    result = agents(*words, "--epsilon", "0.3", "--episode-cap", "30", "--seed", "4")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert (said["env_id"], said["form"], said["torch_device"]) == ("gridworld-8x8", form, "cpu")
    assert (said["agents"], said["epsilon"], said["episode_cap"], said["seed"]) == (64, 0.3, 30, 4)
    assert said["updates"] == said["progress"][-1]["updates"] >= 20_000
    assert said["wins"] == sum(part["wins"] for part in said["progress"])
    assert said["wins"] <= said["episodes"]
    assert said["optimum"]["visited"] > 0


def test_a_map_from_a_file_is_walked(tmp_path: Path) -> None:
    board = tmp_path / "corridor.txt"
    board.write_text("S..G\n", encoding="utf-8")
    found = told(str(board), "--updates", "20000")["optimum"]
    assert found["optimal"] == found["visited"] == 3


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (("snake",), EnvironmentSpaceError, "snake is not a grid world; these agents need a map"),
        (("nowhere",), EnvironmentSpaceError, "nowhere: no such environment"),
        (("--form", "graph"), TorchDeviceError, "needs the device 'cuda', not 'cpu'"),
        (("--form", "plain", "--resume"), ConfigError, "the plain form keeps no checkpoint"),
        (("--resume",), CheckpointError, r"agents-gridworld/checkpoint\.npz: cannot be read"),
        (("--out", "file/runs"), FileFormatError, "file/runs: cannot be made"),
    ],
)
def test_what_it_cannot_do_is_refused(
    words: tuple[str, ...], error: type[QStepError], message: str
) -> None:
    Path("file").touch()
    with pytest.raises(error, match=message):
        refused(*words)


def told(*words: str) -> dict[str, Any]:
    """Return the summary of a run, without what differs from run to run."""
    result = agents(*words, "--json")
    assert result.exit_code == 0, result.output
    report: dict[str, Any] = json.loads(result.stdout)
    for name in ("seconds", "updates_per_second", "folder", "progress"):
        del report[name]
    return report


def test_a_run_that_goes_on_ends_as_if_it_had_not_stopped() -> None:
    whole = told("--updates", "100000", "--out", "whole")
    half = told("--updates", "50000", "--out", "half")
    assert half["updates"] < whole["updates"]
    rest = told("--updates", "100000", "--out", "half", "--resume")
    # The last report covers another number of steps.
    assert {**rest, "win_rate": 0} == {**whole, "win_rate": 0}
    assert told("--updates", "100000", "--out", "half", "--resume")["updates"] == rest["updates"]


def test_a_checkpoint_of_another_run_is_refused_with_what_differs() -> None:
    agents("--updates", "5000")
    with pytest.raises(CheckpointError, match=r"another run: alpha is 0\.5 in it and 0\.25 here$"):
        refused("--resume", "--alpha", "0.25")


def test_a_checkpoint_of_another_device_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # Generators of other devices draw other numbers.
    agents("--updates", "5000")
    monkeypatch.setattr(torch_device, "present", lambda: ["mps", "cpu"])
    with pytest.raises(CheckpointError, match="device is 'cpu' in it and 'mps' here"):
        command.main(["--resume", "--torch-device", "mps"], standalone_mode=False)


def test_an_altered_checkpoint_is_refused() -> None:
    agents("--updates", "5000")
    file = Path("runs/agents-gridworld/checkpoint.npz")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(CheckpointError, match="damaged"):
        refused("--resume")


def test_a_checkpoint_that_says_nothing_of_progress_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agents("--updates", "5000")
    load = _agents.load_checkpoint

    def without(*given: Any) -> Any:
        checkpoint = load(*given)
        checkpoint.head["told"] = []
        return checkpoint

    monkeypatch.setattr(_agents, "load_checkpoint", without)
    with pytest.raises(CheckpointError, match="does not say how far the run got"):
        refused("--updates", "5000", "--resume")


def test_an_interrupted_run_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0

    def interrupt(walkers: torch_agents.Agents, steps: int) -> None:
        nonlocal count
        count += 1
        if count == 4:
            raise KeyboardInterrupt
        walk(walkers, steps)

    walk = torch_agents.Agents.walk
    monkeypatch.setattr(torch_agents.Agents, "walk", interrupt)
    result = agents("--updates", "100000")
    assert result.exit_code == 130
    command_line = "qstep agents --updates 100000 --torch-device cpu --resume"
    assert result.stderr.endswith(f"stopped after 30720 updates; to resume, run: {command_line}\n")
    monkeypatch.setattr(torch_agents.Agents, "walk", walk)
    rest = told("--updates", "100000", "--out", str(Path("runs/agents-gridworld")), "--resume")
    assert rest == told("--updates", "100000", "--out", "whole")


@pytest.mark.parametrize(
    ("save", "said"),
    [
        (1, "stopped; nothing is kept\n"),
        (2, "stopped after 10240 updates; to resume, run: qstep agents --updates 100000 "),
    ],
)
def test_a_run_interrupted_in_a_save_goes_on_from_the_save_before(
    save: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 0

    def interrupt(*given: Any) -> None:
        nonlocal count
        count += 1
        if count == save:
            raise KeyboardInterrupt
        save_checkpoint(*given)

    save_checkpoint = _agents.save_checkpoint
    monkeypatch.setattr(_agents, "save_checkpoint", interrupt)
    result = agents("--updates", "100000")
    assert result.exit_code == 130
    assert said in result.stderr
    assert Path("runs/agents-gridworld/checkpoint.npz").exists() == (save > 1)
    if save > 1:
        rest = told("--updates", "100000", "--out", str(Path("runs/agents-gridworld")), "--resume")
        assert rest == told("--updates", "100000", "--out", "whole")


def test_an_absent_device_is_named_with_those_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_device, "present", lambda: ["cpu"])
    with pytest.raises(TorchDeviceError, match="no device 'mps' on this machine; it has cpu"):
        command.main(["--torch-device", "mps"], standalone_mode=False)


@pytest.mark.parametrize(
    ("option", "value"),
    [("--agents", "0"), ("--updates", "0"), ("--episode-cap", "0"), ("--gamma", "1")],
)
def test_values_out_of_range_are_refused(option: str, value: str) -> None:
    result = agents(option, value)
    assert result.exit_code == 2
    assert f"'{option}'" in result.stderr
    assert "is not in the range" in result.stderr


def test_without_pytorch_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "qstep.baselines.torch_batched", raising=False)
    with pytest.raises(ToolMissingError, match=r"torch is not installed; run.*\[torch\]'"):
        command.main([], standalone_mode=False)


def test_a_module_of_our_own_that_is_missing_is_no_missing_tool() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"qstep\.nothing"):
        extras.load("qstep.nothing", "torch")
