"""The functions `qstep.dqn`, `qstep.pqn` and `qstep.sac`, and the training run that they start."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch

from qstep._io.checkpoint import Checkpoint, check_parts
from qstep.deep.algorithms import ALGORITHMS, preset_of
from qstep.deep.network import play
from qstep.deep.result import NetworkResult
from qstep.deep.torch_device import choose, one_thread
from qstep.errors import ConfigError, DivergedError
from qstep.learn.metrics import Metrics
from qstep.learn.run import Progress, finished
from qstep.mdp.world import name_of
from qstep.spec.checks import did_you_mean, integer

__all__ = ["GAMES", "Evaluation", "NetworkRun", "dqn", "pqn", "sac"]

GAMES = 100
"""Greedy episodes per evaluation."""

_GAMES_SEED = 1 << 32
"""Seed of the environments in every evaluation; no training run uses it."""

_SCORE_SEED = 1 << 33
"""Seed of the environments for the final score; their episodes are not used to choose a network."""

_THOUSAND = 1000
"""Number of episodes compared at the beginning and at the end of a run."""

_KEPT = "kept."
"""Prefix of the kept network's tensor names in a checkpoint."""

_SMALL = 128
"""Largest number of units in a layer for which one thread is as fast as two."""

_CLOCKS = ("seconds", "processor_s", "learning_s")


class Evaluation(NamedTuple):
    """One greedy evaluation, with epsilon 0 and without learning.

    `learning_s` is the processor time of the training before it in seconds, excluding evaluations and
    checkpoints. `peak_mib` is the peak memory of the process so far.
    """

    steps: int  # training steps before it; `episodes` likewise
    episodes: int
    greedy_score: float
    greedy_score_low: float
    greedy_score_high: float
    greedy_return: float
    greedy_length: float
    learning_s: float
    peak_mib: float


