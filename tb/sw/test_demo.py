"""The demonstration reports the truth, even if it is unflattering."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from matplotlib.image import imread
from rich.console import Console

from qstep.errors import ToolMissingError
from qstep.learn.evaluate import Evaluation
from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep_bench import demo, demo_picture, measure
from qstep_bench.cli.demo import _show_speed, _time, command
from qstep_bench.measure import Benchmark, Spread

SPEED: Any = SimpleNamespace(
    forms=[SimpleNamespace(name="pole-c", processor_rate=Spread.of([19e6]))],
    absent=[SimpleNamespace(name="gone", reason="no compiler")],
)


@cache
def on_chip() -> demo.OnChip:
    model = demo.on_model()  # compiles code, so not while tests are collected
    played = [Evaluation(0, float(mean), None, 0.0, float(mean)) for mean in range(470, 486)]
    return demo.OnChip(2_000_123, 2.5, model.table, model, played)


def report(board: str, config: Config, clock_mhz: int) -> Any:
    """Return the parts of a board's report that the picture uses."""
    return SimpleNamespace(board=board, config=config.to_dict(), core_rate=clock_mhz * config.lanes)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[demo.OnChip], Result]:
    """Return a function that runs the demonstration on a given result of the simulated device."""

    def shown(found: demo.OnChip) -> Result:
        monkeypatch.setattr("qstep_bench.cli.demo._compile", lambda: None)
        monkeypatch.setattr("qstep_bench.cli.demo._time", lambda: SPEED)
        monkeypatch.setattr(demo, "on_chip", lambda _: found)
        return CliRunner().invoke(command, ["--out", str(tmp_path)], catch_exceptions=False)

    return shown


def test_a_missing_compiler_is_reported_before_the_model_is_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CXX", "nonesuch")
    begun: list[str] = []
    monkeypatch.setattr(demo, "on_model", lambda: begun.append("model"))
    with pytest.raises(ToolMissingError, match="C\\+\\+ compiler was not found; install one"):
        CliRunner().invoke(command, ["--out", str(tmp_path)], catch_exceptions=False)
    assert begun == []


def test_equal_weights_are_reported_and_the_picture_drawn(
    run: Callable[[demo.OnChip], Result], tmp_path: Path
) -> None:
    result = run(on_chip())
    assert result.exit_code == 0
    light, dark = (imread(tmp_path / f"result-{theme}.png") for theme in ("light", "dark"))
    assert light.shape == dark.shape
    shown = light[..., 3] > 0.99  # everything else is transparent
    assert light[shown][:, :3].mean() < dark[shown][:, :3].mean()
    assert (
        "1,600,000 steps in 2,000,123 clocks of the chip, simulated in 2.5 s of processor time."
        in result.output
    )
    assert "All 20,736 weights match the model's bit for bit." in result.output
    assert "11 of 16 agents solve it" in result.output
    assert "keeps the pole up for 477.5." in result.output
    assert "qstep_action" in (tmp_path / "cartpole.h").read_text(encoding="utf-8")
    assert re.search(r"\nC +19.0  one core of this CPU, measured", result.output)
    assert re.search(r"ulx3s-12f +180  one lane, post-route estimate", result.output)
    assert "gone: no compiler" in result.output


def test_different_weights_end_with_status_1(run: Callable[[demo.OnChip], Result]) -> None:
    table = on_chip().table.copy()
    table[1, 2, 40, 1] ^= 4
    result = run(replace(on_chip(), table=table))
    assert result.exit_code == 1
    assert "1 of 20736 weights differ from the model's. This is a bug." in result.output


def test_bars_are_grouped_by_core_lane_and_chip_and_show_only_cartpole() -> None:
    pole = on_chip().model.config
    assert pole.acting is not None
    lanes = replace(pole, lanes=2, acting=replace(pole.acting, agents=32))
    boards = [
        report("made-cartpole", pole, 200),
        report("made-cartpole-farm", lanes, 150),
        report("made-agents", Config(25, 4, acting=Acting(agents=16)), 300),
        report("made", Config(25, 4), 400),
    ]
    shown = demo_picture.bars(SPEED, 5e3, on_chip(), boards)
    core, lane, chip = demo_picture.CORE, demo_picture.LANE, demo_picture.CHIP
    assert [(bar.name, bar.rate, bar.group) for bar in shown] == [
        ("model in plain Python", 5e3, core),
        ("simulated chip", 1_600_000 / 2.5, core),
        ("C", 19e6, core),
        ("made", 200e6, lane),
        ("made, 2 lanes", 300e6, chip),
    ]


@pytest.mark.rtl
@pytest.mark.slow
def test_agents_balance_the_pole_on_the_simulated_chip() -> None:
    seen: list[int] = []
    found = demo.on_chip(seen.append)
    assert seen[-1] == demo.STEPS
    assert found.differing == 0
    assert found.solved > demo.AGENTS // 2
    steps = demo.AGENTS * demo.STEPS
    assert steps <= found.clocks < 1.4 * steps


def test_only_the_learners_of_cartpole_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def compare(benchmark: Benchmark, rounds: int, seconds: float, progress: Any) -> Any:
        progress("c", 1, 6)
        return [form.name for form in benchmark.forms], rounds

    monkeypatch.setattr(measure, "compare", compare)
    timed: Any = _time()
    assert timed == (["pole-c", "pole-model"], 3)


def test_speeds_are_listed_with_what_they_hold_for(capsys: pytest.CaptureFixture[str]) -> None:
    bars = [demo_picture.Bar("fast", 9e6, "all lanes"), demo_picture.Bar("slow", 2e6, "one core")]
    _show_speed(Console(width=100), bars, SPEED)
    said = capsys.readouterr().out
    assert re.search(r"fast +9\.00  all lanes *\nslow +2\.00  one core", said)
    assert "gone: no compiler" in said
