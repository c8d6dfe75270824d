"""The host acts, the device learns.

The behaviour policy is epsilon-greedy on the table as last read from the device. After `sync_steps`
transitions the batch is streamed to the device and the table is read back, so acting uses a table
that is at most `sync_steps` transitions old, and the model, the simulation and a board see the same
stream and end with the same table. With `sync_steps` 1 it is the textbook algorithm; a larger number
reads the table less often, which costs ``states * actions`` values over the link each time.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
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
from qstep.learn.actor import Actor, GymActor, Stretch
from qstep.learn.evaluate import MAX_SEED, Evaluation, share
from qstep.learn.host_checkpoint import Columns, Episode, TableCheckpoint, episode_columns
from qstep.learn.metrics import Metrics
from qstep.learn.result import hint
from qstep.learn.run import Progress
from qstep.learn.table import TableWorld
from qstep.learn.table_result import TableResult, optimum
from qstep.learn.vector_actor import VectorActor
from qstep.mdp.table_env import TableEnv
from qstep.mdp.transitions import Transitions
from qstep.mdp.world import World
from qstep.spec.checks import assign, integer, shown
from qstep.spec.config import Config
from qstep.spec.discount import check_discount
from qstep.spec.epsilon import FALLING, Epsilon, checked_share
from qstep.spec.settings import Hyperparameters, checked_hyper

__all__ = ["HostRun", "Learner", "Plan", "identity"]

_RECENT = 100
"""Episodes whose mean return a progress bar shows."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a run, apart from the device's hyperparameters; counts are 1 or more.

    The table is read every `sync_steps` transitions, and evaluated every `evaluate_every` training
    episodes and after the last one. Epsilon is constant, or linear by a share of `epsilon_episodes`; 0
    stands for `episodes`. A run that is extended keeps them, and so its epsilon. Only environments with
    kernels can have several `num_envs`, which act in turns. `env_id` and `env_kwargs` are as for
    :func:`qstep.envs.make`.
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
                f"num_envs is {self.num_envs}; it must be 1: only {many} act many at once, not "
                f"{self.env_id}"
            )
        assign(self, epsilon_episodes=integer("epsilon_episodes", self.epsilon_episodes, 0))

    @property
    def compiled(self) -> Environment | None:
        """The environment's record, if it has kernels."""
        record = record_of(self.env_id)
        return record if record is not None and record.kernels else None

    @property
    def horizon(self) -> int:
        """Episodes that epsilon's share refers to."""
        return self.epsilon_episodes or self.episodes


def identity(plan: Plan, hyper: Hyperparameters, config: Config) -> dict[str, Any]:
    """Return the values that a run's checkpoints must share, as plain values.

    Not among them: the device, since all give the same result, and the number of episodes, since a
    longer run starts like a shorter one if epsilon falls during the same episodes.
    """
    world = make(plan.env_id, 0, env_kwargs=plan.env_kwargs).unwrapped
    own = asdict(plan)
    del own["episodes"]
    return {
        "command": "train",
        **own,
        "epsilon": plan.epsilon.to_dict(),
        "epsilon_episodes": plan.horizon,
        **hyper.to_dict(config),
        "config": config.to_dict(),
        "map": _content(world),
    }


def _content(env: gym.Env[Any, Any]) -> list[str] | str | None:
    """Return what identifies an environment from a file, beside the file's name."""
    if isinstance(env, TableEnv):
        return env.world.digest
    return list(env.rows) if isinstance(env, GridWorld) else None


