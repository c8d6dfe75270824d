"""`World`: a finite environment as a table, from arrays, files, maps and Gymnasium."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qstep._io.files import write_atomically
from qstep._io.npz import archived, load_arrays
from qstep.envs.catalogue import UNNAMED
from qstep.errors import ConfigError, WorldError, WorldWarning
from qstep.mdp.memory import TOTAL, WorldTable, compiled, most_outcomes, next_power
from qstep.mdp.rows import OUTCOMES, STARTS, frozen, outcome_rows, start_rows
from qstep.mdp.solve import doubts, reachable, reached
from qstep.mdp.sources import arrays_of, check_game
from qstep.spec.agents import MOST_OUTCOMES, Acting, Algorithm
from qstep.spec.checks import assign, integer, shown
from qstep.spec.config import Config

if TYPE_CHECKING:
    import gymnasium as gym

__all__ = ["World", "name_of"]

_MOST_LIMIT = (1 << 48) - 1

_LIMIT = "max_episode_steps"
"""The name of the optional array in a world file."""


@dataclass(frozen=True, init=False, eq=False)
class World:
    """The outcomes of every action in every state, and the start states of episodes.

    Worlds are created only by :meth:`from_arrays`, :meth:`from_env`, :meth:`from_file` and
    :meth:`named`. A world is immutable: its arrays are read-only. Its rows are ordered by state, action,
    next state, reward and `terminated`, and no two rows are equal. So equal worlds have equal rows,
    whatever their source.

    Attributes
    ----------
    states, actions : int
        Numbers of states, S (2..65536), and of actions, A (2..64).
    state, action, next_state : ndarray of int32, shape (n,)
        Every state-action pair has at least one row.
    weight : ndarray of int32, shape (n,)
        Probability of an outcome in units of 2^-16, 1..65536. The weights of a pair sum to 65536.
    reward : ndarray of float64, shape (n,)
    terminated : ndarray of bool, shape (n,)
        True if the outcome ends the episode; the next state then has no value.
    start_state, start_weight : ndarray of int32, shape (m,)
        The start states of episodes, ascending, with weights that sum to 65536.
    max_episode_steps : int
        Steps after which an episode is truncated; 0 for no limit.
    """

    states: int
    actions: int
    state: NDArray[np.int32] = field(repr=False)
    action: NDArray[np.int32] = field(repr=False)
    weight: NDArray[np.int32] = field(repr=False)
    next_state: NDArray[np.int32] = field(repr=False)
    reward: NDArray[np.float64] = field(repr=False)
    terminated: NDArray[np.bool_] = field(repr=False)
    start_state: NDArray[np.int32] = field(repr=False)
    start_weight: NDArray[np.int32] = field(repr=False)
    max_episode_steps: int

    def __init__(self, *given: object, **named: object) -> None:
        raise WorldError(
            "a world is made by World.from_arrays, from_env, from_file or named, which check it"
        )

    @classmethod
    def from_arrays(
        cls,
        *,
        state: ArrayLike,
        action: ArrayLike,
        next_state: ArrayLike,
        reward: ArrayLike,
        terminated: ArrayLike,
        start_state: ArrayLike,
        weight: ArrayLike | None = None,
        probability: ArrayLike | None = None,
        start_weight: ArrayLike | None = None,
        start_probability: ArrayLike | None = None,
        max_episode_steps: int = 0,
    ) -> Self:
        """Make a world from outcomes, one per row, in any order.

        Duplicate outcomes of a state-action pair are merged. Probabilities are then rounded to weights
        by largest remainder; ties go to the lowest row in the world's order. So each error is below
        2^-16. A probability that would be rounded to 0 is rejected.

        Parameters
        ----------
        state, action, next_state : array_like of int, shape (n,)
            Numbers from 0; the largest ones determine the world's numbers of states and actions. Every
            state-action pair needs a row, even in a terminal state, whose rows may lead back to it and
            terminate.
        reward : array_like of real, shape (n,)
            Finite values.
        terminated : array_like of bool, shape (n,)
        start_state : array_like of int, shape (m,)
        weight, probability : array_like of int or of real, shape (n,)
            Give one of them, or neither if every pair has one outcome. The weights of a pair must sum to
            65536, or its probabilities to 1.
        start_weight, start_probability : array_like of int or of real, shape (m,)
            Give one of them, or neither if all rows of `start_state` are equally likely.
        max_episode_steps : int
            Steps after which an episode is truncated; 0 for no limit.

        Raises
        ------
        WorldError
            The rows do not form a world; the message gives the location and the legal values.
        ConfigError
            The number of states or actions, or `max_episode_steps`, is out of range.

        Warns
        -----
        WorldWarning
            The world almost certainly contains a mistake: see :func:`~qstep.doubts`.

        Examples
        --------
        >>> world = World.from_arrays(
        ...     state=[0, 0, 0, 1, 1], action=[0, 1, 1, 0, 1], next_state=[0, 1, 0, 1, 1],
        ...     reward=[-1, 1, -1, 0, 0], terminated=[False, True, False, True, True],
        ...     probability=[1, 0.75, 0.25, 1, 1], start_state=[0],
        ... )
        >>> world.next_state.tolist(), world.weight.tolist()
        ([0, 0, 1, 1, 1], [65536, 16384, 49152, 65536, 65536])
        """
        columns = {
            "state": state,
            "action": action,
            "next_state": next_state,
            "reward": reward,
            "terminated": terminated,
            "weight": weight,
            "probability": probability,
            "start_state": start_state,
            "start_weight": start_weight,
            "start_probability": start_probability,
        }
        world = cls._of(columns, max_episode_steps)
        for doubt in doubts(world):
            warnings.warn(doubt, WorldWarning, stacklevel=2)
        return world

    @classmethod
    def from_env(cls, env: gym.Env[Any, Any]) -> Self:
        """Extract the world, with its step limit, from an environment that has a transition table.

        :class:`~qstep.envs.GridWorld` has one, and so do Gymnasium's FrozenLake, CliffWalking and Taxi.
        Other classes need Gymnasium's table, ``P`` and ``initial_state_distrib``, which is checked in a
        trial of 1000 random steps.

        Raises
        ------
        NoTableError
            The environment has no transition table.
        WorldError
            The table is not a world, or may not match the environment: a subclass replaces `step` or
            `reset`, Taxi has a `fickle_passenger`, another class contradicts its table in the trial, or
            a wrapper may change the environment.
        """
        world = cls._of(*arrays_of(env))
        check_game(env, world)
        return world

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a world file written by :meth:`save`.

        Raises
        ------
        FileFormatError
            The file is absent, not a ``.npz``, lacks an array, or unpacks to more than 2 GiB.
        WorldError
            The content of the file is not a world.
        """
        columns = load_arrays(path, OUTCOMES + STARTS, optional=(_LIMIT,))
        limit = columns.pop(_LIMIT, np.array(0))
        if limit.ndim or limit.dtype.kind not in "iu":
            raise WorldError(
                f"{path}: {_LIMIT} has shape {limit.shape} and dtype {limit.dtype}; it must be one "
                "integer"
            )
        try:
            return cls._of(columns, int(limit))
        except (WorldError, ConfigError) as cause:
            raise WorldError(f"{path}: {cause}") from cause

    @classmethod
    def named(cls, name: str, env_kwargs: Mapping[str, Any] | None = None) -> Self:
        """Return a world by name, as on the command line.

        Parameters
        ----------
        name : str
            The path of a world file (``.npz``), or an argument of :func:`qstep.envs.make`: the path of a
            map (``.txt``), a built-in name such as ``gridworld``, or a Gymnasium id.
        env_kwargs : mapping, optional
            As for :func:`qstep.envs.make`.

        Raises
        ------
        NoTableError, WorldError
            As for :meth:`from_env`; ``snake`` has no table.
        EnvironmentSpaceError
            The environment or map does not exist, or its spaces are not ``Discrete``.
        FileFormatError
            As for :meth:`from_file`.
        """
        if isinstance(name, str) and name.lower().endswith(".npz") and not env_kwargs:
            return cls.from_file(name)
        from qstep.envs import make

        env = make(name, 0, env_kwargs=env_kwargs)
        try:
            return cls.from_env(env)
        except WorldError as cause:
            raise type(cause)(f"{name}: {cause}") from cause
        finally:
            env.close()

    @classmethod
    def of(
        cls, source: World | str | gym.Env[Any, Any], env_kwargs: Mapping[str, Any] | None = None
    ) -> World:
        """Return a World unchanged; convert a name (:meth:`named`) or an environment (:meth:`from_env`).

        Raises
        ------
        WorldError
            `source` has another type, or as for those methods.
        """
        if isinstance(source, World):
            return source
        return cls.named(source, env_kwargs) if isinstance(source, str) else cls.from_env(source)

    @classmethod
    def _of(
        cls,
        columns: Mapping[str, Any],
        max_episode_steps: int,
        states: int | None = None,
        actions: int | None = None,
    ) -> Self:
        """Check the columns and make a world from them."""
        states, actions, rows = outcome_rows(columns, states, actions)
        rows |= start_rows(columns, states)
        limit = _checked_limit(max_episode_steps)
        made = object.__new__(cls)
        assign(made, states=states, actions=actions, max_episode_steps=limit)
        assign(made, **{name: frozen(rows[name]) for name in rows})
        return made

    def limited(self, max_episode_steps: int) -> Self:
        """Return the same world with another step limit.

        Parameters
        ----------
        max_episode_steps : int
            The new limit, 0..2^48 - 1; 0 for no limit.

        Raises
        ------
        ConfigError
            `max_episode_steps` is out of range.
        """
        limited = object.__new__(type(self))
        assign(limited, **{field.name: getattr(self, field.name) for field in fields(self)})
        assign(limited, max_episode_steps=_checked_limit(max_episode_steps))
        return limited

    def save(self, path: str | Path) -> None:
        """Write a world file; an existing file is replaced completely or not at all.

        Raises
        ------
        FileFormatError
            The file cannot be written.
        """
        write_atomically(path, archived(self._arrays))

    @property
    def _arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of a world file, by name."""
        arrays = {name: getattr(self, name) for name in OUTCOMES + STARTS}
        return {**arrays, _LIMIT: np.array(self.max_episode_steps, np.int64)}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the world's content as 64 hexadecimal digits, equal only for equal worlds."""
        whole = hashlib.sha256()
        for name, array in self._arrays.items():
            whole.update(f"{name} {array.dtype.str} {array.shape}".encode())
            whole.update(array.tobytes())
        return whole.hexdigest()

    @property
    def probability(self) -> NDArray[np.float64]:
        """The exact probability of each outcome, float64, shape (n,)."""
        return self.weight / TOTAL

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """The first row of each pair, int64, shape (S * A,); pairs are numbered `state * A + action`."""
        pair = self.state.astype(np.int64) * self.actions + self.action
        return frozen(np.searchsorted(pair, np.arange(self.states * self.actions)))

    @property
    def has_chance(self) -> bool:
        """Whether any state-action pair has several outcomes."""
        return len(self.state) > self.states * self.actions

    @property
    def outcomes(self) -> int:
        """The largest number of outcomes of any pair."""
        return int(np.diff(self.first, append=len(self.state)).max())

    @property
    def success_reward(self) -> float | None:
        """The highest reward with which an episode can terminate, or None if no episode can."""
        acts = reachable(self)
        final = self.reward[self.terminated & acts[self.state]]
        return float(final.max()) if final.size else None

    def visited(self, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the states, bool of shape (S,), in which a policy may have to act.

        Parameters
        ----------
        allowed : ndarray of bool, shape (S, A)
            The actions that the policy may take in each state; rows after the first S are ignored.

        Raises
        ------
        WorldError
            `allowed` has the wrong shape or type.
        """
        shape = (self.states, self.actions)
        if (
            not isinstance(allowed, np.ndarray)
            or allowed.dtype != np.bool_
            or allowed[: self.states].shape != shape
        ):
            raise WorldError(f"allowed is {shown(allowed)}; it must be bools of shape {shape}")
        leads = allowed[self.state, self.action] & ~self.terminated
        return reached(self.states, self.state[leads], self.next_state[leads], self.start_state)

    @property
    def start(self) -> NDArray[np.float64]:
        """The probability that an episode starts in each state, float64, shape (S,)."""
        start = np.zeros(self.states)
        start[self.start_state] = self.start_weight / TOTAL
        return start

    def acting(
        self,
        *,
        agents: int = 1,
        algorithm: Algorithm | str = Algorithm.Q_LEARNING,
        shared_table: bool = False,
    ) -> Acting:
        """Return a configuration of agents with the smallest memories that fit this world.

        Raises
        ------
        ConfigError
            A value is illegal.
        WorldError
            A pair has more than 64 outcomes.
        """
        if self.outcomes > MOST_OUTCOMES:
            raise WorldError(
                f"{most_outcomes(self)}; a device has room for at most {MOST_OUTCOMES}"
            )
        outcomes, starts = next_power(self.outcomes), next_power(len(self.start_state))
        return Acting(agents, algorithm, shared_table, outcomes, starts)

    def table(self, config: Config) -> WorldTable:
        """Compile this world into the memories of a device with `config`.

        States of `config` that are not in the world are never reached.

        Raises
        ------
        ConfigError
            `config` is not a Config, or has no agents.
        WorldError
            The world's states, actions, outcomes, start states, rewards or step limit do not fit; the
            message gives the capacity.
        """
        return compiled(self, config)


def _checked_limit(max_episode_steps: int) -> int:
    return integer("max_episode_steps", max_episode_steps, 0, _MOST_LIMIT)


def name_of(world: object) -> str:
    """Return the name of a world: the given name, an environment's id, or `UNNAMED`."""
    if isinstance(world, str):
        return world
    spec = getattr(world, "spec", None)
    return str(getattr(world, "env_id", UNNAMED)) if spec is None else str(spec.id)
