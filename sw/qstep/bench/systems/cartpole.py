"""CartPole learnt by DQN, as people write it and fast: frames a second while it learns."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import torch

from qstep.bench.checks import WrongTableError
from qstep.bench.pairs import Form, System
from qstep.deep import torch_device
from qstep.deep.dqn import Dqn
from qstep.deep.run import Run
from qstep.deep.systems import SYSTEMS
from qstep.learn.schedule import EpsilonSchedule

__all__ = ["system"]

_ENDLESS = 1 << 40
"""Frames after which the schedules end: what is timed is always the same part of them."""

_PHASE_FRAMES = 10_000


def system(device: str) -> System:
    """Return DQN on CartPole, its networks on a device."""
    on = torch_device.choose(device)
    plain = _Learner("plain", on)
    fast = _Learner("fast", on)
    boards = SYSTEMS["cartpole"].boards
    return System(
        "cartpole",
        f"DQN learns CartPole-v1: an update of {plain.config.batch} transitions every "
        f"{boards // plain.config.updates_per_step} frames, PyTorch on {on.type}",
        "frames",
        (
            Form(
                "dqn-plain", "one Gymnasium environment, a deque, autograd", plain.run, plain.check
            ),
            Form(
                "dqn",
                f"{boards} boards at once, a ring of arrays, nothing allocated",
                fast.run,
                fast.check,
                base="dqn-plain",
                least=boards,
                phases=fast.phases,
            ),
        ),
    )


class _Learner:
    """A learner that goes on from call to call, in the middle of its run: little is explored."""

    def __init__(self, form: str, device: torch.device) -> None:
        self._form, self._device = form, device
        self.config = replace(
            SYSTEMS["cartpole"].configuration(form, 0),
            frames=_ENDLESS,
            epsilon=EpsilonSchedule(0.05, 0.05, 0.0),
        )

    @cached_property
    def _run(self) -> Run:
        run = Run("cartpole", self._form, self.config, self._device, evaluate_every=_ENDLESS)
        while run.learner.frames < self.config.warm_up:
            run.learner.step()
        return run

    def run(self, amount: int) -> int:
        learner = self._run.learner
        first = learner.frames
        with torch_device.one_thread():
            while learner.frames < first + amount:
                learner.step()
            torch_device.synchronise(self._device)
        return learner.frames - first

    def check(self) -> str:
        """Compare the updates with the frames: both forms are to learn equally often."""
        learner = self._run.learner
        each = SYSTEMS["cartpole"].boards // self.config.updates_per_step
        expected = (learner.frames - self.config.warm_up) / each
        if abs(learner.updates - expected) > 2 * self.config.updates_per_step:
            raise WrongTableError(
                f"{learner.updates} updates in {learner.frames} frames; there must be one every "
                f"{each} after the first {self.config.warm_up}"
            )
        return f"an update every {each} frames"

    def phases(self) -> dict[str, float]:
        learner = self._run.learner
        assert isinstance(learner, Dqn)
        before = dict(learner.seconds)
        self.run(_PHASE_FRAMES)
        return {name: seconds - before[name] for name, seconds in learner.seconds.items()}
