"""Training of networks as forms of a system: steps a second in the middle of a run."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from qstep.deep import torch_device
from qstep.deep.pqn_config import PqnConfig
from qstep.deep.presets import PRESETS
from qstep.deep.run import Run
from qstep.spec.epsilon import EpsilonSchedule
from qstep_bench.checks import WrongTableError
from qstep_bench.measure import Form

__all__ = ["Training"]

_ENDLESS = 1 << 40
"""Steps after which the schedules end: what is timed is always the same part of them."""


class Training:
    """A run that goes on from call to call, in the middle of its schedules: little is explored.

    Parameters
    ----------
    name : str
        Of :data:`qstep.deep.presets.PRESETS`.
    form : {"plain", "fast", "pqn"}
    device : torch.device

    Attributes
    ----------
    config : DqnConfig or PqnConfig
    least : int
        Steps of one step of the learner.
    steps_per_update : float
    """

    def __init__(self, name: str, form: str, device: torch.device) -> None:
        preset = PRESETS[name]
        changes: dict[str, Any] = {
            "total_timesteps": _ENDLESS,
            "epsilon": EpsilonSchedule(0.05, 0.05, 0.0),
        }
        self._name, self._form, self._device = name, form, device
        self.config: Any
        if form == "pqn":
            self.config = replace(preset.pqn(0), **changes)
            self.least = self.config.num_steps * preset.num_envs
            self.steps_per_update = self.least / (
                self.config.update_epochs * self.config.num_minibatches
            )
        else:
            self.config = replace(preset.configuration(form, 0), **changes)
            self.least = 1 if form == "plain" else preset.num_envs
            num_envs = preset.plain_num_envs if form == "plain" else preset.num_envs
            self.steps_per_update = num_envs / self.config.gradient_steps

    @property
    def _warm_up(self) -> int:
        return 0 if isinstance(self.config, PqnConfig) else int(self.config.learning_starts)

    @cached_property
    def _run(self) -> Run:
        run = Run(self._name, self._form, self.config, self._device, evaluate_every=_ENDLESS)
        while run.learner.steps < self._warm_up:
            run.learner.step()
        self._first_weights = _weights(run)
        return run

    def form(self, name: str, what: str, base: str | None) -> Form:
        """Return this training as a form of a benchmark."""
        return Form(
            name, what, self._go_on, self._check, base, self.least, phases=lambda: self._run.phases
        )

    def _go_on(self, amount: int) -> int:
        """Play about this many steps and learn from them; return how many were played."""
        learner = self._run.learner
        first = learner.steps
        with torch_device.one_thread():
            while learner.steps < first + amount:
                learner.step()
            torch_device.synchronise(self._device)
        return learner.steps - first

    def _check(self) -> str:
        """See that all weights have moved, and that there were as many updates as the steps ask for."""
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


def _weights(run: Run) -> list[Tensor]:
    return [weight.detach().clone() for weight in run.network.parameters()]
