"""Agents learn CartPole and Mountain Car in planes: tests from call or command to output files."""

import json
import shutil
import subprocess
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.typing import NDArray
from tb.sw.command_line import ran, refused

import qstep
from qstep import Acting, AgentSettings, Config, Epsilon, Tiles
from qstep.errors import EnvironmentSpaceError, QStepError
from qstep.learn.agents_result import AgentsResult
from qstep.learn.evaluate import chooser
from qstep.learn.table_result import TableResult
from qstep.spec.integer_worlds import CART_POLE, MOUNTAIN_CAR


def trained(**given: Any) -> AgentsResult:
    result = qstep.train("CartPole-v1", **{"steps": 5000, "agents": 2, **given})
    assert isinstance(result, AgentsResult)
    return result


@pytest.fixture(scope="module")
def learned() -> AgentsResult:
    """Return a run that is long enough to be better than chance."""
    return trained(steps=60_000)


def test_defaults_of_the_world_are_those_of_the_catalogue(learned: AgentsResult) -> None:
    config, report = learned.config, learned.summary()
    assert config.table_shape == (2, 8, 81, 2)
    assert config.coefficient_bits == 18
    assert config.acting is not None
    assert config.acting.integer_world == CART_POLE
    assert {own.alpha for own in learned.plan.settings} == {0.1 / 8}
    assert (report["alpha"], report["gamma"]) == (0.1, 0.99)
    assert report["epsilon"] == asdict(Epsilon(0.1, 0.0, "linear", 36_000, "steps"))


def test_policy_is_played_in_the_environment_of_gymnasium(learned: AgentsResult) -> None:
    report = learned.summary()
    assert report["greedy_return"] > 150
    assert report["hint"].startswith("not learned") == (report["greedy_return"] < 475)
    played = learned.evaluate(episodes=10, seed=3)
    assert played["greedy_return"] > 100
    assert played["greedy_success"] is None
    env = gym.make("CartPole-v1")
    assert learned.evaluate(env, episodes=10, seed=3) == played


def test_action_is_the_one_with_the_greatest_sum(learned: AgentsResult) -> None:
    tiles, q = CART_POLE.tiles, learned.policy_q[learned.median_agent]
    for seen in np.random.default_rng(1).uniform(-1, 1, (50, 4)) * [2.6, 3.2, 0.22, 3.6]:
        rows = tiles.of(tiles.raw(seen).tolist())
        sums = sum(plane[row] for plane, row in zip(q, rows, strict=True))
        assert learned.act(seen) == int(np.argmax(sums))


def test_the_median_agent_is_the_one_with_the_median_greedy_return(learned: AgentsResult) -> None:
    returns = [own.mean_return for own in learned.greedy]
    assert returns[learned.median_agent] == sorted(returns)[(len(returns) - 1) // 2]
    assert learned.summary()["median_agent"] == learned.median_agent


def test_a_loaded_result_is_the_saved_one(learned: AgentsResult, tmp_path: Path) -> None:
    assert {path.name for path in learned.save(tmp_path).values()} == {
        *("table.npz", "history.json", "report.json", "learning_curve.png", "policy.png"),
    }
    again = qstep.load(tmp_path)
    assert isinstance(again, TableResult)
    assert (again.config, again.median_agent) == (learned.config, learned.median_agent)
    assert again.evaluate(episodes=5) == learned.evaluate(episodes=5)


@pytest.mark.slow
def test_a_resumed_run_is_the_whole_run(tmp_path: Path) -> None:
    whole, pieces = tmp_path / "whole", tmp_path / "pieces"
    common = "--agents", 2, "--epsilon-episodes", 50, "--alpha", 0.7
    for steps, folder, *more in ((9000, whole), (4000, pieces), (9000, pieces, "--resume")):
        ran("train MountainCar-v0", *common, "--steps", steps, "--out", folder, *more)
    tables = [np.load(folder / "table.npz")["q_raw"] for folder in (whole, pieces)]
    assert (tables[0] == tables[1]).all()
    assert tables[0].shape == (2, 16, 81, 3)


@pytest.mark.usefixtures("own_folder")
def test_play_names_the_return(learned: AgentsResult, tmp_path: Path) -> None:
    table = learned.save(tmp_path)["table"]
    result = ran("play --episodes 5 --json=- --watch --delay 0", table)
    report = json.loads(result.stdout)
    assert report["env_id"] == "CartPole-v1"
    assert report["mean_return"] == report["mean_length"] > 50
    assert "action" in result.stderr
    other = "is for 4 real numbers and 2 actions"
    refused(f"play {table} MountainCar-v0", EnvironmentSpaceError, other)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tilings", "groups", "rows"),
    [
        (2, [(2, 3, 1), (0,)], None),
        (2, [(2, 3, 1), (0,)], 64),
        (1, [(2, 3)], None),
    ],
)
def test_exported_c_chooses_the_same_actions(
    tilings: int, groups: list[tuple[int, ...]], rows: int | None, tmp_path: Path
) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler, cc")
    bounds = [2.4, 3, 0.21, 3.5]
    sizes = [9, 8, 7, 6]
    tiles = Tiles([-x for x in bounds], bounds, sizes, tilings, groups, CART_POLE.units, rows)
    result = qstep.train(replace(CART_POLE, tiles=tiles), steps=5000, agents=1)
    result.save(tmp_path)
    header = tmp_path / "table.h"
    ran("export --format c", tmp_path / "table.npz", "--out", header)
    seen = np.random.default_rng(2).uniform(-1, 1, (300, 4)) * [3, 4, 0.25, 4]
    raw = tiles.raw(seen)
    code = f"""
    #include <stdio.h>
    #include "{header.name}"
    int main(void) {{
        int32_t raw[4];
        while (scanf("%d %d %d %d", raw, raw + 1, raw + 2, raw + 3) == 4)
            printf("%d\\n", qstep_action(raw));
    }}"""
    (tmp_path / "main.c").write_text(code, encoding="utf-8")
    program = tmp_path / "main"
    subprocess.run([compiler, "-Wall", "-Werror", "-o", program, tmp_path / "main.c"], check=True)
    text = "\n".join(" ".join(map(str, row)) for row in raw.tolist())
    out = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout
    choose = chooser(policy_of(result), tiles)
    assert [int(line) for line in out.split()] == [choose(own) for own in seen]


