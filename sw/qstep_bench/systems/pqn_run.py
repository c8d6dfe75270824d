"""Complete PQN runs on CartPole with evaluations: QStep against JAX in the authors' style."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from importlib.metadata import version
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from qstep._io import extras
from qstep.deep import torch_device
from qstep.deep.config import PqnConfig
from qstep.deep.network import play
from qstep.deep.pqn import Pqn
from qstep.envs.cartpole_vector import CartPoleVectorEnv
from qstep_bench.checks import WrongTableError
from qstep_bench.measure import Benchmark, Form

__all__ = ["benchmark"]

_STEPS = 500_000
_UNITS = (128, 256)  # hidden units in QStep's preset and in the authors' code
_NUM_ENVS = 32
_GAMES = 128
_EVALUATE_EVERY = 12  # rollouts, for 20 evaluations per run as in the authors' code
_GAMES_SEED = 1 << 32
_LEAST_SCORE = 200.0  # an untrained network scores 10 to 20

_Learn: TypeAlias = Callable[[int], NDArray[np.float64]]
"""Function from a seed to the scores of a complete run's last evaluation."""


def benchmark(device: str) -> Benchmark:
    """Return the benchmark of runs with 128 and 256 hidden units; JAX always runs on the CPU."""
    on = torch_device.choose(device)
    forms: list[Form] = []
    for units in _UNITS:
        config = PqnConfig(total_timesteps=_STEPS, hidden=(units, units))
        layers = f"two layers of {units} units"
        jax, ours = (_Runs(config, build) for build in (_jax, partial(_ours, on)))
        forms += [
            jax.form(f"pqn-jax-{units}", f"{layers}; one program, compiled by JAX for the CPU"),
            ours.form(f"pqn-{units}", f"{layers}; `qstep.deep.pqn`", base=f"pqn-jax-{units}"),
        ]
    return Benchmark(
        "pqn-run",
        f"learn CartPole-v1 with PQN from a new network, {_STEPS:,} steps on {_NUM_ENVS} environments, "
        f"{_GAMES} greedy episodes after every {_EVALUATE_EVERY} rollouts; PyTorch on {on.type}",
        "steps",
        tuple(forms),
    )


def _jax(config: PqnConfig) -> tuple[_Learn, str]:  # pragma: no cover: needs JAX
    """Return the authors' algorithm, and a note on its compile time."""
    program = extras.load("qstep_bench.baselines.pqn_jax", "jax")
    began = time.process_time()
    learn: _Learn = program.compiled_run(config, _NUM_ENVS, _GAMES, _EVALUATE_EVERY)
    seconds = time.process_time() - began
    return learn, f"; JAX {version('jax')} had compiled it in {seconds:.1f} s of processor time"


def _ours(device: torch.device, config: PqnConfig) -> tuple[_Learn, str]:
    """Return QStep's PQN and an empty note."""

    def learn(seed: int) -> NDArray[np.float64]:
        learner = Pqn(CartPoleVectorEnv(_NUM_ENVS), replace(config, seed=seed), device)
        games = CartPoleVectorEnv(_GAMES)
        rollouts = 0
        with torch_device.one_thread():
            while learner.steps < config.total_timesteps:
                learner.step()
                rollouts += 1
                last = learner.steps >= config.total_timesteps
                if last or rollouts % _EVALUATE_EVERY == 0:
                    scores = play(games, learner.policy(_GAMES), _GAMES_SEED).score
        return scores

    return learn, ""


class _Runs:
    """Runs with one configuration and the seeds 0, 1, 2 ..."""

    def __init__(self, config: PqnConfig, build: Callable[[PqnConfig], tuple[_Learn, str]]) -> None:
        rollout = config.num_steps * _NUM_ENVS
        self._config, self._build = config, build
        self._steps = -(-config.total_timesteps // rollout) * rollout
        self._scores: list[float] = []
        self._seconds: list[float] = []

    @cached_property
    def _made(self) -> tuple[_Learn, str]:
        return self._build(self._config)

    def form(self, name: str, what: str, base: str | None = None) -> Form:
        """Return an implementation in which each turn is one of these runs."""
        return Form(name, what, self._run, self._check, base, self._steps, self._steps)

    def _run(self, amount: int) -> int:
        """Train a new network in one complete run, regardless of `amount`; return the steps."""
        learn, _ = self._made
        began = time.process_time()
        self._scores.append(float(learn(len(self._scores)).mean()))
        self._seconds.append(time.process_time() - began)
        return self._steps

    def _check(self) -> str:
        """Check that the networks have learned to balance the pole."""
        mean = statistics.fmean(self._scores)
        if not mean >= _LEAST_SCORE:
            raise WrongTableError(
                f"the last networks of {len(self._scores)} runs score {mean:.1f}; networks that "
                f"have learned to balance score {_LEAST_SCORE:g} or more"
            )
        return (
            f"the last networks of {len(self._scores)} runs score {mean:.1f} (the worst "
            f"{min(self._scores):.1f}); {statistics.median(self._seconds):.1f} s of processor time "
            f"per run{self._made[1]}"
        )