class Learner:
    """Trains a device's table; iterate over it to run, one training episode per iteration.

    The learner must be the only user of `device`: it configures it, and clears it or loads it from
    `resume`. Between two episodes of one environment, and after every step of many, :attr:`checkpoint`
    can hold everything that the rest of the run depends on: a learner that was interrupted anywhere,
    even inside an episode or a device call, resumes from it and ends with the same table and history.
    A finished learner that gets more episodes ends as if they had been planned from the beginning.

    :attr:`result` is the checkpoint after the last episode, with all transitions applied and the table
    evaluated; :attr:`saturations` then counts this learner's updates that did not fit the format. Set
    :attr:`metrics` before iterating; a step is one of the environment, and those of unfinished episodes
    do not count. :attr:`world` is None if the environment has no transition table.

    Raises EnvironmentSpaceError if the environment does not fit the device's table, CheckpointError if
    `resume` belongs to other environments or has more episodes than the plan, and TransitionError if a
    reward does not fit the format: here if the environment has a transition table, otherwise before
    anything of the batch with that reward is applied.
    """

    def __init__(
        self,
        device: Device,
        plan: Plan,
        hyper: Hyperparameters,
        resume: TableCheckpoint | None = None,
    ) -> None:
        self.device = device
        self.plan = plan
        self.hyper = checked_hyper(hyper)
        self.env = make(plan.env_id, hyper.seed % MAX_SEED, env_kwargs=plan.env_kwargs)
        config = device.config
        states, actions = table_size(self.env)
        if states > config.states or actions != config.actions:
            raise EnvironmentSpaceError(
                f"{plan.env_id} has {states} states and {actions} actions; it needs a table of at "
                f"least {states} rows and of {actions} columns, and the device's has {config.states} "
                f"and {config.actions}"
            )
        self.identity = identity(plan, hyper, config)
        try:
            self.world: World | None = World.from_env(self.env)
        except WorldError:
            self.world = None
        if self.world is not None:
            config.format.quantise(self.world.reward)
        if resume is not None and resume.episode > plan.episodes:
            raise CheckpointError(
                f"the checkpoint has {resume.episode} episodes already; episodes is {plan.episodes} and "
                "cannot be less"
            )
        self._generators = [
            np.random.Generator(np.random.PCG64(seed))
            for seed in np.random.SeedSequence(hyper.seed).spawn(2)
        ]
        self._actor = self._made_actor()
        self.metrics: Metrics | None = None
        self.checkpoint = self.result = resume or self._beginning()
        self._steps = sum(episode.length for episode in self.checkpoint.episodes)
        self._restore(self.checkpoint)
        self.saturations = 0
        self._saturations_before = device.saturations()

    def __iter__(self) -> Iterator[Episode]:
        """Run the remaining episodes; yield each once it is in the checkpoint."""
        evaluations = self.checkpoint.evaluations
        every = self.plan.evaluate_every
        while (done := self._done) < self.plan.episodes:
            if done and done % every == 0 and (not evaluations or evaluations[-1].episode < done):
                evaluations = (*evaluations, self._evaluate(done))
            episodes = min(self.plan.episodes - done, every - done % every)
            stretch = self.stretch(self._room, episodes)
            self._history += stretch.episodes
            self._tell(stretch.episodes)
            if self._actor.resting:
                self.checkpoint = self.result = self._take(self._done, evaluations)
                if self._done == self.plan.episodes:
                    self._finish()
            yield from stretch.episodes
        if self.result is self.checkpoint:
            self._finish()

    def stretch(self, steps: int, episodes: int) -> Stretch:
        """Act for at most this many steps and ended episodes, and not beyond the next read of the table.

        The pieces of a run make the run. What they give is not kept for a checkpoint.
        """
        stretch = self._actor.act(self._table, self._done, min(steps, self._room), episodes)
        self._pending.append(stretch.columns)
        if self._room == 0:
            self._sync()
        self._done += len(stretch.episodes)
        return stretch

    @property
    def table(self) -> NDArray[np.int32]:
        """The table as it was last read from the device, on which the actor acts: raw, shape (S, A)."""
        return self._table

    def configure(self, hyper: Hyperparameters, epsilon: Epsilon) -> None:
        """Continue with another learning rate, discount and exploration, and the same noise.

        Transitions that were collected and not applied are applied with them. Raises ConfigError before
        anything is changed.
        """
        noise = self.device.status().noise
        self.device.configure(checked_hyper(hyper))
        self.device.set_noise(noise)
        self.hyper = hyper
        self._actor.explore(epsilon)

    def _finish(self) -> None:
        """Apply the pending transitions and evaluate; an extended run does neither here."""
        self._sync()
        self.saturations = self.device.saturations() - self._saturations_before
        number = self.checkpoint.episode
        evaluations = (*self.checkpoint.evaluations, self._evaluate(number))
        self.result = self._take(number, evaluations)

    @property
    def q(self) -> NDArray[np.float64]:
        """The result's values of the environment's states, shape (S, A); further rows stay zero."""
        states, _ = table_size(self.env)
        return self.device.config.format.to_float(self.result.table[:states])

    @property
    def _room(self) -> int:
        """Transitions to collect before the next read of the table."""
        return self.plan.sync_steps - sum(len(columns[0]) for columns in self._pending)

    def _sync(self) -> None:
        """Stream the collected transitions to the device and read the table back."""
        if not self._pending:
            return
        columns = [np.concatenate(parts) for parts in zip(*self._pending, strict=True)]
        self.device.apply(Transitions.from_arrays(self.device.config, *columns))
        self._pending.clear()
        self._table = self.device.read()
        self._noise = self.device.status().noise

    def _evaluate(self, number: int) -> Evaluation:
        found = self._actor.evaluate(self._table, self.plan.evaluate_episodes, number)
        if self.metrics is not None:
            known = {name: value for name, value in found.columns.items() if value is not None}
            self.metrics(self._steps, known)
        return found

    def _tell(self, episodes: Sequence[Episode]) -> None:
        """Report finished episodes, each at the steps of all episodes up to it."""
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
        evaluation_env = make(plan.env_id, self.hyper.seed % MAX_SEED, env_kwargs=plan.env_kwargs)
        return GymActor(
            self.env, evaluation_env, plan.epsilon, plan.horizon, success_reward, *self._generators
        )

    def _beginning(self) -> TableCheckpoint:
        self._actor.begin()
        config = self.device.config
        self._table = np.zeros((config.states, config.actions), np.int32)
        self._noise = self.hyper.noise
        self._pending: list[Columns] = []
        self._history: list[Episode] = []
        return self._take(0, ())

    def _take(self, number: int, evaluations: tuple[Evaluation, ...]) -> TableCheckpoint:
        """Collect references and small copies: taking a checkpoint costs a few microseconds."""
        return TableCheckpoint(
            table=self._table,
            noise=self._noise,
            generators=tuple(dict(g.bit_generator.state) for g in self._generators),
            pending=tuple(self._pending),
            actor=self._actor.arrays(),
            episode=number,
            evaluations=evaluations,
            history=self._history,
        )

    def _restore(self, checkpoint: TableCheckpoint) -> None:
        self._actor.restore(checkpoint.actor)
        self.device.configure(self.hyper)
        self.device.load(checkpoint.table)
        self.device.set_noise(checkpoint.noise)
        self._table = checkpoint.table
        self._noise = checkpoint.noise
        self._pending = list(checkpoint.pending)
        self._history = list(checkpoint.episodes)
        self._done = checkpoint.episode
        for generator, state in zip(self._generators, checkpoint.generators, strict=True):
            generator.bit_generator.state = state


