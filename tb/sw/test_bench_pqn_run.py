"""Complete PQN runs as a benchmark system: QStep's, and the authors' algorithm in JAX."""

import sys
from functools import partial

import numpy as np
import pytest
from tb.sw.jax_extra import NO_JAX
from tb.sw.vector_steps import poles as start_poles
from tb.sw.vector_steps import stepped

from qstep.deep.config import PqnConfig
from qstep.errors import ToolMissingError
from qstep_bench.checks import WrongTableError
from qstep_bench.measure import Form, compare

torch = pytest.importorskip("torch")

from qstep.deep.pqn import lambda_returns  # noqa: E402
from qstep_bench.systems import pqn_run  # noqa: E402

ROLLOUT = 64 * 32


def small(monkeypatch: pytest.MonkeyPatch, rollouts: int) -> None:
    monkeypatch.setattr(pqn_run, "_STEPS", rollouts * ROLLOUT - 1)
    monkeypatch.setattr(pqn_run, "_UNITS", (64,))
    monkeypatch.setattr(pqn_run, "_EVALUATE_EVERY", 4)


def form_named(name: str) -> Form:
    return next(form for form in pqn_run.benchmark("cpu").forms if form.name == name)


@pytest.mark.slow
def test_our_run_plays_whole_rollouts_and_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, 20)
    form = form_named("pqn-64")
    assert form.run(1) == 20 * ROLLOUT
    assert form.check().startswith("the last networks of 1 runs score")


def test_runs_that_learn_nothing_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pqn_run, "PqnConfig", partial(PqnConfig, learning_rate=1e-30))
    small(monkeypatch, 1)
    form = form_named("pqn-64")
    form.run(1)
    with pytest.raises(
        WrongTableError, match=r"last networks of 1 runs score \d+\.\d; networks that"
    ):
        form.check()


def test_without_jax_the_form_is_absent_with_the_extra_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delitem(sys.modules, "qstep_bench.baselines.pqn_jax", raising=False)
    small(monkeypatch, 1)
    form = form_named("pqn-jax-64")
    with pytest.raises(ToolMissingError, match=r"jax is not installed; run.*\[jax\]'"):
        form.run(1)


def test_both_programs_learn_in_as_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax", reason=NO_JAX)
    small(monkeypatch, 20)
    jax, ours = compare(pqn_run.benchmark("cpu"), 1, 0.1, lambda *_: None).forms
    assert jax.turns[0].done == ours.turns[0].done == 20 * ROLLOUT
    assert "s of processor time per run; JAX " in jax.checked
    assert ours.processor_ratio is not None


def test_carts_of_jax_move_as_ours() -> None:
    pytest.importorskip("jax", reason=NO_JAX)
    from jax import random

    from qstep_bench.baselines import pqn_jax

    envs, draw = start_poles(64, seed=3), np.random.default_rng(1)
    ends = 0
    for number in range(200):
        action = draw.integers(2, size=64)
        steps = envs.checkpoint()["steps"]
        poles = pqn_jax.Poles(envs.observation, steps)
        after, ended = pqn_jax.step(poles, action, random.key(number))
        other, _ = pqn_jax.step(poles, 1 - action, random.key(number))
        moved = stepped(envs, action)
        expected = moved.terminated | moved.truncated
        ends += expected.sum()
        np.testing.assert_array_equal(ended, expected)
        going = ~expected
        # float32 versus float64
        found, wanted = np.asarray(after.place)[going], envs.observation[going]
        np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-6)
        assert np.abs(np.asarray(other.place)[going] - wanted).max() > 0.1
        assert np.all(np.abs(np.asarray(after.place)[expected]) <= 0.05)
        assert np.all(np.asarray(after.steps)[expected] == 0)
    assert ends > 100


def test_returns_of_jax_are_ours_where_nothing_is_cut_off() -> None:
    pytest.importorskip("jax", reason=NO_JAX)
    from qstep_bench.baselines import pqn_jax

    draw, config = np.random.default_rng(2), PqnConfig()
    values = draw.normal(size=(9, 5, 2)).astype(np.float32)
    ended = draw.random((8, 5)) < 0.2
    rollout = pqn_jax.Rollout(seen=None, values=values[:-1], action=None, ended=ended)
    found = pqn_jax.lambda_returns(rollout, values[-1].max(-1), config)
    reward, following = torch.full((8, 5), config.reward_scale), torch.tensor(values[1:].max(-1))
    terminated = torch.tensor(ended)
    schedule = config.gamma, config.q_lambda
    expected = lambda_returns(
        reward, terminated, torch.zeros_like(terminated), following, *schedule
    )
    np.testing.assert_allclose(found, expected.numpy(), rtol=0, atol=1e-6)
    without = lambda_returns(reward, torch.zeros_like(terminated), terminated, following, *schedule)
    assert np.abs(np.asarray(found) - without.numpy()).max() > 0.1
