"""`qstep agents` shows its progress, reports how well it learned, and rejects invalid options."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tb.sw.command_line import invoke, refused, told

pytest.importorskip("torch")

from qstep._io import extras
from qstep.deep import torch_device
from qstep.errors import (
    EnvironmentSpaceError,
    FileFormatError,
    ToolMissingError,
    TorchDeviceError,
)

pytestmark = pytest.mark.usefixtures("own_folder")


def agents(words: str) -> Result:
    return invoke(f"agents --torch-device cpu {words}")


def learnt(words: str) -> dict[str, Any]:
    """Return the summary of a run, without the fields that differ from run to run."""
    report: dict[str, Any] = told(f"agents --torch-device cpu {words}")
    for name in ("seconds", "updates_per_second", "progress"):
        del report[name]
    return report


def test_it_shows_ten_times_how_it_learns_and_ends_with_value_iteration() -> None:
    result = agents("--updates 200000")
    assert result.exit_code == 0, result.output
    lines = result.stderr.splitlines()
    assert [line for line in lines if "episodes won, start value -4.7387" in line]
    assert sum("episodes won" in line for line in lines) == 10
    assert "gridworld, 512 agents on cpu, fast: 200,192 updates" in result.stdout
    assert "greedy action optimal in 8 of the 8 states" in result.stdout
    assert "value of the start -4.739, exact -4.739" in result.stdout


@pytest.mark.parametrize("code", ["plain", "fast"])
def test_json_says_what_was_done_and_what_came_of_it(code: str) -> None:
    said = told(
        f"agents gridworld-8x8 --code {code} --torch-device cpu --agents 64 --updates 20000 "
        "--epsilon 0.3 --episode-cap 30 --seed 4"
    )
    assert (said["env_id"], said["code"], said["torch_device"]) == ("gridworld-8x8", code, "cpu")
    assert (said["agents"], said["epsilon"], said["episode_cap"], said["seed"]) == (64, 0.3, 30, 4)
    assert said["updates"] == said["progress"][-1]["updates"] >= 20_000
    assert said["wins"] == sum(part["wins"] for part in said["progress"])
    assert said["wins"] <= said["episodes"]
    assert said["optimum"]["visited"] > 0


def test_a_map_from_a_file_is_walked() -> None:
    Path("corridor.txt").write_text("S..G\n", encoding="utf-8")
    found = learnt("corridor.txt --updates 20000")["optimum"]
    assert found["optimal"] == found["visited"] == 3


def test_the_greedy_policy_is_drawn() -> None:
    assert agents("--updates 2000 --plot pictures/policy.png").exit_code == 0
    assert Path("pictures/policy.png").read_bytes().startswith(b"\x89PNG")


def without_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "qstep_bench.baselines.torch_batched", raising=False)


def only_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_device, "present", lambda: ["cpu"])


@pytest.mark.parametrize(
    ("words", "error", "text", "first"),
    [
        ("snake", EnvironmentSpaceError, "snake is not a grid world; these agents need a map", None),
        ("nowhere", EnvironmentSpaceError, "nowhere: no such environment", None),
        ("--code graph", TorchDeviceError, "needs the device 'cuda', not 'cpu'", None),
        ("--plot policy.txt", FileFormatError, "'.txt' is not a picture format", None),
        ("--torch-device mps", TorchDeviceError,
         "no device 'mps' on this machine; it has cpu", only_cpu),
        ("", ToolMissingError, r"torch is not installed; run.*\[torch\]'", without_pytorch),
        ("--agents 0", SystemExit, "'--agents': 0 is not in the range", None),
        ("--updates 0", SystemExit, "'--updates': 0 is not in the range", None),
        ("--episode-cap 0", SystemExit, "'--episode-cap': 0 is not in the range", None),
        ("--gamma 1", SystemExit, "'--gamma': 1.0 is not in the range", None),
    ],
)  # fmt: skip
def test_what_it_cannot_do_is_refused(
    words: str,
    error: type[BaseException],
    text: str,
    first: Callable[[pytest.MonkeyPatch], None] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if first is not None:
        first(monkeypatch)
    refused(f"agents --torch-device cpu {words}", error, text)


def test_a_module_of_our_own_that_is_missing_is_no_missing_tool() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"qstep\.nothing"):
        extras.load("qstep.nothing", "torch")
