"""Metrics of every kind of run are written to a table and for TensorBoard, and read back."""

import csv
import errno
import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tb.sw.command_line import invoke, ran
from tb.sw.command_line import told as report_of
from tb.sw.test_import_rules import loaded_by
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util.tensor_util import make_ndarray

import qstep
from qstep.errors import FileFormatError, ToolMissingError
from qstep.learn.agents_result import Point
from qstep.learn.metrics import CsvMetrics, write_metrics

Told = dict[str, list[tuple[int, float]]]


def read(path: Path) -> Told:
    told: Told = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            told.setdefault(row["name"], []).append(
                (int(row["step"]), float(row["value"] or "nan"))
            )
    return told


def read_events(folder: Path) -> Told:
    events = EventAccumulator(str(folder)).Reload()
    return {
        tag: [
            (event.step, float(make_ndarray(event.tensor_proto))) for event in events.Tensors(tag)
        ]
        for tag in events.Tags()["tensors"]
    }


def write(target: Path, after: int | None = None) -> None:
    with write_metrics(target, after) as metrics:
        assert metrics is not None
        metrics(1, {"a": 0.1, "b": math.nan})
        metrics(1 << 40, {"a": -2.5})


def test_table_holds_every_number_exactly(tmp_path: Path) -> None:
    path = tmp_path / "new" / "run.csv"
    write(path)
    assert path.read_text(encoding="utf-8").splitlines() == [
        "step,name,value",
        "1,a,0.1",
        "1,b,",
        "1099511627776,a,-2.5",
    ]
    write(path)
    assert read(path)["a"] == [(1, 0.1), (1 << 40, -2.5)]


@pytest.mark.parametrize("there", [True, False])
def test_table_that_a_killed_run_left_empty_or_that_is_gone_begins_anew(
    there: bool, tmp_path: Path
) -> None:
    path = tmp_path / "run.csv"
    if there:
        path.touch()
    write(path, after=7)
    assert read(path)["a"] == [(1, 0.1), (1 << 40, -2.5)]


@pytest.mark.parametrize(("after", "kept"), [(0, 0), (5, 2), (6, 3), (8, 4), (9, 5), (1 << 40, 5)])
def test_table_goes_on_after_the_checkpoint(after: int, kept: int, tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    rows = ["1,a,0.5", "5,a,", "6,a,2.5", "7,a,3.0", "9,a,4.0"]
    path.write_text("\n".join(["step,name,value", *rows, "10,a"]), encoding="utf-8")
    with write_metrics(path, after) as metrics:
        assert metrics is not None
        metrics(after + 1, {"a": 1.0})
    expected = ["step,name,value", *rows[:kept], f"{after + 1},a,1.0"]
    assert path.read_text(encoding="utf-8").splitlines() == expected


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("time,loss\n1,2\n", r"run\.csv: is not a table of metrics: it begins with 'time,loss'"),
        ("step,name,value\n1,a,2.0\nx,a,2.0\n", r"run\.csv: line 3 does not begin with a step"),
    ],
)
def test_file_that_holds_no_metrics_is_not_continued(text: str, match: str, tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match=match):
        write(path, after=5)
    assert path.read_text(encoding="utf-8") == text


def test_tensorboard_reads_every_number_but_nan(tmp_path: Path) -> None:
    write(tmp_path)
    assert read_events(tmp_path) == {"a": [(1, pytest.approx(0.1)), (1 << 40, -2.5)]}


def test_agents_without_an_episode_or_a_value_tell_only_that() -> None:
    assert Point(64, (0,), (math.nan,), ()).metrics == {"episodes": 0.0}


def test_nothing_is_written_without_a_target() -> None:
    with write_metrics(None) as metrics:
        assert metrics is None


def test_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for target in ("file/run.csv", "file/events"):
        with pytest.raises(FileFormatError, match=r"file.*: metrics cannot be written: "):
            write(tmp_path / target)


def test_missing_tensorboard_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard.summary", None)
    with pytest.raises(
        ToolMissingError, match=r"tensorboard.* is not installed; run.*\[tensorboard\]'"
    ):
        write(tmp_path / "events")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["dqn", "pqn"])
def test_networks_tell_what_their_history_holds(command: str, tmp_path: Path) -> None:
    words = f"{command} cartpole --total-timesteps 2048 --evaluate-every 60 --metrics"
    said = report_of(words, tmp_path / "m.csv", "--out", tmp_path / "run")
    told = read(tmp_path / "m.csv")
    assert said["algorithm"] == command
    history = json.loads((tmp_path / "run" / "history.json").read_text(encoding="utf-8"))
    found, episodes = history["evaluations"], history["episodes"]
    for name in ("greedy_score", "greedy_return", "greedy_length"):
        assert told[name] == list(zip(found["steps"], found[name], strict=True))
    steps = sorted(set(episodes["steps"]))
    assert [step for step, _ in told["episode_return"]] == steps
    each = zip(episodes["steps"], episodes["return"], strict=True)
    first = [total for step, total in each if step == steps[0]]
    assert told["episode_return"][0][1] == sum(first) / len(first)
    assert told["episodes"][-1][1] == said["episodes"]
    assert told["epsilon"][-1][1] == 0.05
    assert told["learning_rate"][-1][1] < 1e-3


