"""The area and clock of the agents' lane are reported for each algorithm, which is selected by name."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from qstep.spec.agents import Algorithm
from qstep_fpga import acting, alone
from qstep_fpga.board import Board
from qstep_fpga.placement import Design, Placement
from qstep_rtl.sources import source

NAMES = [algorithm.value for algorithm in Algorithm]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, int]]:
    """Replace the tools with stand-ins; return the parameters of each synthesised netlist."""
    sizes: list[dict[str, int]] = []

    def synthesise(board: Board, given: dict[str, int]) -> Path:
        sizes.append(given)
        return Path()

    def place_all(design: Design, *others: Any) -> list[Placement]:
        return [Placement(seed, design.clock_hz / 1e6 + seed, {}, Path()) for seed in (1, 2)]

    monkeypatch.setattr(acting, "synthesise_acting", synthesise)
    monkeypatch.setattr(alone, "place_all", place_all)
    monkeypatch.setattr(alone, "needs_around_lane", lambda *given: {"FF": 300})
    monkeypatch.setattr(alone, "resources", lambda *given: {"LUT4": (90, 99), "FF": (310, 400)})
    monkeypatch.setattr(alone, "describe", lambda report: "1 ns")
    return sizes


def test_figures_of_each_algorithm_are_printed_and_written(
    made: list[dict[str, int]], tmp_path: Path
) -> None:
    file = tmp_path / "area.json"
    asked = [word for name in NAMES for word in ("--algorithm", name)]
    asked += ["--no-step-limit", "--json", str(file)]
    done = CliRunner().invoke(acting.main, ["icebreaker", *asked])
    assert done.exit_code == 0, done.output
    enumeration = re.search(r"enum int unsigned \{(.*?)\} algorithm_e", _package(), re.DOTALL)
    assert enumeration
    order = re.findall(r"\w+(?=\s*=)", enumeration[1])
    assert order == ["QLearning", "Sarsa", "ExpectedSarsa", "DoubleQLearning"]
    assert NAMES == ["q-learning", "sarsa", "expected-sarsa", "double-q"]
    assert [sizes["Algorithm"] for sizes in made] == [0, 1, 2, 3]
    parameters = ("States", "SharedTable", "Schedules", "StepLimit")
    assert {tuple(sizes[name] for name in parameters) for sizes in made} == {(25, 0, 1, 0)}
    figures = "LUT4 90, FF 10; 251.0 / 251.5 / 252.0 MHz over 2 seeds; best: 1 ns"
    assert done.output.splitlines() == [f"{name}: {figures}" for name in NAMES]
    rows = json.loads(file.read_text())["algorithms"]
    assert [row["name"] for row in rows] == NAMES
    assert rows[0]["resources"] == {"LUT4": [90, 99], "FF": [10, 400]}
    assert rows[0]["fmax_mhz"] == {"1": 251.0, "2": 252.0}


def test_figures_are_written_on_request_only(
    made: list[dict[str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(acting.main, ["icebreaker", "--algorithm", "sarsa"])
    assert done.output.startswith("sarsa: LUT4 90, FF 10;")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["arty"], "board is 'arty'; known boards: icebreaker"),
        (["icebreaker", "--algorithm", "dqn"], "'dqn' is not one of 'q-learning', 'sarsa'"),
    ],
)
def test_what_there_is_not_is_refused(
    made: list[dict[str, int]], words: list[str], message: str
) -> None:
    done = CliRunner().invoke(acting.main, words)
    assert done.exit_code
    assert message in done.output
    assert not made


def _package() -> str:
    return source("qs_agents_pkg.sv").read_text(encoding="utf-8")
