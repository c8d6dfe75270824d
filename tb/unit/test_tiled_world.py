"""The circuits of the continuous worlds and their tiles match their definitions bit for bit."""

import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import pytest
from tb.planted import Fault, faults, plant_python
from tb.unit.streams import simulate

from qstep.spec.integer_worlds import CART_POLE, MOUNTAIN_CAR, IntegerWorld, State
from qstep.spec.memory_map import NUMBERS
from qstep.spec.tiles import Tiles
from qstep_rtl import motions, tiled_world

pytestmark = pytest.mark.unit

SLOTS, ANSWER, ACT = 16, 3, 5
"""Slots per rotation, and clocks from a request to its answer and to the agent's action."""

TILES = {
    CART_POLE.env_id: Tiles(
        low=[-2.4, -3, -0.2095, -3.5],
        high=[2.4, 3, 0.2095, 3.5],
        tilings=4,
        groups=[(2, 3), (0, 1)],
        units=CART_POLE.units,
    ),
    MOUNTAIN_CAR.env_id: Tiles(low=[-1.2, -0.07], high=[0.6, 0.07], units=MOUNTAIN_CAR.units),
}
WORLDS = [
    pytest.param(world, rotations, id=world.env_id)
    for world, rotations in ((CART_POLE, 60), (MOUNTAIN_CAR, 220))
]


def check(module: ModuleType, world: IntegerWorld, rotations: int) -> Counter[str]:
    """Let 16 agents take turns; one request in ten is held and repeated. Return event counts."""
    tiles = TILES[world.env_id]
    circuit = module.TiledWorldCircuit(world, tiles)
    rng = random.Random(1)
    states: list[State | None] = [None] * SLOTS
    seen: Counter[str] = Counter()

    def rows(state: State) -> list[int]:
        return list(tiles.of(world.observe(state)))

    async def bench(ctx: Any) -> None:
        asked: list[tuple[int, int, tuple[State, bool] | None]] = []
        for clock in range(rotations * SLOTS):
            agent, action = clock % SLOTS, rng.randrange(world.actions)
            state = states[agent]
            if world is MOUNTAIN_CAR and state and rng.random() < 0.98:
                action = 0 if state[1] < 0 else 2  # reaches the wall and the goal
            draw = rng.randrange(1 << 16)
            after = None if state is None else world.move(world.columns, state, action)
            asked.append((agent, draw, after))
            for port, value in (("agent", agent), ("action", action), ("start", draw)):
                ctx.set(getattr(circuit, port), value)
            ctx.set(circuit.goes, 0)
            ctx.set(circuit.restarts, 0)
            if clock >= ANSWER:
                _, draw, after = asked[clock - ANSWER]
                assert list(ctx.get(circuit.start_rows)) == rows(world.start(draw))
                if after is not None:
                    assert ctx.get(circuit.terminated) == after[1]
                    assert list(ctx.get(circuit.rows)) == rows(after[0])
            if clock >= ACT - 1:
                ctx.set(circuit.acting, asked[clock - ACT + 1][0])
            if clock >= ACT:
                agent, draw, after = asked[clock - ACT]
                if after is None or after[1] or rng.random() < 0.02:
                    ctx.set(circuit.restarts, 1)
                    states[agent] = world.start(draw)
                    seen["terminated"] += after is not None and after[1]
                elif rng.random() < 0.9:
                    ctx.set(circuit.goes, 1)
                    states[agent] = after[0]
                    seen["wall"] += after[0][0] == world.limits[0][0]
            await ctx.tick()

    simulate(circuit, bench)
    return seen


@pytest.mark.parametrize(("world", "rotations"), WORLDS)
def test_a_circuit_gives_the_rows_of_its_world(world: IntegerWorld, rotations: int) -> None:
    seen = check(tiled_world, world, rotations)
    assert seen["terminated"] > 0
    assert world is CART_POLE or seen["wall"] > 0


def check_host(module: ModuleType, world: IntegerWorld, tiles: Tiles) -> None:
    """Write random agent states at the highest rate, and read them back."""
    circuit = module.TiledWorldCircuit(world, tiles)
    rng = random.Random(2)
    states: dict[int, State] = {}

    async def bench(ctx: Any) -> None:
        async def write(agent: int, state: State) -> None:
            ctx.set(circuit.write, 1)
            for word, number in enumerate(state):
                ctx.set(circuit.index, NUMBERS.pack(word=word, agent=agent))
                ctx.set(circuit.data, number & 0xFFFFFFFF)
                await ctx.tick()
            ctx.set(circuit.write, 0)
            await ctx.tick().repeat(module.WRITE_CLOCKS - 1)

        for _ in range(40):
            agent, action = rng.randrange(SLOTS), rng.randrange(world.actions)
            states[agent] = tuple(rng.randint(*limits) for limits in world.limits)
            await write(agent, states[agent])
            after, ended = world.move(world.columns, states[agent], action)
            ctx.set(circuit.agent, agent)
            ctx.set(circuit.action, action)
            await ctx.tick().repeat(ANSWER)
            assert list(ctx.get(circuit.rows)) == list(tiles.of(world.observe(after)))
            assert ctx.get(circuit.terminated) == ended
        for agent, state in states.items():
            for word, number in enumerate(state):
                ctx.set(circuit.index, NUMBERS.pack(word=word, agent=agent))
                await ctx.tick().repeat(2)
                assert ctx.get(circuit.read) == number & 0xFFFFFFFF

    simulate(circuit, bench)


@pytest.mark.parametrize("world", [CART_POLE, MOUNTAIN_CAR], ids=lambda own: str(own.env_id))
@pytest.mark.parametrize("bounds", [None, (-1000, 0.01), (-0.01, 1000), (-0.02, -0.01)], ids=str)
def test_the_host_writes_and_reads_states(
    world: IntegerWorld, bounds: tuple[float, float] | None
) -> None:
    """Tiles may lie where no agent ever goes, or extend far beyond the world."""
    tiles = TILES[world.env_id]
    if bounds is not None:
        low, high = ([bound] * len(world.limits) for bound in bounds)
        tiles = Tiles(low, high, 2, tilings=2, groups=tiles.groups, units=world.units)
    check_host(tiled_world, world, tiles)


@pytest.mark.parametrize("fault", faults("test_tiled_world"), ids=lambda fault: fault.name)
def test_a_fault_is_noticed(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = {"motions.py": motions, "tiled_world.py": tiled_world}[fault.file]
    planted = plant_python(changed, fault.old, fault.new)
    for name in ("MOTIONS", "starts"):
        if changed is motions:
            monkeypatch.setattr(tiled_world, name, getattr(planted, name))
    world = MOUNTAIN_CAR if fault.seen == "car" else CART_POLE
    module = tiled_world if changed is motions else planted
    finder: Callable[[ModuleType, IntegerWorld], object] = partial(check, rotations=220)
    if fault.seen == "host":
        finder = partial(check_host, tiles=TILES[world.env_id])
    with pytest.raises(AssertionError):
        finder(module, world)
