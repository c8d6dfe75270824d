"""The learner: the host acts, the device learns.

The behaviour policy is epsilon-greedy on the table as it was last read from the device. Every
transition is collected; after `sync_steps` of them the batch is streamed to the device and the
table is read back. So acting always uses what the device has learnt, up to `sync_steps` transitions
ago, and every device sees the same stream: the model, the simulation and a board end with the same
table.

A small `sync_steps` acts on fresher values, a large one reads the table less often; reading costs
``states * actions`` values over the link. 1 is the textbook algorithm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qstep.checks import integer, shown
from qstep.config import Config, Hyperparameters, checked_hyper
from qstep.devices.base import Device
from qstep.envs import GridWorld, make, table_size
from qstep.errors import ConfigError, EnvironmentSpaceError
from qstep.learn.checkpoint import Episode, Snapshot
from qstep.learn.evaluate import MAX_SEED, Evaluation, evaluate, is_success
from qstep.learn.policy import epsilon_greedy
from qstep.learn.schedule import EpsilonSchedule
from qstep.learn.value_iteration import transition_model
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
    """

    env_id: str
    episodes: int = 2000
    epsilon: EpsilonSchedule = field(default_factory=EpsilonSchedule)
    sync_steps: int = 64
    evaluate_every: int = 100
    evaluate_episodes: int = 100

    def __post_init__(self) -> None:
        if not isinstance(self.env_id, str):
            raise ConfigError(
                f"env_id is {shown(self.env_id)}; it must be the name of an environment"
            )
        if not isinstance(self.epsilon, EpsilonSchedule):
            raise ConfigError(f"epsilon is {shown(self.epsilon)}; it must be an EpsilonSchedule")
        for name in ("episodes", "sync_steps", "evaluate_every", "evaluate_episodes"):
            object.__setattr__(self, name, integer(name, getattr(self, name), 1))


def identity(plan: Plan, hyper: Hyperparameters, config: Config) -> dict[str, Any]:
    """Return what must be equal for a checkpoint to belong to a run, as plain values.

    The device is not part of it: every device goes on with the same result.
    """
    world = make(plan.env_id, 0).unwrapped
    return {
        **asdict(plan),
        **hyper.to_dict(config),
        "config": config.to_dict(),
        "map": list(world.rows) if isinstance(world, GridWorld) else None,
    }