def policy_of(result: Any) -> NDArray[np.float64]:
    q: NDArray[np.float64] = result.policy_q[result.median_agent]
    return q


def test_csv_names_plane_and_state(learned: AgentsResult, tmp_path: Path) -> None:
    learned.save(tmp_path)
    out = tmp_path / "table.csv"
    ran("export --format csv", tmp_path / "table.npz", "--out", out)
    _, names, *lines = out.read_text(encoding="utf-8").splitlines()
    assert names == "plane,state,action_0,action_1"
    assert len(lines) == 8 * 81
    row = ",".join(map(str, learned.table[learned.median_agent, 3, 40].tolist()))
    assert lines[3 * 81 + 40] == f"3,40,{row}"


TABLE_CONFIG = Config(25, 4, acting=Acting())
SMALL = Tiles([-1.2, -0.07], [0.6, 0.07], 5, 4, units=MOUNTAIN_CAR.units)
CAR = Acting(agents=1, world="MountainCar-v0", tiles=SMALL)
CAR_CONFIG = Config(36, 3, planes=4, acting=CAR)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: trained(settings=AgentSettings(1e-6, 0.99)),
         "alpha is 1e-06, 1.25e-07 in each of 8 planes; with 18 .* 0, or from 1.52588e-05 to 1$"),
        (lambda: trained(env_kwargs={"render_mode": "ansi"}),
         "env_kwargs are {'render_mode': 'ansi'}; CartPole-v1 on a device takes none"),
        (lambda: trained(config=TABLE_CONFIG, agents=None),
         "world is CartPole-v1; acting.world is 'table'"),
        (lambda: trained(config=CAR_CONFIG, agents=None),
         "world is CartPole-v1; acting.world is 'MountainCar-v0'"),
        (lambda: qstep.train("gridworld", config=CAR_CONFIG, steps=5),
         "world is a table; acting.world is 'MountainCar-v0'"),
        (lambda: trained(lanes=2, shared_table=True),
         "lanes is 2; it must be 1 where acting.shared_table is true"),
        (lambda: trained(algorithm="double-q"),
         "planes is 8; it must be 1 where acting.algorithm is 'double-q'"),
        (lambda: CART_POLE.limited(1 << 16),
         "max_episode_steps is 65536; it must be an integer from 0 to 65535"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(call: Any, said: str) -> None:
    with pytest.raises(QStepError, match=said):
        call()


@pytest.mark.slow
def test_a_configuration_brings_its_tiles() -> None:
    result = qstep.train(
        "MountainCar-v0", config=CAR_CONFIG, settings=AgentSettings(0.5, 1.0, Epsilon(0)), steps=500
    )
    assert result.table.shape == (4, 36, 3)
    assert result.tiles == SMALL
