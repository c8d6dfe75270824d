"""Learners with networks as forms of a system: frames a second in the middle of a run."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import torch

from qstep import torch_device
from qstep.bench.checks import WrongTableError
from qstep.deep.pqn_config import PqnConfig
from qstep.deep.run import Run
from qstep.deep.systems import SYSTEMS
from qstep.learn.schedule import EpsilonSchedule

__all__ = ["BenchLearner"]

_ENDLESS = 1 << 40
"""Frames after which the schedules end: what is timed is always the same part of them."""

_PHASE_FRAMES = 10_000


class BenchLearner:
    """A learner that goes on from call to call, in the middle of its run: little is explored.

    Parameters
    ----------
    name : str
        Of :data:`qstep.deep.systems.SYSTEMS`.
    form : {"plain", "fast", "pqn"}
    device : torch.device

    Attributes
    ----------
    config : DqnConfig or PqnConfig
    least : int
        Frames of one step of the learner.
    frames_per_update : float
    """

    def __init__(self, name: str, form: str, device: torch.device) -> None:
        system = SYSTEMS[name]
        changes: dict[str, Any] = {
            "frames": _ENDLESS,
            "epsilon": EpsilonSchedule(0.05, 0.05, 0.0),
        }
        self._name, self._form, self._device = name, form, device
        self.config: Any
        if form == "pqn":
            self.config = replace(system.pqn(0), **changes)
            self.least = self.config.horizon * system.boards
            self.frames_per_update = self.least / (self.config.epochs * self.config.minibatches)
        else:
            self.config = replace(system.configuration(form, 0), **changes)
            self.least = 1 if form == "plain" else system.boards
            boards = system.plain_boards if form == "plain" else system.boards
            self.frames_per_update = boards / self.config.updates_per_step

    @property
    def _warm_up(self) -> int:
        return 0 if isinstance(self.config, PqnConfig) else int(self.config.warm_up)

    @cached_property
    def _run(self) -> Run:
        run = Run(self._name, self._form, self.config, self._device, evaluate_every=_ENDLESS)
        while run.learner.frames < self._warm_up:
            run.learner.step()
        return run

    def run(self, amount: int) -> int:
        """Play so many frames and learn from them; return how many they were."""
        learner = self._run.learner
        first = learner.frames
        with torch_device.one_thread():
            while learner.frames < first + amount:
                learner.step()
            torch_device.synchronise(self._device)
        return learner.frames - first

    def check(self) -> str:
        """Compare the updates with the frames."""
        learner = self._run.learner
        expected = (learner.frames - self._warm_up) / self.frames_per_update
        slack = 2 * max(1.0, self.least / self.frames_per_update)
        if abs(learner.updates - expected) > slack:
            raise WrongTableError(
                f"{learner.updates} updates in {learner.frames} frames; there must be one every "
                f"{self.frames_per_update:g} after the first {self._warm_up}"
            )
        return f"an update every {self.frames_per_update:g} frames"

    def phases(self) -> dict[str, float]:
        """Play on and return the seconds of ``select``, ``step``, ``store`` and ``learn``."""
        seconds = self._run.phases
        before = dict(seconds)
        self.run(_PHASE_FRAMES)
        return {name: spent - before[name] for name, spent in seconds.items()}
