"""All training commands behave alike: files, JSON, resumption, rejected options and Ctrl-C."""

import json
import re
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tb.sw.command_line import after_pieces, ctrl_c, fails, invoke, ran, refused, told

from qstep.errors import CheckpointError, FileFormatError, LinkError, RunFolderError, SchedulerError

pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("own_folder")

TABLE = "checkpoint.npz history.json learning_curve.png policy.png report.json table.npz"
NETWORK = "checkpoint.npz history.json learning_curve.png network.safetensors report.json"


class Command(NamedTuple):
    """A training command, with what the tests need to know about it.

    Attributes
    ----------
    typed : str
        Arguments of a short run.
    out : str
        The default output folder.
    files : str
        The files that it writes.
    piece : str
        The function that computes a piece of the run.
    pieces : int
        Number of pieces after which the run is stopped, between its start and its end.
    reached : str
        Progress of the stopped run, in words.
    other, differs : str
        Options that define another run, and the message about a checkpoint without them.
    failure : Exception or None
        An error in a piece after which the run can be resumed.
    exact : bool
        Whether its checkpoint contains no times, and is therefore also reproduced byte for byte.
    """

    typed: str
    out: str
    files: str
    piece: str
    pieces: int
    reached: str
    other: str
    differs: str
    failure: Exception | None = None
    exact: bool = False


LOST = LinkError("the line is cut")
COMMANDS = {
    "device": Command(
        "train gridworld --steps 4000 --agents 3",
        "runs/gridworld", TABLE, "qstep.golden.agents_fast.FastActingModel.run",
        9, "896 steps per agent",
        "--alpha 0.25", "settings.alpha is 0.5 there and 0.25 here", LOST, True,
    ),
    "host": Command(
        "train gridworld --act host --episodes 80 --evaluate-every 20 --epsilon-share 0.2 "
        "--rounding stochastic",
        "runs/gridworld", TABLE, "qstep.device.model.ModelDevice.apply",
        12, "episode 29",
        "--gamma 0.5", "gamma is 0.9 there and 0.5 here", LOST, True,
    ),
    "dqn": Command(
        "dqn cartpole --total-timesteps 3000 --evaluate-every 50",
        "runs/dqn-cartpole", NETWORK, "qstep.deep.dqn.Dqn.step", 60, f"{60 * 32} steps",
        "--variant single", "variant is 'double' there and 'single' here",
    ),
    "pqn": Command(
        "pqn cartpole --total-timesteps 6000",
        "runs/pqn-cartpole", NETWORK, "qstep.deep.pqn.Pqn.step", 2, f"{2 * 64 * 32} steps",
        "--gamma 0.5", "gamma is 0.99 there and 0.5 here",
    ),
    "sac": Command(
        "sac Pendulum-v1 --total-timesteps 400 --learning-starts 100 --batch-size 16 --hidden 8",
        "runs/sac-Pendulum-v1", NETWORK, "qstep.deep.sac.Sac.step", 150, "150 steps",
        "--no-learn-temperature", "learn_temperature is True there and False here",
    ),
    "sweep": Command(
        "sweep gridworld --alpha 0.1,0.5 --gamma 0.9 --steps 500 --seeds 2 --jobs 1",
        "runs/sweep-gridworld",
        "checkpoint.npz heat_map.png history.json learning_curves.png report.json",
        "qstep.learn.sweep.Sweep._keep", 2, "2 of 4 agents",
        "--steps 501", "steps is 500 there and 501 here", SchedulerError("workers died"),
    ),
}  # fmt: skip
ALREADY = (
    "already contains a run; use --resume to continue it, --overwrite to replace it, or --out to "
    "choose another folder"
)

MEASURED = {"seconds", "processor_s", "learning_s", "peak_mib", "phases", "first_and_last"}
MEASURED |= {"steps_per_second", "updates_per_second", "files", "folder", "progress", "win_rate"}
"""Fields that differ between equal runs: times, folders, and figures since the last resumption."""


def learnt(tree: Any) -> Any:
    """Return a report without measured values."""
    if isinstance(tree, dict):
        return {name: learnt(part) for name, part in tree.items() if name not in MEASURED}
    return [learnt(part) for part in tree] if isinstance(tree, list) else tree


def outcome(report: Any) -> Any:
    """Return the learned part of a run's report, without the steps since a resumption."""
    return learnt({**report, "steps": None})


def contents(folder: Path, command: Command) -> dict[str, Any]:
    """Return a run's files: JSON without measured values, and the other files byte for byte."""
    return {
        path.name: outcome(json.loads(path.read_bytes()))
        if path.suffix == ".json"
        else path.read_bytes()
        for path in folder.iterdir()
        if command.exact or path.name != "checkpoint.npz"
    }


