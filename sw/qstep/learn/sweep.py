"""`qstep.sweep`: many agents learn a world, each with its own settings."""

from __future__ import annotations

import hashlib
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qstep._io.checkpoint import Checkpoint, check_parts
from qstep._io.workers import Here, Processes, Workers, completed
from qstep.device import is_model
from qstep.errors import ConfigError, PrecisionWarning
from qstep.golden.agents_fast import LANES
from qstep.learn.agents import AgentsRun
from qstep.learn.agents_result import NEAR, AgentsResult
from qstep.learn.metrics import Metrics
from qstep.learn.plan import AgentsPlan, AgentsWorld
from qstep.learn.run import Progress, finished
from qstep.learn.sweep_plan import SweepOptions, SweepPlan
from qstep.learn.sweep_result import CURVES, SweepResult
from qstep.mdp.world import name_of
from qstep.spec.agents import MOST_AGENTS, Algorithm
from qstep.spec.checks import did_you_mean, integer, shown
from qstep.spec.fixed import QFormat
from qstep.spec.random import seed_as_first

if TYPE_CHECKING:
    import gymnasium as gym

__all__ = ["Sweep", "sweep"]

Key = tuple[int, int]
"""An agent, identified by the indices of its point and its seed in the plan."""

_Rows: TypeAlias = list[dict[str, Any]]
_Curves: TypeAlias = dict[str, NDArray[np.float64]]

_AGENTS = 16
"""Default number of agents per run on a simulation or a board."""

_BATCH_STEPS = 1 << 26
"""Steps per batch on the model: a fifth of a second of work, which is lost if a worker dies."""

_BATCHES = 4
"""Minimum number of batches per worker, so all workers finish at about the same time."""


