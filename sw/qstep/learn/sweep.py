"""`qstep.sweep`: many agents learn a world, each with its own settings."""

from __future__ import annotations

import hashlib
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep._io.checkpoint import Checkpoint
from qstep._io.workers import Here, Processes, Workers, completed
from qstep.device import is_model
from qstep.errors import CheckpointError, ConfigError, PrecisionWarning
from qstep.golden.agents_fast import LANES
from qstep.learn.agents import AgentsRun
from qstep.learn.agents_result import played
from qstep.learn.metrics import Metrics
from qstep.learn.plan import AgentsPlan
from qstep.learn.run import Progress
from qstep.learn.sweep_plan import SweepOptions, SweepPlan
from qstep.learn.sweep_result import CURVES, SweepResult
from qstep.learn.train import finished
from qstep.mdp.world import World, name_of
from qstep.spec.agents import MOST_AGENTS, Algorithm
from qstep.spec.checks import check_callable, did_you_mean, integer, shown
from qstep.spec.fixed import QFormat
from qstep.spec.random import seed_as_first

if TYPE_CHECKING:
    import gymnasium as gym

__all__ = ["Sweep", "sweep"]

Key = tuple[int, int]
"""An agent: the numbers of its point and of its seed in the plan."""

_NEAR = 0.01
"""How far below the optimum, as a share of it, a policy may be worth to count as near."""

_AGENTS = 16
"""Default number of agents of a run on a simulation or a board."""

_BATCH_STEPS = 1 << 26
"""Steps of a batch on the model: a fifth of a second, the most work that a dead worker loses."""

_BATCHES = 4
"""Least number of batches per worker, so that all workers end at about the same time."""


def sweep(
    world: World | str | gym.Env[Any, Any],
    *,
    device: str = "model",
    agents: int | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    workers: Workers | None = None,
    progress: Callable[[Progress], object] | None = None,
    **options: Any,
) -> SweepResult:
    """Let agents learn a world with every combination of settings, once for each seed.

    What an agent learns depends only on its settings and its seed, not on the device or on the agents
    that run beside it. It is bit for bit the result of :func:`qstep.train` with ``agents=1`` and the
    same settings and seed.

    Parameters
    ----------
    world : World, str or gymnasium.Env
        As for :func:`qstep.train`; it must have a transition table.
    device : str
        As for :func:`qstep.open`. On the model, agents run on all cores; elsewhere agents of one
        algorithm and format run together, as many at a time as the device has.
    agents : int, optional
        Agents of a device, 1..2048; default: 16, or fewer if the sweep has fewer. The model ignores it.
        An existing device, whose `config` is one of the options, sets it.
    env_kwargs : mapping, optional
        As for :func:`qstep.train`.
    workers : Workers, optional
        What computes on the model: :class:`qstep.Processes`, by default one per core (a script must then
        call this below ``if __name__ == "__main__":``), or :class:`qstep.Cluster`.
    progress : callable, optional
        Called with a :class:`~qstep.Progress`, in agents, whenever some are done.
    **options
        What is compared: the fields of :class:`~qstep.SweepOptions`, such as `alphas`.

    Returns
    -------
    SweepResult

    Raises
    ------
    ConfigError, WorldError, DeviceError
        There is no such option; or as for :func:`qstep.train`, for any of the points. If a value is
        illegal, nothing was started.
    SchedulerError
        Workers died repeatedly, could not start, or there are none.

    Warns
    -----
    PrecisionWarning
        As for :func:`qstep.train`.

    Examples
    --------
    >>> from qstep import Here
    >>> result = sweep("gridworld", alphas=[0.1, 0.5], gammas=[0.9], steps=2000, workers=Here())
    >>> len(result.plan.points), len(result.plan.seeds)
    (2, 5)
    """
    check_callable("progress", progress)
    names = [field.name for field in fields(SweepOptions)]
    for name in options.keys() - names:
        raise ConfigError(f"sweep has no option {name!r}.{did_you_mean(name, names)}")
    plan = SweepOptions(**options).plan(world, env_kwargs)
    run = Sweep(plan, device, agents, workers, name_of(world), env_kwargs)
    result = finished(run, progress)
    assert isinstance(result, SweepResult)
    return result


class _Agent(NamedTuple):
    """What an agent learned: plain values for the report, and curves by evaluation."""

    row: dict[str, Any]
    episode_return: NDArray[np.float64]
    greedy_value: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Batch:
    """Agents that run together; the agents of `part` beyond `keys` are padding."""

    part: AgentsPlan
    device: str
    keys: tuple[Key, ...]


