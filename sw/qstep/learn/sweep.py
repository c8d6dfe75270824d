"""`qstep.sweep`: many agents learn a world, each with its own settings."""

from __future__ import annotations

import hashlib
import math
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qstep._io.checkpoint import Checkpoint
from qstep._io.workers import Here, Processes, Workers, completed
from qstep.device import is_model
from qstep.device.acting import open_agents
from qstep.errors import CheckpointError, ConfigError, PrecisionWarning
from qstep.golden.agents_fast import LANES
from qstep.learn.agents import Training
from qstep.learn.agents_result import AgentsResult, played
from qstep.learn.metrics import Metrics
from qstep.learn.plan import AgentsPlan
from qstep.learn.run import Progress
from qstep.learn.sweep_plan import ALPHAS, GAMMAS, SEEDS, SweepPlan, sweep_plan
from qstep.learn.sweep_result import NEAR, Learnt, SweepResult
from qstep.mdp.world import World, name_of
from qstep.spec.agents import MOST_AGENTS, Algorithm
from qstep.spec.checks import check_callable, integer, shown
from qstep.spec.config import Config
from qstep.spec.epsilon import Epsilon
from qstep.spec.fixed import QFormat, Rounding
from qstep.spec.random import seed_as_first

if TYPE_CHECKING:
    import gymnasium as gym

__all__ = ["Sweep", "sweep"]

Key = tuple[int, int]
"""An agent: the numbers of its point and of its seed in the plan."""

_AGENTS = 16
"""Default number of agents of a run on a simulation or a board."""

_BATCH_STEPS = 1 << 26
"""Steps of a batch on the model: a fifth of a second, the most work that a dead worker loses."""

_BATCHES = 4
"""Least number of batches per worker, so that all workers end at about the same time."""


