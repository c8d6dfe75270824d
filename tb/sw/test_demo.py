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

from qstep.device.base import Counters
from qstep.envs import GridWorld
from qstep.errors import ToolMissingError
from qstep.learn.evaluate import Evaluation, played
from qstep.mdp.solve import solve
from qstep.mdp.world import World
from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep_bench import demo, demo_agents, demo_picture, demo_pole, measure
from qstep_bench.cli.demo import _show_speed, command
from qstep_bench.measure import Benchmark, Spread

MODEL, GREEDY, _ = demo_agents.on_model()
ON_CHIP = demo_agents.OnChip(320_123, 1.5, MODEL.table, MODEL, GREEDY, 400e6)
SPEED: Any = SimpleNamespace(forms=[SimpleNamespace(name="c", processor_rate=Spread.of([138e6]))])


@cache
def on_pole() -> demo_pole.OnPole:
    model = demo_pole.on_model()  # compiles code, so not while tests are collected
    played = [Evaluation(0, float(mean), None, 0.0, float(mean)) for mean in range(470, 486)]
    return demo_pole.OnPole(2_000_123, 2.5, model.table, model, played)


@pytest.fixture(scope="module")
def trained() -> demo.Trained:
    return demo.train("model", lambda _: None)


def report(config: Config, clock_mhz: int) -> Any:
    """Return the parts of a board's report that the picture uses."""
    agents = config.acting.agents if config.acting else 0
    rate = clock_mhz * config.lanes
    return SimpleNamespace(
        board="made-up-agents", config=config.to_dict(), agents=agents, core_rate=rate
    )


def with_table(trained: demo.Trained, table: Any) -> demo.Trained:
    return replace(trained, result=replace(trained.result, table=table))


@pytest.fixture
def run(
    trained: demo.Trained, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Result]:
    """Return a function that runs the demonstration on given results of the simulated device."""

    def shown(
        simulated: demo.Trained = trained,
        on_chip: demo_agents.OnChip = ON_CHIP,
        pole: demo_pole.OnPole | None = None,
    ) -> Result:
        tables = {"sim:": simulated, "model": trained}
        monkeypatch.setattr(demo, "train", lambda url, _: tables[url])
        monkeypatch.setattr("qstep_bench.cli.demo._compile", lambda: None)
        monkeypatch.setattr("qstep_bench.cli.demo._show_speed", lambda _: SPEED)
        monkeypatch.setattr(demo_agents, "on_chip", lambda: on_chip)
        monkeypatch.setattr(demo_pole, "on_chip", lambda _: pole or on_pole())
        return CliRunner().invoke(command, ["--out", str(tmp_path)], catch_exceptions=False)

    return shown


def test_a_missing_compiler_is_reported_before_models_are_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CXX", "nonesuch")
    begun: list[str] = []
    monkeypatch.setattr(demo_agents, "on_model", lambda: begun.append("agents"))
    monkeypatch.setattr(demo_pole, "on_model", lambda: begun.append("pole"))
    with pytest.raises(ToolMissingError, match="C\\+\\+ compiler was not found; install one"):
        CliRunner().invoke(command, ["--out", str(tmp_path)], catch_exceptions=False)
    assert begun == []


def test_plan_is_enough_to_learn_the_best_way(trained: demo.Trained) -> None:
    assert demo.is_optimal(trained)
    assert trained.result.evaluations[-1].success == 1.0
    assert not demo.is_optimal(with_table(trained, np.zeros((25, 4), np.int32)))


def test_every_episode_is_announced() -> None:
    seen: list[int] = []
    demo.train("model", seen.append)
    assert seen == list(range(1, demo.PLAN.episodes + 1))


def test_one_different_bit_is_counted(trained: demo.Trained) -> None:
    table = trained.result.table.copy()
    table[7, 3] ^= 1
    assert demo.differing_entries(trained, trained) == 0
    assert demo.differing_entries(trained, with_table(trained, table)) == 1


def test_arrows_point_to_the_lowest_best_action_and_skip_what_was_not_learnt() -> None:
    table = np.zeros((6, 4), np.int32)
    table[0] = [-1, 3, -2, 3]  # down and right tie
    table[1] = [-1, -1, 0, -1]  # left was never tried
    table[4] = [1, 2, 3, 4]
    assert demo.arrows(GridWorld("S.H\n#.G"), table) == ["↓ . H", "# → G"]


