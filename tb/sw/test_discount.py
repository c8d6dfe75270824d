"""The discount that is learned with 15 or more fractional bits; every front end reports it."""

import json
import warnings
from collections.abc import Callable
from contextlib import closing
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
from qstep.learn.advise_views import render as render_advice
from qstep.learn.advise_views import sentence
from qstep.learn.agents_result import AgentsResult
from qstep.learn.host import HostRun, Plan
from qstep.learn.plan import Budget, fitting_format, planned
from qstep.learn.sweep_views import render
from qstep.learn.table import load_table
from qstep.mdp.solve import best_start_value, solve, start_value
from qstep.spec.agents import Acting
from qstep.spec.discount import (
    differs,
    learned_discount,
    least_bits,
    nearest_alpha,
    warn_of_discounts,
)
from qstep.spec.fixed import Rounding

OFF: dict[str, Any] = {"alpha": 1 / 4096, "gamma": 0.9}
LOST: dict[str, Any] = {"alpha": 1 / 1024, "gamma": 0.99}
SAID = (
    "alpha 0.000244140625 with gamma 0.9 learns the discount 0.875, because alpha and alpha*gamma "
    "have 15 fractional bits; use another gamma, or alpha 0.000305176, the nearest that learns gamma "
    "0.9, or --coefficient-bits 21 (in Python, coefficient_bits)"
)
REFUSED = (
    "alpha 0.0009765625 with gamma 0.99 learns the discount 1, because .* use another gamma, or "
    "alpha 0.00305176, the nearest that learns gamma 0.99"
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
    for kind in (AgentSettings, Hyperparameters):
        assert kind(alpha, gamma).discount_for(Config(4, 2)) == learned


@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.9, 0.99, 0.999, 0.99995, 1.0])
def test_nearest_alpha_is_the_nearest_that_learns_gamma(gamma: float) -> None:
    good = [n / 32768 for n in range(1, 32769) if not differs(n / 32768, gamma)]
    for alpha in (1e-4, 1 / 256, 0.5, 1.0):
        assert nearest_alpha(gamma, alpha) == min(good, key=lambda own: abs(np.log(own / alpha)))


