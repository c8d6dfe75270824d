"""Options that commands share: ``--json``, seeds, ranges, and folders for results."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from qstep import cli
from qstep.cli._json import JsonOutput
from qstep.errors import ConfigError, FileFormatError, QStepError
from qstep.results import Results, write_results

pytestmark = pytest.mark.unit

WITH_JSON = (
    *("advise", "agents", "bench", "build", "doctor", "dqn", "explore", "matmul", "play", "pqn"),
    *("profile", "replay", "serve", "train"),
)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def qstep(words: str) -> Result:
    return CliRunner().invoke(cli._qstep, words.split())


@pytest.mark.parametrize("name", WITH_JSON)
def test_json_takes_a_file_or_goes_to_stdout_in_every_command(name: str) -> None:
    command = cli._qstep.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None
    (option,) = [param for param in command.params if "--json" in param.opts]
    known = {value: option.callback(None, option, value) for value in (None, "-", "a.json")}  # type: ignore[misc, arg-type]
    assert known == {
        None: JsonOutput(),
        "-": JsonOutput(on_stdout=True),
        "a.json": JsonOutput(file=Path("a.json")),
    }


def test_json_on_stdout_stands_alone_and_a_file_leaves_the_words() -> None:
    words = qstep("doctor")
    printed = qstep("doctor --json")
    written = qstep("doctor --json new/report.json")
    assert json.loads(printed.stdout)["findings"]
    assert written.stdout == words.stdout
    assert Path("new/report.json").read_text(encoding="utf-8") == printed.stdout


def test_json_has_null_for_a_number_that_is_not_finite(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = {"mean": math.nan, "range": (-math.inf, [np.float64(np.nan), 1.5]), "ok": True}
    JsonOutput(on_stdout=True, file=Path("a.json")).tell(report, lambda: None)
    printed = capsys.readouterr().out
    assert json.loads(printed, parse_constant=pytest.fail) == {
        "mean": None,
        "range": [None, [None, 1.5]],
        "ok": True,
    }
    assert Path("a.json").read_text(encoding="utf-8") == printed
    write_results(Path(), Results({}, {"curve": [math.nan, 1]}, {}))
    assert Path("history.json").read_text(encoding="utf-8") == '{"curve": [null, 1]}\n'


def test_an_argument_after_json_is_not_taken_for_its_file() -> None:
    result = qstep("agents --json gridworld-8x8")
    assert result.exit_code == 2
    assert "'gridworld-8x8' does not end with .json; for JSON on stdout put --json" in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("agents --agents 1000000000000", "1000000000000 is not in the range 1<=x<=16777216"),
        ("agents --episode-cap 99999999999999999999", "is not in the range 1<=x<=1073741824"),
        ("agents --seed 18446744073709551616", "is not in the range 0<=x<=18446744073709551615"),
        ("agents --alpha nan", "nan is not in the range 0<=x<=1"),
        ("profile dictionary --seconds inf", "inf is not in the range 0<x<=3600"),
        ("profile dictionary --seconds nan", "nan is not in the range 0<x<=3600"),
        ("dqn cartpole --seed -1", "-1 is not in the range 0<=x<=18446744073709551615"),
        ("pqn cartpole --seeds 100000", "100000 is not in the range 1<=x<=1000"),
    ],
)
def test_value_out_of_range_is_refused_as_it_was_typed(words: str, message: str) -> None:
    result = qstep(words)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("generate --states 4 --actions 4 --out v --stream-bytes 4", "--stream-bytes needs --bus"),
        ("serve --states 4 --actions 4 --port 80", "--port needs --link tcp"),
        ("profile --tool line", "--tool needs a BACKEND"),
        ("profile --json", "--json needs a BACKEND"),
        ("build icebreaker --jobs 3 --scheduler tcp://a:1", "--jobs is for this computer"),
        ("sweep gridworld --agents 3", "--agents is for a simulation or a board"),
        ("sweep gridworld --device sim --jobs 2", "--jobs is for the model on this computer"),
        (
            "sweep gridworld --jobs 2 --scheduler tcp://a:1",
            "--jobs is for the model on this computer",
        ),
        ("sweep gridworld --random-seed 2", "--random-seed needs --random"),
        ("sweep gridworld --alpha 0.1,,0.2", "'0.1,,0.2' is not a list of numbers"),
        ("sweep gridworld --algorithm sarsa,", "'sarsa,' has an empty place between commas"),
        ("play table.npz --no-watch --delay 1", "--delay needs --watch"),
        ("bench --system farm --report x.json", "--report needs a system that fills a table"),
        (
            "train gridworld --config x.toml --algorithm sarsa",
            "--algorithm is given by --config x.toml",
        ),
        ("train gridworld --sync-steps 3", "--sync-steps is for runs in which the host acts"),
        (
            "live gridworld --config x.toml --shared-table",
            "--shared-table is given by --config x.toml",
        ),
    ],
)
def test_an_option_without_effect_is_refused(words: str, message: str) -> None:
    result = qstep(words)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_defaults_are_shown_as_they_are_typed() -> None:
    for name in cli._qstep.list_commands(None):  # type: ignore[arg-type]
        command = cli._qstep.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        assert [p.name for p in command.params if isinstance(p.default, Path)] == []


def test_a_name_that_is_too_long_is_refused_before_the_work() -> None:
    error = qstep(f"train gridworld --json {'a' * 300}.json").exception
    assert isinstance(error, FileFormatError)
    assert str(error).endswith("a.json: cannot be written: File name too long")


@pytest.mark.parametrize(
    "words",
    [
        "train gridworld --device nothing --out new/run",
        "train CliffWalking-v1 --format Q4.4 --out new/run",
        "profile no-such-form --out new/run",
        "build ulx3s-85f --config wide.toml --out new/run",
    ],
)
def test_a_failed_start_leaves_no_empty_folder(words: str) -> None:
    Path("wide.toml").write_text("states = 65536\nactions = 64\n", encoding="utf-8")
    assert isinstance(qstep(words).exception, QStepError)
    assert not Path("new").exists()


def test_a_file_in_the_place_of_a_folder_is_refused_before_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("qstep_fpga.flow.build", lambda *_: pytest.fail("it built"))
    Path("taken").write_text("", encoding="utf-8")
    error = qstep("build icebreaker --out taken/run").exception
    assert isinstance(error, FileFormatError)
    assert "cannot be made" in str(error)


def test_a_configuration_needs_a_file_or_both_sizes() -> None:
    for words in ("--states 4", "--actions 4"):
        error = qstep(f"generate {words} --out v").exception
        assert isinstance(error, ConfigError)
        assert str(error) == "without --config, --states and --actions are needed"
        assert not Path("v").exists()