class Learner:
    """Trains a device's table; iterate over it to run, one training episode an iteration.

    At the end of each episode :attr:`snapshot` holds all that the rest of the run depends on. A
    learner that was interrupted at any point, also inside an episode or a device call, is resumed
    from its snapshot and ends with the same table and history as if it had never stopped.
    Environments are reseeded for every episode, so nothing of them needs to be kept.

    Parameters
    ----------
    device : Device
        Configured, cleared (or loaded from `resume`) and from then on used by this learner alone.
    plan : Plan
    hyper : Hyperparameters
        `hyper.seed` seeds the rounding noise, exploration, environments and evaluations.
    resume : Snapshot, optional
        Where to go on. It must be of a run with the same plan, hyperparameters and configuration;
        :func:`~qstep.learn.checkpoint.load_checkpoint` checks that.

    Attributes
    ----------
    snapshot : Snapshot
        The run at the end of the last episode that is done.
    env : gymnasium.Env
        The training environment.
    identity : dict of plain values
        See :func:`identity`.
    model : TransitionModel or None
        Of the environment, where it has one.

    Raises
    ------
    EnvironmentSpaceError
        The environment is unknown, has more states than the device's table has rows, or not as many
        actions.
    TransitionError
        A reward of the environment does not fit the device's format. Where the environment has a
        transition model this is found here, before anything is applied; otherwise when the batch
        with that reward is due, before any of the batch is applied.
    """

    def __init__(
        self,
        device: Device,
        plan: Plan,
        hyper: Hyperparameters,
        resume: Snapshot | None = None,
    ) -> None:
        self.device = device
        self.plan = plan
        self.hyper = checked_hyper(hyper)
        self.env = make(plan.env_id, hyper.seed % MAX_SEED)
        self._evaluation_env = make(plan.env_id, hyper.seed % MAX_SEED)
        config = device.config
        states, actions = table_size(self.env)
        if states > config.states or actions != config.actions:
            raise EnvironmentSpaceError(
                f"{plan.env_id} has {states} states and {actions} actions; it needs a table of at "
                f"least {states} rows and of {actions} columns, and the device's has {config.states} "
                f"and {config.actions}"
            )
        self.identity = identity(plan, hyper, config)
        self.model = transition_model(self.env)
        self._success_reward = None
        if self.model is not None:
            config.format.quantise(self.model.reward)
            self._success_reward = self.model.success_reward
        self.snapshot = resume or self._beginning()
        self._restore(self.snapshot)

    def __iter__(self) -> Iterator[Episode]:
        """Run the episodes that are left; yield each after its snapshot has been taken."""
        while self.snapshot.episode < self.plan.episodes:
            number = self.snapshot.episode + 1
            episode = self._play(number)
            last = number == self.plan.episodes
            if last:
                self._sync()
            evaluations = self.snapshot.evaluations
            if last or number % self.plan.evaluate_every == 0:
                evaluations = (*evaluations, self._evaluate(number))
            self._history.append(episode)
            self.snapshot = self._take(number, evaluations)
            yield episode

    @property
    def q(self) -> NDArray[np.float64]:
        """The snapshot's values of the environment's states, shape (S, A); rows beyond stay zero."""
        states, _ = table_size(self.env)
        return self.device.config.format.to_float(self.snapshot.table[:states])

    def _play(self, number: int) -> Episode:
        """Run one training episode."""
        epsilon = self.plan.epsilon.at(number - 1, self.plan.episodes)
        state, _ = self.env.reset(seed=int(self._acting.integers(MAX_SEED)))
        state = int(state)
        total = reward = 0.0
        length = 0
        terminated = truncated = False
        info: dict[str, Any] = {}
        while not (terminated or truncated):
            action = epsilon_greedy(self._table, state, epsilon, self._acting)
            following, paid, terminated, truncated, info = self.env.step(action)
            reward = float(paid)
            self._pending.append((state, action, reward, int(following), bool(terminated)))
            if len(self._pending) >= self.plan.sync_steps:
                self._sync()
            state = int(following)
            total += reward
            length += 1
        success = is_success(info, terminated, reward, self._success_reward)
        return Episode(number, epsilon, total, length, terminated, success)

    def _sync(self) -> None:
        """Stream the collected transitions to the device and read the table back."""
        if not self._pending:
            return
        columns = [np.array(column) for column in zip(*self._pending, strict=True)]
        self.device.apply(Transitions.from_arrays(self.device.config, *columns))
        self._pending.clear()
        self._table = self.device.read()
        self._noise = self.device.status().noise

    def _evaluate(self, number: int) -> Evaluation:
        return evaluate(
            self._evaluation_env,
            self._table,
            self.plan.evaluate_episodes,
            self._evaluating,
            self._success_reward,
            number,
        )

    def _beginning(self) -> Snapshot:
        acting, evaluating = np.random.SeedSequence(self.hyper.seed).spawn(2)
        config = self.device.config
        return Snapshot(
            table=np.zeros((config.states, config.actions), np.int32),
            noise=self.hyper.noise,
            generators=tuple(dict(np.random.PCG64(s).state) for s in (acting, evaluating)),
        )

    def _take(self, number: int, evaluations: tuple[Evaluation, ...]) -> Snapshot:
        """Collect references and small copies: taking a snapshot costs a few microseconds."""
        return Snapshot(
            table=self._table,
            noise=self._noise,
            generators=tuple(dict(g.bit_generator.state) for g in (self._acting, self._evaluating)),
            pending=tuple(self._pending),
            episode=number,
            evaluations=evaluations,
            history=self._history,
        )

    def _restore(self, snapshot: Snapshot) -> None:
        self.device.configure(self.hyper)
        self.device.load(snapshot.table)
        self.device.set_noise(snapshot.noise)
        self._table = snapshot.table
        self._noise = snapshot.noise
        self._pending: list[tuple[int, int, float, int, bool]] = list(snapshot.pending)
        self._history = list(snapshot.episodes)
        self._acting, self._evaluating = (_generator(state) for state in snapshot.generators)


def _generator(state: dict[str, Any]) -> np.random.Generator:
    generator = np.random.Generator(np.random.PCG64())
    generator.bit_generator.state = state
    return generator
