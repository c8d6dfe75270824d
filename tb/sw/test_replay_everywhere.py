"""One stream, sent to a device in five ways, always gives the same file."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tools.replay_everywhere import DEVICES, draw_case, replay_case

from qstep.cli.replay import command

pytestmark = pytest.mark.rtl

TRANSITIONS = 4000
HOLDING = 325
"""Seed of a case with many lane holds: five states, loop depth 3, few rewards, one walker."""


# With the first seed, rewards are sent in full; with the other one, they are sent as codes.
@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, HOLDING], ids=lambda seed: f"seed{seed}")
def test_every_device_writes_the_file_of_the_model(seed: int, tmp_path: Path) -> None:
    files = replay_case(seed, TRANSITIONS, tmp_path)
    assert list(files) == list(DEVICES)
    assert set(files.values()) == {files["model"]}


@pytest.mark.slow
def test_one_case_makes_the_lane_hold(tmp_path: Path) -> None:
    options, columns = draw_case(HOLDING, TRANSITIONS)
    stream, out = tmp_path / "stream.npz", tmp_path / "table.npz"
    np.savez(stream, **columns)
    words = [str(stream), "--out", str(out), *options, "--device", "sim", "--json"]
    result = CliRunner().invoke(command, words)
    assert result.exit_code == 0, result.output
    counters = json.loads(result.stdout)["counters"]
    assert counters["held"] > 1000
    assert counters["offered_clocks"] > counters["accepted"]


def test_another_stream_gives_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The comparison above can fail: with one transition fewer, the files differ.
    monkeypatch.setattr("tools.replay_everywhere.DEVICES", ("model",))
    whole = replay_case(2, TRANSITIONS, tmp_path)
    options, columns = draw_case(2, TRANSITIONS)
    cut = {name: column[:-1] for name, column in columns.items()}
    monkeypatch.setattr(
        "tools.replay_everywhere.draw_case", lambda seed, transitions: (options, cut)
    )
    assert replay_case(2, TRANSITIONS, tmp_path) != whole
