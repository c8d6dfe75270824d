"""`qstep agents` shows that it learns, says how well, and refuses what it cannot do."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from qstep import extras
from qstep.cli.agents import command
from qstep.deep import torch_device
from qstep.errors import EnvironmentSpaceError, QStepError, ToolMissingError, TorchDeviceError

pytest.importorskip("torch")
pytestmark = pytest.mark.unit


def agents(*words: str) -> Result:
    return CliRunner().invoke(command, [*words, "--torch-device", "cpu"])


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
    told = json.loads(result.stdout)
    assert (told["env_id"], told["form"], told["torch_device"]) == ("gridworld-8x8", form, "cpu")
    assert (told["agents"], told["epsilon"], told["episode_cap"], told["seed"]) == (64, 0.3, 30, 4)
    assert told["updates"] == told["progress"][-1]["updates"] >= 20_000
    assert told["wins"] == sum(part["wins"] for part in told["progress"])
    assert told["wins"] <= told["episodes"]
    assert told["optimum"]["visited"] > 0


def test_a_map_from_a_file_is_walked(tmp_path: Path) -> None:
    board = tmp_path / "corridor.txt"
    board.write_text("S..G\n", encoding="utf-8")
    told = json.loads(agents(str(board), "--updates", "20000", "--json").stdout)
    assert told["optimum"]["optimal"] == told["optimum"]["visited"] == 3


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (("snake",), EnvironmentSpaceError, "snake is no grid world; agents walk on a board only"),
        (("nowhere",), EnvironmentSpaceError, "nowhere: no such environment"),
        (("--form", "graph"), TorchDeviceError, "needs the device 'cuda', not 'cpu'"),
    ],
)
def test_what_it_cannot_do_is_refused(
    words: tuple[str, ...], error: type[QStepError], message: str
) -> None:
    with pytest.raises(error, match=message):
        command.main([*words, "--torch-device", "cpu"], standalone_mode=False)


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
    with pytest.raises(ToolMissingError, match=r"torch is not installed: pip .*qstep\[torch\]'"):
        command.main([], standalone_mode=False)


def test_a_module_of_our_own_that_is_missing_is_no_missing_tool() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"qstep\.nothing"):
        extras.load("qstep.nothing", "torch")
