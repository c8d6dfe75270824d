"""The part of a configuration that describes the agents of a device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from pathlib import PurePath

from qstep.errors import ConfigError
from qstep.spec.checks import assign, boolean, instance, integer, one_of, power_of_two, shown
from qstep.spec.integer_worlds import INTEGER_WORLDS, IntegerWorld
from qstep.spec.tiles import Tiles

__all__ = [
    "CIRCUITS",
    "CLOCKS_HZ",
    "LANE_AGENTS",
    "MOST_AGENTS",
    "MOST_LANES",
    "MOST_OUTCOMES",
    "SWITCHES",
    "Acting",
    "Algorithm",
    "module_hint",
]

CIRCUITS = (".sv", ".v", ".py")
"""File suffixes of circuit worlds: SystemVerilog, Verilog or Amaranth."""

_TABLE, _LIVE, _PINS = _WORLDS = ("table", "live", "pins")

CLOCKS_HZ = 1_000_000, 500_000_000
"""Slowest and fastest clock of a device."""

_MOST_CLOCKS = (1 << 31) - 1

MOST_LANES = 128
"""Maximum number of lanes per device."""

LANE_AGENTS = 16
"""Maximum number of agents per hardware lane, one per slot."""

MOST_AGENTS = MOST_LANES * LANE_AGENTS
"""Maximum number of agents per device."""

MOST_OUTCOMES = 64
"""Maximum number of outcomes per state and action."""

SWITCHES = ("schedules", "step_limit")
"""Fields of :class:`Acting` that omit hardware if False; by default, all hardware is built."""


def module_hint(circuit: str) -> str:
    """Return a hint for an error message if a circuit's file may be a Python module; otherwise, ''."""
    if not circuit.endswith(".py"):
        return ""
    name = PurePath(circuit).stem
    return (
        "; a .py file is read as a circuit (Amaranth), so for a Gymnasium environment that it registers "
        f"give {name}:ID, such as {name}:Tank-v0"
    )


class Algorithm(Enum):
    """Rule that computes an update's target from the next state's row."""

    Q_LEARNING = "q-learning"
    SARSA = "sarsa"
    EXPECTED_SARSA = "expected-sarsa"
    DOUBLE_Q_LEARNING = "double-q"

    @property
    def code(self) -> int:
        """Value of the hardware's ``algorithm_e``, 0..3."""
        return list(Algorithm).index(self)

    @property
    def is_on_policy(self) -> bool:
        """Whether it learns the values of the exploring policy, not of the greedy policy."""
        return self in (Algorithm.SARSA, Algorithm.EXPECTED_SARSA)

    @classmethod
    def parse(cls, name: str | Algorithm) -> Algorithm:
        """Return the algorithm called `name`; raise ConfigError if there is none."""
        if isinstance(name, Algorithm):
            return name
        return cls(one_of("algorithm", name, [algorithm.value for algorithm in cls]))


