"""Compiles a world into the memories of a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qstep.acting.alias import TOTAL, alias
from qstep.acting.config import MOST_OUTCOMES
from qstep.acting.world_table import WorldTable
from qstep.config import Config, checked_config
from qstep.errors import ConfigError, WorldError
from qstep.fixed import QFormat

if TYPE_CHECKING:
    from qstep.acting.world import World

__all__ = ["compiled", "room"]

_MOST_STEPS = (1 << 16) - 1
"""Most steps of an episode that a device can count."""


def _power_of_two(number: int) -> int:
    """Return the least power of two that is at least `number`, which is 1 or more."""
    return 1 << (number - 1).bit_length()


def room(world: World) -> tuple[int, int]:
    """Return the least outcomes and starts of an :class:`Acting` that fits a world.

    Raises
    ------
    WorldError
        A pair has more outcomes than any device has room for.
    """
    if world.outcomes > MOST_OUTCOMES:
        raise WorldError(f"{_most(world)}; a device has room for {MOST_OUTCOMES} at most")
    return _power_of_two(world.outcomes), _power_of_two(len(world.start_state))


def _most(world: World) -> str:
    """Name the pair with the most outcomes."""
    counts = np.diff(world.first, append=len(world.state))
    state, action = divmod(int(counts.argmax()), world.actions)
    return f"state {state}, action {action} has {world.outcomes} outcomes"


def compiled(world: World, config: Config) -> WorldTable:
    """Return the memories of :meth:`~qstep.acting.world.World.table`."""
    acting = checked_config(config).acting
    if acting is None:
        raise ConfigError("acting is None; a world needs a configuration that has it")
    _check(world, config, acting.outcomes, acting.starts)
    reward = _quantised(world, config.format)

    slots = acting.outcomes
    counts = np.diff(world.first, append=len(world.state))
    weight = _padded(world.weight, world.first, counts, slots)
    split, *sides = alias(weight)
    # A part of a slot that no draw selects holds the first outcome of its pair.
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
            f"the world has {world.actions} actions; the configuration has {config.actions} and must "
            "have as many"
        )
    if world.outcomes > outcomes:
        raise WorldError(
            f"{_most(world)}; the configuration's acting.outcomes is {outcomes} and must be "
            f"{_power_of_two(world.outcomes)} at least"
        )
    if len(world.start_state) > starts:
        raise WorldError(
            f"the world has {len(world.start_state)} start states; the configuration's acting.starts "
            f"is {starts} and must be {_power_of_two(len(world.start_state))} at least"
        )
    if world.max_episode_steps > _MOST_STEPS:
        raise WorldError(
            f"max_episode_steps is {world.max_episode_steps}; a device counts up to {_MOST_STEPS}, "
            "and 0 is no limit"
        )


def _quantised(world: World, form: QFormat) -> NDArray[np.int32]:
    """Return the raw rewards, or name one that does not fit."""
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


def _padded(
    weight: NDArray[Any], first: NDArray[Any], counts: NDArray[Any], slots: int
) -> NDArray[np.int32]:
    """Return the weights of each pair as a row of `slots`, padded with 0."""
    padded = np.zeros((len(first), slots), np.int32)
    pair = np.repeat(np.arange(len(first)), counts)
    padded[pair, np.arange(len(weight)) - first[pair]] = weight
    return padded


def _laid(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[Any]:
    """Return `whole` with the world's states at the beginning of its first axis."""
    own = part.reshape(-1, *whole.shape[1:])
    whole[: len(own)] = own
    return whole
