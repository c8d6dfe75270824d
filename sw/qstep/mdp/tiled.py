"""An integer world with tile coding, for agents whose state is one row per plane."""

from __future__ import annotations

from dataclasses import dataclass

from qstep.errors import ConfigError
from qstep.mdp.memory import Answer
from qstep.spec.agents import Algorithm
from qstep.spec.checks import assign, instance
from qstep.spec.config import Config, checked_config
from qstep.spec.integer_worlds import IntegerWorld, State

__all__ = ["TiledWorld"]


@dataclass(frozen=True, init=False)
class TiledWorld:
    """A world whose states are tuples of integers, bound to one :class:`~qstep.Config`.

    Parameters
    ----------
    world : IntegerWorld
    config : Config
        A configuration with the same numbers of actions and planes as the world, and enough rows.

    Raises
    ------
    ConfigError
        `world` does not fit `config`.
    TransitionError
        The world's reward does not fit the format.
    """

    world: IntegerWorld
    config: Config
    reward: int

    def __init__(self, world: IntegerWorld, config: Config) -> None:
        tiles = instance("world", world, IntegerWorld).tiles
        checked_config(config)
        for name, found, wanted in (
            ("actions", config.actions, world.actions),
            ("planes", config.planes, tiles.planes),
        ):
            if found != wanted:
                raise ConfigError(f"{name} is {found}; the world and its tiles need {wanted}")
        acting = config.acting
        if acting is not None and acting.algorithm is Algorithm.DOUBLE_Q_LEARNING:
            raise ConfigError(
                "acting.algorithm is 'double-q'; a world seen through tiles needs another algorithm"
            )
        if config.states < tiles.rows:
            raise ConfigError(
                f"states is {config.states}; the tiles need {tiles.rows} rows in each plane, "
                f"{tiles.rows - config.states} more"
            )
        reward = int(config.format.quantise(world.reward))
        assign(self, world=world, config=config, reward=reward)

    @property
    def max_episode_steps(self) -> int:
        """Steps after which an episode is truncated."""
        return self.world.max_episode_steps

    def answer(self, state: State, action: int, draw: int) -> Answer:
        """Return the outcome of an action; it does not depend on the draw."""
        return Answer(self.reward, *self.world.move(self.world.columns, state, action))

    def start(self, draw: int) -> State:
        """Return the start state for a draw of 0..65535."""
        return self.world.start(draw)

    def rows(self, state: State) -> tuple[int, ...]:
        """Return the row of a state in each plane."""
        return self.world.rows(state)
