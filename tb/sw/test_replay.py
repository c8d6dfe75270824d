"""`qstep replay` writes the same file on every device, or reports an error in one line."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import types
from typing import ClassVar

import numpy as np
import pytest
from click.testing import CliRunner
from tb.reference_device import ReferenceDevice
from tb.sw.command_line import ran
from tb.sw.lossy_port import DirectPort

from qstep import Config, Hyperparameters, Transitions
from qstep.cli import main
from qstep.cli import replay as replay_module
from qstep.cli.replay import command
from qstep.device.link.records import extend_digest
from qstep.errors import ConfigError, FileFormatError, LinkError, TableError, TransitionError
from qstep.golden.lane import Model
from qstep.learn.table import load_table, save_table

CONFIG = Config(25, 4)


def arrays(count=3000, **changed):
    rng = np.random.default_rng(2)
    state = rng.integers(0, 25, count + 1)
    made = {
        "state": state[:-1],
        "action": rng.integers(0, 4, count),
        "reward": rng.choice([-1.0, 0.0, 1.5], count),
        "next_state": state[1:],
        "terminated": rng.random(count) < 0.1,
    }
    return {**made, **changed}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Change into a folder with walk.npz, and return its path."""
    np.savez(tmp_path / "walk.npz", **arrays())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def replay(*options, file="walk.npz", geometry=("--states", "25", "--actions", "4")):
    """Run the command, and let its exceptions propagate."""
    words = [file, "--out", "table.npz", *geometry, *options]
    return CliRunner().invoke(command, words, catch_exceptions=False)


def test_table_is_the_models(folder):
    result = replay("--alpha", "0.25", "--gamma", "0.5", "--rounding", "stochastic", "--seed", "9")
    assert result.exit_code == 0
    assert result.stdout.startswith("3,000 transitions, ")
    assert result.stdout.endswith(" updates/s: table.npz\n")
    model = Model(CONFIG)
    model.configure(Hyperparameters(0.25, 0.5, "stochastic", 9))
    model.apply(Transitions.load("walk.npz", CONFIG))
    assert np.array_equal(load_table("table.npz", CONFIG).q_raw, model.table)


def test_trace_of_an_agent_is_replayed_to_its_table(folder):
    ran("train gridworld-8x8 --agents 1 --steps 3000 --out run --trace moves.npz")
    assert replay(file="moves.npz", geometry=("--states", "64", "--actions", "4")).exit_code == 0
    assert np.array_equal(np.load("table.npz")["q_raw"], np.load("run/table.npz")["q_raw"])


def test_json_summary_is_all_there_is_on_stdout(folder):
    report = json.loads(replay("--json").stdout)
    digest = extend_digest(CONFIG, Transitions.load("walk.npz", CONFIG))
    assert report["transitions"] == 3000
    assert report["updates_per_second"] > 0
    assert report["digest"] == f"{digest:08x}"
    assert report["counters"] is None
    assert report["out"] == "table.npz"


class SimPort(DirectPort):
    """A reference device that replaces the simulated one; instances are collected in `made`."""

    made: ClassVar[list[SimPort]] = []

    def __init__(self, config, uart=False):
        super().__init__(ReferenceDevice(config))
        self.device._table = [1] * 100  # left by an earlier run
        self.made.append(self)


def put_in_place_of_the_simulation(port, monkeypatch):
    module = types.SimpleNamespace(SimPort=port)
    monkeypatch.setitem(sys.modules, "qstep_sim.port", module)


def test_every_device_gives_the_same_bytes(folder, monkeypatch):
    put_in_place_of_the_simulation(SimPort, monkeypatch)
    replay("--rounding", "stochastic")
    there = (folder / "table.npz").read_bytes()
    result = replay("--rounding", "stochastic", "--device", "sim")
    assert (folder / "table.npz").read_bytes() == there
    assert "1.000 updates/clock, 0 clocks held, 0 forwarded, 0 saturated" in result.stdout
    report = json.loads(replay("--json", "--device", "sim").stdout)
    assert report["counters"]["accepted"] == 3000


def test_two_halves_are_the_whole(folder):
    replay()
    whole = load_table("table.npz", CONFIG).q_raw
    for name, part in (("first", slice(1000)), ("second", slice(1000, None))):
        np.savez(f"{name}.npz", **{key: array[part] for key, array in arrays().items()})
    replay(file="first.npz")
    (folder / "table.npz").rename("half.npz")
    replay("--init", "half.npz", file="second.npz")
    assert np.array_equal(load_table("table.npz", CONFIG).q_raw, whole)


def test_configuration_file_stands_for_the_geometry(folder):
    config = Config(25, 4, "Q4.12", rounding="floor")
    (folder / "c.toml").write_text(config.to_toml())
    replay("--config", "c.toml", geometry=())
    with np.load("table.npz") as archive:
        tree = json.loads(str(archive["config"]))
    assert tree["config"] == config.to_dict()
    assert tree["hyperparameters"]["rounding"] == "floor"


def test_no_transitions_are_a_table_of_zeros(folder):
    np.savez("none.npz", **{name: array[:0] for name, array in arrays().items()})
    assert replay(file="none.npz").stdout.startswith("0 transitions, ")
    assert not load_table("table.npz", CONFIG).q_raw.any()


