"""`qstep export` and `qstep play` with a trained network."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from PIL import Image, ImageSequence
from tb.sw.command_line import ran, refused, told

import qstep
from qstep.errors import DrawingError, EnvironmentSpaceError, FileFormatError, ToolMissingError

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.fixture(scope="module")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a network trained on FrozenLake without slipping."""
    folder = tmp_path_factory.mktemp("lake")
    settings: dict[str, Any] = {"total_timesteps": 20_000, "hidden": (32,), "gamma": 0.9}
    qstep.dqn("FrozenLake-v1", env_kwargs={"is_slippery": False}, **settings).save(folder)
    return folder


@pytest.fixture
def lake(learnt: Path) -> Path:
    shutil.copytree(learnt, "lake")
    return Path("lake")


def seen(env: gym.Env[Any, Any], count: int) -> list[Any]:
    """Return the observations of steps with random actions."""
    env.action_space.seed(0)
    found = [env.reset(seed=0)[0]]
    while len(found) < count:
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        found.append(env.reset()[0] if terminated or truncated else observation)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("world", ["FrozenLake-v1", "CartPole-v1"])
def test_exported_network_gives_the_values_and_actions_of_its_policy(
    world: str, lake: Path
) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    if world == "CartPole-v1":
        ran(f"pqn {world} --total-timesteps 2000 --out lake --overwrite")
    said = ran("export lake --format onnx --out new/net.onnx").stdout
    result = qstep.load(lake)
    assert isinstance(result, qstep.NetworkResult)
    assert said == f"{world}, {result.report['algorithm']}: new/net.onnx\n"
    model = onnxruntime.InferenceSession("new/net.onnx")
    kept = json.loads(model.get_modelmeta().custom_metadata_map["report"])
    assert kept == json.loads(json.dumps(result.report))
    assert b"site-packages" not in Path("new/net.onnx").read_bytes()
    observations = np.array(seen(gym.make(world), 100))
    (values,) = model.run(["values"], {"observation": observations})
    numbers = observations
    if world == "FrozenLake-v1":
        numbers = np.eye(16, dtype=np.float32)[observations]
    with torch.no_grad():
        expected = result.network(torch.from_numpy(numbers)).numpy()
    # float32 sums in another order
    assert np.allclose(values, expected, rtol=1e-5, atol=1e-6)
    actions = [result.act(observation) for observation in observations]
    assert np.allclose(values[np.arange(100), actions], values.max(1), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_exported_sac_gives_the_actions_of_its_policy(own_folder: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    settings: dict[str, Any] = {"batch_size": 32, "hidden": (8,), "learning_starts": 50}
    result = qstep.sac("Pendulum-v1", total_timesteps=100, **settings)
    model = onnxruntime.InferenceSession(result.onnx())
    observations = np.array(seen(gym.make("Pendulum-v1"), 100))
    (actions,) = model.run(["actions"], {"observation": observations})
    expected = [result.act(observation) for observation in observations]
    assert np.allclose(actions, expected, rtol=1e-5, atol=1e-6)  # float32 sums in another order


def test_play_scores_a_network_in_its_own_environment_and_shows_it(lake: Path) -> None:
    best = "2 greedy episodes, mean return 1.00, success 100%, length 6.0"
    result = ran(f"play {lake} --episodes 2 --watch --delay 0")
    *shown, end, score = result.stdout.splitlines()
    assert score == f"FrozenLake-v1: {best}"
    assert end == "terminated in state 15 after 6 steps, return 1"
    assert sum(line.startswith("state ") for line in shown) == 6
    report = told(f"play {lake} FrozenLake-v1 --env-kwargs is_slippery=false --episodes 2")
    assert (report["network"], report["mean_return"], report["mean_length"]) == ("lake", 1.0, 6.0)
    assert told(f"play {lake} --env-kwargs is_slippery=true")["mean_return"] < 1


@pytest.mark.slow
def test_play_records_the_first_scored_episode(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran("train gridworld --agents 2 --episodes 300 --out table")
    ran("dqn snake-features --code plain --total-timesteps 300 --out snake")
    for source in ("table/table.npz", "snake"):
        report = told(f"play {source} --episodes 1 --gif new/game.gif")
        with Image.open("new/game.gif") as picture:
            assert picture.format == "GIF"
            shown_ms = [frame.info["duration"] for frame in ImageSequence.Iterator(picture)]
        # 10 pictures per second; equal successive pictures form one frame
        assert sum(shown_ms) == 100 * (report["mean_length"] + 1)
    monkeypatch.setitem(sys.modules, "pygame", None)
    refused(
        f"play {lake} --gif new/g.gif", DrawingError, "g.gif cannot be drawn: pygame is not ins"
    )
    qstep.World.named("gridworld").save("grid.npz")
    refused(
        "play table/table.npz grid.npz --gif g.gif",
        DrawingError,
        "^g.gif cannot be drawn: grid.npz has no render mode rgb_array$",
    )


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        ("play lake --agent 0", SystemExit, "--agent is for tables; a run has one network"),
        ("play lake --gif game.png", SystemExit, "'game.png' does not end with .gif"),
        ("play lake CliffWalking-v1", EnvironmentSpaceError,
         r"^CliffWalking-v1 has observations Discrete\(48\) and actions Discrete\(4\); the network is "
         "for 16 numbers and 4 actions$"),
        ("play empty", FileFormatError, "^empty/report.json: cannot be read: "),
        ("play table", FileFormatError,
         "^table: contains no network; to name a table, give its file, such as table/table.npz$"),
        ("export table --format onnx --out net.onnx", FileFormatError, "^table: contains no network; "),
        ("export table/table.npz --format onnx --out net.onnx", SystemExit,
         "--format onnx exports the network of a run's folder; table/table.npz is a file"),
        ("export lake --format csv --out net.csv", SystemExit,
         "--format csv exports a table's file; lake is a folder; export its network with --format onnx"),
        ("export lake --format onnx --agent 1 --out net.onnx", SystemExit, "--agent is for tables"),
    ],
)  # fmt: skip
def test_what_cannot_be_exported_or_played_is_refused(
    words: str, error: type[BaseException], text: str, lake: Path
) -> None:
    Path("empty").mkdir()
    if "table" in words:
        ran("train gridworld --agents 1 --episodes 3 --out table")
    refused(words, error, text)


def test_export_of_a_network_names_the_extra_that_is_missing(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    missing = r"onnxscript is not installed; run.*\[onnx\]"
    refused(f"export {lake} --format onnx --out new/net.onnx", ToolMissingError, missing)
