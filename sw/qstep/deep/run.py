"""A run of DQN or PQN from its first step to its last, with its history."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, astuple, dataclass
from typing import Any

import numpy as np
import torch

from qstep._io.checkpoint import Checkpoint, check_parts
from qstep.deep.algorithms import ALGORITHMS, Preset, preset_of
from qstep.deep.learner import Ended
from qstep.deep.network import play
from qstep.deep.result import NetworkResult
from qstep.deep.torch_device import one_thread
from qstep.errors import ConfigError
from qstep.learn.metrics import Metrics
from qstep.learn.run import Progress

__all__ = ["GAMES", "NetworkRun", "Score"]

GAMES = 100
"""Greedy episodes of an evaluation."""

_GAMES_SEED = 1 << 32
"""Seed of the evaluation's environments, the same each time; no run draws from it."""


@dataclass(frozen=True, slots=True)
class Score:
    """One greedy evaluation: epsilon 0, nothing learnt.

    Attributes
    ----------
    steps, episodes : int
        Training before it.
    mean, low, high : float
        Mean, lowest and highest score of the episodes.
    learning_s : float
        Processor seconds of training before it, without evaluations and checkpoints.
    peak_mib : float
        Peak memory of the process so far.
    """

    steps: int
    episodes: int
    mean: float
    low: float
    high: float
    learning_s: float
    peak_mib: float