@pytest.mark.slow
def test_seeds_have_metrics_of_their_own(tmp_path: Path) -> None:
    words = "cartpole --total-timesteps 512 --seeds 2 --learning-starts 500 --out"
    ran(f"dqn {words}", tmp_path / "a", "--metrics", tmp_path / "m.csv")
    assert {path.name for path in tmp_path.glob("*.csv")} == {"m-seed-0.csv", "m-seed-1.csv"}
    ran(f"dqn {words}", tmp_path / "b", "--metrics", tmp_path / "events")
    for number in (0, 1):
        in_table = read(tmp_path / f"m-seed-{number}.csv")
        assert read_events(tmp_path / "events" / f"seed-{number}").keys() == in_table.keys()


def test_host_tells_every_episode_and_evaluation_and_goes_on_where_it_was(tmp_path: Path) -> None:
    words = "gridworld --act host --evaluate-every 10 --out"
    where = (tmp_path / "run", "--metrics", tmp_path / "m.csv")
    report = report_of(f"train {words}", *where, "--episodes", "25")
    told = read(tmp_path / "m.csv")
    assert len(told["episode_return"]) == len(told["epsilon"]) == 25
    lengths = [length for _, length in told["episode_length"]]
    assert [step for step, _ in told["episode_return"]] == [
        sum(lengths[: k + 1]) for k in range(25)
    ]
    assert told["episode_return"][-1][0] == report["steps"]
    assert told["greedy_return"][-1] == (report["steps"], report["greedy_return"])
    assert len(told["greedy_success"]) == 3
    again = ("--resume", "--episodes", "40", "--epsilon-episodes", "25")
    ran(f"train {words}", *where, *again)
    assert len(read(tmp_path / "m.csv")["episode_return"]) == 40


def test_agents_tell_every_look(tmp_path: Path) -> None:
    words = "gridworld --agents 3 --steps 2000 --out"
    ran(f"train {words}", tmp_path / "run", "--metrics", tmp_path / "m.csv")
    told = read(tmp_path / "m.csv")
    history = json.loads((tmp_path / "run" / "history.json").read_text(encoding="utf-8"))
    found = history["evaluations"]
    values = [sorted(row)[1] for row in found["greedy_value"]]
    assert told["greedy_value"] == list(zip(found["steps"], values, strict=True))
    assert told["greedy_value_low"][-1][1] == min(found["greedy_value"][-1])
    assert told["episodes"][-1][1] == min(found["episodes"][-1])


def test_function_tells_what_the_command_does(tmp_path: Path) -> None:
    told: list[tuple[int, Mapping[str, float]]] = []
    qstep.train(
        "gridworld", agents=3, steps=2000, metrics=lambda step, values: told.append((step, values))
    )
    where = (tmp_path / "run", "--metrics", tmp_path / "m.csv")
    ran("train gridworld --agents 3 --steps 2000 --out", *where)
    wanted = read(tmp_path / "m.csv")
    assert [(step, values["episodes"]) for step, values in told] == wanted["episodes"]


def test_refused_run_leaves_the_metrics_that_are_there(tmp_path: Path) -> None:
    words = "gridworld --agents 2 --steps 200 --out"
    where = (tmp_path / "run", "--metrics", tmp_path / "m.csv")
    ran(f"train {words}", *where)
    before = (tmp_path / "m.csv").read_bytes()
    assert invoke(f"train {words}", *where).exit_code != 0
    assert (tmp_path / "m.csv").read_bytes() == before


def test_metrics_of_a_table_need_no_tensorboard() -> None:
    assert "tensorboard" not in loaded_by("import qstep.learn.metrics")


@pytest.mark.parametrize("words", ["train gridworld", "train gridworld --act host", "dqn cartpole"])
def test_metrics_that_fail_cost_nothing_else(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: CsvMetrics, step: int, values: Mapping[str, float], /) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(CsvMetrics, "__call__", full)
    folder, target = tmp_path / "run", tmp_path / "m.csv"
    done = invoke(f"{words} --episodes 20 --out", folder, "--metrics", target)
    assert (
        str(done.exception)
        == f"{target}: metrics are incomplete: [Errno 28] No space left on device"
    )
    assert (folder / "learning_curve.png").exists()
    assert f"history: {folder}/history.json\n" in done.output