def test_equal_tables_and_agents_are_reported_and_the_picture_drawn(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    result = run()
    assert result.exit_code == 0
    assert "All 100 table entries match bit for bit." in result.output
    assert "this is the best way\nat gamma 0.9." in result.output
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
    assert "16 of 16 agents found the best way." in result.output
    assert (
        "1,600,000 steps in 2,000,123 clocks of the chip, simulated in 2.5 s of processor time."
        in result.output
    )
    assert "All 20,736 weights match the model's bit for bit." in result.output
    assert "11 of 16 agents solve it" in result.output
    assert "keeps the pole up for 477.5." in result.output
    assert "qstep_action" in (tmp_path / "cartpole.h").read_text(encoding="utf-8")
    clocks = [float(word) for word in re.findall(r"(\S+) MHz +\S+ ms", result.output)]
    assert len(clocks) == len(demo_agents.boards_with_agents()) > 1
    assert clocks == sorted(clocks, reverse=True)


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
def test_different_tables_end_with_status_1(
    trained: demo.Trained, run: Callable[..., Result]
) -> None:
    table, of_agents = trained.result.table.copy(), ON_CHIP.table.copy()
    table[0, 0] += 1
    of_agents[[0, 3, 15], 7, 2] ^= 1
    of_pole = on_pole().table.copy()
    of_pole[1, 2, 40, 1] ^= 4
    for result, said in (
        (run(with_table(trained, table)), "1 of 100 table entries differ."),
        (run(on_chip=replace(ON_CHIP, table=of_agents)), "3 of 1600 table entries differ."),
        (run(pole=replace(on_pole(), table=of_pole)), "1 of 20736 weights differ."),
    ):
        assert result.exit_code == 1
        assert said in result.output


@pytest.mark.slow
def test_clocks_of_a_slower_link_take_longer(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    boards = [
        SimpleNamespace(board="one-clock", clock_mhz=100.0, link=None),
        SimpleNamespace(board="two-clocks", clock_mhz=200.0, link=SimpleNamespace(clock_mhz=80.0)),
    ]
    monkeypatch.setattr(demo_agents, "boards_with_agents", lambda: boards)
    result = run(on_chip=replace(ON_CHIP, clocks=360_000))
    assert re.findall(r"(\S+) +(\S+) MHz +(\S+) ms", result.output) == [
        ("two-clocks", "200", "2.1"),  # 320,000 clocks at 200 MHz, 40,000 at 80 MHz
        ("one-clock", "100", "3.6"),
    ]


@pytest.mark.rtl
@pytest.mark.slow
def test_agents_learn_on_the_simulated_chip() -> None:
    found = demo_agents.on_chip()
    assert (found.table.size, found.differing) == (1600, 0)
    assert found.optimal == demo_agents.AGENTS
    # One step per clock, plus the clocks until the host learns that all steps are done.
    assert found.steps == demo_agents.AGENTS * demo_agents.STEPS
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
    assert replace(ON_CHIP, model=model).optimal == demo_agents.AGENTS - 1


def test_clocks_of_the_lane_are_reported(
    trained: demo.Trained, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    counters = Counters(4076, 4074, 2, 673, saturated=0, frame_errors=0, refused=0)
    monkeypatch.setattr(demo_agents, "boards_with_agents", list)
    said = " ".join(run(replace(trained, counters=counters)).output.split())
    assert "was offered 4,074 transitions in 4,076 clocks and held 2 of them back. 673" in said
    assert "MHz" not in said  # no boards are listed


def test_speeds_are_reported_beside_the_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    forms: Any = [
        SimpleNamespace(name=name, what=f"what {name} is", rate=Spread.of([rate]))
        for name, rate in (("slow", 2e6), ("fast", 9e6))
    ]
    absent = [SimpleNamespace(name="gone", reason="no compiler")]

    def compare(benchmark: Benchmark, rounds: int, seconds: float, progress: Any) -> Any:
        assert (benchmark.system, rounds) == ("gridworld", 3)
        progress("slow", 1, 6)
        return SimpleNamespace(forms=forms, absent=absent)

    monkeypatch.setattr(measure, "compare", compare)
    found = _show_speed(Console(width=100))
    said = capsys.readouterr().out
    assert found.forms == forms
    assert re.findall(r"(\S+) +what \S+ is +(\S+) +(\S+)", said) == [
        ("slow", "2.00", "1.00"),
        ("fast", "9.00", "4.50"),
    ]
    assert "gone: no compiler" in said
