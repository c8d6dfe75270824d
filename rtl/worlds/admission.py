"""Admission to a service with seven places: an example of a world that is a circuit, in Amaranth.

In each step, a customer of one of four classes asks to be admitted. Action 1 admits the customer if a
place is free, for a reward of 1, 2, 4 or 8; action 0 turns the customer away. Then a place becomes free,
with a probability of 1/16 per taken place, and the next customer arrives, with each class equally
likely. The task never ends. A state is {places taken (0 to 7), class (0 to 3)}. After Sutton and Barto,
"Reinforcement learning" (2018), example 10.2.

Function    See above. The upper two bits of the draw are the class of the next customer; a place becomes
            free if the other 14 bits are below 1024 times the number of taken places.
Latency     Three clocks from a request to its answer, as the port requires.
Throughput  One request per clock.
Reset       none
Hazards     none
Invariants  none
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.wiring import Component, In

from qstep.errors import ConfigError
from qstep.spec.config import Config
from qstep_rtl.world_port import WorldSignature

__all__ = ["PLACES", "World"]

PLACES = 7


class World(Component):
    """The world, for 32 states, 2 actions and a number format that can represent 8."""

    def __init__(self, config: Config) -> None:
        self._type = config.table_type
        super().__init__({"world": In(WorldSignature(config))})

    def elaborate(self, platform: object) -> Module:
        states, actions, form = self._type
        if (states, actions) != (32, 2) or form.maximum < 8 << form.fraction:
            raise ConfigError(
                f"the table is {self._type}; admission needs 32 states x 2 actions, and 8 in its format"
            )
        m = Module()
        port = self.world
        # First clock: is the customer admitted?
        kind, taken, drawn = Signal(2), Signal(3), Signal(16)
        admitted = Signal()
        m.d.sync += [
            Cat(kind, taken).eq(port.state),
            admitted.eq(port.action[0] & (port.state[2:] != PLACES)),
            drawn.eq(port.outcome),
        ]
        # Second clock: how many are there now, and does one of them leave?
        there, reward, next_kind = Signal(3), Signal(4), Signal(2)
        draw = Signal(14)
        m.d.sync += [
            there.eq(taken + admitted),
            reward.eq(admitted << kind),
            next_kind.eq(drawn[14:]),
            draw.eq(drawn[:14]),
        ]
        # Third clock: the answer.
        leaves = draw[10:] < there
        m.d.sync += [
            port.next_state.eq(Cat(next_kind, (there - leaves)[:3])),
            port.reward.eq(reward << form.fraction),
        ]
        m.d.comb += [port.ready.eq(1), port.terminated.eq(0), port.start_state.eq(0)]
        return m
