"""Every public call rejects arguments of a wrong type or range with one of QStep's own errors."""

import inspect
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from tb.reference_device import ReferenceDevice
from tb.sw.lossy_port import DirectPort

import qstep
from qstep import (
    Acting,
    AgentSettings,
    Algorithm,
    Config,
    Epsilon,
    Hyperparameters,
    Link,
    QFormat,
    QStepError,
    Rounding,
    Transitions,
    World,
    envs,
)
from qstep._io.workers import Here
from qstep.device.lane import LinkDevice
from qstep.errors import ConfigError, NoTableError, TransitionError, WorldError

CONFIG = Config(25, 4)
LIVE = Config(4, 2, acting=Acting(world="live"))
COIN: dict[str, Any] = {
    "state": [0, 0, 1, 1],
    "action": [0, 1, 0, 1],
    "next_state": [0, 1, 1, 1],
    "reward": [-1.0, 1, 0, 0],
    "terminated": [False, True, True, True],
    "start_state": [0],
}
WORLD = World.from_arrays(**COIN)
ONE: dict[str, Any] = {
    "config": CONFIG,
    "state": [0],
    "action": [0],
    "reward": [0.0],
    "next_state": [0],
    "terminated": [False],
}
QUICK: dict[str, Any] = {
    "world": "gridworld",
    "steps": 200,
    "alphas": [0.1],
    "gammas": [0.9],
    "seeds": [0],
    "workers": Here(),
}


WRONG: dict[str, Any] = {
    "none": None,
    "true": True,
    "text": "x",
    "empty": "",
    "bytes": b"x",
    "zero": 0,
    "negative": -1,
    "float": 2.5,
    "nan": math.nan,
    "infinity": math.inf,
    "huge": 10**400,
    "wide": 1 << 70,
    "list": [],
    "numbers": [1, 2],
    "texts": ["x"],
    "ragged": [[1], [2, 3]],
    "table": {1: 2},
    "array": np.array([1.0]),
    "matrix": np.array([[1, 2]]),
    "objects": [object()],
    "object": object(),
    "type": int,
}


def live() -> Any:
    device = qstep.open_live("model:", LIVE, [AgentSettings()])
    device.begin(0)
    return device


def reference() -> LinkDevice:
    return LinkDevice(DirectPort(ReferenceDevice(CONFIG)), CONFIG)


CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "train": (qstep.train, {"world": "gridworld", "steps": 200}),
    "sweep": (qstep.sweep, QUICK),
    "open": (qstep.open, {"url": "model:", "config": CONFIG}),
    "open_live": (
        qstep.open_live,
        {"url": "model:", "config": LIVE, "settings": [AgentSettings()]},
    ),
    "load": (qstep.load, {"folder": "absent"}),
    "Budget": (qstep.Budget, {"steps": 5}),
    "NoiseState": (qstep.NoiseState, {"x": 1, "w": 0}),
    "Acting": (Acting, {}),
    "AgentSettings": (AgentSettings, {}),
    "Algorithm.parse": (Algorithm.parse, {}),
    "Config": (Config, {"states": 25, "actions": 4}),
    "Config.from_dict": (Config.from_dict, {}),
    "Config.from_toml": (Config.from_toml, {}),
    "Epsilon": (Epsilon, {"kind": "linear", "over": 3}),
    "Hyperparameters": (Hyperparameters, {}),
    "Hyperparameters.rounding_for": (Hyperparameters().rounding_for, {}),
    "Hyperparameters.to_dict": (Hyperparameters().to_dict, {}),
    "Link": (Link, {}),
    "SweepOptions": (qstep.SweepOptions, {}),
    "SweepOptions.plan": (qstep.SweepOptions().plan, {"world": "gridworld"}),
    "QFormat": (QFormat, {"integer": 8, "fraction": 8}),
    "QFormat.parse": (QFormat.parse, {}),
    "QFormat.quantise": (lambda values: QFormat(8, 8).quantise(values), {}),
    "Rounding.parse": (Rounding.parse, {}),
    "Tiles": (qstep.Tiles, {"low": [0.0], "high": [1.0]}),
    "Tiles.raw": (qstep.Tiles([0.0], [1.0]).raw, {}),
    "Transitions.from_arrays": (Transitions.from_arrays, ONE),
    "Transitions.load": (Transitions.load, {"path": "absent.npz", "config": CONFIG}),
    "World.from_arrays": (World.from_arrays, COIN),
    "World.from_env": (World.from_env, {}),
    "World.from_file": (World.from_file, {}),
    "World.named": (World.named, {"name": "gridworld"}),
    "World.of": (World.of, {"source": "gridworld"}),
    "World.acting": (WORLD.acting, {}),
    "World.limited": (WORLD.limited, {}),
    "World.save": (WORLD.save, {}),
    "World.table": (WORLD.table, {}),
    "World.visited": (WORLD.visited, {}),
    "envs.make": (envs.make, {"env_id": "gridworld", "seed": 0}),
    "envs.make_any": (envs.make_any, {"env_id": "gridworld"}),
    "live.begin": (live().begin, {"state": 0}),
    "live.act": (live().act, {"reward": 0.0, "next_state": 0, "terminated": False}),
    **{
        f"{name}.{method}": (getattr(device, method), {})
        for name, device in (("model", qstep.open("model:", CONFIG)), ("link", reference()))
        for method in ("configure", "set_noise", "load", "apply")
    },
    "link.set_baud": (reference().set_baud, {}),
}
NOT_TRIED = """
    AgentCounters AgentState AgentsPlan AgentsResult Cluster Coefficients Counters Device EpsilonCode
    Here LiveDevice Metrics NetworkResult Point Processes Progress QStepError Result
    Status SweepPlan SweepPoint SweepResult TableResult TableType ValueRange Workers WorldTable doubts
    fitting_format
    dqn is_quick pqn rtl_files sac usual_steps value_range
"""
"""Untested names: types that QStep returns, implements or raises, queries of worlds, and hardware."""


