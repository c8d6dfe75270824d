"""Environments with real-valued observations: the host steps them; agents learn in planes of tiles."""

import random
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import register
from gymnasium.envs.classic_control import CartPoleEnv
from tb.sw.command_line import ran, refused, told

import qstep
from qstep import Acting, AgentSettings, Config, Epsilon, Tiles
from qstep._io.checkpoint import read_checkpoint, save_checkpoint
from qstep.device.live import LiveModel
from qstep.errors import CheckpointError, ConfigError, EnvironmentSpaceError
from qstep.golden.agents import ActingModel
from qstep.learn.agents import AgentsRun
from qstep.learn.agents_result import AgentsResult
from qstep.learn.plan import Budget, planned
from qstep.learn.run import finished
from qstep.learn.tiled_env import EnvAgents, TiledEnv
from qstep.mdp.tiled import TiledWorld
from qstep.spec.integer_worlds import CART_POLE

OWN = AgentSettings(0.05, 0.95, Epsilon(0.3), 7)
LIVE = Config(81, 2, planes=8, coefficient_bits=18, acting=Acting(world="live"))


@pytest.mark.parametrize("algorithm", ["q-learning", "sarsa", "expected-sarsa"])
def test_live_planes_learn_what_the_world_on_the_chip_teaches(algorithm: str) -> None:
    acting = Acting(algorithm=algorithm, world="CartPole-v1")
    there = replace(LIVE, acting=acting)
    chip = ActingModel(there, TiledWorld(CART_POLE, there), [OWN])
    live = LiveModel(replace(LIVE, acting=Acting(algorithm=algorithm, world="live")), [OWN])
    for step in chip.run(1000):
        if not live.states[0].begun:
            live.begin(CART_POLE.rows(step.state))
        assert live.states[0].action == step.action
        if step.terminated:
            break
        live.act(step.reward / 256, CART_POLE.rows(step.next_state), terminated=False)
        assert (live.table == chip.table).all()
    assert step.terminated
    assert live.counters[0].steps > 5
    assert live.table.any()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda device: device.begin((0,) * 7), "state is .*; it must be a row in each of 8 planes"),
        (lambda device: device.begin(5), "state is 5; it must be a row in each of 8 planes"),
        (lambda device: device.begin((0,) * 7 + (81,)),
         r"state\[7\] is 81; it must be an integer from 0 to 80"),
        (lambda device: device.act(1.0, (0,) * 9, terminated=False),
         "next_state is .*; it must be a row in each of 8 planes"),
    ],
)  # fmt: skip
def test_rows_outside_the_planes_are_refused(call: Any, said: str) -> None:
    device = LiveModel(LIVE, [OWN])
    device.begin((3,) * 8)
    states, table = replace(device.states[0]), device.table
    with pytest.raises(ConfigError, match=said):
        call(device)
    assert device.states[0] == states
    assert (device.table == table).all()


def test_bounds_are_those_of_the_space_or_what_random_steps_reach() -> None:
    world = TiledEnv.of("CartPole-v1", (8, 4, 8, 4))
    tiles = world.tiles
    low, high = (
        [
            getattr(own, name) / unit
            for own, unit in zip(tiles.coordinates, tiles.units, strict=True)
        ]
        for name in ("low", "high")
    )
    assert (low[0], high[0]) == pytest.approx((-4.8, 4.8), abs=1e-3)  # a raw unit is 0.0006
    assert high[2] == pytest.approx(0.41887903, abs=1e-4)  # a raw unit is 0.00005
    assert 1 < high[1] < 10  # random steps reach about 1.5 to 3
    assert [own.tiles for own in tiles.coordinates] == [8, 4, 8, 4]
    assert (tiles.planes, tiles.hashes) == (8, False)
    assert TiledEnv.of("Acrobot-v1", 8).tiles.hashes  # a plane has fewer than 9^6 rows
    assert TiledEnv.of("CartPole-v1", (8, 4, 8, 4)) == world


def test_a_world_learns_through_given_tiles() -> None:
    result = qstep.train(
        "CartPole-v1",
        tiles=CART_POLE.tiles,
        steps=6000,
        settings=AgentSettings(0.2, 0.98, Epsilon(0.1)),
    )
    assert isinstance(result, AgentsResult)
    report = result.summary()
    assert report["agents"] == 1
    assert 0 <= report["clipped"] < 6000
    assert report["greedy_return"] > 60  # 9.4 without learning
    assert result.tiles == CART_POLE.tiles
    assert result.act(np.zeros(4)) in (0, 1)
    assert result.evaluate(episodes=5)["greedy_return"] > 40


def test_clipped_observations_are_counted() -> None:
    narrow = Tiles([-0.01] * 4, [0.01] * 4, tiles=4, tilings=2)
    plan = planned(TiledEnv.of("CartPole-v1", narrow), budget=Budget(100), settings=OWN)
    assert isinstance(plan.world, TiledEnv)
    device = EnvAgents(plan.config, plan.world, plan.settings)
    device.run(100)
    assert 90 < device.clipped <= 130  # 100 steps and each start are counted
    counters = device.counters[0]
    assert counters.steps == 100
    assert counters.terminations > 2
    device.close()


