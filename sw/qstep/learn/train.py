"""The learner: the host acts, the device learns.

The behaviour policy is epsilon-greedy on the table as it was last read from the device. Every
transition is collected; after `sync_steps` of them the batch is streamed to the device and the
table is read back. So acting always uses what the device has learnt, up to `sync_steps` transitions
ago, and every device sees the same stream: the model, the simulation and a board end with the same
table. An actor acts: :mod:`qstep.learn.actor`.

A small `sync_steps` acts on fresher values, a large one reads the table less often; reading costs
``states * actions`` values over the link. 1 is the textbook algorithm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep.acting.world import World
from qstep.checks import integer, shown
from qstep.config import Config
from qstep.devices.base import Device
from qstep.envs import GridWorld, make, table_size
from qstep.errors import CheckpointError, ConfigError, EnvironmentSpaceError, WorldError
from qstep.hyperparameters import Hyperparameters, checked_hyper
from qstep.learn.actor import Actor, Stretch
from qstep.learn.checkpoint import Columns, Episode, TableCheckpoint
from qstep.learn.evaluate import MAX_SEED, Evaluation
from qstep.learn.gym_actor import GymActor
from qstep.learn.schedule import EpsilonSchedule
from qstep.learn.vector_actor import VECTOR_ENVS, VectorActor
from qstep.metrics import Metrics
from qstep.transitions import Transitions

__all__ = ["Learner", "Plan", "identity"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is to do, apart from the device's hyperparameters.

    Parameters
    ----------
    env_id : str
        See :func:`qstep.envs.make`.
    episodes : int
        Training episodes, 1 or more.
    epsilon : EpsilonSchedule
        Exploration.
    sync_steps : int
        Transitions between two reads of the table, 1 or more.
    evaluate_every : int
        Training episodes between two greedy evaluations, 1 or more; the last episode is always
        followed by one.
    evaluate_episodes : int
        Episodes of each evaluation, 1 or more.
    epsilon_episodes : int
        Episodes that ``epsilon.share`` is a share of; 0 for those of the run. A run that goes on for
        longer than was planned keeps them, and so its epsilon.
    num_envs : int
        Environments that act in turns: 1 or more of Snake and CartPole, which are compiled
        (:data:`~qstep.learn.vector_actor.VECTOR_ENVS`), 1 of any other.
    """

    env_id: str
    episodes: int = 2000
    epsilon: EpsilonSchedule = field(default_factory=EpsilonSchedule)
    sync_steps: int = 64
    evaluate_every: int = 100
    evaluate_episodes: int = 100
    epsilon_episodes: int = 0
    num_envs: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.env_id, str):
            raise ConfigError(
                f"env_id is {shown(self.env_id)}; it must be the name of an environment"
            )
        if not isinstance(self.epsilon, EpsilonSchedule):
            raise ConfigError(f"epsilon is {shown(self.epsilon)}; it must be an EpsilonSchedule")
        counts = ("episodes", "sync_steps", "evaluate_every", "evaluate_episodes", "num_envs")
        for name in counts:
            object.__setattr__(self, name, integer(name, getattr(self, name), 1))
        if self.num_envs > 1 and self.env_id not in VECTOR_ENVS:
            raise ConfigError(
                f"num_envs is {self.num_envs}; it must be 1: only {' and '.join(VECTOR_ENVS)} act "
                f"many at once, not {self.env_id}"
            )
        horizon = integer("epsilon_episodes", self.epsilon_episodes, 0)
        object.__setattr__(self, "epsilon_episodes", horizon)

    @property
    def horizon(self) -> int:
        """Episodes that ``epsilon.share`` is a share of."""
        return self.epsilon_episodes or self.episodes


def identity(plan: Plan, hyper: Hyperparameters, config: Config) -> dict[str, Any]:
    """Return what must be equal for a checkpoint to belong to a run, as plain values.

    The device is not part of it: every device goes on with the same result. Neither is the number of
    episodes: a longer run begins as a shorter one does, if epsilon falls over as many.
    """
    world = make(plan.env_id, 0).unwrapped
    own = asdict(plan)
    del own["episodes"]
    return {
        "command": "train",
        **own,
        "epsilon_episodes": plan.horizon,
        **hyper.to_dict(config),
        "config": config.to_dict(),
        "map": list(world.rows) if isinstance(world, GridWorld) else None,
    }


