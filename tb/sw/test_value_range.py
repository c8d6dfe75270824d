"""The default number format fits a world's values, or the run recommends a format that does."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tb.sw.command_line import invoke, ran, told

import qstep
from qstep import AgentSettings, Epsilon, World
from qstep._io.workers import Here
from qstep.errors import PrecisionWarning, WorldWarning
from qstep.learn.plan import fitting_format
from qstep.mdp.solve import solve, value_range
from qstep.spec.fixed import Rounding

FALLING = Epsilon(1, 0.05, "linear", 1000)
UNDISCOUNTED = [AgentSettings(gamma=1.0, epsilon=FALLING)]


def windy() -> World:
    """Return the windy grid world, example 6.5 of Sutton and Barto: 15 steps from start to goal."""
    wind, goal = (0, 0, 0, 1, 1, 1, 2, 2, 1, 0), 37
    state, action = np.divmod(np.arange(70 * 4), 4)
    row = state // 10 + np.array([-1, 0, 1, 0])[action] - np.array(wind)[state % 10]
    column = state % 10 + np.array([0, 1, 0, -1])[action]
    next_state = row.clip(0, 6) * 10 + column.clip(0, 9)
    inside = state == goal
    next_state[inside] = goal
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldWarning)  # the wind keeps agents from seven states
        return World.from_arrays(
            state=state,
            action=action,
            next_state=next_state,
            probability=np.ones(280),
            reward=np.where(inside, 0.0, -1.0),
            terminated=next_state == goal,
            start_state=[30],
        )


def endless(reward: float, limit: int = 0) -> World:
    """Return a world that never ends and pays the same in every step."""
    return World.from_arrays(
        state=[0, 0, 1, 1],
        action=[0, 1, 0, 1],
        next_state=[1, 0, 0, 1],
        probability=[1.0] * 4,
        reward=[reward] * 4,
        terminated=[False] * 4,
        start_state=[0],
        max_episode_steps=limit,
    )


@pytest.fixture
def windy_file(tmp_path: Path) -> Path:
    windy().save(tmp_path / "windy.npz")
    return tmp_path / "windy.npz"


@pytest.mark.parametrize("algorithm", ["q-learning", "double-q"])
def test_undiscounted_wind_is_learned(algorithm: str, windy_file: Path, tmp_path: Path) -> None:
    options = ["--gamma", "1", "--algorithm", algorithm, "--episodes", "1000"]
    report = told("train", windy_file, *options, "--out", tmp_path / "run")
    assert report["greedy_return"] == -15
    assert (report["format"], report["saturations"]) == ("Q6.10", 0)


def test_sweep_takes_a_format_that_holds_the_largest_discount() -> None:
    result = qstep.sweep(
        *(windy(),), alphas=[0.5], gammas=[0.9, 1.0], seeds=[0], steps=1 << 17, workers=Here()
    )
    assert {str(point.format) for point in result.plan.points} == {"Q6.10"}
    assert [row[0]["greedy_return"] for row in result.by_seed] == [-15, -15]


@pytest.mark.parametrize("name", ["gridworld", "FrozenLake-v1", "CliffWalking-v1", "Taxi-v3"])
@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.99])
def test_range_covers_rewards_and_optimum_and_little_more(name: str, gamma: float) -> None:
    world = World.named(name)
    q = solve(world, gamma).q[world.visited(np.ones((world.states, world.actions), np.bool_))]
    found = value_range(world, gamma)
    assert found.low <= min(0.0, q.min(), world.reward.min()) + 0.02 * abs(q).max()
    assert found.high >= max(0.0, q.max(), world.reward.max()) - 0.02 * abs(q).max()
    assert found.largest <= 1.3 * max(abs(q).max(), abs(world.reward).max())
    assert not found.is_endless


def test_range_of_an_exploring_policy_is_that_of_its_value_equations() -> None:
    world = windy()
    leads = np.zeros((70, 70))
    np.add.at(leads, (world.state, world.next_state), ~world.terminated / 4)
    values = np.linalg.solve(np.eye(70) - leads, np.where(np.arange(70) == 37, 0.0, -1.0))
    assert value_range(world, 1.0, 1.0).low == pytest.approx(values.min() - 1, rel=0.02)


def test_range_of_a_discounted_world_without_an_end_is_that_of_all_steps() -> None:
    assert value_range(endless(-1), 0.9999).low == pytest.approx(-10_000, rel=0.02)
    assert value_range(endless(2), 0.5) == pytest.approx((0, 4, 0), rel=0.02)


@pytest.mark.parametrize(("limit", "held", "steps"), [(0, "Q12.4", 1000), (200, "Q9.7", 200)])
def test_values_without_a_bound_are_named(limit: int, held: str, steps: int) -> None:
    said = (
        rf"the discount is 1 and episodes need not terminate, so values grow without bound and "
        rf"saturate in every format \({held} holds {steps} steps\); use a smaller gamma"
    )
    with pytest.warns(PrecisionWarning, match=said):
        assert str(fitting_format(endless(1, limit), UNDISCOUNTED)) == held


@pytest.mark.parametrize("rounding", Rounding)
def test_updates_that_nearest_rounding_loses_are_named(rounding: Rounding) -> None:
    world, number, steps = endless(9.0), "Q14.2", 64
    shape: dict[str, Any] = {"gammas": [0.5], "formats": [number], "seeds": [1], "steps": steps}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", PrecisionWarning)
        rates = [AgentSettings(alpha, 0.5) for alpha in (0.01, 0.02, 0.5)]
        result = qstep.train(
            world, settings=rates, number_format=number, rounding=rounding, steps=steps
        )
        alphas = [own.alpha for own in rates]
        qstep.sweep(world, alphas=alphas, rounding=rounding, workers=Here(), **shape)
    text = (
        "alpha is 0.01 in Q14.2 (pairs like it: 2), so an update for an error below 12.5 rounds to 0, "
        "and the largest reward is 9; use a format with more fraction bits"
    )
    lost = rounding is Rounding.NEAREST
    assert [str(each.message)[: len(text)] for each in said] == [text] * 2 * lost
    if lost:
        assert [bool(table.any()) for table in result.table] == [False, True, True]


@pytest.mark.parametrize(
    ("world", "on_policy", "chosen", "said"),
    [
        (endless(9.0), False, "Q16.0",
         r"values, 0 to 90,000, saturate in Q16\.0, and no format of 16 bits holds them with "
         r"enough fraction bits; the format that does is Q18\.6 \(24 bits\)"),
        (windy(), True, "Q6.10",
         r"values of the first, exploring policy, -6,1\d\d to 0, saturate in Q6\.10, .*; the format "
         r"that does is Q14\.10 \(24 bits\)"),
    ],
)  # fmt: skip
def test_a_wider_format_is_named_where_16_bits_do_not_hold_the_values(
    world: World, on_policy: bool, chosen: str, said: str
) -> None:
    settings = [AgentSettings(20_000 / 32768, 0.9999, FALLING)] if not on_policy else UNDISCOUNTED
    with pytest.warns(PrecisionWarning, match=said):
        assert str(fitting_format(world, settings, on_policy=on_policy)) == chosen


def test_wider_format_that_is_named_holds_the_values() -> None:
    settings = AgentSettings(20_000 / 32768, 0.9999, Epsilon(0.5))
    given: dict[str, Any] = {"settings": settings, "steps": 100_000, "agents": 1}
    result = qstep.train(endless(9.0), number_format="Q18.6", **given)
    assert result.summary()["saturations"] == 0
    assert result.q.max() > 80_000
    with pytest.warns(PrecisionWarning, match="did not fit Q16.0, -32768 to 32767, and were"):
        result = qstep.train(endless(9.0), number_format="Q16.0", **given)
    assert result.summary()["saturations"] > 0


@pytest.mark.parametrize("act", ["device", "host"])
def test_text_of_a_run_tells_its_saturations(act: str, tmp_path: Path) -> None:
    corridor = tmp_path / "corridor.txt"
    corridor.write_text("S" + 20 * "." + "G\n", encoding="utf-8")
    options = f"--act {act} --episodes 50 --format Q4.4 --gamma 1 --out {tmp_path}/run".split()
    result = ran("train", corridor, *options, "--json", tmp_path / "run.json")
    report = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    count, steps = report["saturations"], report["steps"]
    assert count > 0
    assert (
        f"saturated: {count:,} of {steps:,} updates ({count / steps:.2%}) did not fit Q4.4, -8 to "
        "7.9375, and were clipped; use a format with more integer bits"
    ) in result.stdout.splitlines()


def test_sweep_tells_the_saturations_of_its_worst_point(windy_file: Path, tmp_path: Path) -> None:
    axes = ["--alpha", "1", "--gamma", "0.5,1", "--format", "Q4.4", "--seeds", "2"]
    result = ran("sweep", windy_file, *axes, "--steps", "9000", "--jobs", "1", "--out", tmp_path)
    points = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["points"]
    (worst,) = (point["by_seed"] for point in points if point["gamma"] == 1)
    count = sum(agent["saturations"] for agent in worst)
    assert f"saturated: {count:,} of 18,000 updates" in result.stdout
    assert "more integer bits (alpha 1, gamma 1; points with saturations: 1 of 2)" in result.stdout


def test_replay_tells_its_saturations(tmp_path: Path) -> None:
    zeros = np.zeros(9, np.int64)
    columns: dict[str, Any] = dict.fromkeys(("state", "action", "next_state"), zeros)
    columns |= {"reward": np.full(9, 7.0), "terminated": np.zeros(9, np.bool_)}
    np.savez(tmp_path / "walk.npz", **columns)
    options = "--states 2 --actions 2 --format Q4.4 --alpha 1 --gamma 1 --out"
    result = invoke(f"replay {tmp_path}/walk.npz {options}", tmp_path / "table.npz")
    assert "saturated: 8 of 9 updates (88.89%) did not fit Q4.4, -8 to 7.9375" in result.stdout
