"""`qstep agents` shows that it learns, says how well, and refuses what it cannot do."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tb.sw.command_line import invoke, refused, told

pytest.importorskip("torch")

from qstep._io import extras
from qstep._io.checkpoint import load_checkpoint, save_checkpoint
from qstep.deep import torch_device
from qstep.errors import (
    CheckpointError,
    ConfigError,
    EnvironmentSpaceError,
    ToolMissingError,
    TorchDeviceError,
)
from qstep_bench.cli import _agents

pytestmark = pytest.mark.usefixtures("own_folder")

LONG = "--updates 100000 --out"
FOLDER = Path("runs/agents-gridworld")


def agents(words: str) -> Result:
    return invoke(f"agents --torch-device cpu {words}")


def learnt(words: str) -> dict[str, Any]:
    """Return the summary of a run, without what differs from run to run."""
    report: dict[str, Any] = told(f"agents --torch-device cpu {words}")
    for name in ("seconds", "updates_per_second", "folder", "progress"):
        del report[name]
    return report


def test_it_shows_ten_times_how_it_learns_and_ends_with_value_iteration() -> None:
    result = agents("--updates 200000")
    assert result.exit_code == 0, result.output
    lines = result.stderr.splitlines()
    assert [line for line in lines if "episodes won, start worth -4.7387" in line]
    assert sum("episodes won" in line for line in lines) == 10
    assert "gridworld, 512 agents on cpu, fast: 200,192 updates" in result.stdout
    assert "greedy action optimal in 8 of the 8 states" in result.stdout
    assert "value of the start -4.739, exact -4.739" in result.stdout


@pytest.mark.parametrize("form", ["plain", "fast"])
def test_json_says_what_was_done_and_what_came_of_it(form: str) -> None:
    said = told(
        f"agents gridworld-8x8 --form {form} --torch-device cpu --agents 64 --updates 20000 "
        "--epsilon 0.3 --episode-cap 30 --seed 4"
    )
    assert (said["env_id"], said["form"], said["torch_device"]) == ("gridworld-8x8", form, "cpu")
    assert (said["agents"], said["epsilon"], said["episode_cap"], said["seed"]) == (64, 0.3, 30, 4)
    assert said["updates"] == said["progress"][-1]["updates"] >= 20_000
    assert said["wins"] == sum(part["wins"] for part in said["progress"])
    assert said["wins"] <= said["episodes"]
    assert said["optimum"]["visited"] > 0


def test_a_map_from_a_file_is_walked() -> None:
    Path("corridor.txt").write_text("S..G\n", encoding="utf-8")
    found = learnt("corridor.txt --updates 20000")["optimum"]
    assert found["optimal"] == found["visited"] == 3


def test_a_run_that_goes_on_for_longer_ends_as_if_it_had_not_stopped() -> None:
    whole, half = learnt(f"{LONG} whole"), learnt("--updates 50000 --out half")
    assert half["updates"] < whole["updates"]
    # The last report covers another number of steps.
    assert {**learnt(f"{LONG} half --resume"), "win_rate": 0} == {**whole, "win_rate": 0}


@pytest.mark.parametrize(
    ("save", "said"),
    [
        (1, "stopped; nothing is kept\n"),
        (2, "stopped after 10240 updates; to resume, run: qstep agents --torch-device cpu "),
    ],
)
def test_a_run_interrupted_in_a_save_goes_on_from_the_save_before(
    save: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = iter(range(1, 99))
    keep = save_checkpoint

    def interrupt(*given: Any) -> None:
        if next(saved) == save:
            raise KeyboardInterrupt
        keep(*given)

    monkeypatch.setattr(_agents, "save_checkpoint", interrupt)
    result = agents(f"{LONG} {FOLDER}")
    assert result.exit_code == 130
    assert said in result.stderr
    assert (FOLDER / "checkpoint.npz").exists() == (save > 1)
    if save > 1:
        assert learnt(f"{LONG} {FOLDER} --resume") == learnt(f"{LONG} whole")


def another_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its generators draw other numbers."""
    monkeypatch.setattr(torch_device, "present", lambda: ["mps", "cpu"])


def without_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    load = load_checkpoint

    def without(*given: Any) -> Any:
        checkpoint = load(*given)
        checkpoint.head["told"] = []
        return checkpoint

    monkeypatch.setattr(_agents, "load_checkpoint", without)


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
        ("--form graph", TorchDeviceError, "needs the device 'cuda', not 'cpu'", None),
        ("--form plain --resume", ConfigError, "the plain form keeps no checkpoint", None),
        ("--torch-device mps", TorchDeviceError,
         "no device 'mps' on this machine; it has cpu", only_cpu),
        ("--resume --torch-device mps", CheckpointError,
         "device is 'cpu' in it and 'mps' here", another_device),
        ("--updates 5000 --resume", CheckpointError,
         "does not say how far the run got", without_progress),
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
    if "--resume" in words:
        assert agents("--updates 5000").exit_code == 0
    if first is not None:
        first(monkeypatch)
    refused(f"agents --torch-device cpu {words}", error, text)


def test_a_module_of_our_own_that_is_missing_is_no_missing_tool() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"qstep\.nothing"):
        extras.load("qstep.nothing", "torch")