def sweep(
    world: AgentsWorld | str | gym.Env[Any, Any],
    *,
    device: str = "model",
    agents: int | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    workers: Workers | None = None,
    progress: Callable[[Progress], object] | None = None,
    **options: Any,
) -> SweepResult:
    """Train agents in a world with every combination of settings, once per seed.

    An agent's result depends only on its settings and its seed, not on the device or on other agents.
    It equals, bit for bit, the result of :func:`qstep.train` with ``agents=1`` and the same settings and
    seed.

    Parameters
    ----------
    world : World, str or gymnasium.Env
        As for :func:`qstep.train`; the device must be able to act in it.
    device : str
        As for :func:`qstep.open`. On the model, agents run on all cores. On other devices, agents with
        the same algorithm and format run together, `agents` at a time.
    agents : int, optional
        Agents per device, 1..2048. Default: 16, or fewer if the sweep has fewer. Ignored on the model.
        For an existing device, the option `config` sets it.
    env_kwargs : mapping, optional
        As for :func:`qstep.train`.
    workers : Workers, optional
        Workers that compute on the model: :class:`qstep.Processes` or :class:`qstep.Cluster`. Default:
        one process per core; a script must then call this below ``if __name__ == "__main__":``.
    progress : callable, optional
        Called with a :class:`~qstep.Progress`, which counts agents, whenever agents have finished.
    **options
        The settings to compare: fields of :class:`~qstep.SweepOptions`, such as `alphas`.

    Returns
    -------
    SweepResult

    Raises
    ------
    ConfigError, WorldError, DeviceError
        An option does not exist, or the settings of a point raise the error in :func:`qstep.train`. If a
        value is illegal, nothing is started.
    SchedulerError
        Workers died repeatedly or could not start, or there are none.

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
    names = [field.name for field in fields(SweepOptions)]
    for name in options.keys() - names:
        raise ConfigError(f"sweep has no option {name!r}.{did_you_mean(name, names)}")
    plan = SweepOptions(**options).plan(world, env_kwargs)
    run = Sweep(plan, device, agents, workers, name_of(world), env_kwargs)
    result = finished(run, progress)
    assert isinstance(result, SweepResult)
    return result


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
        shape = (len(plan.evaluations), len(plan.points), len(plan.seeds))
        self._by_seed: list[list[Any]] = [[None] * len(plan.seeds) for _ in plan.points]
        self._curves = {name: np.full(shape, np.nan) for name in CURVES}
        self.done, self.total = 0, len(plan.points) * len(plan.seeds)
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
        config, least, most, usual = self.plan.config, 1, MOST_AGENTS, min(_AGENTS, self.total)
        if config is not None and config.acting is not None:
            least = most = usual = config.acting.agents
        return integer("agents", usual if agents is None else agents, least, most)

    @property
    def identity(self) -> dict[str, Any]:
        return self.plan.identity

    def open(self, checkpoint: Checkpoint | None) -> None:
        if checkpoint is None:
            return
        check_parts(checkpoint.head, {"by_seed": self._by_seed})
        check_parts(checkpoint.arrays, self._curves)
        self._by_seed = [list(agents) for agents in checkpoint.head["by_seed"]]
        self._curves = {name: checkpoint.arrays[name].copy() for name in CURVES}
        self.done = sum(row is not None for agents in self._by_seed for row in agents)

    def close(self) -> None:
        pass

    def __iter__(self) -> Iterator[None]:
        since = time.perf_counter()
        batches = list(self._batches())
        for number, learned in completed(_learned, batches, self._workers):
            self._keep(batches[number].keys, *learned)
            self._seconds = time.perf_counter() - since
            yield

    def _keep(self, keys: Sequence[Key], rows: _Rows, curves: _Curves) -> None:
        for (point, seed), row in zip(keys, rows, strict=True):
            self._by_seed[point][seed] = row
        for name, curve in curves.items():
            self._curves[name][:, *np.transpose(keys)] = curve
        self.done += len(keys)
        self._steps += self.plan.steps * len(keys)

    @property
    def progress(self) -> Progress:
        return Progress(self.done, self.total, "agents")

    @property
    def steps(self) -> int:
        return self.done * self.plan.steps

    @property
    def reached(self) -> str:
        return f"{self.done} of {self.total} agents"

    def _batches(self) -> Iterator[_Batch]:
        groups: dict[tuple[Algorithm, QFormat], list[Key]] = {}
        for number, point in enumerate(self.plan.points):
            group = groups.setdefault((point.algorithm, point.format), [])
            group += (
                (number, seed) for seed, row in enumerate(self._by_seed[number]) if row is None
            )
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
        history = {"evaluations": {"steps": np.array(self.plan.evaluations), **self._curves}}
        run = (self._seconds, self._steps, self.env_kwargs)
        return SweepResult(self.name, self.device, self.plan, self._by_seed, history, *run)

    @property
    def checkpoint(self) -> Checkpoint:
        """The results of finished agents, and None for unfinished ones."""
        return Checkpoint({"by_seed": self._by_seed}, self._curves)


def _learned(batch: _Batch) -> tuple[_Rows, _Curves]:
    """Run a batch in a worker; return the agents' results as plain values, and history columns."""
    part = batch.part
    assert part.world is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)  # the sweep itself issues this warning
        result = finished(AgentsRun("", batch.device, part))
    assert isinstance(result, AgentsResult)
    optimum = result.optimum or (math.nan,) * len(part.settings)
    near = result.optimal_after(NEAR) or (None,) * len(part.settings)
    greedy, rows = result.greedy, []
    for agent in range(len(batch.keys)):
        counters = result.counters[agent]
        table = result.table.reshape(len(part.settings), -1)[agent].astype("<i4")
        rows.append(
            {
                **greedy[agent].columns,
                "optimum": None if math.isnan(optimum[agent]) else optimum[agent],
                "near_after": near[agent],
                "terminations": counters.terminations,
                "truncations": counters.truncations,
                "saturations": counters.saturations,
                "return_sum": counters.return_sum * part.config.format.resolution,
                "table_sha256": hashlib.sha256(table.tobytes()).hexdigest(),
            }
        )
    columns = result.history["evaluations"]
    known = [name for name in CURVES if columns[name].size]  # greedy values may be unknown
    return rows, {name: columns[name][:, : len(rows)] for name in known}
