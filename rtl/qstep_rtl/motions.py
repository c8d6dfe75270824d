"""The continuous worlds' equations of motion, :mod:`qstep.spec.integer_worlds`, as pipelines.

Function    From an agent's state, computes the state after each action, and each coordinate less the
            lower bound of its tiles. Terms that do not depend on the action are computed once.
Latency     Each result states its latency from the agent's action, which is at most 8 clocks.
Throughput  One state per clock.
Reset       none: data only
Hazards     none
Invariants  none
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from amaranth.hdl import Array, Cat, Const, Module, Mux, Shape, Signal, Value, ValueLike, signed
from amaranth.lib import data
from amaranth.lib.memory import Memory

from qstep.spec.integer_worlds import CART_POLE, ENGINE, MOUNTAIN_CAR, IntegerWorld

__all__ = [
    "MOTIONS",
    "ORIGINS",
    "START_FIELDS",
    "Motion",
    "Moved",
    "Outcomes",
    "exceeds",
    "later",
    "starts",
    "state_shapes",
    "times",
]


class Outcomes(NamedTuple):
    """One result per action, or a single result that does not depend on the action.

    Attributes
    ----------
    values : list of Value
    clocks : int
        Clocks from the agent's action to the values.
    """

    values: list[Value]
    clocks: int


class Moved(NamedTuple):
    """A coordinate after a step.

    Attributes
    ----------
    values : Outcomes
        The coordinate itself.
    above : Outcomes
        The coordinate less the lower bound of its tiles.
    """

    values: Outcomes
    above: Outcomes


Motion = Callable[
    [Module, Sequence[Value], Sequence[Value], Value, Sequence[int]],
    tuple[list[Moved], Outcomes],
]
"""A function that adds the pipeline to a module.

Its inputs are the agent's state and the state after its step, both one clock after the agent acted; a
flag that is 1 if the agent's state is a start state instead; and the lower bounds in state units. It
returns the coordinates, and a flag that is 1 if the episode terminates.
"""

ORIGINS: dict[str, tuple[int, ...]] = {
    CART_POLE.env_id: (0, 0, 0, 0),
    MOUNTAIN_CAR.env_id: (MOUNTAIN_CAR.limits[0][0], 0),
}
"""Origin of each number of a state in the circuit: for the car's position, the wall."""


def later(m: Module, value: ValueLike, clocks: int = 1, shape: Shape | None = None) -> Value:
    """Return a value, delayed by `clocks` clocks."""
    now = Value.cast(value)
    for _ in range(clocks):
        register = Signal(now.shape() if shape is None else shape, reset_less=True)
        m.d.sync += register.eq(now)
        now = register
    return now


def times(value: Value, factor: int) -> Value:
    """Return the product with a constant, which is 0 or more, as a sum of shifts."""
    return sum((value << k for k in range(factor.bit_length()) if factor >> k & 1), start=Const(0))


def exceeds(value: ValueLike, other: ValueLike) -> Value:
    """Return whether one number exceeds another, as the sign of their difference: a single carry chain.

    yosys builds a signed comparison from a carry and a sign, which takes nearly twice as long.
    """
    return (Value.cast(other) - Value.cast(value))[-1]


def state_shapes(world: IntegerWorld) -> list[Shape]:
    """Return the shape of each number of any state, including final states, relative to its origin."""
    bits = {CART_POLE.env_id: (30, 30, 28, 27), MOUNTAIN_CAR.env_id: (25, 21)}
    return [signed(own) for own in bits[world.env_id]]


def _above(shape: Shape, low: int) -> Shape:
    """Return the shape of a number of the given shape, less a lower bound."""
    return signed(((1 << shape.width - 1) + abs(low)).bit_length() + 1)


def _columns(m: Module, world: IntegerWorld, cell: Value) -> list[Value]:
    """Return the entries of a cell two clocks later; the block RAM has an output register."""
    shape = data.ArrayLayout(signed(16), len(world.columns))
    rows = [list(row) for row in zip(*world.columns, strict=True)]
    m.submodules.columns = memory = Memory(shape=shape, depth=len(rows), init=rows)
    port = memory.read_port()
    m.d.comb += port.addr.eq(cell)
    return [later(m, port.data[k]) for k in range(len(world.columns))]


def starts(m: Module, world: IntegerWorld, draw: Value) -> list[Value]:
    """Return the start state for a draw, two clocks later."""
    draw = later(m, draw)
    if world.env_id == CART_POLE.env_id:
        nibbles = (draw[12 - 4 * k : 16 - 4 * k] for k in range(4))
        values = [
            Array(Const(world.start(n * 0x1111)[k], shape) for n in range(16))[nibble]
            for k, (nibble, shape) in enumerate(zip(nibbles, state_shapes(world), strict=True))
        ]
    else:
        position, velocity = world.start(0)
        values = [
            (times(draw, world.start(2)[0] - position) >> 1) + position - ORIGINS[world.env_id][0],
            Const(velocity),
        ]
    return [later(m, value) for value in values]


