"""The demonstration reports the truth, even if it is unflattering."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from matplotlib.image import imread
from rich.console import Console

from qstep.envs import GridWorld
from qstep.errors import ToolMissingError
from qstep.learn.evaluate import Evaluation, played
from qstep.mdp.solve import solve
from qstep.mdp.world import World
from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep_bench import demo_map, demo_picture, demo_pole, measure
from qstep_bench.cli.demo import _show_speed, _time, command
from qstep_bench.measure import Benchmark, Spread
from qstep_bench.systems import load

MODEL, GREEDY, _ = demo_map.on_model()
ON_CHIP = demo_map.OnChip(320_123, 1.5, MODEL.table, MODEL, GREEDY, 400e6)
ARROWS = demo_map.arrows(demo_map.world(), ON_CHIP.middle)
SPEED: Any = SimpleNamespace(
    forms=[SimpleNamespace(name="c", processor_rate=Spread.of([138e6]))],
    absent=[SimpleNamespace(name="gone", reason="no compiler")],
)


@cache
def on_pole() -> demo_pole.OnPole:
    model = demo_pole.on_model()  # compiles code, so not while tests are collected
    played = [Evaluation(0, float(mean), None, 0.0, float(mean)) for mean in range(470, 486)]
    return demo_pole.OnPole(2_000_123, 2.5, model.table, model, played)


def report(config: Config, clock_mhz: int) -> Any:
    """Return the parts of a board's report that the picture uses."""
    agents = config.acting.agents if config.acting else 0
    rate = clock_mhz * config.lanes
    return SimpleNamespace(
        board="made-up-agents", config=config.to_dict(), agents=agents, core_rate=rate
    )


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Result]:
    """Return a function that runs the demonstration on given results of the simulated device."""

    def shown(on_chip: demo_map.OnChip = ON_CHIP, pole: demo_pole.OnPole | None = None) -> Result:
        monkeypatch.setattr("qstep_bench.cli.demo._compile", lambda: None)
        monkeypatch.setattr("qstep_bench.cli.demo._time", lambda _: SPEED)
        monkeypatch.setattr(demo_map, "on_chip", lambda: on_chip)
        monkeypatch.setattr(demo_pole, "on_chip", lambda _: pole or on_pole())
        return CliRunner().invoke(command, ["--out", str(tmp_path)], catch_exceptions=False)

    return shown


def test_a_missing_compiler_is_reported_before_models_are_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CXX", "nonesuch")
    begun: list[str] = []
    monkeypatch.setattr(demo_map, "on_model", lambda: begun.append("agents"))
    monkeypatch.setattr(demo_pole, "on_model", lambda: begun.append("pole"))
    with pytest.raises(ToolMissingError, match="C\\+\\+ compiler was not found; install one"):
        CliRunner().invoke(command, ["--out", str(tmp_path)], catch_exceptions=False)
    assert begun == []


def test_arrows_point_to_the_lowest_best_action_and_skip_what_was_not_learnt() -> None:
    table = np.zeros((6, 4), np.int32)
    table[0] = [-1, 3, -2, 3]  # down and right tie
    table[1] = [-1, -1, 0, -1]  # left was never tried
    table[4] = [1, 2, 3, 4]
    assert demo_map.arrows(GridWorld("S.H\n#.G"), table) == ["↓ . H", "# → G"]


