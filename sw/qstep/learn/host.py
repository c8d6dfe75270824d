"""The host acts and the device learns.

The behaviour policy is epsilon-greedy on the table as last read from the device. After `sync_steps`
transitions, the batch is streamed to the device and the table is read back. The host therefore acts on
a table that is at most `sync_steps` transitions old. The model, the simulation and a board receive the
same stream and end with the same table. With `sync_steps` = 1, this is the textbook algorithm. With a
larger number, the table is read less often; each read transfers ``states * actions`` values over the
link.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from qstep._io.checkpoint import Checkpoint
from qstep.device import open_device
from qstep.device.base import Device
from qstep.envs import LIMIT, GridWorld, make, table_size
from qstep.envs.catalogue import ENVIRONMENTS, Environment, record_of
from qstep.errors import CheckpointError, ConfigError, EnvironmentSpaceError, WorldError
from qstep.learn.actor import Actor, GymActor, Stretch, VectorActor
from qstep.learn.evaluate import GREEDY, MAX_SEED, Evaluation, share
from qstep.learn.host_checkpoint import Columns, Episode, TableCheckpoint, episode_columns
from qstep.learn.metrics import Metrics
from qstep.learn.result import hint
from qstep.learn.run import Progress
from qstep.learn.table import TableWorld
from qstep.learn.table_result import TableResult, optimum
from qstep.mdp.table_env import TableEnv
from qstep.mdp.transitions import Transitions
from qstep.mdp.world import World
from qstep.spec.checks import assign, integer, shown
from qstep.spec.config import Config
from qstep.spec.discount import check_discount
from qstep.spec.epsilon import FALLING, Epsilon, checked_share
from qstep.spec.settings import Hyperparameters, checked_hyper

__all__ = ["HostRun", "Plan"]

_RECENT = 100
"""Number of recent episodes over which the progress bar averages the return."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a run, without the device's hyperparameters; counts are 1 or more.

    The table is read every `sync_steps` transitions, and evaluated every `evaluate_every` training
    episodes and after the last one. Epsilon is constant, or linear over a share of
    `epsilon_episodes` (0: of `episodes`). An extended run keeps `epsilon_episodes`, and therefore the
    same epsilon. Only environments with kernels allow `num_envs` above 1; they are stepped round-robin.
    `env_id` and `env_kwargs` are as for :func:`qstep.envs.make`.
    """

    env_id: str
    episodes: int = 2000
    epsilon: Epsilon = FALLING
    sync_steps: int = 64
    evaluate_every: int = 100
    evaluate_episodes: int = 100
    epsilon_episodes: int = 0
    num_envs: int = 1
    env_kwargs: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.env_id, str):
            raise ConfigError(
                f"env_id is {shown(self.env_id)}; it must be the name of an environment"
            )
        checked_share(self.epsilon)
        counts = ("episodes", "sync_steps", "evaluate_every", "evaluate_episodes", "num_envs")
        assign(self, **{name: integer(name, getattr(self, name), 1) for name in counts})
        if self.num_envs > 1 and self.compiled is None:
            many = " and ".join(record.name for record in ENVIRONMENTS if record.kernels)
            raise ConfigError(
                f"num_envs is {self.num_envs}; it must be 1 for {self.env_id}: only {many} "
                "support more"
            )
        assign(self, epsilon_episodes=integer("epsilon_episodes", self.epsilon_episodes, 0))

    @property
    def compiled(self) -> Environment | None:
        """The environment's record, if it has kernels."""
        record = record_of(self.env_id)
        return record if record is not None and record.kernels else None

    @property
    def horizon(self) -> int:
        """Number of episodes to which epsilon's share is relative."""
        return self.epsilon_episodes or self.episodes