class NetworkRun:
    """A :class:`~qstep.learn.run.Run` of a network: a learner, its history, and its best network.

    After every evaluation whose mean score equals or exceeds the best so far, a copy of the network is
    kept. The best of many scores on the same episodes is an overestimate, so at the end the kept network
    plays :data:`GAMES` other episodes, which determine the score of the run.

    If a setting is None or omitted, the environment's default is used. ConfigError is raised if a
    setting does not exist, if its value is out of range, or if the run does not fit into memory.

    Parameters
    ----------
    env : str or gymnasium.Env
        See :func:`~qstep.deep.algorithms.preset_of`, also for `env_kwargs`.
    algorithm : str
        A key of :data:`~qstep.deep.algorithms.ALGORITHMS`.
    torch_device : str
        See :func:`~qstep.deep.torch_device.choose`.
    episodes : int, optional
        End after this many episodes, unless `total_timesteps` is reached first.
    evaluate_every : int, optional
        Play :data:`GAMES` greedy episodes each time this many training episodes have ended, and at the
        end.
    num_envs : int, optional
        See :class:`~qstep.deep.algorithms.Settings`.
    env_kwargs : mapping, optional
    seed : int
        Seed of the configuration.
    **settings
        The other fields of the algorithm's configuration.

    Attributes
    ----------
    metrics : Metrics or None
        None unless it is set. When training episodes end, it receives ``episode_return`` (the mean over
        episodes that end in the same step), ``episodes`` and the learner's rates. It also receives the
        ``greedy_`` columns of every evaluation.
    network : torch.nn.Sequential
        The kept network, on the CPU; before the first evaluation, the initial one.
    returns : list of (steps, return)
        One entry per training episode, added when it ends.
    seconds, processor_s : float
        Wall-clock time and total processor time since the first step. Both include evaluations
        and the caller's work between steps, mostly checkpoints.
    learning_s : float
        The part of `processor_s` spent in steps.
    """

    atomic = True

    def __init__(
        self,
        env: str | gym.Env[Any, Any],
        algorithm: str,
        torch_device: str = "cpu",
        *,
        episodes: int | None = None,
        evaluate_every: int | None = None,
        num_envs: int | None = None,
        env_kwargs: Mapping[str, Any] | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        self.name, self.algorithm = name_of(env), ALGORITHMS[algorithm]
        self.preset = preset = preset_of(env, env_kwargs)
        own = self.algorithm.settings_for(preset, seed)
        names = [field.name for field in fields(own.config)]
        for name in settings:
            if name not in names:
                raise ConfigError(
                    f"{algorithm} has no setting {name!r}.{did_you_mean(name, names)}"
                )
        self.config = config = replace(own.config, **settings)
        every = own.evaluate_every if evaluate_every is None else evaluate_every
        self.evaluate_every = integer("evaluate_every", every, 1)
        episodes = preset.episodes if episodes is None else episodes
        self.episodes = None if episodes is None else integer("episodes", episodes, 1)
        num_envs = own.num_envs if num_envs is None else num_envs
        self.metrics: Metrics | None = None
        device = choose(torch_device)
        try:
            self.learner = self.algorithm.make(preset, config, device, num_envs)
        except (MemoryError, RuntimeError) as cause:
            if "memory" not in str(cause) and not isinstance(cause, MemoryError):
                raise  # PyTorch has no special error for this on a CPU
            raise ConfigError(
                f"the run does not fit into memory; reduce the environments ({num_envs}), the "
                f"hidden layers {config.hidden}, the replay buffer or the batch: {config}"
            ) from cause
        self.network = self.learner.to_modules()
        self._games = preset.make_envs(GAMES)
        self.learner.spaces.check_fits(self._games)
        self._held = ExitStack()
        self.returns: list[tuple[int, float]] = []
        self.evaluations: list[Evaluation] = []
        self.seconds = self.processor_s = self.learning_s = 0.0

    def open(self, checkpoint: Checkpoint | None) -> None:
        """Restore a checkpoint; a small network runs on one thread until :meth:`close`."""
        if max(self.config.hidden) <= _SMALL:
            self._held.enter_context(one_thread())
        if checkpoint is not None:
            self.restore(checkpoint)

    def close(self) -> None:
        self._held.close()

    @property
    def progress(self) -> Progress:
        """The limit that the run is expected to reach first, and the progress towards it."""
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

    @property
    def identity(self) -> dict[str, Any]:
        """The run's settings as plain values.

        A checkpoint can be restored only into a run with the same identity. It includes the version of
        PyTorch, because another version may compute different sums.
        """
        return {
            "version": self.learner.VERSION,
            "command": self.algorithm.name.split()[0],
            "algorithm": self.algorithm.name,
            "world": self.name,
            "env_kwargs": dict(self.preset.env_kwargs),
            "device": self.learner.device.type,
            "num_envs": self.learner.num_envs,
            "most_episodes": self.episodes,
            "evaluate_every": self.evaluate_every,
            **self.config.to_dict(),
            "torch": torch.__version__,
        }

    @property
    def done(self) -> bool:
        """Whether the run has reached its last step or its last episode."""
        enough = self.episodes is not None and self.learner.episodes >= self.episodes
        return enough or self.learner.steps >= self.config.total_timesteps

    @property
    def resumable(self) -> bool:
        return self.learner.resumable

    def __iter__(self) -> Iterator[None]:
        """Run to the end, one learner step at a time; iteration may stop and resume.

        Raises EnvironmentSpaceError if an environment's results contradict its spaces, and
        DivergedError if the network diverges.
        """
        wall, processor = time.perf_counter(), time.process_time()
        while not self.done:
            began = time.process_time()
            before, updates = self.learner.episodes, self.learner.updates
            ended = self.learner.step()
            if self.learner.updates > updates:
                self._check_finite()
            self._note(ended.episode_return.tolist())
            self.learning_s += time.process_time() - began
            crossed = self.learner.episodes // self.evaluate_every > before // self.evaluate_every
            if crossed or self.done:
                self._evaluate()
            wall, processor = self._spend(wall, processor)
            yield
            wall, processor = self._spend(wall, processor)

    def _spend(self, wall: float, processor: float) -> tuple[float, float]:
        """Add the time elapsed since `wall` and `processor`; return the current times."""
        now = time.perf_counter(), time.process_time()
        self.seconds += now[0] - wall
        self.processor_s += now[1] - processor
        return now

    def _check_finite(self) -> None:
        """Raise DivergedError unless the tensors that the learner monitors are finite."""
        for part in self.learner.monitored():
            total = part.detach().sum().item()  # one operation; not finite if any element is not
            if not math.isfinite(total):
                raise DivergedError(
                    f"after {self.learner.steps} steps, parameters or losses of the network add up to "
                    f"{total}; use a smaller learning_rate ({self.config.learning_rate:g}) or "
                    f"reward_scale ({self.config.reward_scale:g})"
                )

    def _note(self, returns: list[float]) -> None:
        """Record the returns of the episodes that ended."""
        learner = self.learner
        self.returns += [(learner.steps, episode_return) for episode_return in returns]
        if self.metrics is not None and returns:
            values = {
                "episode_return": sum(returns) / len(returns),
                "episodes": learner.episodes,
                "epsilon": learner.epsilon,
                "learning_rate": learner.learning_rate,
            }
            self.metrics(learner.steps, values)

    def _evaluate(self) -> None:
        learner = self.learner
        found = play(self._games, learner.policy(GAMES), _GAMES_SEED).columns
        self.evaluations.append(
            Evaluation(
                learner.steps,
                learner.episodes,
                **found,
                learning_s=self.learning_s,
                peak_mib=_peak_mib(),
            )
        )
        if self._best is self.evaluations[-1]:
            self.network = learner.to_modules()
        if self.metrics is not None:
            self.metrics(learner.steps, found)

    @property
    def _best(self) -> Evaluation:
        """The evaluation with the highest mean score; the latest, if several have it."""
        return max(reversed(self.evaluations), key=lambda found: found.greedy_score)

    @property
    def checkpoint(self) -> Checkpoint:
        """The complete state of the run, and its history; raises ConfigError if not resumable."""
        learner, own = self.learner.checkpoint(), self._own()
        return Checkpoint({**learner.head, **own.head}, {**learner.arrays, **own.arrays})

    def _own(self) -> Checkpoint:
        """Return the parts of a checkpoint that do not belong to the learner."""
        evaluations = np.array(self.evaluations, np.float64)
        kept = {_KEPT + name: part.numpy() for name, part in self.network.state_dict().items()}
        return Checkpoint(
            {name: getattr(self, name) for name in _CLOCKS},
            {
                "history.returns": np.array(self.returns, np.float64).reshape(-1, 2),
                "history.evaluations": evaluations.reshape(-1, len(Evaluation._fields)),
                **kept,
            },
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore a :attr:`checkpoint` of a run with the same :attr:`identity`.

        If a part is missing or has the wrong type or shape, CheckpointError is raised and nothing
        changes.
        """
        own = self._own()
        check_parts(checkpoint.head, own.head)
        histories = [name for name in own.arrays if name.startswith("history.")]
        check_parts(checkpoint.arrays, own.arrays, any_length=histories)
        self.learner.restore(checkpoint)  # this checks the learner's parts
        arrays = checkpoint.arrays
        self.returns = [(int(at), total) for at, total in arrays["history.returns"].tolist()]
        self.evaluations = [
            Evaluation(int(steps), int(episodes), *rest)
            for steps, episodes, *rest in arrays["history.evaluations"].tolist()
        ]
        kept = {name: torch.tensor(arrays[_KEPT + name]) for name in self.network.state_dict()}
        self.network.load_state_dict(kept)
        for name in _CLOCKS:
            setattr(self, name, checkpoint.head[name])

    def result(self) -> NetworkResult:
        """Return the result of a finished run: the kept network, and its score on other episodes.

        ``solved_at`` is the step of the first evaluation that reached the environment's threshold.
        """
        learner, threshold = self.learner, self.preset.solved
        good = [
            evaluation.steps
            for evaluation in self.evaluations
            if threshold is not None and evaluation.greedy_score >= threshold
        ]
        identity = self.identity
        del identity["version"]  # of the checkpoint format
        report: dict[str, Any] = {
            "engine": "network",
            **identity,
            "steps": learner.steps,
            "episodes": learner.episodes,
            "updates": learner.updates,
            "kept_at": self._best.steps,
            "last_score": self.evaluations[-1].greedy_score,
            "threshold": threshold,
            "solved_at": good[0] if good else None,
            "seconds": round(self.seconds, 2),
            "processor_s": round(self.processor_s, 2),
            "steps_per_second": round(learner.steps / self.seconds, 1) if self.seconds else None,
            "phases": {name: round(s, 2) for name, s in learner.seconds.items()},
            "first_and_last": _first_and_last(self.evaluations),
        }
        steps, returns = np.array(self.returns, np.float64).reshape(-1, 2).T
        columns = map(np.array, zip(*self.evaluations, strict=True))
        history = {
            "episodes": {"steps": steps.astype(np.int64), "return": returns},
            "evaluations": dict(zip(Evaluation._fields, columns, strict=True)),
        }
        result = NetworkResult(self.name, self.network, history, report)
        report |= result.evaluate(episodes=GAMES, seed=_SCORE_SEED)
        report["solved"] = None if threshold is None else report["greedy_score"] >= threshold
        missed = report["solved"] is False
        report["hint"] = "try a larger --total-timesteps, or several --seeds" if missed else None
        return result


def _first_and_last(evaluations: Sequence[Evaluation]) -> dict[str, list[float]] | None:
    """Compare a long run's first and last thousand episodes, to detect slowdown and memory growth.

    Return the processor time per step in microseconds and the peak memory for each, or None for fewer
    than two thousand episodes.
    """
    last = evaluations[-1]
    early = [found for found in evaluations if found.episodes >= _THOUSAND]
    late = [found for found in evaluations if found.episodes <= last.episodes - _THOUSAND]
    if not early or not late or early[0].episodes > late[-1].episodes:
        return None
    first, before = early[0], late[-1]
    spent = (last.learning_s - before.learning_s) / (last.steps - before.steps)
    return {
        "us_per_step": [round(first.learning_s / first.steps * 1e6, 2), round(spent * 1e6, 2)],
        "peak_mib": [round(first.peak_mib, 1), round(last.peak_mib, 1)],
    }


def _peak_mib() -> float:
    """Return this process's peak memory in MiB, or NaN if the system does not report it."""
    try:
        import resource
    except ImportError:  # pragma: no cover: not a POSIX system
        return math.nan
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def dqn(
    env: str | gym.Env[Any, Any],
    *,
    torch_device: str = "cpu",
    progress: Callable[[Progress], object] | None = None,
    metrics: Metrics | None = None,
    **settings: Any,
) -> NetworkResult:
    """Train a network on an environment with DQN, as ``qstep dqn`` does.

    Parameters
    ----------
    env : str or gymnasium.Env
        A name that ``qstep dqn`` accepts, or an environment from ``gymnasium.make``.
    torch_device : str
        ``cpu``, ``cuda``, ``mps`` or ``auto``.
    progress : callable, optional
        Called with a :class:`~qstep.Progress` after every step of the learner.
    metrics : Metrics, optional
    **settings
        `seed`, `episodes`, `evaluate_every`, `num_envs`, `env_kwargs`, and the fields of
        ``qstep.deep.config.DqnConfig``; the defaults depend on the environment.

    Raises
    ------
    ConfigError
        A setting does not exist, or a value is out of range.
    EnvironmentSpaceError
        The environment cannot be made, or its spaces do not fit a network; or an observation, a reward
        or a score contradicts its space or is not finite.
    DivergedError
        The network's parameters or losses are no longer finite.
    """
    return _learned(NetworkRun(env, "dqn", torch_device, **settings), progress, metrics)


def pqn(
    env: str | gym.Env[Any, Any],
    *,
    torch_device: str = "cpu",
    progress: Callable[[Progress], object] | None = None,
    metrics: Metrics | None = None,
    **settings: Any,
) -> NetworkResult:
    """Train a network on an environment with PQN, as ``qstep pqn`` does.

    Like :func:`dqn`, but with `PqnConfig`.
    """
    return _learned(NetworkRun(env, "pqn", torch_device, **settings), progress, metrics)


def sac(
    env: str | gym.Env[Any, Any],
    *,
    torch_device: str = "cpu",
    progress: Callable[[Progress], object] | None = None,
    metrics: Metrics | None = None,
    **settings: Any,
) -> NetworkResult:
    """Train a network with SAC on an environment whose actions are a bounded Box, as ``qstep sac`` does.

    Like :func:`dqn`, but with `SacConfig`.
    """
    return _learned(NetworkRun(env, "sac", torch_device, **settings), progress, metrics)


def _learned(
    run: NetworkRun,
    progress: Callable[[Progress], object] | None,
    metrics: Metrics | None,
) -> NetworkResult:
    result = finished(run, progress, metrics)
    assert isinstance(result, NetworkResult)
    return result
