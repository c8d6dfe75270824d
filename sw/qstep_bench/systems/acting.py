"""Agents that act and learn in a world: the compiled model against the same loops in C."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

from qstep.golden.agents import ActingModel
from qstep.golden.agents_fast import FastActingModel
from qstep.golden.tiled_fast import FastTiledModel
from qstep.learn.plan import Budget, planned, usual_settings
from qstep.spec.epsilon import Epsilon
from qstep.spec.integer_worlds import CART_POLE, MOUNTAIN_CAR, IntegerWorld
from qstep.spec.settings import AgentSettings
from qstep.spec.tiles import Tiles
from qstep_bench.acting_yardstick import ActingYardstick, VectorYardstick
from qstep_bench.checks import WrongTableError
from qstep_bench.measure import Benchmark, Form
from qstep_bench.tiled_yardstick import TiledYardstick

__all__ = ["ActingTask", "benchmark"]

_EIGHT_PLANES = Tiles.from_dict({**MOUNTAIN_CAR.tiles.to_dict(), "tilings": 8})
_TASKS: tuple[tuple[str, str | IntegerWorld, int, str], ...] = (
    ("grid", "gridworld", 1, "c"),
    ("grid16", "gridworld", 16, "vector"),
    ("taxi", "Taxi-v3", 1, "c"),
    ("taxi16", "Taxi-v3", 16, "vector"),
    ("pole", CART_POLE, 8, "tiled"),
    ("car", MOUNTAIN_CAR, 8, "tiled"),
    ("car8", replace(MOUNTAIN_CAR, tiles=_EIGHT_PLANES), 8, "tiled"),
)
_LEAST = 1 << 14
_PLAIN_TURNS = 100
"""Number of steps per agent checked against the plain model, which runs at only 50 thousand steps/s."""

_Model = FastActingModel | FastTiledModel
_Worked = _Model | ActingYardstick | VectorYardstick | TiledYardstick

_IN_C: dict[str, Callable[[Any], _Worked]] = {
    "c": ActingYardstick,
    "vector": VectorYardstick,
    "tiled": TiledYardstick,
}


class ActingTask:
    """Agents with separate tables in a world; every turn of an implementation starts from scratch.

    Parameters
    ----------
    world : str or IntegerWorld
        Name of a built-in world, ID of a Gymnasium environment, or a tile-coded world.
    agents : int
    """

    def __init__(self, world: str | IntegerWorld, agents: int) -> None:
        settings: Any = AgentSettings()
        self._model: Callable[..., _Model] = FastActingModel
        if isinstance(world, IntegerWorld):
            settings = replace(usual_settings(world.env_id), epsilon=Epsilon(0.1))
            self._model = FastTiledModel
        plan = planned(world, budget=Budget(1), agents=agents, settings=settings)
        self._what: Any = plan.config, plan.loaded, plan.settings
        self._agents = agents
        self._last: dict[str, tuple[int, _Worked]] = {}

    def run(self, form: str, amount: int) -> int:
        """Run about `amount` steps in total; return the exact number.

        `form` is ``model``, or a loop in C: ``c`` for one agent at a time, ``vector`` for several at
        once, ``tiled`` for a tile-coded world.
        """
        steps = max(1, amount // self._agents)
        begun = self._model(*self._what)
        begun.run(1)
        worked: _Worked = _IN_C[form](begun) if form in _IN_C else begun
        worked.run(steps - 1)
        self._last[form] = steps, worked
        return steps * self._agents

    def check(self, form: str) -> str:
        """Compare the final tables with those of a new model, and that model's with the plain model's.

        Raises
        ------
        WrongTableError
            The results differ.
        """
        steps, worked = self._last[form]
        expected = self._model(*self._what)
        expected.run(steps)
        if (worked.table != expected.table).any() or worked.counters != expected.counters:
            raise WrongTableError(f"{form} does not match the model after {steps} turns")
        if form in _IN_C:
            return "equal to the model"
        fast, plain = self._model(*self._what), ActingModel(*self._what)
        fast.run(_PLAIN_TURNS)
        deque(plain.run(_PLAIN_TURNS), maxlen=0)
        if (fast.table != plain.table).any() or fast.counters != plain.counters:
            raise WrongTableError(
                f"the model does not match the plain model after {_PLAIN_TURNS} turns"
            )
        return "equal to the plain model"


def benchmark(device: str) -> Benchmark:
    """Return the benchmark of Q-learning in table and tile-coded worlds; it does not use PyTorch."""
    forms = []
    for name, world, agents, in_c in _TASKS:
        planes = f", {world.tiles.planes} planes" if isinstance(world, IntegerWorld) else ""
        named = world.env_id if isinstance(world, IntegerWorld) else world
        where = f"{named}{planes}, {agents} agent{'s' * (agents > 1)}"
        task = cache(partial(ActingTask, world, agents))
        run, check = partial(_run, task), partial(_check, task)
        c, model = f"{name}-c", f"{name}-model"
        loop = f"{where}: C{', vectorised' * (in_c == 'vector')}"
        forms += [
            Form(c, loop, partial(run, in_c), partial(check, in_c), None, _LEAST),
            Form(
                model,
                f"{where}: compiled model",
                partial(run, "model"),
                partial(check, "model"),
                c,
                _LEAST,
            ),
        ]
    return Benchmark(
        "acting",
        "Q-learning with world and agents in the loop, fixed point, one thread",
        "steps",
        tuple(forms),
    )


def _run(task: Callable[[], ActingTask], form: str, amount: int) -> int:
    return task().run(form, amount)


def _check(task: Callable[[], ActingTask], form: str) -> str:
    return task().check(form)