def test_equal_tables_and_agents_are_reported_and_the_picture_drawn(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    result = run()
    assert result.exit_code == 0
    for name in ("result", "map"):
        light, dark = (imread(tmp_path / f"{name}-{theme}.png") for theme in ("light", "dark"))
        assert light.shape == dark.shape
        shown = light[..., 3] > 0.99  # everything else is transparent
        assert light[shown][:, :3].mean() < dark[shown][:, :3].mean()
    assert (
        "320,000 steps in 320,123 clocks of the chip, simulated in 1.5 s of processor time."
        in result.output
    )
    assert "All 1,600 table entries match the model's bit for bit." in result.output
    assert "16 of 16 agents found the best way at gamma 0.9" in result.output
    assert "\n".join(f"    {row}" for row in ARROWS) in result.output
    assert (
        "1,600,000 steps in 2,000,123 clocks of the chip, simulated in 2.5 s of processor time."
        in result.output
    )
    assert "All 20,736 weights match the model's bit for bit." in result.output
    assert "11 of 16 agents solve it" in result.output
    assert "keeps the pole up for 477.5." in result.output
    assert "qstep_action" in (tmp_path / "cartpole.h").read_text(encoding="utf-8")
    assert re.search(r"C, one agent +138  one core of this CPU, measured", result.output)
    assert re.search(r"ulx3s-12f +180  one lane, post-route estimate", result.output)
    assert "gone: no compiler" in result.output


def test_curves_show_exploring_and_greedy_returns_and_whose_optimum_it_is() -> None:
    axes = demo_picture.draw_map(ON_CHIP).axes[0]
    optimum, exploring, greedy = (np.asarray(line.get_ydata()) for line in axes.lines)
    assert set(optimum) == {-6.0}
    assert [text.get_text() for text in axes.texts] == ["greedy optimum at gamma 0.9"]
    assert greedy[0] == -100  # the greedy policy walks in a circle
    assert greedy[-1] == -6 > exploring[-1]


def test_a_larger_gamma_prefers_the_pit_so_the_return_of_the_optimum_depends_on_gamma() -> None:
    world = World.named("gridworld")
    best = {gamma: played(world, solve(world, gamma).q.argmax(axis=1)) for gamma in (0.92, 0.93)}
    assert (best[0.92].mean_return, best[0.92].success) == (-6, 1)
    assert (best[0.93].mean_return, best[0.93].success) == (-5, 0)


def test_bars_are_grouped_by_core_lane_and_chip() -> None:
    boards = [
        report(Config(25, 4, acting=Acting(agents=agents), lanes=lanes), clock)
        for agents, lanes, clock in ((1, 1, 300), (16, 1, 200), (16, 1, 200), (32, 2, 150))
    ]
    shown = demo_picture.bars(SPEED, ON_CHIP, [*boards, report(Config(25, 4), 400)])
    core, lane, chip = demo_picture.CORE, demo_picture.LANE, demo_picture.CHIP
    assert [(bar.name, bar.rate, bar.group) for bar in shown] == [
        ("simulated chip", 320_000 / 1.5, core),
        ("C, one agent", 138e6, core),
        ("QStep model, 16 agents", 400e6, core),
        ("made-up", 200e6, lane),
        ("made-up, 2 lanes", 300e6, chip),
    ]


@pytest.mark.slow
def test_different_tables_end_with_status_1(run: Callable[..., Result]) -> None:
    of_agents, of_pole = ON_CHIP.table.copy(), on_pole().table.copy()
    of_agents[[0, 3, 15], 7, 2] ^= 1
    of_pole[1, 2, 40, 1] ^= 4
    for result, said in (
        (
            run(replace(ON_CHIP, table=of_agents)),
            "3 of 1600 table entries differ from the model's.",
        ),
        (
            run(pole=replace(on_pole(), table=of_pole)),
            "1 of 20736 weights differ from the model's.",
        ),
    ):
        assert result.exit_code == 1
        assert said in result.output


@pytest.mark.rtl
@pytest.mark.slow
def test_agents_learn_on_the_simulated_chip() -> None:
    found = demo_map.on_chip()
    assert (found.table.size, found.differing) == (1600, 0)
    assert found.optimal == demo_map.AGENTS
    # One step per clock, plus the clocks until the host learns that all steps are done.
    assert found.steps == demo_map.AGENTS * demo_map.STEPS
    assert found.steps <= found.clocks < 1.3 * found.steps


@pytest.mark.rtl
@pytest.mark.slow
def test_agents_balance_the_pole_on_the_simulated_chip() -> None:
    seen: list[int] = []
    found = demo_pole.on_chip(seen.append)
    assert seen[-1] == demo_pole.STEPS
    assert found.differing == 0
    assert found.solved > demo_pole.AGENTS // 2
    steps = demo_pole.AGENTS * demo_pole.STEPS
    assert steps <= found.clocks < 1.4 * steps


def test_agent_that_ends_without_the_best_way_is_not_counted() -> None:
    last = MODEL.points[-1]
    worse = replace(last, value=(last.value[0] - 0.1, *last.value[1:]))
    model = replace(MODEL, points=(*MODEL.points[:-1], worse))
    assert replace(ON_CHIP, model=model).optimal == demo_map.AGENTS - 1


def test_only_the_learners_in_the_picture_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def compare(benchmark: Benchmark, rounds: int, seconds: float, progress: Any) -> Any:
        progress("c", 1, 6)
        return [form.name for form in benchmark.forms], rounds

    monkeypatch.setattr(measure, "compare", compare)
    timed: Any = _time(Console())
    present = {"dictionary", "c", "torch-batched"} - {
        gone.name for gone in load("gridworld").absent
    }
    assert (set(timed[0]), timed[1]) == (present, 3)


def test_speeds_are_listed_with_what_they_hold_for(capsys: pytest.CaptureFixture[str]) -> None:
    bars = [demo_picture.Bar("fast", 9e6, "all lanes"), demo_picture.Bar("slow", 2e6, "one core")]
    _show_speed(Console(width=100), bars, SPEED)
    said = capsys.readouterr().out
    assert re.search(r"fast +9\.00  all lanes *\nslow +2\.00  one core", said)
    assert "gone: no compiler" in said