def parameters() -> Iterator[Any]:
    for name, (function, arguments) in CALLS.items():
        signature = inspect.signature(function).parameters
        for parameter in signature:
            yield pytest.param(function, arguments, parameter, id=f"{name}-{parameter}")


@pytest.mark.parametrize(("function", "arguments", "parameter"), [*parameters()])
@pytest.mark.filterwarnings("ignore")
def test_argument_of_a_wrong_type_is_taken_or_refused_with_our_own_error(
    function: Callable[..., Any],
    arguments: dict[str, Any],
    parameter: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = 0
    for kind, value in WRONG.items():
        if kind == "none" and parameter == "workers":
            continue  # starts processes
        if kind == "type" and parameter in ("progress", "metrics"):
            continue  # a type is callable, and errors in the call are its own
        try:
            function(**{**arguments, parameter: value})
        except QStepError:
            refused += 1
    assert refused >= len(WRONG) // 3, "most of these are wrong"


def test_every_public_name_is_tried() -> None:
    tried = {name.partition(".")[0] for name in CALLS}
    assert set(qstep.__all__) - set(NOT_TRIED.split()) <= tried


SLIPPERY = gym.make("FrozenLake-v1")


def test_train_and_sweep_take_an_environment_that_has_a_table() -> None:
    named, given = (qstep.train(world, steps=2000) for world in ("FrozenLake-v1", SLIPPERY))
    assert np.array_equal(named.table, given.table)
    swept = qstep.sweep(**{**QUICK, "world": SLIPPERY}).plan.world
    assert swept is not None
    assert swept.digest == World.named("FrozenLake-v1").digest


def train(**given: Any) -> object:
    return qstep.train(**{"world": "gridworld", "steps": 200, **given})


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: train(world=None), WorldError,
         "world is None; it must be a World, the name of one, or an env"),
        (lambda: train(world=5), WorldError, "world is 5; it must be a World"),
        (lambda: train(world=gym.make("CartPole-v1"), act="device"), NoTableError,
         "only the host can act in it"),
        (lambda: train(world="snake"), ConfigError,
         "steps is 200; it is for runs in which the device acts"),
        (lambda: train(act="both"), ConfigError, "act is 'both'; it must be 'device' or 'host'"),
        (lambda: train(config="x"), ConfigError, "configuration is 'x'; it must be a Config"),
        (lambda: train(config=CONFIG), ConfigError, "acting is None; "),
        (lambda: train(settings=[]), ConfigError,
         "settings is empty; it must contain at least one AgentSettings"),
        (lambda: train(settings=[1, 2]), ConfigError,
         r"settings\[0\] is 1; it must be an AgentSettings"),
        (lambda: train(settings=Hyperparameters()), ConfigError, "settings is Hyperparameters"),
        (lambda: train(agents=2.5), ConfigError,
         r"agents is 2\.5; it must be an integer from 1 to 2048"),
        (lambda: train(progress="x"), ConfigError,
         "progress is 'x'; it must be a function, or None"),
        (lambda: qstep.open("model:", Config(25, 4, acting=Acting())), ConfigError,
         "a device with agents takes no transitions from"),
        (lambda: qstep.open("model:", Config(25, 4, acting=Acting(3))), ConfigError,
         "a device with agents takes no transitions from"),
        (lambda: qstep.open("model:", Config(25, 4, acting=Acting(world="live"))), ConfigError,
         "a device with agents takes no transitions from"),
        (lambda: qstep.open_live("model:", LIVE, [AgentSettings(), None]), ConfigError,  # type: ignore[list-item]
         r"settings\[1\] is None; it must be an AgentSettings"),
    ],
)  # fmt: skip
def test_wrong_calls_are_refused(
    call: Callable[[], object], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("reward", [np.array([1.0]), [1.0], np.zeros(0), "1", None], ids=repr)
def test_a_reward_is_one_number(reward: Any) -> None:
    device = live()
    before = device.states
    with pytest.raises(TransitionError, match="reward"):
        device.act(reward, 1, False)
    assert device.states == before
    device.act(np.array(1.0), 1, np.bool_(False))