class Sweep:
    """A :class:`~qstep.learn.run.Run` of all agents of a sweep; arguments as for :func:`sweep`."""

    resumable, atomic = True, False

    def __init__(
        self,
        plan: SweepPlan,
        device: str = "model",
        agents: int | None = None,
        workers: Workers | None = None,
        name: str = "",
        env_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self.plan, self.device, self.name = plan, device, name
        self.env_kwargs = dict(env_kwargs or {})
        self.metrics: Metrics | None = None
        self.done: dict[Key, _Agent] = {}
        self.total = len(plan.points) * len(plan.seeds)
        self._at_once = self._agents_of_device(agents)
        if workers is not None and not callable(getattr(workers, "each", None)):
            raise ConfigError(
                f"workers is {shown(workers)}; it must be qstep.Processes, qstep.Here or qstep.Cluster"
            )
        self._workers = workers or Processes(os.cpu_count() or 1)
        if not is_model(device):
            self._workers = Here()
        self._seconds, self._steps = 0.0, 0

    def _agents_of_device(self, agents: int | None) -> int:
        acting = None if self.plan.config is None else self.plan.config.acting
        if acting is not None:
            agents = acting.agents if agents is None else agents
            return integer("agents", agents, acting.agents, acting.agents)
        return integer(
            "agents", min(_AGENTS, self.total) if agents is None else agents, 1, MOST_AGENTS
        )

    @property
    def identity(self) -> dict[str, Any]:
        return self.plan.identity

    def open(self, checkpoint: Checkpoint | None) -> None:
        if checkpoint is not None:
            self.restore(checkpoint)

    def close(self) -> None:
        pass

    def __iter__(self) -> Iterator[None]:
        begun = time.perf_counter()
        for _, found in completed(_learned, list(self._batches()), self._workers):
            self._keep(found)
            self._seconds = time.perf_counter() - begun
            yield

    def _keep(self, found: dict[Key, _Agent]) -> None:
        self.done |= found
        self._steps += self.plan.steps * len(found)

    @property
    def progress(self) -> Progress:
        return Progress(len(self.done), self.total, "agents")

    @property
    def steps(self) -> int:
        return len(self.done) * self.plan.steps

    @property
    def reached(self) -> str:
        return f"{len(self.done)} of {self.total} agents"

    def _batches(self) -> Iterator[_Batch]:
        groups: dict[tuple[Algorithm, QFormat], list[Key]] = {}
        for number, point in enumerate(self.plan.points):
            group = groups.setdefault((point.algorithm, point.format), [])
            keys = ((number, seed) for seed in range(len(self.plan.seeds)))
            group += (key for key in keys if key not in self.done)
        for (algorithm, number_format), left in groups.items():
            size = self._at_once
            if is_model(self.device):
                even = len(left) // (_BATCHES * self._workers.jobs)
                if even > LANES // 2:
                    even = -(-even // LANES) * LANES
                size = max(1, min(_BATCH_STEPS // self.plan.steps, even))
            for first in range(0, len(left), size):
                part = tuple(left[first : first + size])
                spare = 0 if is_model(self.device) else size - len(part)
                settings = [
                    self.plan.points[point].settings(seed_as_first(self.plan.seeds[seed], agent))
                    for agent, (point, seed) in enumerate([*part, *part[-1:] * spare])
                ]
                yield _Batch(self.plan.part(settings, algorithm, number_format), self.device, part)

    def result(self) -> SweepResult:
        plan = self.plan
        points, seeds = range(len(plan.points)), range(len(plan.seeds))
        agents = [self.done[point, seed] for point in points for seed in seeds]
        evaluations = {"steps": np.array(plan.evaluations)}
        for name in CURVES:
            curves = np.array([getattr(agent, name) for agent in agents])
            evaluations[name] = curves.T.reshape(-1, len(points), len(seeds))
        return SweepResult(
            self.name,
            self.device,
            plan,
            [[self.done[point, seed].row for seed in seeds] for point in points],
            {"evaluations": evaluations},
            self._seconds,
            self._steps,
            self.env_kwargs,
        )

    @property
    def checkpoint(self) -> Checkpoint:
        """The agents that are done so far."""
        agents = list(self.done.values())
        return Checkpoint(
            {"agents": [[*key, agent.row] for key, agent in self.done.items()]},
            {name: np.array([getattr(agent, name) for agent in agents]) for name in CURVES},
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Continue from a checkpoint of the same sweep; raise CheckpointError if it is none."""
        try:
            curves = (checkpoint.arrays[name] for name in CURVES)
            done = {
                (point, seed): _Agent(row, *own)
                for (point, seed, row), *own in zip(checkpoint.head["agents"], *curves, strict=True)
            }
            points, seeds = range(len(self.plan.points)), range(len(self.plan.seeds))
            if any(point not in points or seed not in seeds for point, seed in done):
                raise ValueError("there is no such point or seed")
        except Exception as cause:  # an invalid part may raise anything
            why = f"{type(cause).__name__}: {cause}"
            raise CheckpointError(f"the checkpoint does not hold a sweep ({why})") from cause
        self.done = done


def _learned(batch: _Batch) -> dict[Key, _Agent]:
    """Run a batch, in a worker."""
    part, run = batch.part, AgentsRun("", batch.device, batch.part)
    assert part.world is not None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrecisionWarning)  # the plan has given them
            run.open(None)
        for _ in run:
            pass
        result = run.result()
    finally:
        run.close()
    agents = len(part.settings)
    evaluations = result.history["evaluations"]
    returns, values = (evaluations[name] for name in CURVES)
    if not values.size:
        values = np.full(returns.shape, np.nan)
    optimum = result.optimum or (math.nan,) * agents
    near = result.optimal_after(_NEAR) or (None,) * agents
    tables = result.table.reshape(agents, -1).astype("<i4")
    found = {}
    for agent, key in enumerate(batch.keys):
        greedy = played(part.world, result.policies[agent])
        counters = asdict(result.counters[agent])
        del counters["steps"]
        row = {
            "greedy_return": greedy.mean_return,
            "greedy_success": greedy.success,
            "greedy_length": greedy.mean_length,
            "optimum": None if math.isnan(optimum[agent]) else optimum[agent],
            "near_after": near[agent],
            **counters,
            "table_sha256": hashlib.sha256(tables[agent].tobytes()).hexdigest(),
        }
        found[key] = _Agent(row, returns[:, agent], values[:, agent])
    return found
