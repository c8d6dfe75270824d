"""Snake learnt by DQN: both forms, what a long run says about itself, and that it goes on exactly."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from qstep import torch_device
from qstep.cli import dqn as cli
from qstep.deep.checkpoint import load_state, save_state
from qstep.deep.dqn import Dqn
from qstep.deep.dqn_plain import PlainDqn
from qstep.deep.learner import PHASES
from qstep.deep.measure import interval
from qstep.deep.presets import PRESETS
from qstep.deep.results import summary
from qstep.deep.run import Run

pytestmark = pytest.mark.unit

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with torch_device.one_thread():
        yield


def small_run(name: str = "snake", form: str = "fast", episodes: int = 1200) -> Run:
    """Return a run that learns little, but does all that a long one does."""
    config = PRESETS[name].configuration(form, 0)
    if form == "fast":
        config = replace(config, batch_size=16, gradient_steps=1, buffer_size=4096)
    return Run(name, form, config, CPU, evaluate_every=400, episodes=episodes)


@pytest.mark.parametrize(("name", "inputs"), [("snake", 14), ("snake-features", 11)])
def test_both_forms_see_the_same_and_begin_with_the_same_network(name: str, inputs: int) -> None:
    plain, fast = (small_run(name, form).network for form in ("plain", "fast"))
    seen = torch.rand(5, inputs, generator=torch.Generator().manual_seed(0))
    assert torch.equal(plain(seen), fast(seen))


@pytest.mark.parametrize("form", ["plain", "fast"])
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


def test_plain_form_learns_as_often_as_documented() -> None:
    plain = small_run(form="plain", episodes=150)
    assert isinstance(plain.learner, PlainDqn)
    for _ in plain:
        pass
    learning = plain.learner.steps - plain.config.learning_starts  # type: ignore[union-attr]
    assert plain.learner.updates == max(0, learning // 4 + 1)
    config = PRESETS["snake"].configuration("plain", 0)
    assert (config.hidden, config.batch_size, PRESETS["snake"].plain_num_envs) == ((256,), 32, 4)


def test_fast_form_learns_as_often_as_documented() -> None:
    preset = PRESETS["snake"]
    config = preset.configuration("fast", 0)
    run = Run("snake", "fast", config, CPU, evaluate_every=10**9)
    for _ in islice(run, 12):
        pass
    steps = 12 - config.learning_starts // 256 + 1  # the first one is in the step that fills it
    assert run.learner.steps == 12 * 256
    assert run.learner.updates == 16 * steps
    assert (config.hidden, config.batch_size) == ((256,), 128)
    plain = preset.configuration("plain", 0)
    # Both go through each transition eight times.
    assert 16 * config.batch_size / 256 == plain.batch_size / preset.plain_num_envs == 8


def test_fast_form_learns_to_eat_in_600_episodes() -> None:
    config = PRESETS["snake"].configuration("fast", 0)
    run = Run("snake", "fast", config, CPU, evaluate_every=600, episodes=600)
    for _ in run:
        pass
    assert run.scores[-1].mean > 8  # 31 where it was written; untrained it is below 1


def test_resumed_run_ends_bit_for_bit_as_one_that_never_stopped(tmp_path: Path) -> None:
    whole, stopped, resumed = small_run(), small_run(), small_run()
    for _ in whole:
        pass
    for number, _ in enumerate(stopped, start=1):
        if number == 30:
            break
    save_state(tmp_path / "state.zip", stopped.snapshot(), stopped.identity)
    resumed.restore(load_state(tmp_path / "state.zip", resumed.identity))
    for _ in resumed:
        pass
    assert isinstance(whole.learner, Dqn)
    assert isinstance(resumed.learner, Dqn)
    assert isinstance(stopped.learner, Dqn)
    assert torch.equal(whole.learner.networks.flat, resumed.learner.networks.flat)
    assert not torch.equal(whole.learner.networks.flat, stopped.learner.networks.flat)
    assert whole.returns == resumed.returns
    assert [s.mean for s in whole.scores] == [s.mean for s in resumed.scores]


@pytest.mark.parametrize("form", ["plain", "fast"])
def test_phases_are_parts_of_the_time(form: str) -> None:
    run = small_run(form=form, episodes=120 if form == "plain" else 600)
    for _ in run:
        pass
    assert set(run.phases) == set(PHASES)
    assert all(seconds > 0 for seconds in run.phases.values())
    assert sum(run.phases.values()) < run.seconds


def test_long_run_says_how_its_first_thousand_episodes_compare_with_the_last() -> None:
    run = small_run(episodes=2800)
    for _ in run:
        pass
    report = summary(run)["first_and_last"]
    by_hand = {score.episodes // 400: score for score in run.scores}
    # Evaluated after 400, 800, ...: 1200 is the first after a thousand, 1600 the last before 1800.
    first, before, last = by_hand[3], by_hand[4], by_hand[7]
    assert report["us_per_step"][0] == round(first.learning_s / first.steps * 1e6, 2)
    spent = (last.learning_s - before.learning_s) / (last.steps - before.steps)
    assert report["us_per_step"][1] == round(spent * 1e6, 2)
    assert report["peak_mib"] == [round(first.peak_mib, 1), round(last.peak_mib, 1)]
    assert 0 < first.peak_mib <= last.peak_mib


def test_short_run_has_no_first_and_last_thousand() -> None:
    run = small_run(episodes=800)
    for _ in run:
        pass
    assert summary(run)["first_and_last"] is None


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
    # Four standard deviations of a count of 4000 at 95 % are 0.014.
    assert inside / trials == pytest.approx(0.95, abs=0.014)
    assert NormalDist().inv_cdf(0.975) < 2.776  # the normal quantile would be too small


def test_command_prints_the_interval_of_its_seeds(tmp_path: Path) -> None:
    words = "snake --seeds 2 --episodes 300 --evaluate-every 300 --out"
    result = CliRunner().invoke(cli.command, [*words.split(), str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert result.stdout.count("greedy score of the last network: mean") == 2
    assert "2 seeds: mean score" in result.stdout
    assert "(95 % interval)" in result.stdout
    assert (tmp_path / "seed-1" / "network.safetensors").exists()


def test_command_gives_the_same_score_for_the_same_seed(tmp_path: Path) -> None:
    def run(out: str) -> Any:
        words = f"snake-features --episodes 300 --seed 5 --json --out {tmp_path / out}"
        result = CliRunner().invoke(cli.command, words.split())
        assert result.exit_code == 0, result.output
        report = json.loads(result.stdout)
        return report["score"]["mean"], report["steps_played"]

    assert run("a") == run("b")
