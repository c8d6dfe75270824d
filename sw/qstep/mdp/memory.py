"""Compilation of a world into the memories of a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep.errors import ConfigError, WorldError
from qstep.spec.config import Config, checked_config
from qstep.spec.fixed import QFormat
from qstep.spec.random import DRAW_BITS

if TYPE_CHECKING:
    from qstep.mdp.world import World

__all__ = ["TOTAL", "Answer", "WorldTable", "alias", "compiled", "most_outcomes", "next_power"]


class Answer(NamedTuple):
    """The outcome of a step in a world: raw reward, next state, and whether the episode terminated.

    A state is a row number, or a tuple of integers in a :class:`~qstep.mdp.tiled.TiledWorld`.
    """

    reward: int
    next_state: Any
    terminated: bool


@dataclass(frozen=True)
class WorldTable:
    """The contents of the device memories for a world, for one :class:`~qstep.Config`.

    K is ``config.acting.outcomes``, and N is ``config.acting.starts``.

    Attributes
    ----------
    split : ndarray of int32, shape (S, A, K)
        Threshold of each slot, 0..65536 / K: the first outcome is selected if the draw's offset in the
        slot is below it.
    next_state : ndarray of int32, shape (S, A, K, 2)
        Next states of the first and second outcome of each slot; `reward` and `terminated` have the same
        layout.
    reward : ndarray of int32, shape (S, A, K, 2)
        Raw rewards in the format of the configuration.
    terminated : ndarray of bool, shape (S, A, K, 2)
    start_split : ndarray of int32, shape (N,)
        Threshold of each slot of start states, 0..65536 / N.
    start_state : ndarray of int32, shape (N, 2)
    max_episode_steps : int
        Steps after which an episode is truncated, 1..65535; 0 for no limit.
    """

    split: NDArray[np.int32]
    next_state: NDArray[np.int32]
    reward: NDArray[np.int32]
    terminated: NDArray[np.bool_]
    start_split: NDArray[np.int32]
    start_state: NDArray[np.int32]
    max_episode_steps: int

    def answer(self, state: int, action: int, draw: int) -> Answer:
        """Return the outcome of an action for a draw of 0..65535."""
        slot, side = _chosen(self.split[state, action], draw)
        place = state, action, slot, side
        return Answer(
            int(self.reward[place]), int(self.next_state[place]), bool(self.terminated[place])
        )

    def start(self, draw: int) -> int:
        """Return the start state for a draw of 0..65535."""
        return int(self.start_state[_chosen(self.start_split, draw)])

    def rows(self, state: int) -> tuple[int, ...]:
        """Return the row of a state in the single plane."""
        return (state,)


def _chosen(split: NDArray[np.int32], draw: int) -> tuple[int, int]:
    """Return the slot and side (0 or 1) that a draw selects."""
    slot, rest = divmod(draw, (1 << DRAW_BITS) // len(split))
    return slot, int(rest >= split[slot])


TOTAL = 1 << DRAW_BITS
"""The sum of the weights of a set."""


def alias(weight: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Split sets of K weights, shape (n, K), into K slots of 65536 / K each.

    K is a power of two up to 65536, and each set sums to 65536; unused weights are 0. Return three
    arrays of shape (n, K): the part of each slot, 0..65536 / K, that belongs to its first weight, and
    the numbers, 0..K-1, of its first and its second weight.
    """
    sets, slots = weight.shape
    size = TOTAL // slots
    order = np.argsort(weight >= size, axis=1, kind="stable")
    weight = np.take_along_axis(weight, order, axis=1).astype(np.int64)
    heavy = weight >= size
    light = ~heavy

    # Each set has a separate range of keys, so that one search covers all sets.
    key = np.arange(sets, dtype=np.int64)[:, None] * (2 * TOTAL)
    lack = np.where(light, size - weight, 0)
    lacked = key + np.cumsum(lack, axis=1)
    spared = key + np.cumsum(np.where(heavy, weight - size, 0), axis=1)

    split = weight.copy()
    second = order.copy()
    # The slot of a light weight is filled from the first heavy weight that has a surplus left.
    donor = np.searchsorted(spared[heavy], (lacked - lack)[light], side="right")
    second[light] = order[heavy][donor]
    # A heavy weight keeps one slot, minus its overdraft, which the next heavy weight fills.
    taker = np.searchsorted(lacked[light], spared[heavy], side="left")
    given = np.append(lacked[light], 0)[taker]
    nothing = spared[heavy] == np.broadcast_to(key, weight.shape)[heavy]
    split[heavy] = size + np.where(nothing, 0, spared[heavy] - given)
    short = np.zeros_like(heavy)
    short[heavy] = split[heavy] < size
    second[short] = np.roll(order[heavy], -1)[short[heavy]]
    return split, order, second


