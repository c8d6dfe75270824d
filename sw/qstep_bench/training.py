"""Training of networks as benchmark implementations, measured in steps per second within a long run."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from qstep.deep import torch_device
from qstep.deep.algorithms import ALGORITHMS, preset_of
from qstep.deep.run import NetworkRun
from qstep.spec.epsilon import Epsilon
from qstep_bench.checks import WrongTableError
from qstep_bench.measure import Form

__all__ = ["Training"]

_ENDLESS = 1 << 40
"""Length of the schedules in steps, so large that they hardly change while timing."""

_STEADY: dict[str, Any] = {"total_timesteps": _ENDLESS, "epsilon": Epsilon(0.05)}


class Training:
    """A run that continues across calls, with little exploration and almost constant schedules.

    Parameters
    ----------
    name : str
        A key of :data:`qstep.envs.catalogue.NETWORKS`.
    algorithm : str
        A key of :data:`qstep.deep.algorithms.ALGORITHMS`.
    device : torch.device
    **settings
        Settings of the algorithm that override its preset.

    Attributes
    ----------
    config : NetworkConfig
    least : int
        Number of environment steps per step of the learner.
    steps_per_update : float
    """

    def __init__(self, name: str, algorithm: str, device: torch.device, **settings: Any) -> None:
        preset = ALGORITHMS[algorithm].settings_for(preset_of(name), 0)
        self._name, self._algorithm, self._device = name, algorithm, device
        self._settings = _STEADY | settings
        self.config = config = replace(preset.config, **self._settings)
        rollout = getattr(config, "num_steps", 1)
        self.least = 1 if algorithm == "dqn plain" else rollout * preset.num_envs
        updates = (
            config.update_epochs * config.num_minibatches
            if algorithm == "pqn"
            else config.gradient_steps
        )
        self.steps_per_update = rollout * preset.num_envs / updates

    @property
    def _warm_up(self) -> int:
        return int(getattr(self.config, "learning_starts", 0))

    @cached_property
    def _run(self) -> NetworkRun:
        run = NetworkRun(
            self._name,
            self._algorithm,
            self._device.type,
            evaluate_every=_ENDLESS,
            **self._settings,
        )
        while run.learner.steps < self._warm_up:
            run.learner.step()
        self._first_weights = _weights(run)
        return run

    def form(self, name: str, what: str, base: str | None) -> Form:
        """Return this training as an implementation of a benchmark."""

        def phases() -> dict[str, float]:
            return self._run.learner.seconds

        return Form(name, what, self._go_on, self._check, base, self.least, phases=phases)

    def _go_on(self, amount: int) -> int:
        """Play about `amount` steps and learn from them; return the exact number of steps."""
        learner = self._run.learner
        first = learner.steps
        with torch_device.one_thread():
            while learner.steps < first + amount:
                learner.step()
            torch_device.synchronise(self._device)
        return learner.steps - first

    def _check(self) -> str:
        """Check that all weights have changed, and that the number of updates matches the steps."""
        learner = self._run.learner
        expected = (learner.steps - self._warm_up) / self.steps_per_update
        slack = 2 * max(1.0, self.least / self.steps_per_update)
        if abs(learner.updates - expected) > slack:
            raise WrongTableError(
                f"{learner.updates} updates in {learner.steps} steps; there must be one every "
                f"{self.steps_per_update:g} after the first {self._warm_up}"
            )
        for number, (first, last) in enumerate(
            zip(self._first_weights, _weights(self._run), strict=True)
        ):
            if not torch.isfinite(last).all():
                raise WrongTableError(f"parameter {number} of the network is not finite")
            if torch.equal(first, last):
                raise WrongTableError(
                    f"{learner.updates} updates have left parameter {number} of the network as it was"
                )
        return f"all weights moved, with an update every {self.steps_per_update:g} steps"


def _weights(run: NetworkRun) -> list[Tensor]:
    return [weight.detach().clone() for weight in run.learner.to_modules().parameters()]
