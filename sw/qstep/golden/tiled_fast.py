"""The compiled model of agents in an integer world: bit for bit equal to :mod:`qstep.golden.agents`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from qstep.errors import ConfigError
from qstep.golden.agents_fast import CompiledAgents
from qstep.golden.agents_kernel import AGENT, ALGORITHMS
from qstep.golden.contract import check_world
from qstep.golden.tiled_kernel import KINDS, Rules, Scratch, TileTables, row_entries, run
from qstep.mdp.tiled import TiledWorld
from qstep.spec.checks import instance, integer
from qstep.spec.config import Config
from qstep.spec.integer_worlds import INTEGER_WORLDS, IntegerWorld
from qstep.spec.protocol import MOST_STEPS
from qstep.spec.settings import AgentSettings, AgentState

__all__ = ["FastTiledModel"]

_NARROW = 20
"""Maximum width of a value, in bits, for which a sum over all planes fits in 32 bits."""


class FastTiledModel(CompiledAgents):
    """Compiled :class:`qstep.golden.agents.ActingModel` for a TiledWorld, with the same contract.

    Double Q-learning is not supported. :attr:`table` is a live view, not a copy.

    Raises
    ------
    ConfigError
        As for :class:`~qstep.golden.contract.Agents`. Also raised if the algorithm is Double Q-learning,
        or if the world is not one of ``INTEGER_WORLDS``; its table and step limit may differ.
    """

    world: TiledWorld

    def __init__(
        self, config: Config, world: TiledWorld, settings: Sequence[AgentSettings]
    ) -> None:
        check_world(config, instance("world", world, TiledWorld))
        if _functions(world.world) not in map(_functions, INTEGER_WORLDS.values()):
            raise ConfigError(
                f"world is {world.world.env_id}, whose functions are not compiled; those of "
                f"{' and '.join(INTEGER_WORLDS)} are, and ActingModel accepts any"
            )
        numbers, tiles = world.world.limits, world.world.tiles
        fields = {name: AGENT[name] for name in AGENT.names or ()}
        fields["state"] = np.dtype((np.int64, len(numbers)))
        agent = np.dtype([*fields.items()], align=True)
        super().__init__(config, world, settings, agent, row_entries(config.actions))
        number_format, bits = config.format, config.coefficient_bits
        bias = config.rounding.bias(bits)
        kind = np.int32 if number_format.width <= _NARROW else np.int64
        columns = tuple(np.array(column, np.int32) for column in world.world.columns)
        self._constant = (
            KINDS[world.world.env_id](columns),
            TileTables.of(tiles, config.states, config.actions),
            Rules(
                row=(0,) * config.actions,
                planes=(0,) * config.planes,
                algorithm=(0,) * ALGORITHMS.index(self._acting.algorithm),
                fraction=bits,
                bias=-1 if bias is None else bias,
                reward=world.reward,
                ends=np.array([number_format.minimum, number_format.maximum], kind),
                limit=self._limit,
            ),
            Scratch.of(len(numbers), config.planes),
        )

    @property
    def states(self) -> list[AgentState]:
        """Copies of the agents' states."""
        return [replace(own, state=tuple(map(int, own.state))) for own in super().states]

    def run(self, steps: int, *, trace: bool = False) -> None:
        """Step the agents round-robin, `steps` times each, without a trace.

        This releases Python's global interpreter lock, so it may run in a thread. :attr:`states` and
        :attr:`counters` do not change until it returns. A run may be split into several calls.
        """
        steps = integer("steps", steps, 0, MOST_STEPS, "from 0 to 2^48-1")
        if trace:
            raise ConfigError("trace is True; it must be False in a world seen through tiles")
        run(
            self._entries.reshape(-1),
            self._stride,
            *self._constant,
            self._agents,
            self._settings,
            steps,
        )


def _functions(world: IntegerWorld) -> tuple[object, ...]:
    """Return a world's id and functions, for comparison with the compiled worlds."""
    return world.env_id, world.start, world.move, world.observe