@dataclass(frozen=True, slots=True, init=False)
class Acting:
    """The acting part of a device: agents, their algorithm, and a world.

    Parameters
    ----------
    agents : int
        P, the number of agents, 1..2048.
    algorithm : Algorithm or str
        The update rule.
    shared_table : bool
        Whether all agents take turns updating one table; otherwise, each agent has a separate table.
    outcomes : int
        Maximum number of outcomes per state and action: a power of two, 1..64.
    starts : int
        Maximum number of start states: a power of two, 1..65536.
    world : str
        ``table`` is stored in memories, sized by `outcomes` and `starts`, which are 1 for any other
        world. Other worlds are the file of a circuit, ``NAME.sv``, ``.v`` or ``.py``
        (docs/circuit-worlds.md); ``live``, a world on the host, or ``pins``, a world at the device's
        pins (docs/live-worlds.md); and ``CartPole-v1`` or ``MountainCar-v0`` with tile coding
        (docs/features.md).
    deadline : int
        Timeout in lane clocks, 1000..2^31-1, for the response of a circuit, or of a world at the pins,
        to an agent.
    clock_hz : int, optional
        Clock of the lanes in hertz, 1,000,000..500,000,000, if separate from the link's (docs/farm.md).
        Not allowed if the world is ``live`` or ``pins``.
    schedules : bool
        Whether an agent's epsilon may decay; if not, it is constant and the hardware is smaller.
    step_limit : bool
        Whether episodes may have a step limit; if not, the hardware is smaller.
    tiles : Tiles, optional
        Tiles of CartPole or Mountain Car; the default depends on the world. If the world is ``live``,
        the host computes the rows with these tiles and sends them. If it is ``pins``, the device
        receives the numbers of an observation and computes the rows. No other world supports tiles.
    """

    agents: int
    algorithm: Algorithm
    shared_table: bool
    outcomes: int
    starts: int
    world: str
    deadline: int
    clock_hz: int | None
    schedules: bool
    step_limit: bool
    tiles: Tiles | None

    def __init__(
        self,
        agents: int = 1,
        algorithm: Algorithm | str = Algorithm.Q_LEARNING,
        shared_table: bool = False,
        outcomes: int = 1,
        starts: int = 1,
        world: str = _TABLE,
        deadline: int = 1_000_000,
        clock_hz: int | None = None,
        schedules: bool = True,
        step_limit: bool = True,
        tiles: Tiles | None = None,
    ) -> None:
        if clock_hz is not None:
            clock_hz = integer("acting.clock_hz", clock_hz, *CLOCKS_HZ)
        assign(
            self,
            agents=integer("acting.agents", agents, 1, MOST_AGENTS),
            algorithm=Algorithm.parse(algorithm),
            shared_table=boolean("acting.shared_table", shared_table),
            outcomes=power_of_two("acting.outcomes", outcomes, 1, MOST_OUTCOMES),
            starts=power_of_two("acting.starts", starts, 1, 65536),
            world=world,
            deadline=integer("acting.deadline", deadline, 1000, _MOST_CLOCKS),
            clock_hz=clock_hz,
            schedules=boolean("acting.schedules", schedules),
            step_limit=boolean("acting.step_limit", step_limit),
        )
        named = *_WORLDS, *INTEGER_WORLDS
        if not isinstance(world, str) or not (world in named or self.is_circuit):
            raise ConfigError(
                f"acting.world is {shown(world)}; it must be {', '.join(map(repr, named))} or a "
                f"file that ends in {', '.join(CIRCUITS)}"
            )
        if self.is_tiled:
            known = INTEGER_WORLDS[world]
            given = known.tiles if tiles is None else instance("acting.tiles", tiles, Tiles)
            assign(self, tiles=replace(known, tiles=given).tiles)
        elif tiles is not None and not (self.is_live or self.is_at_pins):
            raise ConfigError(
                f"acting.tiles is {shown(tiles)}; it must be left out where acting.world is {world!r}"
            )
        else:
            assign(self, tiles=None if tiles is None else instance("acting.tiles", tiles, Tiles))
        for name, size in (("outcomes", self.outcomes), ("starts", self.starts)):
            if size > 1 and not self.is_table:
                raise ConfigError(
                    f"acting.{name} is {size}; it must be 1 where acting.world is not 'table'"
                )
        if clock_hz is not None and (self.is_live or self.is_at_pins):
            raise ConfigError(
                f"acting.clock_hz is {clock_hz}; it must be left out where acting.world is {world!r}, "
                "which runs on the link's clock"
            )

    @property
    def is_table(self) -> bool:
        """Whether the world is a table in the device's memories."""
        return self.world == _TABLE

    @property
    def is_tiled(self) -> bool:
        """Whether the world is one of ``INTEGER_WORLDS``, observed with :attr:`tiles`."""
        return self.world in INTEGER_WORLDS

    @property
    def integer_world(self) -> IntegerWorld:
        """The integer world with these tiles; defined only if :attr:`is_tiled`."""
        assert self.tiles is not None
        return replace(INTEGER_WORLDS[self.world], tiles=self.tiles)

    @property
    def is_live(self) -> bool:
        """Whether the host provides the world."""
        return self.world == _LIVE

    @property
    def is_at_pins(self) -> bool:
        """Whether the world is at the device's pins."""
        return self.world == _PINS

    @property
    def is_circuit(self) -> bool:
        """Whether the world is a circuit provided by the user."""
        return self.world.endswith(CIRCUITS)

    @property
    def tables(self) -> tuple[int, ...]:
        """Axes of all tables before (S, A): P with separate tables, then 2 for Double Q-learning."""
        own = () if self.agents == 1 or self.shared_table else (self.agents,)
        return (*own, 2) if self.algorithm is Algorithm.DOUBLE_Q_LEARNING else own
