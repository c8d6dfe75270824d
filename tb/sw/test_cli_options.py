"""Options shared by several commands: ``--json``, seeds, ranges and result folders."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from tb.sw.command_line import invoke, refused

from qstep import cli
from qstep.cli._output import JsonOutput
from qstep.errors import ConfigError, FileFormatError, QStepError

pytestmark = pytest.mark.usefixtures("own_folder")

WITH_JSON = (
    *("advise", "agents", "bench", "build", "doctor", "dqn", "explore", "matmul", "play", "pqn"),
    *("profile", "replay", "sac", "serve", "train"),
)


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
    words = invoke("doctor")
    printed = invoke("doctor --json")
    written = invoke("doctor --json new/report.json")
    assert json.loads(printed.stdout)["findings"]
    assert written.stdout == words.stdout
    assert Path("new/report.json").read_text(encoding="utf-8") == printed.stdout


def test_json_has_null_for_a_number_that_is_not_finite(capsys: pytest.CaptureFixture[str]) -> None:
    report = {"mean": math.nan, "range": (-math.inf, [np.float64(np.nan), 1.5]), "ok": True}
    JsonOutput(on_stdout=True, file=Path("a.json")).tell(report)
    printed = capsys.readouterr().out
    assert json.loads(printed, parse_constant=pytest.fail) == {
        "mean": None,
        "range": [None, [None, 1.5]],
        "ok": True,
    }
    assert Path("a.json").read_text(encoding="utf-8") == printed


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("agents --agents 1000000000000", "1000000000000 is not in the range 1<=x<=16777216"),
        ("agents --episode-cap 99999999999999999999", "is not in the range 1<=x<=1073741824"),
        ("agents --seed 18446744073709551616", "is not in the range 0<=x<=18446744073709551615"),
        ("agents --alpha nan", "nan is not in the range 0<=x<=1"),
        ("profile dictionary --seconds inf", "inf is not in the range 0<x<=3600"),
        ("profile dictionary --seconds nan", "nan is not in the range 0<x<=3600"),
        ("dqn cartpole --seed -1", "-1 is not in the range 0<=x<=18446744073709551615"),
        ("pqn cartpole --seeds 100000", "100000 is not in the range 1<=x<=1000"),
        ("generate --states 4 --actions 4 --out v --stream-bytes 4", "--stream-bytes requires --bus"),
        ("generate --states 4 --actions 4 --out v --cpp", "--cpp requires --preset"),
        ("generate --preset pythia --cpp --flat --out v", "--flat cannot be combined with --cpp"),
        ("generate --preset pythia --bus axi --out v", "--bus cannot be combined with --preset"),
        ("generate --preset pythia --states 4 --out v", "--states cannot be combined with --preset"),
        ("serve --states 4 --actions 4 --port 80", "--port needs --link tcp"),
        ("profile --tool line", "--tool needs a BACKEND"),
        ("profile --json", "--json needs a BACKEND"),
        ("build icebreaker --jobs 3 --scheduler tcp://a:1", "--jobs is for this computer"),
        ("sweep gridworld --agents 3", "--agents is for a simulation or a board"),
        ("sweep gridworld --device sim --jobs 2", "--jobs is for the model on this computer"),
        ("sweep gridworld --jobs 2 --scheduler tcp://a:1", "--jobs is for the model on this computer"),
        ("sweep gridworld --random-seed 2", "--random-seed needs --random"),
        ("sweep gridworld --alpha 0.1,,0.2", "'0.1,,0.2' is not a list of numbers"),
        ("sweep gridworld --algorithm sarsa,", "'sarsa,' is not a list of names such as q-learn"),
        ("play table.npz --no-watch --delay 1", "--delay needs --watch"),
        ("bench --system farm --report x.json", "--report needs a system that fills a table"),
        ("train gridworld --config x.toml --algorithm sarsa", "--algorithm is given by --config x.toml"),
        ("train gridworld --sync-steps 3", "--sync-steps is for runs in which the host acts"),
        ("live gridworld --config x.toml --shared-table", "--shared-table is given by --config x.toml"),
        ("agents --json gridworld-8x8",
         "'gridworld-8x8' does not end with .json; for JSON on stdout put --json"),
    ],
)  # fmt: skip
def test_value_out_of_range_and_option_without_effect_are_refused(words: str, text: str) -> None:
    refused(words, SystemExit, re.escape(text))


def test_defaults_are_shown_as_they_are_typed() -> None:
    for name in cli._qstep.list_commands(None):  # type: ignore[arg-type]
        command = cli._qstep.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        assert [p.name for p in command.params if isinstance(p.default, Path)] == []


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        (f"train gridworld --json {'a' * 300}.json", FileFormatError,
         r"a\.json: cannot be written: File name too long$"),
        ("train gridworld --device nothing --out new/run", ConfigError, "device is 'nothing'"),
        ("train CliffWalking-v1 --format Q4.4 --out new/run", QStepError, "-100"),
        ("profile no-such-form --out new/run", QStepError, "no-such-form"),
        ("build ulx3s-85f --config wide.toml --out new/run", QStepError, "does not fit"),
        ("build icebreaker --out taken/run", FileFormatError, "cannot be created"),
        ("generate --states 4 --out new", ConfigError,
         "^without --config, --states and --actions are needed$"),
        ("generate --actions 4 --out new", ConfigError,
         "^without --config, --states and --actions are needed$"),
    ],
)  # fmt: skip
def test_a_failed_start_leaves_no_folder(
    words: str, error: type[QStepError], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "taken" in words:
        monkeypatch.setattr("qstep_fpga.flow.build", lambda *_: pytest.fail("it built"))
    Path("wide.toml").write_text("states = 65536\nactions = 64\n", encoding="utf-8")
    Path("taken").write_text("", encoding="utf-8")
    refused(words, error, text)
    assert not Path("new").exists()