class Learner:
    """Trains a device's table; iterate over it to run, one training episode an iteration.

    Between two episodes of one environment, and after every step of many, :attr:`checkpoint` can hold
    all that the rest of the run depends on. A learner that was interrupted at any point, also inside
    an episode or a device call, is resumed from its checkpoint and ends with the same table and history
    as if it had never stopped; one that has ended, with a plan of more episodes, as if it had been
    planned so from the beginning.

    Parameters
    ----------
    device : Device
        Configured, cleared (or loaded from `resume`) and from then on used by this learner alone.
    plan : Plan
    hyper : Hyperparameters
        `hyper.seed` seeds the rounding noise, exploration, environments and evaluations.
    resume : TableCheckpoint, optional
        Where to go on. It must be of a run of the same :attr:`identity`;
        :func:`~qstep.checkpoint.load_checkpoint` checks that.
    metrics : Metrics, optional
        Told ``episode_return``, ``episode_length`` and ``epsilon`` of every episode, and
        ``greedy_return``, ``greedy_length`` and, where there is such a thing, ``greedy_success`` of
        every evaluation; a step is one of the environment, those of unfinished episodes not counted.

    Attributes
    ----------
    checkpoint : TableCheckpoint
        The run at its latest checkpoint, as if more were to come.
    result : TableCheckpoint
        The same, but after the last episode: its transitions are all applied, and its table evaluated.
    env : gymnasium.Env
        The environment, or one like those that act.
    identity : dict of plain values
        See :func:`identity`.
    world : World or None
        Of the environment, where it has a transition table.

    Raises
    ------
    EnvironmentSpaceError
        The environment is unknown, has more states than the device's table has rows, or not as many
        actions; or the environments in `resume` are others.
    CheckpointError
        More episodes are done in it than are planned.
    TransitionError
        A reward of the environment does not fit the device's format. Where the environment has a
        transition table this is found here, before anything is applied; otherwise when the batch
        with that reward is due, before any of the batch is applied.
    """

    def __init__(
        self,
        device: Device,
        plan: Plan,
        hyper: Hyperparameters,
        resume: TableCheckpoint | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.device = device
        self.plan = plan
        self.hyper = checked_hyper(hyper)
        self.env = make(plan.env_id, hyper.seed % MAX_SEED)
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
        self._metrics = metrics
        self.checkpoint = self.result = resume or self._beginning()
        self._steps = sum(episode.length for episode in self.checkpoint.episodes)
        self._restore(self.checkpoint)

    def __iter__(self) -> Iterator[Episode]:
        """Run the episodes that are left; yield each once it is in the checkpoint."""
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
        """Act for up to so many steps and ended episodes, but not beyond the next read of the table.

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

    def configure(self, hyper: Hyperparameters, epsilon: EpsilonSchedule) -> None:
        """Go on with another learning rate, discount and exploration; the noise goes on as well.

        What was collected and not applied is applied with them.

        Raises
        ------
        ConfigError
            A value is illegal; nothing is changed.
        """
        noise = self.device.status().noise
        self.device.configure(checked_hyper(hyper))
        self.device.set_noise(noise)
        self.hyper = hyper
        self._actor.explore(epsilon)

    def _finish(self) -> None:
        """Apply what is pending and evaluate; a run that goes on for longer does neither here."""
        self._sync()
        number = self.checkpoint.episode
        evaluations = (*self.checkpoint.evaluations, self._evaluate(number))
        self.result = self._take(number, evaluations)

    @property
    def q(self) -> NDArray[np.float64]:
        """The result's values of the environment's states, shape (S, A); rows beyond stay zero."""
        states, _ = table_size(self.env)
        return self.device.config.format.to_float(self.result.table[:states])

    @property
    def _room(self) -> int:
        """Transitions that are still to be collected before the next read of the table."""
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
        if self._metrics is not None:
            told = {"greedy_return": found.mean_return, "greedy_length": found.mean_length}
            rate = {} if found.success is None else {"greedy_success": found.success}
            self._metrics(self._steps, {**told, **rate})
        return found

    def _tell(self, episodes: Sequence[Episode]) -> None:
        """Tell of episodes that have ended, at the steps of all episodes up to each."""
        for episode in episodes:
            self._steps += episode.length
            if self._metrics is not None:
                self._metrics(
                    self._steps,
                    {
                        "episode_return": episode.total,
                        "episode_length": episode.length,
                        "epsilon": episode.epsilon,
                    },
                )

    def _made_actor(self) -> Actor:
        plan = self.plan
        if plan.env_id in VECTOR_ENVS:
            return VectorActor(
                plan.env_id, plan.num_envs, plan.epsilon, plan.horizon, *self._generators
            )
        success_reward = None if self.world is None else self.world.success_reward
        evaluation_env = make(plan.env_id, self.hyper.seed % MAX_SEED)
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