class Whole(NamedTuple):
    """A run that was never interrupted."""

    command: Command
    folder: Path
    words: str
    report: Any


@pytest.fixture(scope="module", params=COMMANDS)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    command = COMMANDS[request.param]
    place = tmp_path_factory.mktemp(request.param)
    result = ran(command.typed, "--out", place / "run", "--json", place / "said.json")
    return Whole(
        command, place / "run", result.stdout, json.loads((place / "said.json").read_bytes())
    )


def test_run_leaves_its_files_and_names_them(whole: Whole) -> None:
    assert {path.name for path in whole.folder.iterdir()} == set(whole.command.files.split())
    name = whole.command.typed.split()[0]
    assert f"  qstep {name} " in invoke(f"{name} --help").stdout  # help has an example
    named = whole.report.get("files", {"folder": whole.folder})
    assert all(Path(path).exists() for path in named.values())
    assert all(str(path) in whole.words for path in named.values())
    for path in whole.folder.glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")


def test_same_command_gives_the_same_files_and_replaces_only_on_request(whole: Whole) -> None:
    command, folder = whole.command, Path(whole.command.out)
    assert invoke(command.typed).exit_code == 0
    assert contents(folder, command) == contents(whole.folder, command)
    refused(command.typed, RunFolderError, ALREADY)
    another = f"belongs to another run: {re.escape(command.differs)}$"
    refused(f"{command.typed} --resume {command.other}", CheckpointError, another)
    assert outcome(told(f"{command.typed} --resume")) == outcome(whole.report)
    assert contents(folder, command) == contents(whole.folder, command)
    other = told(f"{command.typed} --overwrite {command.other}")
    assert outcome(other) != outcome(whole.report)


def test_interrupted_run_resumes_exactly(whole: Whole, monkeypatch: pytest.MonkeyPatch) -> None:
    command, folder = whole.command, Path(whole.command.out)
    with monkeypatch.context() as patch:
        after_pieces(patch, command.piece, command.pieces, ctrl_c)
        stopped = invoke(f"{command.typed} --overwrite")
    assert stopped.exit_code == 130
    resume = f"to resume, run: qstep {command.typed} --resume"
    assert stopped.stderr.splitlines()[-1] == f"stopped after {command.reached}; {resume}"
    (checkpoint,) = folder.iterdir()
    assert checkpoint.name == "checkpoint.npz"
    refused(command.typed, RunFolderError, ALREADY)
    kept = checkpoint.read_bytes()
    middle = len(kept) // 2
    checkpoint.write_bytes(kept[:middle] + bytes([kept[middle] ^ 1]) + kept[middle + 1 :])
    refused(f"{command.typed} --resume", CheckpointError, "damaged")
    checkpoint.write_bytes(kept)
    assert outcome(told(f"{command.typed} --resume")) == outcome(whole.report)
    assert contents(folder, command) == contents(whole.folder, command)


@pytest.mark.slow
def test_killed_run_resumes_exactly(whole: Whole, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock runs fast, so a checkpoint is saved at every opportunity."""
    command, clock = whole.command, time.monotonic
    with monkeypatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: 1e4 * clock())
        after_pieces(patch, command.piece, command.pieces, fails(MemoryError()))
        assert isinstance(invoke(command.typed).exception, MemoryError)
    assert [path.name for path in Path(command.out).iterdir()] == ["checkpoint.npz"]
    assert invoke(f"{command.typed} --resume").exit_code == 0
    assert contents(Path(command.out), command) == contents(whole.folder, command)


@pytest.mark.parametrize("name", [name for name in COMMANDS if COMMANDS[name].failure])
def test_failure_leaves_a_checkpoint(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command = COMMANDS[name]
    assert command.failure is not None
    after_pieces(monkeypatch, command.piece, command.pieces, fails(command.failure))
    stopped = invoke(command.typed)
    assert stopped.exception is command.failure
    assert f"stopped after {command.reached}; to resume, run: qstep" in stopped.stderr
    assert (Path(command.out) / "checkpoint.npz").exists()


@pytest.mark.parametrize("name", COMMANDS)
def test_start_that_fails_leaves_nothing(name: str) -> None:
    typed, out, *_ = COMMANDS[name]
    Path("file").touch()
    for options, error, text in (
        ("--resume", CheckpointError, f"{out}/checkpoint.npz: there is no checkpoint to resume"),
        ("--resume --overwrite", RunFolderError, "--resume continues a run and --overwrite"),
        ("--out file/run", FileFormatError, "file/run: cannot be created"),
    ):
        refused(f"{typed} {options}", error, text)
    assert [path.name for path in Path().iterdir()] == ["file"]
