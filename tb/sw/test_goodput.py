"""The picture of goodput against noise shows what the driver does, of runs that were exact."""

import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tb.sw import goodput as module
from tb.sw.goodput import goodput
from tb.sw.line import SimulatedLine, carry
from tb.sw.session_bench import transitions

from qstep import Config, Link

CONFIG = Config(64, 4, link=Link(baud=3_000_000, buffer_bytes=512))


def test_noise_costs_time_and_more_noise_more() -> None:
    clean, some, much = (goodput(CONFIG, period, 1, 5000) for period in (math.inf, 5000, 500))
    assert clean > some > much > 0
    carried = carry(CONFIG, transitions(5000, 1, CONFIG), SimulatedLine(CONFIG), warm=False)
    assert clean == pytest.approx(5000 / carried.seconds)


def test_a_driver_that_gives_up_carries_nothing() -> None:
    assert goodput(CONFIG, 20, 1, 100) == 0


def test_a_wrong_table_is_no_goodput(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "expected_table", lambda *given: np.zeros((64, 4)))
    with pytest.raises(AssertionError, match="another table"):
        goodput(CONFIG, 5000, 1, 100)


def test_the_command_prints_and_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SEEDS", (1,))
    monkeypatch.setattr(module, "PERIODS", (5000,))
    monkeypatch.setattr(module, "COUNT", 100)
    result = CliRunner().invoke(module.main, ["--plot", str(tmp_path / "plot.png")])
    assert result.exit_code == 0, result.output
    assert [line.split()[:2] for line in result.stdout.splitlines()] == [
        ["512", "5000"],
        ["512", "inf"],
        ["2048", "5000"],
        ["2048", "inf"],
    ]
    assert (tmp_path / "plot.png").read_bytes()[1:4] == b"PNG"