_MOST_STEPS = (1 << 16) - 1
"""Maximum number of steps per episode that a device can count."""


def next_power(number: int) -> int:
    """Return the least power of two that is at least `number`, which is 1 or more."""
    return 1 << (number - 1).bit_length()


def most_outcomes(world: World) -> str:
    """Return a clause that names the state-action pair with the most outcomes."""
    counts = np.diff(world.first, append=len(world.state))
    state, action = divmod(int(counts.argmax()), world.actions)
    return f"state {state}, action {action} has {world.outcomes} outcomes"


def compiled(world: World, config: Config) -> WorldTable:
    """Compile a world into the memories of a device with `config`; see ``World.table``."""
    acting = checked_config(config).acting
    if acting is None:
        raise ConfigError("acting is None; a world needs a configuration that has it")
    _check(world, config, acting.outcomes, acting.starts)
    reward = _quantised(world, config.format)

    slots = acting.outcomes
    counts = np.diff(world.first, append=len(world.state))
    weight = np.zeros((len(counts), slots), np.int32)
    weight[np.arange(slots) < counts[:, None]] = world.weight  # rows are ordered by pair
    split, *sides = alias(weight)
    # The parts of slots that no draw selects contain the first outcome of the pair.
    chosen = np.stack([np.where(side < counts[:, None], side, 0) for side in sides], axis=2)
    row = chosen + world.first[:, None, None]
    start_split, *start_sides = alias(
        np.pad(world.start_weight, (0, acting.starts - len(world.start_weight)))[None]
    )
    start = np.stack(start_sides, axis=2)[0]
    start_state = world.start_state[np.where(start < len(world.start_state), start, 0)]

    shape = config.states, config.actions, slots
    unused = np.arange(config.states, dtype=np.int32)[:, None, None, None]
    return WorldTable(
        split=_laid(split, np.full(shape, TOTAL // slots, np.int32)),
        next_state=_laid(world.next_state[row], np.broadcast_to(unused, (*shape, 2)).copy()),
        reward=_laid(reward[row], np.zeros((*shape, 2), np.int32)),
        terminated=_laid(world.terminated[row], np.ones((*shape, 2), np.bool_)),
        start_split=start_split[0].astype(np.int32),
        start_state=start_state,
        max_episode_steps=world.max_episode_steps,
    )


def _check(world: World, config: Config, outcomes: int, starts: int) -> None:
    if world.states > config.states:
        raise WorldError(
            f"the world has {world.states} states; the configuration has room for {config.states}"
        )
    if world.actions != config.actions:
        raise WorldError(
            f"the world has {world.actions} actions; the configuration has {config.actions}; the "
            "numbers must be equal"
        )
    if world.outcomes > outcomes:
        raise WorldError(
            f"{most_outcomes(world)}; the configuration's acting.outcomes is {outcomes} and must be "
            f"at least {next_power(world.outcomes)}"
        )
    if len(world.start_state) > starts:
        raise WorldError(
            f"the world has {len(world.start_state)} start states; the configuration's acting.starts "
            f"is {starts} and must be at least {next_power(len(world.start_state))}"
        )
    if world.max_episode_steps > _MOST_STEPS:
        raise WorldError(
            f"max_episode_steps is {world.max_episode_steps}; a device counts up to {_MOST_STEPS}, "
            "and 0 means no limit"
        )


def _quantised(world: World, form: QFormat) -> NDArray[np.int32]:
    """Return the raw rewards; raise WorldError if a reward does not fit the format."""
    low, high = form.minimum - 0.5, form.maximum + 0.5
    scaled = world.reward * (1 << form.fraction)
    wrong = np.flatnonzero((scaled < low) | (scaled >= high))
    if len(wrong):
        at = wrong[0]
        raise WorldError(
            f"the reward of state {world.state[at]}, action {world.action[at]} is "
            f"{world.reward[at]:g}; {form} holds {form.minimum * form.resolution:g} to "
            f"{form.maximum * form.resolution:g}"
        )
    return form.quantise(world.reward)


def _laid(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[Any]:
    """Copy the entries of the world's states to the start of `whole`, and return `whole`."""
    own = part.reshape(-1, *whole.shape[1:])
    whole[: len(own)] = own
    return whole