@pytest.mark.parametrize(
    ("alpha", "gamma", "message"),
    [
        (2**-10, 0.99, REFUSED),
        (
            2**-15,
            0.4,
            "learns the discount 0, because .* alpha 0.000152588, the nearest that learns",
        ),
        (1.0, 0.99999, "learns the discount 1, because .*; use gamma 1, or at most 0.999969$"),
    ],
)
def test_gamma_learned_as_0_or_1_is_refused(alpha: float, gamma: float, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        warn_of_discounts([(0.5, 0.9), (alpha, gamma)])


def test_many_pairs_are_told_in_one_line() -> None:
    many = r"15 fractional bits \(and 2 other pairs like it\); use"
    with pytest.warns(PrecisionWarning, match=many) as said:
        warn_of_discounts([(0.5, 0.9), *((alpha, 0.9) for alpha in (2**-12, 2**-12, 2**-9, 2**-8))])
    assert len(said) == 1
    # There is no warning if the learned gamma is within 1 % of the given one.
    warn_of_discounts([(0.5, 0.9), (0.1, 0.99), (2**-15, 1.0), (0.5, 1e-9), (2**-15, 0.0)])


@pytest.mark.parametrize(
    ("alpha", "gamma", "bits"),
    [
        (0.5, 0.9, 15),
        (2**-12, 0.9, 21),
        (2**-12, 0.95, 22),
        (2**-10, 0.99, 22),
        (0.5, 0.99999, None),  # from 17 bits on, alpha does not fit
        (2**-20, 0.9, None),
    ],
)
def test_least_bits_learn_gamma_and_fewer_do_not(
    alpha: float, gamma: float, bits: int | None
) -> None:
    assert least_bits(alpha, gamma) == bits
    for fewer in range(15, bits or 25):
        if 0.5 <= alpha * 2**fewer < 2**16 - 0.5 or alpha * 2**fewer <= 2**15:
            assert alpha * 2**fewer < 0.5 or differs(alpha, gamma, fewer)
    if bits is not None:
        assert not differs(alpha, gamma, bits)


@pytest.mark.slow
@pytest.mark.parametrize(("later", "best"), [(1.55, 1), (1.8, 0)])
def test_small_alpha_with_more_bits_learns_the_policy_of_its_gamma(later: float, best: int) -> None:
    """As 0.95^10 is 0.5987, `later` in ten steps is worth 0.93 or 1.08 now; the alternative is 1 now."""
    world = World.from_arrays(
        state=[*range(10), *range(10)],
        action=[0] * 10 + [1] * 10,
        next_state=[*range(1, 10), 0, 0, *range(2, 10), 0],
        probability=[1.0] * 20,
        reward=[0.0] * 9 + [later, 1.0] + [0.0] * 8 + [later],
        terminated=[False] * 9 + [True] * 2 + [False] * 8 + [True],
        start_state=[0],
    )
    own = AgentSettings(alpha=1 / 4096, gamma=0.95, epsilon=qstep.Epsilon(1.0))
    with pytest.raises(ConfigError, match=r"learns the discount 1, .* or --coefficient-bits 22"):
        qstep.train(world, steps=9, settings=own)
    result = qstep.train(
        world, steps=1 << 21, agents=2, settings=own, number_format="Q4.20", coefficient_bits=22
    )
    assert result.summary()["discount"] == [973 / 1024] * 2
    assert [policy[0] for policy in result.policies] == [best, best]
    assert solve(world, 0.95).optimal[0].tolist() == [best == 0, best == 1]


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


@pytest.mark.parametrize(("alpha", "gamma", "bits"), [(0.5, 0.9, 15), (2**-12, 0.9, 21)])
def test_advice_names_the_bits_that_learn_gamma(alpha: float, gamma: float, bits: int) -> None:
    given: dict[str, Any] = {"steps": 200, "most_width": 8, "roundings": [Rounding.FLOOR]}
    advice = advise(World.named("gridworld"), alpha=alpha, gamma=gamma, **given)
    assert advice["coefficient_bits"] == bits
    assert advice["discount"] == learned_discount(alpha, gamma, bits)
    advice["narrowest"] = advice["trials"][0]
    assert (f" --coefficient-bits {bits} " in sentence(advice, "gridworld")) == (bits > 15)
    assert (f"{bits} fractional bits" in str(render_advice(advice, "gridworld").title)) == (
        bits > 15
    )


def test_advice_is_for_the_policy_of_the_learned_discount() -> None:
    """No number of bits lets alpha 0.3 learn 0.9999; 15 bits learn 0.999898, with a lower optimum."""
    world = World.named("gridworld")
    with pytest.warns(
        PrecisionWarning, match=r"alpha 0\.3 with gamma 0\.9999 learns the discount 0\.9998"
    ):
        advice = advise(world, alpha=0.3, gamma=0.9999, steps=200, most_width=12)
    assert advice["coefficient_bits"] == 15
    assert advice["discount"] == learned_discount(0.3, 0.9999) != 0.9999


def test_warning_gives_alpha_of_the_sum_and_of_each_plane() -> None:
    said = (
        r"alpha 0\.05 \(0\.00625 in each of 8 planes\) with gamma 0\.99 learns the discount "
        r"0\.990232, .* or alpha 0\.0493164 \(0\.00616455 in each of 8 planes\), the nearest that "
        r"learns gamma 0\.99, or --coefficient-bits 19 \(in Python"
    )
    own = AgentSettings(0.05, 0.99)
    with pytest.warns(PrecisionWarning, match=said):
        qstep.train("CartPole-v1", steps=100, settings=own)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        qstep.train("CartPole-v1", steps=100, settings=replace(own, alpha=0.0493164))


@pytest.mark.parametrize("act", ["device", "host"])
def test_command_line_says_the_discount_that_is_learned(act: str, tmp_path: Path) -> None:
    words = f"train gridworld --act {act} --episodes 20"
    result = invoke(
        words, *options(OFF), "--out", tmp_path / "run", "--json", tmp_path / "run.json"
    )
    assert result.exit_code == 0, result.output
    assert result.stderr.count(f"warning: {SAID}\n") == 1
    assert (
        "discount learned: 0.875, not gamma 0.9; the optimum is computed for 0.875" in result.stdout
    )
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
    result = invoke(*words, *options(OFF), "--coefficient-bits=22", "--json")
    assert not result.stderr
    assert json.loads(result.stdout)["discount"] == 922 / 1024
    saved = load_table(tmp_path / "table.npz")
    assert saved.config.coefficient_bits == 22
    too_great = invoke(*words, "--coefficient-bits=22").exception
    assert "alpha is 0.5, too large for 16 bits of which 22 are" in str(too_great)


@pytest.mark.slow
@pytest.mark.parametrize("act", ["device", "host"])
def test_train_takes_the_bits_of_coefficients(act: str, own_folder: Path) -> None:
    words = f"train gridworld --act {act} --episodes 20 --coefficient-bits 22 --out run"
    result = invoke(words, *options(LOST), "--json", "run.json")
    assert result.exit_code == 0, result.output
    assert "discount" not in result.stderr + result.stdout
    report = json.loads((own_folder / "run.json").read_text(encoding="utf-8"))
    assert np.unique(report["discount"]).tolist() == [4055 / 4096]
    (own_folder / "a.toml").write_text(Config(25, 4).to_toml(), encoding="utf-8")
    said = "--config cannot be combined with --coefficient-bits"
    refused(f"{words} --overwrite --config a.toml", ConfigError, said)


@pytest.mark.slow
def test_sweep_takes_the_bits_of_coefficients(tmp_path: Path) -> None:
    words = f"sweep gridworld --coefficient-bits 22 --seeds 1 --steps 200 --out {tmp_path}/run"
    result = invoke(words, *options(OFF), "--jobs", "1")
    assert result.exit_code == 0, result.output
    assert " --coefficient-bits 22 --alpha 0.000244140625" in result.stdout.replace("\n", " ")
    loaded = qstep.load(tmp_path / "run").summary()
    assert loaded["coefficient_bits"] == 22
    assert loaded["points"][0]["discount"] == 922 / 1024


def test_a_run_of_the_host_configures_a_discount_as_a_device_does() -> None:
    plan = Plan("gridworld", episodes=1)
    with closing(HostRun("model", plan, Hyperparameters(), Config(25, 4))) as run:
        run.open(None)
        with pytest.raises(ConfigError, match=REFUSED):
            run.configure(replace(run.hyper, **LOST), plan.epsilon)
