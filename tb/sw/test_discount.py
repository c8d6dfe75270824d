"""Which discount is learned with 15 fractional bits, and that every front end says so."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tb.reference_device import ReferenceDevice
from tb.sw.command_line import invoke, refused
from tb.sw.lossy_port import DirectPort

import qstep
from qstep import AgentSettings, Config, Hyperparameters, World
from qstep._io.workers import Here
from qstep.device import Device, open_agents, open_live
from qstep.device.lane import LinkDevice
from qstep.errors import ConfigError, PrecisionWarning
from qstep.learn.advise import advise
from qstep.learn.agents_result import AgentsResult
from qstep.learn.host import Learner, Plan
from qstep.learn.plan import Budget, fitting_format, planned
from qstep.learn.sweep_views import render
from qstep.mdp.solve import best_start_value, solve, start_value
from qstep.spec.agents import Acting
from qstep.spec.discount import differs, learned_discount, nearest_alpha, warn_of_discounts
from qstep.spec.fixed import Rounding

OFF: dict[str, Any] = {"alpha": 1 / 4096, "gamma": 0.9}
LOST: dict[str, Any] = {"alpha": 1 / 1024, "gamma": 0.99}
SAID = (
    "alpha is 0.000244140625 and gamma is 0.9, but the discount learned is 0.875, since alpha and "
    "alpha gamma have 15 fractional bits; use another gamma, or alpha 0.000305176, the nearest that "
    "learns gamma 0.9"
)
REFUSED = (
    "alpha is 0.0009765625 and gamma is 0.99, but the discount learned is 1, since .* use another "
    "gamma, or alpha 0.00305176, the nearest that learns gamma 0.99"
)


def options(values: dict[str, float]) -> list[str]:
    return [f"--{name}={value}" for name, value in values.items()]


@pytest.mark.parametrize(
    ("alpha", "gamma", "learned"),
    [
        (2**-10, 0.99, 1.0),
        (2**-12, 0.9, 0.875),
        (2**-9, 0.9, 0.90625),
        (2**-15, 0.4, 0.0),
        (0.5, 0.75, 0.75),
        (2**-16, 1.0, 1.0),
        (0.0, 0.9, 0.9),
    ],
)
def test_learned_discount_is_the_coefficients(alpha: float, gamma: float, learned: float) -> None:
    assert learned_discount(alpha, gamma) == learned
    assert AgentSettings(alpha, gamma).discount == Hyperparameters(alpha, gamma).discount == learned


@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.9, 0.99, 0.999, 0.99995, 1.0])
def test_nearest_alpha_is_the_nearest_that_learns_gamma(gamma: float) -> None:
    good = [n / 32768 for n in range(1, 32769) if not differs(n / 32768, gamma)]
    for alpha in (1e-4, 1 / 256, 0.5, 1.0):
        assert nearest_alpha(gamma, alpha) == min(good, key=lambda own: abs(np.log(own / alpha)))


@pytest.mark.parametrize(
    ("alpha", "gamma", "message"),
    [
        (2**-10, 0.99, REFUSED),
        (2**-15, 0.4, "discount learned is 0, since .* alpha 0.000152588, the nearest that learns"),
        (1.0, 0.99999, "discount learned is 1, since .*; use gamma 1, or at most 0.999969"),
    ],
)
def test_gamma_learned_as_0_or_1_is_refused(alpha: float, gamma: float, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        warn_of_discounts([(0.5, 0.9), (alpha, gamma)])


def test_many_pairs_are_told_in_one_line() -> None:
    many = r"15 fractional bits \(pairs like it: 3\); use"
    with pytest.warns(PrecisionWarning, match=many) as said:
        warn_of_discounts([(0.5, 0.9), *((alpha, 0.9) for alpha in (2**-12, 2**-12, 2**-9, 2**-8))])
    assert len(said) == 1
    # No gamma that is learned to 1 % is remarked.
    warn_of_discounts([(0.5, 0.9), (0.1, 0.99), (2**-15, 1.0), (0.5, 1e-9), (2**-15, 0.0)])


def configured(device: Device, hyper: Hyperparameters) -> object:
    with device:
        return device.configure(hyper)


def reconfigured(settings: AgentSettings) -> object:
    plan = planned("gridworld", budget=Budget(200), agents=1)
    device = open_agents("model", plan.config, plan.loaded, plan.settings)
    try:
        return device.configure([settings])
    finally:
        states = device.states
        device.run(1, trace=False)
        assert states[0].begun is False


FRONTS: dict[str, Callable[[float, float], object]] = {
    "train": lambda *own: qstep.train("gridworld", steps=200, settings=AgentSettings(*own)),
    "sweep": lambda alpha, gamma: qstep.sweep(
        *("gridworld",), alphas=[alpha], gammas=[gamma], seeds=[0], steps=200, workers=Here()
    ),
    "advise": lambda alpha, gamma: advise(
        World.named("gridworld"), alpha=alpha, gamma=gamma, steps=200, most_width=8
    ),
    "model": lambda *own: configured(qstep.open("model", Config(4, 2)), Hyperparameters(*own)),
    "link": lambda *own: configured(
        LinkDevice(DirectPort(ReferenceDevice(Config(4, 2))), Config(4, 2)), Hyperparameters(*own)
    ),
    "agents": lambda *own: reconfigured(AgentSettings(*own)),
    "live world": lambda *own: open_live(
        "model", Config(4, 2, acting=Acting(world="live")), [AgentSettings(*own)]
    ),
}


@pytest.mark.parametrize("front", FRONTS)
def test_python_warns_of_another_discount_and_refuses_a_lost_one(front: str) -> None:
    with pytest.warns(PrecisionWarning) as said:
        FRONTS[front](*OFF.values())
    assert [str(own.message) for own in said if "discount" in str(own.message)] == [SAID]
    with pytest.raises(ConfigError, match=REFUSED):
        FRONTS[front](*LOST.values())


def test_gamma_is_refused_before_a_device_is_opened_and_a_format_chosen() -> None:
    lost = AgentSettings(*LOST.values())
    with pytest.raises(ConfigError, match=REFUSED):
        qstep.train("gridworld", device="serial:/dev/none", steps=9, settings=lost)
    with pytest.raises(ConfigError, match=REFUSED):
        fitting_format(World.named("gridworld"), [lost])


def test_results_are_compared_with_the_optimum_of_the_learned_discount() -> None:
    world = World.named("gridworld")
    best = best_start_value(world, 0.875)
    with pytest.warns(PrecisionWarning):
        result = qstep.train(world, steps=200, settings=AgentSettings(**OFF), agents=2)
    assert isinstance(result, AgentsResult)
    assert result.optimum == (best, best)
    assert result.points[-1].value[1] == start_value(world, result.policies[1], 0.875)
    assert result.summary()["discount"] == [0.875, 0.875]
    with pytest.warns(PrecisionWarning):
        swept = qstep.sweep(
            *(world,), alphas=[OFF["alpha"]], gammas=[0.9], seeds=[0], steps=200, workers=Here()
        )
    assert swept.by_seed[0][0]["optimum"] == best
    assert swept.summary()["points"][0]["discount"] == 0.875
    assert [column.header for column in render(swept).columns][2] == "discount"


def test_advice_is_by_default_for_an_alpha_that_learns_gamma() -> None:
    given: dict[str, Any] = {"steps": 200, "most_width": 8, "roundings": [Rounding.FLOOR]}
    for world in ("gridworld", "FrozenLake-v1"):
        for gamma in (0.9, 0.99):
            advice = advise(World.named(world), gamma=gamma, **given)
            assert not differs(advice["alpha"], gamma)
            assert advice["discount"] == learned_discount(advice["alpha"], gamma)


def test_advice_is_for_the_policy_of_the_learned_discount() -> None:
    now_or_later = World.from_arrays(  # 1 at once, or 3.3 after ten steps
        state=[*range(11), *range(11)],
        action=[0] * 11 + [1] * 11,
        next_state=[*range(1, 11), 0, 0, *range(2, 11), 0],
        probability=[1.0] * 22,
        reward=[0.0] * 10 + [3.3, 1.0] + [0.0] * 9 + [3.3],
        terminated=[False] * 10 + [True] * 2 + [False] * 9 + [True],
        start_state=[0],
    )
    assert solve(now_or_later, 0.9).optimal[0].tolist() == [True, False]
    with pytest.warns(PrecisionWarning, match=SAID):
        advice = advise(now_or_later, **OFF, steps=1 << 16, roundings=[Rounding.NEAREST])
    assert advice["narrowest"] is not None


@pytest.mark.parametrize("act", ["device", "host"])
def test_command_line_says_the_discount_that_is_learned(act: str, tmp_path: Path) -> None:
    words = f"train gridworld --act {act} --episodes 20"
    result = invoke(
        words, *options(OFF), "--out", tmp_path / "run", "--json", tmp_path / "run.json"
    )
    assert result.exit_code == 0, result.output
    assert result.stderr.count(f"warning: {SAID}\n") == 1
    assert "discount learned: 0.875, not gamma 0.9; the optimum is that of 0.875" in result.stdout
    report = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert np.unique(report["discount"]).tolist() == [0.875]
    best = best_start_value(World.named("gridworld"), 0.875)
    optimum = report["optimum"]
    assert (optimum[0] if act == "device" else optimum["exact_start_value"]) == best


@pytest.mark.parametrize("act", ["device", "host"])
def test_command_line_refuses_a_lost_discount_and_keeps_files(act: str, own_folder: Path) -> None:
    words = f"train gridworld --act {act} --episodes 20 --out {own_folder}/run"
    assert invoke(words).exit_code == 0
    refused(" ".join([words, "--overwrite", *options(LOST)]), ConfigError, REFUSED)


def test_replay_says_the_discount_that_is_learned(tmp_path: Path) -> None:
    columns: dict[str, Any] = {
        name: np.zeros(3, np.int64) for name in ("state", "action", "next_state")
    }
    np.savez(tmp_path / "walk.npz", **columns, reward=np.ones(3), terminated=np.zeros(3, np.bool_))
    words = ["replay", str(tmp_path / "walk.npz"), "--out", str(tmp_path / "table.npz")]
    words += ["--states", "4", "--actions", "2"]
    result = invoke(*words, *options(OFF), "--json")
    assert f"warning: {SAID}" in result.stderr
    assert json.loads(result.stdout)["discount"] == 0.875
    assert isinstance(invoke(*words, *options(LOST)).exception, ConfigError)


def test_a_learner_configures_a_discount_as_a_device_does() -> None:
    with qstep.open("model", Config(25, 4)) as device:
        learner = Learner(device, Plan("gridworld", episodes=1), Hyperparameters())
        with pytest.raises(ConfigError, match=REFUSED):
            learner.configure(replace(learner.hyper, **LOST), learner.plan.epsilon)
        assert learner.hyper == Hyperparameters()