class NetworkRun:
    """A :class:`~qstep.learn.run.Run` of a network: a learner and its history.

    Parameters
    ----------
    name : str
        Name of the environment, see :func:`~qstep.deep.algorithms.preset_of`.
    algorithm : str
        A key of :data:`~qstep.deep.algorithms.ALGORITHMS`.
    config : NetworkConfig
        Of the algorithm's kind. A ConfigError is raised if the run does not fit into memory.
    device : torch.device
    evaluate_every : int
        Play :data:`GAMES` greedy episodes each time this many training episodes have ended, and at the
        end.
    episodes : int or None
        End after this many, unless ``config.total_timesteps`` is reached first.
    num_envs : int or None
        See :class:`~qstep.deep.algorithms.Settings`; None for the environment's own.
    preset : Preset, optional
        Default: that of `name`.

    Attributes
    ----------
    preset : Preset
        The environment's own.
    learner : Learner
    metrics : Metrics or None
        None until it is set. It receives ``episode_return``, ``episodes`` and the learner's rates when
        training episodes end (the mean return of those that ended in one step of the learner), and
        ``greedy_score``, ``greedy_score_low`` and ``greedy_score_high`` of every evaluation.
    returns : list of (steps, return)
        Of every training episode, at its end.
    scores : list of Score
    seconds, processor_s : float
        Spent so far: wall clock, and all processors together. Counted from the first step, including
        evaluations and whatever the caller does between two steps, mostly checkpoints.
    learning_s : float
        The part of `processor_s` spent in steps.
    """

    def __init__(
        self,
        name: str,
        algorithm: str,
        config: Any,
        device: torch.device,
        evaluate_every: int,
        episodes: int | None = None,
        num_envs: int | None = None,
        preset: Preset | None = None,
    ) -> None:
        self.preset = preset = preset or preset_of(name)
        self.name, self.algorithm, self.config = name, ALGORITHMS[algorithm], config
        self.num_envs = num_envs or self.algorithm.settings_for(preset, config.seed).num_envs
        self.evaluate_every, self.episodes = evaluate_every, episodes
        self.metrics: Metrics | None = None
        try:
            self.learner = self.algorithm.make(preset, config, device, self.num_envs)
        except (MemoryError, RuntimeError) as cause:
            if "memory" not in str(cause) and not isinstance(cause, MemoryError):
                raise  # PyTorch has no special error for this on a CPU
            raise ConfigError(
                f"the run does not fit into memory; {self.num_envs} environments and hidden layers of "
                f"{config.hidden} are too much, or the replay or a batch is: {config}"
            ) from cause
        self._games = preset.make_envs(GAMES)
        self._held = ExitStack()
        self.returns: list[tuple[int, float]] = []
        self.scores: list[Score] = []
        self.seconds = self.processor_s = self.learning_s = 0.0

    atomic = True

    def open(self, checkpoint: Checkpoint | None) -> None:
        """Keep PyTorch to one thread until :meth:`close`; restore the checkpoint, if there is one."""
        self._held.enter_context(one_thread())
        if checkpoint is not None:
            self.restore(checkpoint)

    def close(self) -> None:
        self._held.close()

    @property
    def progress(self) -> Progress:
        """The limit that the run is expected to reach first, and how far it is."""
        bounds = [(self.learner.steps, self.config.total_timesteps)]
        if self.episodes is not None:
            bounds.append((self.learner.episodes, self.episodes))
        done, total = max(bounds, key=lambda bound: bound[0] / bound[1])
        recent = [total for _, total in self.returns[-GAMES:]]
        return Progress(done, total, f"return {sum(recent) / len(recent):.1f}" if recent else "")

    @property
    def steps(self) -> int:
        return self.learner.steps

    @property
    def reached(self) -> str:
        return f"{self.learner.steps} steps"

    def result(self) -> NetworkResult:
        return NetworkResult.of(self)

    @property
    def identity(self) -> dict[str, Any]:
        """What the run is, as plain values: a checkpoint fits only a run with the same identity.

        It includes the version of PyTorch, as another version may compute other sums.
        """
        return {
            "algorithm": self.algorithm.name,
            "version": self.learner.VERSION,
            "environment": self.name,
            "env_kwargs": dict(self.preset.env_kwargs),
            "device": self.learner.device.type,
            "num_envs": self.learner.num_envs,
            "most_episodes": self.episodes,
            "evaluate_every": self.evaluate_every,
            **asdict(self.config),
            "epsilon": self.config.epsilon.to_dict(),
            "torch": torch.__version__,
        }

    @property
    def done(self) -> bool:
        """Whether the last step, or the last episode, has been played."""
        enough = self.episodes is not None and self.learner.episodes >= self.episodes
        return enough or self.learner.steps >= self.config.total_timesteps

    @property
    def resumable(self) -> bool:
        """Whether :meth:`checkpoint` can return all that the rest of the run depends on."""
        return self.learner.resumable

    def __iter__(self) -> Iterator[None]:
        """Run to the end, one step of the learner at a time; iteration may stop and start again."""
        wall, processor = time.perf_counter(), time.process_time()
        while not self.done:
            began = time.process_time()
            before = self.learner.episodes
            self._note(self.learner.step())
            self.learning_s += time.process_time() - began
            crossed = self.learner.episodes // self.evaluate_every > before // self.evaluate_every
            if crossed or self.done:
                self._evaluate()
            wall, processor = self._spend(wall, processor)
            yield
            wall, processor = self._spend(wall, processor)

    def _spend(self, wall: float, processor: float) -> tuple[float, float]:
        """Count the time spent since then; return the present times."""
        now = time.perf_counter(), time.process_time()
        self.seconds += now[0] - wall
        self.processor_s += now[1] - processor
        return now

    def _note(self, ended: Ended) -> None:
        steps, returns = self.learner.steps, ended.episode_return.tolist()
        self.returns += [(steps, episode_return) for episode_return in returns]
        if self.metrics is not None and returns:
            values = {"episode_return": sum(returns) / len(returns)}
            values["episodes"] = self.learner.episodes
            self.metrics(steps, {**values, **self.learner.rates()})

    def _evaluate(self) -> None:
        scores = play(self._games, self.learner.policy(GAMES), _GAMES_SEED).score
        self.scores.append(
            Score(
                self.learner.steps,
                self.learner.episodes,
                float(scores.mean()),
                float(scores.min()),
                float(scores.max()),
                self.learning_s,
                _peak_mib(),
            )
        )

        if self.metrics is not None:
            score = self.scores[-1]
            told = {"": score.mean, "_low": score.low, "_high": score.high}
            self.metrics(score.steps, {f"greedy_score{end}": value for end, value in told.items()})

    @property
    def checkpoint(self) -> Checkpoint:
        """All that the rest of the run depends on, and its history.

        Raises
        ------
        ConfigError
            The environments have no checkpoints.
        """
        learner, own = self.learner.checkpoint(), self._own()
        return Checkpoint({**learner.head, **own.head}, {**learner.arrays, **own.arrays})

    def _own(self) -> Checkpoint:
        """Return the parts of a checkpoint that are not the learner's."""
        return Checkpoint(
            {name: getattr(self, name) for name in _CLOCKS},
            {
                "history.returns": np.array(self.returns, np.float64).reshape(-1, 2),
                "history.scores": np.array([astuple(s) for s in self.scores]).reshape(-1, 7),
            },
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Continue from a :meth:`checkpoint` of a run with the same :attr:`identity`.

        Raises
        ------
        CheckpointError
            A part is missing, or has another type or shape; then nothing has changed.
        """
        own = self._own()
        check_parts(checkpoint.head, own.head)
        check_parts(checkpoint.arrays, own.arrays, any_length=own.arrays)
        self.learner.restore(checkpoint)  # this checks the learner's parts
        self.returns = [
            (int(f), total) for f, total in checkpoint.arrays["history.returns"].tolist()
        ]
        self.scores = [
            Score(int(steps), int(episodes), *rest)
            for steps, episodes, *rest in checkpoint.arrays["history.scores"].tolist()
        ]
        for name in _CLOCKS:
            setattr(self, name, checkpoint.head[name])


_CLOCKS = ("seconds", "processor_s", "learning_s")


def _peak_mib() -> float:
    """Return this process's peak memory, or NaN where the system does not report it."""
    try:
        import resource
    except ImportError:  # pragma: no cover: not a POSIX system
        return math.nan
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1 << 20 if sys.platform == "darwin" else 1 << 10)
