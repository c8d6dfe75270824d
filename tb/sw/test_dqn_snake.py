"""Snake learned by DQN: both implementations, the summary of a long run, and exact resumption."""

import gc
import weakref
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
import torch
from tb.sw.command_line import ran, told
from tb.sw.dqn_learner import run_of

from qstep.cli._networks import interval
from qstep.deep.algorithms import preset_of
from qstep.deep.learner import PHASES
from qstep.deep.replay import Replay
from qstep.deep.run import Evaluation, NetworkRun

pytestmark = pytest.mark.usefixtures("one_thread")

FORMS = ("dqn plain", "dqn")


def small_run(name: str = "snake", form: str = "dqn", episodes: int = 1200) -> NetworkRun:
    """Return a run that learns little but exercises everything that a long run does."""
    config = preset_of(name).settings[form].config
    if form == "dqn":
        config = replace(config, batch_size=16, gradient_steps=1, buffer_size=4096)
    return run_of(name, form, config, evaluate_every=400, episodes=episodes)


@pytest.mark.parametrize(("name", "inputs"), [("snake", 14), ("snake-features", 11)])
def test_both_forms_see_the_same_and_begin_with_the_same_network(name: str, inputs: int) -> None:
    plain, fast = (small_run(name, form).learner.to_modules() for form in FORMS)
    seen = torch.rand(5, inputs, generator=torch.Generator().manual_seed(0))
    assert torch.equal(plain(seen), fast(seen))


@pytest.mark.parametrize("form", FORMS)
def test_a_run_that_is_over_gives_its_memory_back_at_once(form: str) -> None:
    run = small_run(form=form, episodes=5)
    for _ in run:
        pass
    learner = weakref.ref(run.learner)
    gc.disable()
    try:
        del run
        assert learner() is None
    finally:
        gc.enable()


def astuple_of(form: str) -> Any:
    """Return configuration, number of environments and episodes between evaluations."""
    settings = preset_of("snake").settings[form]
    return settings.config, settings.num_envs, settings.evaluate_every


