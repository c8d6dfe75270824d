"""What agents are to learn, and with what: all that `qstep.train` is told, checked and made whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from qstep.acting.agent import AgentSettings
from qstep.acting.config import Algorithm
from qstep.acting.epsilon import Epsilon
from qstep.acting.training import Budget
from qstep.acting.world import World
from qstep.config import Config
from qstep.errors import ConfigError
from qstep.fixed import QFormat, Rounding
from qstep.learn.value_iteration import is_quick, solve

__all__ = ["AgentsPlan", "falling_epsilon", "fitting_format", "planned"]

_WIDTH = 16
_AGENTS = 8


@dataclass(frozen=True, slots=True)
class AgentsPlan:
    """A run of agents.

    Attributes
    ----------
    world : World
    config : Config
        With ``config.acting``.
    settings : tuple of AgentSettings
        One for each agent.
    budget : Budget
    """

    world: World
    config: Config
    settings: tuple[AgentSettings, ...]
    budget: Budget

    @property
    def identity(self) -> dict[str, Any]:
        """What must be equal for a checkpoint to belong to the run; how long it is need not be."""
        return {
            "command": "train on the device",
            "world": self.world.digest,
            "settings": [asdict(own) for own in self.settings],
            "config": self.config.to_dict(),
        }


def fitting_format(world: World, gamma: float) -> QFormat:
    """Return the format of 16 bits with the most fraction bits that still holds rewards and optimum.

    The range is that of the rewards and of the optimal action values, and a fourth more. Where
    the world is not solved quickly, those are within its extreme rewards paid in every step.
    """
    values = [world.reward.min(), world.reward.max()]
    if is_quick(world, gamma):
        q = solve(world, gamma).q
        values += [q.min(), q.max()]
    elif gamma < 1:
        values += [value / (1 - gamma) for value in values]
    most = 1.25 * max(abs(float(value)) for value in values)
    integer = 1
    while 2.0 ** (integer - 1) < most and integer < _WIDTH:
        integer += 1
    return QFormat(integer, _WIDTH - integer)


def falling_epsilon(budget: Budget, start: float, end: float, share: float) -> Epsilon:
    """Return an epsilon that falls linearly over a share of a budget, then stays."""
    length = budget.steps or budget.episodes
    unit = "steps" if budget.steps else "episodes"
    over = int(share * (length or 0))
    if over == 0 or start <= end:
        return Epsilon(end)
    return Epsilon(start, end, "linear", over, unit)


def planned(
    world: World | str,
    *,
    budget: Budget,
    agents: int | None = None,
    algorithm: Algorithm | str = Algorithm.Q_LEARNING,
    shared_table: bool = False,
    settings: AgentSettings | Sequence[AgentSettings] | None = None,
    number_format: QFormat | str | None = None,
    rounding: Rounding | str = Rounding.NEAREST,
    config: Config | None = None,
) -> AgentsPlan:
    """Return the plan of a run; parameters as for :func:`qstep.train`."""
    world = World.named(world) if isinstance(world, str) else world
    if isinstance(settings, AgentSettings) or settings is None:
        own = settings or AgentSettings(epsilon=falling_epsilon(budget, 1.0, 0.05, 0.5))
        if config is not None and config.acting is not None:
            agents = config.acting.agents
        settings = [own] * (agents or _AGENTS)
    elif agents not in (None, len(settings)):
        raise ConfigError(f"agents is {agents}; settings are for {len(settings)}")
    if config is None:
        if number_format is None:
            number_format = fitting_format(world, max(own.gamma for own in settings))
        elif isinstance(number_format, str):
            number_format = QFormat.parse(number_format)
        config = Config(
            world.states,
            world.actions,
            number_format,
            Rounding.parse(rounding),
            acting=world.acting(
                agents=len(settings), algorithm=algorithm, shared_table=shared_table
            ),
        )
    return AgentsPlan(world, config, tuple(settings), budget)