@pytest.mark.parametrize("terminal", [False, True])
def test_replay_shows_its_progress_on_a_terminal(folder, monkeypatch, terminal):
    monkeypatch.setattr(replay_module, "_CHUNK", 1000)
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    result = replay()
    assert ("replay" in result.stderr, "100%" in result.stderr) == (terminal, terminal)
    assert "100%" not in result.stdout


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"reward": None}, FileFormatError, r"f\.npz: lacks reward; it must contain state, action"),
        ({"action": np.zeros(9, int)}, TransitionError, r"differ in length \(state 3000, action 9"),
        ({"reward": np.full(3000, np.nan)}, TransitionError, r"reward\[0\] is nan; Q8\.8 holds"),
        ({"state": np.full(3000, 25)}, TransitionError, r"state\[0\] is 25; .* from 0 to 24"),
        ({"action": np.full(3000, -1)}, TransitionError, r"action\[0\] is -1; .* from 0 to 3"),
        ({"reward": np.full(3000, 128.0)}, TransitionError, r"reward\[0\] is 128\.0; Q8\.8 holds"),
    ],
    ids=["lacks-array", "other-length", "nan", "state-range", "action-range", "reward-fit"],
)
def test_transitions_that_do_not_fit_are_refused(folder, changed, error, message):
    made = {name: array for name, array in arrays(**changed).items() if array is not None}
    np.savez("f.npz", **made)
    with pytest.raises(error, match=message):
        replay(file="f.npz")
    assert not (folder / "table.npz").exists()


@pytest.mark.parametrize(
    ("file", "options", "error", "message"),
    [
        ("text.npz", "", FileFormatError, r"text\.npz: cannot be read as a \.npz file"),
        ("absent.npz", "", FileFormatError, r"absent\.npz: no such file"),
        ("walk.npz", "--alpha 1.5", ConfigError, r"alpha is 1\.5; it must be from 0 to 1"),
        ("walk.npz", "--gamma -0.1", ConfigError, r"gamma is -0\.1; it must be from 0 to 1"),
        ("walk.npz", "--seed -1", ConfigError, r"seed is -1; it must be an integer from 0 to 2\^64-1"),
        ("walk.npz", "--format Q3", ConfigError, r"format is 'Q3'; write it as Qm\.F"),
        ("walk.npz", "--device fpga", ConfigError, r"device is 'fpga'; it must be model:, sim:"),
        ("walk.npz", "--config c.toml", ConfigError,
         "--config cannot be combined with --states or --actions"),
        ("walk.npz", "--init other.npz", TableError,
         r"other\.npz: table has shape \(26, 4\); .* \(25, 4\)"),
        ("walk.npz", "--out absent/t.npz", FileFormatError,
         r"absent/t\.npz: the folder absent does not exist"),
    ],
)  # fmt: skip
def test_what_cannot_be_replayed_is_refused(folder, file, options, error, message):
    (folder / "text.npz").write_text("state,action")
    save_table("other.npz", np.zeros((26, 4), np.int32), Config(26, 4), Hyperparameters())
    with pytest.raises(error, match=message):
        replay(*options.split(), file=file)
    assert not (folder / "table.npz").exists()


def test_folder_in_the_place_of_the_table_is_refused_before_the_work(folder, monkeypatch):
    (folder / "table.npz").mkdir()
    monkeypatch.setattr(replay_module, "open_device", None)  # nothing may be opened
    result = replay()
    assert result.exit_code == 2
    assert "Invalid value for '--out': File 'table.npz' is a directory." in result.stderr


def test_pipe_in_the_place_of_the_table_is_written_to_and_stays(folder):
    os.mkfifo(folder / "table.npz")
    written = []
    reader = threading.Thread(target=lambda: written.append((folder / "table.npz").read_bytes()))
    reader.start()
    assert replay().exit_code == 0
    reader.join()
    assert (folder / "table.npz").is_fifo()
    assert written[0].startswith(b"PK")


def test_error_ends_in_one_line_and_status_1(folder, monkeypatch, capsys):
    words = ["qstep", "replay", "walk.npz", "--out", "t.npz", "--states", "1", "--actions", "4"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit, match="1"):
        main()
    assert capsys.readouterr().err == "error: states is 1; it must be an integer from 2 to 65536\n"


def test_error_of_the_device_says_how_many_transitions_were_applied(folder, monkeypatch, capsys):
    class Unplugged(SimPort):
        def write(self, data):
            if self.device.applied >= 5000:
                raise LinkError("unplugged")
            super().write(data)

    put_in_place_of_the_simulation(Unplugged, monkeypatch)
    monkeypatch.setattr(replay_module, "_CHUNK", 3000)
    np.savez("walk.npz", **arrays(9000))
    words = "replay walk.npz --out t.npz --states 25 --actions 4 --device sim"
    monkeypatch.setattr(sys, "argv", ["qstep", *words.split()])
    with pytest.raises(SystemExit, match="1"):
        main()
    text = r"error: unplugged; (\d),(\d{3}) of 9,000 transitions are known to have been applied\n"
    said = re.fullmatch(text, capsys.readouterr().err)
    assert said is not None
    assert 3000 < int("".join(said.groups())) <= Unplugged.made[-1].device.applied
    assert not (folder / "t.npz").exists()