class HostRun:
    """A :class:`~qstep.learn.run.Run` in which the host acts and a device learns.

    :attr:`learner` exists once the run is open.
    """

    resumable, atomic = True, False

    def __init__(self, url: str, plan: Plan, hyper: Hyperparameters, config: Config) -> None:
        check_discount(hyper.alpha, hyper.gamma)
        self.name, self.url = plan.env_id, url
        self.plan, self.hyper, self.config = plan, hyper, config
        self.metrics: Metrics | None = None
        self._device: Device | None = None
        self._recent: deque[Episode] = deque(maxlen=_RECENT)
        self._seconds = 0.0

    @property
    def identity(self) -> dict[str, Any]:
        return identity(self.plan, self.hyper, self.config)

    def open(self, checkpoint: Checkpoint | None) -> None:
        resume = None
        if checkpoint is not None:
            resume = TableCheckpoint.unpacked(checkpoint, self.config)
        self._device = open_device(self.url, self.config)
        self.learner = Learner(self._device, self.plan, self.hyper, resume)
        self._first = self.learner.checkpoint.episode

    def close(self) -> None:
        if self._device is not None:
            self._device.close()

    def __iter__(self) -> Iterator[str | None]:
        learner = self.learner
        learner.metrics = self.metrics
        reported, since = len(learner.result.evaluations), time.perf_counter()
        for episode in learner:
            self._recent.append(episode)
            self._seconds = time.perf_counter() - since
            yield None
            for evaluation in learner.result.evaluations[reported:]:
                yield evaluation.in_words
            reported = len(learner.result.evaluations)

    @property
    def progress(self) -> Progress:
        done, recent = self.learner.checkpoint.episode, self._recent
        state = ""
        if recent:
            success = share([episode.success for episode in recent])
            rate = "" if success is None else f"success {success:.0%}, "
            mean = sum(episode.total for episode in recent) / len(recent)
            state = f"{rate}return {mean:.2f}, epsilon {recent[-1].epsilon:.2f}"
        return Progress(done, self.plan.episodes, state)

    @property
    def steps(self) -> int:
        return sum(episode.length for episode in self.learner.checkpoint.episodes)

    @property
    def reached(self) -> str:
        return f"episode {self.learner.checkpoint.episode}"

    @property
    def checkpoint(self) -> Checkpoint:
        return self.learner.checkpoint.packed()

    def result(self) -> TableResult:
        learner, hyper, config = self.learner, self.hyper, self.config
        found, world = learner.result, learner.world
        last, discount = found.evaluations[-1], hyper.discount
        best = optimum(world, discount, learner.q) if world and discount < 1 else None
        acted = sum(episode.length for episode in found.episodes[self._first :])
        plan = asdict(self.plan)
        report = {
            "command": "train",
            "engine": "host",
            "world": plan.pop("env_id"),
            "device": self.url,
            "agents": 1,
            "algorithm": "q-learning",
            "format": str(config.format),
            **hyper.to_dict(config),
            **plan,
            "epsilon": self.plan.epsilon.to_dict(),
            "epsilon_episodes": self.plan.horizon,
            "discount": discount,
            "steps_per_agent": self.steps,
            "steps": acted,
            "saturations": learner.saturations,
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
        size = table_size(learner.env)
        return TableResult(
            self.name,
            config,
            hyper,
            found.table,
            history,
            report,
            TableWorld.of(self.name, size, world, self.plan.env_kwargs),
        )


def _evaluation_columns(found: TableCheckpoint) -> dict[str, NDArray[Any]]:
    """Return the columns of the evaluations."""
    steps = np.cumsum([0, *(episode.length for episode in found.episodes)])
    at = [evaluation.episode for evaluation in found.evaluations]
    rows = [evaluation.columns for evaluation in found.evaluations]
    return {
        "steps": steps[at],
        "episodes": np.array(at),
        **{name: np.array([row[name] for row in rows], np.float64) for name in rows[0]},
    }