def test_a_truncated_episode_bootstraps_and_is_counted() -> None:
    plan = planned(TiledEnv.of("MountainCar-v0", 4), budget=Budget(450), settings=OWN)
    assert isinstance(plan.world, TiledEnv)
    device = EnvAgents(plan.config, plan.world, plan.settings)
    device.run(450)
    counters = device.counters[0]
    assert (counters.steps, counters.terminations, counters.truncations) == (450, 0, 2)


class Unrepeatable(CartPoleEnv):
    """A pole that draws from a random generator outside the environment."""

    def reset(self, **_: Any) -> Any:
        return super().reset(seed=random.randrange(1000))


register("Unrepeatable-v0", entry_point=f"{__name__}:Unrepeatable", max_episode_steps=100)


def run_of(env_id: str, **more: Any) -> AgentsRun:
    plan = planned(TiledEnv.of(env_id, 4), budget=Budget(2000), agents=2, settings=OWN, **more)
    return AgentsRun(env_id, "model", plan)


@pytest.mark.slow
@pytest.mark.parametrize("shared_table", [False, True])
@pytest.mark.parametrize("env_id", ["CartPole-v1", "MountainCar-v0"])  # terminated; truncated
def test_a_resumed_run_ends_as_one_that_was_not_interrupted(
    env_id: str, shared_table: bool, tmp_path: Path
) -> None:
    whole = finished(run_of(env_id, shared_table=shared_table))
    with closing(run_of(env_id, shared_table=shared_table)) as first:
        first.open(None)
        while first.steps < 1000:
            first.advance()
        save_checkpoint(tmp_path / "checkpoint.npz", first.checkpoint, first.identity)
    with closing(run_of(env_id, shared_table=shared_table)) as second:
        second.open(read_checkpoint(tmp_path / "checkpoint.npz")[1])
        assert second.steps == first.steps < 2000
        list(second)
        assert isinstance(whole, AgentsResult)
        resumed = second.result()
        assert (resumed.table == whole.table).all()
        assert repr(resumed.points) == repr(whole.points)  # a NaN is not equal to itself
        assert resumed.counters == whole.counters
        assert resumed.report["clipped"] == whole.report["clipped"]


def test_an_environment_that_does_not_repeat_an_episode_cannot_resume() -> None:
    with closing(run_of("Unrepeatable-v0")) as run:
        run.open(None)
        with pytest.raises(
            CheckpointError,
            match=r"le-v0>> cannot resume: its episode, replayed from its reset and 0 actions, ends in",
        ):
            run.restore(run.checkpoint)


@pytest.mark.usefixtures("own_folder")
def test_the_command_writes_what_play_reads(tmp_path: Path) -> None:
    report = told("train CartPole-v1 --tiles 6 --steps 1500 --alpha 0.2 --out", tmp_path)
    assert "clipped" in report
    assert told("play --episodes 3", tmp_path / "table.npz")["mean_return"] > 5
    ran("export --format c", tmp_path / "table.npz", "--out", tmp_path / "pole.h")
    more = told("train CartPole-v1 --tiles 6 --steps 2000 --alpha 0.2 --resume --out", tmp_path)
    assert more["agents"] == 1


def test_the_environment_of_the_page_is_learned(own_folder: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/features.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(# tank\.py.*?)^```", page, re.MULTILINE | re.DOTALL)
    (own_folder / "tank.py").write_text(code, encoding="utf-8")
    ran("train tank:Tank-v0 --tiles 8 --steps 500")
    assert (own_folder / "runs/tank.Tank-v0/table.npz").exists()


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        ("train FrozenLake-v1 --tiles 8", EnvironmentSpaceError,
         r"the observation space is Discrete\(16\); tiles need a Box of one axis"),
        ("train Pendulum-v1 --tiles 8", EnvironmentSpaceError,
         "the action space is Box.*needs a Discrete"),
        ("train CartPole-v1 --tiles 8,8", ConfigError, "tiles has 2 numbers; it must have 1 or 4"),
        ("train CartPole-v1 --tiles 0", ConfigError,
         r"tiles\[0\] is 0; it must be an integer from 1 to 255"),
        ("train CartPole-v1 --tiles x", SystemExit, "'x' is not a list of whole numbers"),
        ("train CartPole-v1 --tiles 8 --device sim", ConfigError,
         "device is 'sim'; with tiles it must be 'model'"),
        ("train CartPole-v1 --tiles 8 --act host", SystemExit, "--act is not for --tiles"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("own_folder")
def test_what_does_not_fit_is_refused(words: str, error: type[BaseException], said: str) -> None:
    refused(words, error, said)


def test_tiles_of_another_environment_are_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"tiles are for 4 numbers; an observation of MountainC.* 2"
    ):
        TiledEnv.of("MountainCar-v0", CART_POLE.tiles)
    with pytest.raises(ConfigError, match="tiles are 8 and act is 'host'; leave act out"):
        qstep.train("CartPole-v1", tiles=8, act="host")
    with pytest.raises(ConfigError, match="with tiles it must be the environment's id, such as"):
        qstep.train(CART_POLE, tiles=8)