def sweep(
    world: World | str | gym.Env[Any, Any],
    *,
    alphas: Iterable[float] = ALPHAS,
    gammas: Iterable[float] = GAMMAS,
    epsilons: Iterable[Epsilon | float] | None = None,
    algorithms: Iterable[Algorithm | str] | None = None,
    formats: Iterable[QFormat | str] | None = None,
    seeds: Iterable[int] = SEEDS,
    steps: int | None = None,
    rounding: Rounding | str = Rounding.NEAREST,
    random: int | None = None,
    random_seed: int = 0,
    device: str = "model",
    agents: int | None = None,
    config: Config | None = None,
    workers: Workers | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> SweepResult:
    """Let agents learn a world with every combination of settings, once for each seed.

    What an agent learns depends only on its settings and its seed, not on the device or on the agents
    that run beside it. It is bit for bit the result of :func:`qstep.train` with ``agents=1`` and the
    same settings and seed.

    Parameters
    ----------
    world : World, str or gymnasium.Env
        As for :func:`qstep.train`; it must have a transition table.
    alphas, gammas : iterable of float
        Each 0..1.
    epsilons : iterable of Epsilon or float, optional
        A number means constant. Default: epsilon falls from 1 to 0.05 over the first half of the run.
    algorithms : iterable of Algorithm or str, optional
        Default: Q-learning.
    formats : iterable of QFormat or str, optional
        Default: that of :func:`~qstep.fitting_format`, the same for all points.
    seeds : iterable of int
        Each 0..2^64-1.
    steps : int, optional
        Steps of each agent; default: :func:`~qstep.usual_steps`.
    rounding : Rounding or str
    random : int, optional
        Draw this many points instead, with `random_seed`: alpha and 1 - gamma evenly on a logarithmic
        scale between the least and the greatest given, and one of the given values for all else. If a
        pair would learn another discount, gamma is the nearest that it learns.
    random_seed : int
    device : str
        As for :func:`qstep.open`. On the model, agents run on all cores; elsewhere agents of one
        algorithm and format run together, as many at a time as the device has.
    agents : int, optional
        Agents of a device, 1..2048; default: 16, or fewer if the sweep has fewer. The model ignores it.
    config : Config, optional
        That of an existing device: it sets `algorithms`, `formats`, `rounding` and `agents`.
    workers : Workers, optional
        What computes on the model: :class:`qstep._io.workers.Processes`, by default one per core (a
        script must then call this below ``if __name__ == "__main__"``), or
        :class:`qstep._io.cluster.Cluster`.
    progress : callable, optional
        Called as ``progress(done, total)``, in agents, whenever some are done.

    Returns
    -------
    SweepResult

    Raises
    ------
    ConfigError, WorldError, DeviceError
        As for :func:`qstep.train`, for any of the points; if a value is illegal, nothing was started.
    SchedulerError
        Workers died repeatedly, or there are none.

    Warns
    -----
    PrecisionWarning
        As for :func:`qstep.train`.

    Examples
    --------
    >>> from qstep._io.workers import Here
    >>> result = sweep("gridworld", alphas=[0.1, 0.5], gammas=[0.9], steps=2000, workers=Here())
    >>> len(result.plan.points), len(result.plan.seeds)
    (2, 5)
    """
    check_callable("progress", progress)
    plan = sweep_plan(
        world,
        alphas=alphas,
        gammas=gammas,
        epsilons=epsilons,
        algorithms=algorithms,
        formats=formats,
        seeds=seeds,
        steps=steps,
        rounding=rounding,
        random=random,
        random_seed=random_seed,
        config=config,
    )
    run = Sweep(plan, device, agents, workers, name_of(world))
    for _ in run:
        if progress is not None:
            progress(len(run.done), run.total)
    result = run.result()
    if result.saturated is not None:
        warnings.warn(result.saturated, PrecisionWarning, stacklevel=2)
    return result


@dataclass(frozen=True, slots=True)
class _Batch:
    """Agents that run together; the agents of `part` beyond `keys` are padding."""

    part: AgentsPlan
    device: str
    keys: tuple[Key, ...]


class Sweep:
    """A :class:`~qstep.learn.run.Run` of all agents of a sweep.

    Parameters
    ----------
    plan : SweepPlan
    device, agents, workers
        As for :func:`sweep`.
    name : str
        The world, for people.

    Attributes
    ----------
    done : dict of (int, int) to Learnt
        By the numbers of point and seed in the plan.
    total : int
        Agents in all.
    """

    resumable, atomic = True, False

    def __init__(
        self,
        plan: SweepPlan,
        device: str = "model",
        agents: int | None = None,
        workers: Workers | None = None,
        name: str = "",
    ) -> None:
        self.plan, self.device, self.name = plan, device, name
        self.metrics: Metrics | None = None
        self.done: dict[Key, Learnt] = {}
        self.total = len(plan.points) * len(plan.seeds)
        self._at_once = self._agents_of_device(agents)
        if workers is not None and not callable(getattr(workers, "each", None)):
            raise ConfigError(
                f"workers is {shown(workers)}; it must be Processes or Here of qstep._io.workers, "
                "or a Cluster of qstep._io.cluster"
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
        for _, learnt in completed(_learnt, list(self._batches()), self._workers):
            self._keep(learnt)
            self._seconds = time.perf_counter() - begun
            yield

    def _keep(self, learnt: dict[Key, Learnt]) -> None:
        self.done |= learnt
        self._steps += self.plan.steps * len(learnt)

    @property
    def progress(self) -> Progress:
        done = Counter(point for point, _ in self.done)
        whole = sum(count == len(self.plan.seeds) for count in done.values())
        return Progress(whole, len(self.plan.points), self.reached)

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
        seeds = range(len(self.plan.seeds))
        learnt = tuple(
            tuple(self.done[number, seed] for seed in seeds)
            for number in range(len(self.plan.points))
        )
        return SweepResult(self.name, self.device, self.plan, learnt, self._seconds, self._steps)

    @property
    def checkpoint(self) -> Checkpoint:
        """The agents that are done so far."""
        learnt = list(self.done.values())
        return Checkpoint(
            {"done": [[*key, own.to_head()] for key, own in self.done.items()]},
            {
                "mean_return": np.array([own.mean_return for own in learnt], np.float64),
                "value": np.array(
                    [own.value or (math.nan,) * len(own.mean_return) for own in learnt], np.float64
                ),
            },
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Continue from a checkpoint of the same sweep.

        Raises
        ------
        CheckpointError
            A part is missing or invalid.
        """
        try:
            curves = (checkpoint.arrays[name].tolist() for name in ("mean_return", "value"))
            done = {
                (point, seed): Learnt.of_head(
                    head, tuple(returns), () if head["optimum"] is None else tuple(values)
                )
                for (point, seed, head), returns, values in zip(
                    checkpoint.head["done"], *curves, strict=True
                )
            }
            points, seeds = range(len(self.plan.points)), range(len(self.plan.seeds))
            if any(point not in points or seed not in seeds for point, seed in done):
                raise ValueError("there is no such point or seed")
        except Exception as cause:  # an invalid part may raise anything
            why = f"{type(cause).__name__}: {cause}"
            raise CheckpointError(f"the checkpoint does not hold a sweep ({why})") from cause
        self.done = done


def _learnt(batch: _Batch) -> dict[Key, Learnt]:
    """Run a batch, in a worker."""
    part, agents = batch.part, len(batch.part.settings)
    assert part.world is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)  # the plan has given them
        device = open_agents(batch.device, part.config, part.loaded, part.settings)
    try:
        training = Training(
            device, part.world, [own.discount for own in part.settings], part.budget
        )
        for _ in training:
            pass
        result = AgentsResult.of("", batch.device, part, training)
    finally:
        device.close()
    known = [not math.isnan(best) for best in result.optimum] or [False] * agents
    near = result.optimal_after(NEAR) or (None,) * agents
    tables = result.table.reshape(agents, -1).astype("<i4")
    return {
        key: Learnt(
            tuple(point.mean_return[agent] for point in result.points),
            tuple(point.value[agent] for point in result.points) if known[agent] else (),
            result.optimum[agent] if known[agent] else None,
            near[agent],
            played(part.world, result.policies[agent]),
            result.counters[agent],
            hashlib.sha256(tables[agent].tobytes()).hexdigest(),
        )
        for agent, key in enumerate(batch.keys)
    }