def _cart_pole(
    m: Module,
    state: Sequence[Value],
    went: Sequence[Value],
    restarts: Value,
    lows: Sequence[int],
) -> tuple[list[Moved], Outcomes]:
    shapes = state_shapes(CART_POLE)
    x, x_dot, theta, theta_dot = (later(m, value) for value in state)  # clock 2
    fall, lean, twist, pull, swing, push = _columns(
        m, CART_POLE, ((state[2] >> 15) + 512)[:10]
    )  # clock 3
    # The square is computed before it is known whether it is needed; for a start state it becomes 0. An
    # AND keeps the register free of a reset, so that synthesis can move it into the multiplier.
    rate = went[3][9:26].as_signed()  # of the state after a step, not of a start state
    counts = ~later(m, restarts, 2)
    square = later(m, later(m, rate * rate, 2)[16:33] & counts.replicate(17)).as_signed()  # clock 4
    rate_out, swing_out = (later(m, later(m, column) * square, 2) for column in (lean, swing))
    positions = [later(m, x + x_dot, 1, shapes[0]), later(m, theta + theta_dot, 1, shapes[2])]
    out = [
        later(m, beyond)
        for value, (_, most) in zip(positions, CART_POLE.limits[::2], strict=True)
        for beyond in (exceeds(value, most), exceeds(-most, value))
    ]
    speed = later(m, later(m, later(m, x_dot) + pull) - lows[1])  # clock 5
    turn = later(m, later(m, later(m, theta_dot) + (fall << 2)) - lows[3])
    pushes, twists = later(m, push, 2) << 3, later(m, twist, 2) << 4
    speeds = [later(m, speed - pushes), later(m, speed + pushes)]
    turns = [later(m, turn + twists), later(m, turn - twists)]
    # Computed relative to the lower bounds first, because the path through the tiles is longer.
    velocities = [
        [later(m, v + (swing_out >> 13), 1, _above(shapes[1], lows[1])) for v in speeds],
        [later(m, v - (rate_out >> 12), 1, _above(shapes[3], lows[3])) for v in turns],
    ]  # clock 7
    moved = []
    for k, above in enumerate(velocities):
        position, velocity = 2 * k, 2 * k + 1
        moved += [
            Moved(
                Outcomes([positions[k]], 3),
                Outcomes([later(m, positions[k] - lows[position])], 4),
            ),
            Moved(
                Outcomes([later(m, v + lows[velocity], 1, shapes[velocity]) for v in above], 8),
                Outcomes(above, 7),
            ),
        ]
    return moved, Outcomes([later(m, Cat(out).any())], 5)


def _mountain_car(
    m: Module,
    state: Sequence[Value],
    went: Sequence[Value],
    restarts: Value,
    lows: Sequence[int],
) -> tuple[list[Moved], Outcomes]:
    (wall, goal), (_, fastest) = MOUNTAIN_CAR.limits
    low = lows[0] - wall
    shapes = state_shapes(MOUNTAIN_CAR)
    position, velocity = (later(m, value) for value in state)  # clock 2
    (slope,) = _columns(m, MOUNTAIN_CAR, (state[0] >> 14)[:10])  # clock 3
    moved = []
    terminated = []
    at = [later(m, position, 2), later(m, later(m, position) - low)]
    for action in range(MOUNTAIN_CAR.actions):
        speed = later(m, later(m, velocity + (action - 1) * ENGINE) + slope)  # clock 4
        speeds = [(later(m, speed), later(m, speed - lows[1]))]
        speeds += [(Const(end), Const(end - lows[1])) for end in (fastest, -fastest)]
        ends = [tuple(later(m, here + add) for here in at) for add in (speed, fastest, -fastest)]
        fast, slow = (later(m, exceeds(*pair)) for pair in ((speed, fastest), (-fastest, speed)))

        def chosen(ways: Sequence[Value], fast: Value = fast, slow: Value = slow) -> Value:
            return later(m, Mux(fast, ways[1], Mux(slow, ways[2], ways[0])))

        v, v_above = (chosen([way[k] for way in speeds]) for k in (0, 1))
        p, p_above = (chosen([way[k] for way in ends]) for k in (0, 1))  # clock 6
        through = p < 0
        still = (through | (p == 0)) & (v < 0)
        moved.append(
            (
                later(m, Mux(through, 0, p), 1, shapes[0]),
                later(m, Mux(through, -low, p_above)),
                later(m, Mux(still, 0, v), 1, shapes[1]),
                later(m, Mux(still, -lows[1], v_above)),
            )
        )
        terminated.append(later(m, exceeds(p, goal - wall)))
    results = [Outcomes(list(values), 7) for values in zip(*moved, strict=True)]
    return [Moved(*results[:2]), Moved(*results[2:])], Outcomes(terminated, 7)


START_FIELDS: dict[str, list[tuple[int, int]]] = {
    CART_POLE.env_id: [(12, 4), (8, 4), (4, 4), (0, 4)],
    MOUNTAIN_CAR.env_id: [(0, 16), (0, 0)],
}
"""The field of the draw that determines each number of a start state: first bit and width."""

MOTIONS: dict[str, Motion] = {
    CART_POLE.env_id: _cart_pole,
    MOUNTAIN_CAR.env_id: _mountain_car,
}
"""The pipelines, by world id."""