class HostRun:
    """A :class:`~qstep.learn.run.Run` in which the host acts and a device learns.

    The checkpoint :attr:`latest` is taken between episodes with one environment, and after every stretch
    with several. It is the complete state of the run. A run that is interrupted anywhere, even inside an
    episode or a device call, resumes from it and ends with the same table and history. If a finished run
    is extended by more episodes, it ends as if they had been planned from the beginning.

    :attr:`final` is the same checkpoint until the last episode; then all pending transitions are applied
    in it and the table is evaluated. :attr:`table` is the table on which the actor acts, as last read
    from the device: raw, shape (S, A). Metrics count environment steps, except those of unfinished
    episodes. :attr:`world` is None if the environment has no transition table.

    Raises EnvironmentSpaceError if the environment does not fit the device's table, and TransitionError
    if a reward does not fit the format: in the constructor if the environment has a transition table,
    otherwise before any transition of the batch with that reward is applied.
    """

    resumable, atomic = True, False

    def __init__(self, url: str, plan: Plan, hyper: Hyperparameters, config: Config) -> None:
        self.name, self.url = plan.env_id, url
        self.plan, self.hyper, self.config = plan, checked_hyper(hyper), config
        check_discount(hyper.alpha, hyper.gamma, config.coefficient_bits)
        self.metrics: Metrics | None = None
        self._seconds = 0.0
        self._held = ExitStack()
        self._env = self._made_env()
        states, actions = self._size = table_size(self._env)
        if states > config.states or actions != config.actions:
            raise EnvironmentSpaceError(
                f"{plan.env_id} has {states} states and {actions} actions; it needs a table of at "
                f"least {states} rows and exactly {actions} columns, but the device's has "
                f"{config.states} and {config.actions}"
            )
        try:
            self.world: World | None = World.from_env(self._env)
        except WorldError:
            self.world = None
        if self.world is not None:
            config.format.quantise(self.world.reward)

    def _made_env(self) -> gym.Env[Any, Any]:
        return make(self.name, self.hyper.seed % MAX_SEED, env_kwargs=self.plan.env_kwargs)

    @property
    def identity(self) -> dict[str, Any]:
        """The values that checkpoints must share.

        They exclude the device, because all devices give the same result, and the number of episodes,
        because a longer run starts like a shorter one if epsilon falls over the same episodes.
        """
        own = self._settings()
        del own["episodes"]
        config, content = self.config.to_dict(), _content(self._env.unwrapped)
        return {"command": "train", **own, "config": config, "map": content}

    def _settings(self) -> dict[str, Any]:
        """Return hyperparameters and plan as plain values."""
        return {
            **self.hyper.to_dict(self.config),
            **asdict(self.plan),
            "epsilon": self.plan.epsilon.to_dict(),
            "epsilon_episodes": self.plan.horizon,
        }

    def open(self, checkpoint: Checkpoint | None) -> None:
        resume = None
        if checkpoint is not None:
            resume = TableCheckpoint.unpacked(checkpoint, self.config)
        self.start(self._held.enter_context(open_device(self.url, self.config)), resume)

    def start(self, device: Device, resume: TableCheckpoint | None = None) -> None:
        """Begin on an open device, or continue from a checkpoint; the device may be in any state.

        The run must be the only user of `device`: it configures `device` and replaces its table. Raises
        CheckpointError if `resume` belongs to other environments or has more episodes than the plan.
        """
        if resume is not None and resume.episode > self.plan.episodes:
            raise CheckpointError(
                f"the checkpoint already has {resume.episode} episodes; episodes is "
                f"{self.plan.episodes} and cannot be less"
            )
        self.device, seeds = device, np.random.SeedSequence(self.hyper.seed).spawn(2)
        self._generators = [np.random.Generator(np.random.PCG64(seed)) for seed in seeds]
        self._actor = self._made_actor()
        self._pending: list[Columns] = []
        self._history: list[Episode] = []
        if resume is None:
            self._actor.begin()
            self.table = np.zeros((self.config.states, self.config.actions), np.int32)
            self._noise = self.hyper.noise
            resume = self._take(0, ())
        self._actor.restore(resume.actor)
        for generator, state in zip(self._generators, resume.generators, strict=True):
            generator.bit_generator.state = state
        self.table, self._noise = resume.table, resume.noise
        self._pending += resume.pending
        self._history += resume.episodes
        self._done = self._first = resume.episode
        self.latest = self.final = resume
        self._steps = self.steps
        device.configure(self.hyper)
        device.load(self.table)
        device.set_noise(self._noise)
        self._saturations = -device.saturations()

    def close(self) -> None:
        self._held.close()

    def __iter__(self) -> Iterator[str | None]:
        evaluations, since = self.latest.evaluations, time.perf_counter()
        reported, every = len(evaluations), self.plan.evaluate_every
        while (done := self._done) < self.plan.episodes:
            if done and done % every == 0 and (not evaluations or evaluations[-1].episode < done):
                evaluations = (*evaluations, self._evaluate(done))
            episodes = min(self.plan.episodes - done, every - done % every)
            stretch = self.stretch(self._room, episodes)
            self._history += stretch.episodes
            self._tell(stretch.episodes)
            if self._actor.resting:
                self.latest = self.final = self._take(self._done, evaluations)
                if self._done == self.plan.episodes:
                    self._finish()
            for _ in stretch.episodes:
                self._seconds = time.perf_counter() - since
                yield None
            for evaluation in self.final.evaluations[reported:]:
                yield evaluation.in_words
            reported = len(self.final.evaluations)
        if self.final is self.latest:
            self._finish()

    def stretch(self, steps: int, episodes: int) -> Stretch:
        """Act for at most this many steps and ended episodes, but not past the next table read.

        Repeated calls produce exactly the same transitions as iterating the run. They do not add their
        episodes to the checkpoint.
        """
        stretch = self._actor.act(self.table, self._done, min(steps, self._room), episodes)
        self._pending.append(stretch.columns)
        if self._room == 0:
            self._sync()
        self._done += len(stretch.episodes)
        return stretch

    def configure(self, hyper: Hyperparameters, epsilon: Epsilon) -> None:
        """Change the learning rate, the discount and the exploration; the noise sequence continues.

        Transitions that were collected but not yet applied are applied with the new values. Raises
        ConfigError and changes nothing if a value is illegal.
        """
        noise = self.device.status().noise
        self.device.configure(checked_hyper(hyper))
        self.device.set_noise(noise)
        self._actor.explore(epsilon)

    def _finish(self) -> None:
        """Apply the pending transitions and evaluate; this changes :attr:`final`, not :attr:`latest`."""
        self._sync()
        number = self.latest.episode
        self.final = self._take(number, (*self.latest.evaluations, self._evaluate(number)))

    @property
    def _room(self) -> int:
        """Number of transitions to collect before the next read of the table."""
        return self.plan.sync_steps - sum(len(columns[0]) for columns in self._pending)

    def _sync(self) -> None:
        """Stream the collected transitions to the device and read the table back."""
        if not self._pending:
            return
        columns = [np.concatenate(parts) for parts in zip(*self._pending, strict=True)]
        self.device.apply(Transitions.from_arrays(self.config, *columns))
        self._pending.clear()
        self.table = self.device.read()
        self._noise = self.device.status().noise

    def _evaluate(self, number: int) -> Evaluation:
        found = self._actor.evaluate(self.table, self.plan.evaluate_episodes, number)
        if self.metrics is not None:
            known = {name: value for name, value in found.columns.items() if value is not None}
            self.metrics(self._steps, known)
        return found

    def _tell(self, episodes: Sequence[Episode]) -> None:
        """Report finished episodes to the metrics, each at the total number of steps up to its end."""
        for episode in episodes:
            self._steps += episode.length
            if self.metrics is not None:
                self.metrics(
                    self._steps,
                    {
                        "episode_return": episode.total,
                        "episode_length": episode.length,
                        "epsilon": episode.epsilon,
                    },
                )

    def _made_actor(self) -> Actor:
        plan = self.plan
        if plan.compiled is not None:
            limit = max(plan.env_kwargs.get(LIMIT) or 0, 0)
            return VectorActor(
                *(plan.compiled, plan.num_envs, limit, plan.epsilon, plan.horizon),
                *self._generators,
            )
        success_reward = None if self.world is None else self.world.success_reward
        return GymActor(
            *(self._env, self._made_env(), plan.epsilon, plan.horizon, success_reward),
            *self._generators,
        )

    def _take(self, number: int, evaluations: tuple[Evaluation, ...]) -> TableCheckpoint:
        """Return a checkpoint of references and small copies, which takes only a few microseconds."""
        return TableCheckpoint(
            table=self.table,
            noise=self._noise,
            generators=tuple(dict(g.bit_generator.state) for g in self._generators),
            pending=tuple(self._pending),
            actor=self._actor.arrays(),
            episode=number,
            evaluations=evaluations,
            history=self._history,
        )

    @property
    def progress(self) -> Progress:
        recent = self._history[-_RECENT:]
        state = ""
        if recent:
            success = share([episode.success for episode in recent])
            rate = "" if success is None else f"success {success:.0%}, "
            mean = sum(episode.total for episode in recent) / len(recent)
            state = f"{rate}return {mean:.2f}, epsilon {recent[-1].epsilon:.2f}"
        return Progress(self.latest.episode, self.plan.episodes, state)

    @property
    def steps(self) -> int:
        return sum(episode.length for episode in self.latest.episodes)

    @property
    def reached(self) -> str:
        return f"episode {self.latest.episode}"

    @property
    def checkpoint(self) -> Checkpoint:
        return self.latest.packed()

    def result(self) -> TableResult:
        found, world, hyper, config = self.final, self.world, self.hyper, self.config
        last, discount = found.evaluations[-1], hyper.discount_for(config)
        best = None
        if world is not None and discount < 1:
            best = optimum(world, discount, config.format.to_float(found.table[: world.states]))
        acted = sum(episode.length for episode in found.episodes[self._first :])
        settings = self._settings()
        report = {
            "command": "train",
            "engine": "host",
            "world": settings.pop("env_id"),
            "device": self.url,
            "agents": 1,
            "algorithm": "q-learning",
            "format": str(config.format),
            **settings,
            "discount": discount,
            "steps_per_agent": self.steps,
            "steps": acted,
            "saturations": self._saturations + self.device.saturations(),
            **last.columns,
            "optimum": best,
            "seconds": round(self._seconds, 3),
            "steps_per_second": round(acted / self._seconds) if acted else None,
        }
        report["hint"] = hint(
            self.name,
            world,
            success=last.success,
            optimal=best is not None and best["optimal"] == best["visited"],
            far=False,
            alpha=hyper.alpha,
            gamma=hyper.gamma,
            longer=f"--episodes {10 * self.plan.episodes}",
        )
        history = {
            "episodes": episode_columns(found.episodes),
            "evaluations": _evaluation_columns(found),
        }
        where = TableWorld.of(self.name, self._size, world, self.plan.env_kwargs)
        return TableResult(self.name, config, hyper, found.table, history, report, where)


def _content(env: gym.Env[Any, Any]) -> list[str] | str | None:
    """Return the content of an environment's file, which identifies it together with the file's name."""
    if isinstance(env, TableEnv):
        return env.world.digest
    return list(env.rows) if isinstance(env, GridWorld) else None


def _evaluation_columns(found: TableCheckpoint) -> dict[str, NDArray[Any]]:
    """Return the columns of the evaluations."""
    steps = np.cumsum([0, *(episode.length for episode in found.episodes)])
    at = [evaluation.episode for evaluation in found.evaluations]
    rows = [evaluation.columns for evaluation in found.evaluations]
    columns = {name: np.array([row[name] for row in rows], np.float64) for name in GREEDY}
    return {"steps": steps[at], "episodes": np.array(at), **columns}