@pytest.mark.slow
def test_plain_form_learns_as_often_as_documented() -> None:
    plain = small_run(form="dqn plain", episodes=150)
    for _ in plain:
        pass
    learning = plain.learner.steps - plain.config.learning_starts
    assert plain.learner.updates == max(0, learning // 4 + 1)
    config, num_envs, _ = astuple_of("dqn plain")
    assert (config.hidden, config.batch_size, num_envs) == ((256,), 32, 4)


def test_fast_form_learns_as_often_as_documented() -> None:
    config, _, _ = astuple_of("dqn")
    run = run_of("snake", "dqn", config, evaluate_every=10**9)
    for _ in islice(run, 12):
        pass
    steps = 12 - config.learning_starts // 256 + 1  # the step that fills it already learns
    assert run.learner.steps == 12 * 256
    assert run.learner.updates == 16 * steps
    assert (config.hidden, config.batch_size) == ((256,), 128)
    plain, num_envs, _ = astuple_of("dqn plain")
    # Both replay each transition eight times.
    assert 16 * config.batch_size / 256 == plain.batch_size / num_envs == 8


def score_after_600_episodes() -> float:
    """Return the greedy score after 600 episodes: 31; untrained below 1."""
    config = preset_of("snake").settings["dqn"].config
    run = run_of("snake", "dqn", config, evaluate_every=600, episodes=600)
    for _ in run:
        pass
    return run.evaluations[-1].greedy_score


LEAST = 23.0
"""Three quarters of the score reached on one machine, because other CPUs round differently."""


def test_fast_form_learns_to_eat_in_600_episodes() -> None:
    assert score_after_600_episodes() > LEAST


def test_fast_form_does_not_learn_to_eat_without_a_future(monkeypatch: pytest.MonkeyPatch) -> None:
    def short_sighted(replay: Replay, *parts: Any) -> Any:
        return push_batch(replay, *(*parts[:-1], np.zeros_like(parts[-1])))

    push_batch = Replay.push_batch
    monkeypatch.setattr(Replay, "push_batch", short_sighted)
    assert score_after_600_episodes() < LEAST  # 10


@pytest.mark.parametrize("form", FORMS)
def test_phases_are_parts_of_the_time(form: str) -> None:
    run = small_run(form=form, episodes=120 if form == "dqn plain" else 600)
    for _ in run:
        pass
    assert set(run.learner.seconds) == set(PHASES)
    assert all(seconds > 0 for seconds in run.learner.seconds.values())
    assert sum(run.learner.seconds.values()) < run.seconds


def run_with(episodes: int) -> NetworkRun:
    """Return a run that was evaluated every 400 episodes and whose steps became slower and slower."""
    run = small_run(episodes=1)
    for _ in run:
        pass
    run.evaluations = [
        Evaluation(10 * k, k, 0.0, 0.0, 0.0, 0.0, 0.0, k**2 / 1e6, 100.0 + k)
        for k in range(400, episodes + 1, 400)
    ]
    return run


@pytest.mark.parametrize(
    ("episodes", "us_per_step", "peak_mib"),
    [
        # With evaluations at 400, 800, ..., 1200 is the first after 1000, and 1600 the last before 1800.
        # 1.44 s for 12,000 steps; 7.84 - 2.56 s for 12,000
        (2800, [120.0, 440.0], [1300.0, 2900.0]),
        (2400, [120.0, 360.0], [1300.0, 2500.0]),  # the shortest run with two parts
        (2000, None, None),
    ],
)
def test_long_run_compares_its_first_thousand_episodes_with_the_last(
    episodes: int, us_per_step: list[float] | None, peak_mib: list[float] | None
) -> None:
    compared = {"us_per_step": us_per_step, "peak_mib": peak_mib} if us_per_step else None
    assert run_with(episodes).result().summary()["first_and_last"] == compared


def test_the_comparison_of_thousands_notices_hundreds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qstep.deep.run._THOUSAND", 500)
    with pytest.raises(AssertionError):
        test_long_run_compares_its_first_thousand_episodes_with_the_last(
            2800, [120.0, 440.0], [1300.0, 2900.0]
        )


def test_interval_is_students() -> None:
    # 2.776 is the quantile for four degrees of freedom; the variance of 1..5 is 2.5.
    assert interval([1, 2, 3, 4, 5]) == pytest.approx(2.776 * (2.5 / 5) ** 0.5)
    assert interval([7.0]) is None
    assert interval([7.0] * 11) is None


def test_interval_holds_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    trials = 4000
    inside = 0
    for means in rng.normal(size=(trials, 5)):
        half = interval(means.tolist())
        assert half is not None
        inside += abs(means.mean()) <= half
    # Four standard deviations of the share in 4000 trials at 95 % are 0.014.
    assert inside / trials == pytest.approx(0.95, abs=0.014)
    assert NormalDist().inv_cdf(0.975) < 2.776  # the normal quantile would be too small


@pytest.mark.slow
def test_command_prints_the_interval_of_its_seeds(tmp_path: Path) -> None:
    result = ran("dqn snake --seeds 2 --episodes 300 --evaluate-every 300 --out", tmp_path)
    assert result.stdout.count("greedy score of the best network, from step ") == 2
    assert "2 seeds: mean score" in result.stdout
    assert "(95 % interval)" in result.stdout
    assert (tmp_path / "seed-1" / "network.safetensors").exists()


@pytest.mark.slow
def test_command_gives_the_same_score_for_the_same_seed(tmp_path: Path) -> None:
    def run(out: str) -> Any:
        report = told("dqn snake-features --episodes 300 --seed 5 --out", tmp_path / out)
        return report["greedy_score"], report["steps"]

    assert run("a") == run("b")
