"""The compiled agent model matches the same loop in C bit for bit."""

import numpy as np
import pytest

from qstep.errors import ConfigError
from qstep.golden.agents import ActingModel
from qstep.golden.agents_fast import FastActingModel
from qstep.golden.tiled_fast import FastTiledModel
from qstep.learn.plan import Budget, planned
from qstep.mdp.tiled import TiledWorld
from qstep.mdp.world import World
from qstep.spec.config import Config
from qstep.spec.epsilon import Epsilon
from qstep.spec.integer_worlds import CART_POLE, MOUNTAIN_CAR, IntegerWorld
from qstep.spec.settings import AgentSettings
from qstep_bench.acting_yardstick import ActingYardstick, VectorYardstick
from qstep_bench.checks import WrongTableError
from qstep_bench.systems import acting
from qstep_bench.tiled_yardstick import TiledYardstick

STEPS = 1 << 17


def begun(world: str, agents: int) -> FastActingModel:
    """Return agents with different settings after their first step; their values will saturate."""
    named = World.named(world)
    config = Config(named.states, named.actions, "Q6.8", acting=named.acting(agents=agents))
    own = [AgentSettings(0.3 + 0.01 * k, 0.95, Epsilon(0.02 * k), seed=k) for k in range(agents)]
    model = FastActingModel(config, named.table(config), own)
    model.run(1)
    return model


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ActingYardstick, VectorYardstick])
@pytest.mark.parametrize(("world", "agents"), [("gridworld", 3), ("gridworld", 37), ("Taxi-v3", 1)])
def test_c_and_the_model_are_equal(
    world: str, agents: int, kind: type[ActingYardstick] | type[VectorYardstick]
) -> None:
    model = begun(world, agents)
    c = kind(model)
    c.run(STEPS - 1)
    model.run(STEPS - 1)
    assert np.array_equal(c.table, model.table)
    assert c.counters == model.counters
    c.run(1)
    assert c.counters != model.counters


@pytest.mark.slow
@pytest.mark.parametrize("world", [MOUNTAIN_CAR, CART_POLE])
def test_c_and_the_model_are_equal_in_worlds_seen_through_tiles(world: IntegerWorld) -> None:
    settings = [AgentSettings(0.3 + 0.1 * k, 0.95, Epsilon(0.05 * k), seed=k) for k in range(3)]
    plan = planned(world, budget=Budget(1), settings=settings, number_format="Q2.8")
    model = FastTiledModel(plan.config, TiledWorld(world, plan.config), plan.settings)
    model.run(1)
    c = TiledYardstick(model)
    c.run(STEPS - 1)
    model.run(STEPS - 1)
    assert np.array_equal(c.table, model.table)
    assert c.counters == model.counters
    for name in ("saturations", "terminations", "truncations"):
        assert any(getattr(count, name) for count in c.counters), name
    c.run(1)
    assert c.counters != model.counters


def test_the_loop_over_planes_refuses_values_that_its_sums_do_not_hold() -> None:
    plan = planned(CART_POLE, budget=Budget(1), number_format="Q8.9")
    model = FastTiledModel(plan.config, TiledWorld(CART_POLE, plan.config), plan.settings)
    with pytest.raises(ConfigError, match=r"format is Q8\.9; it must have at most 16 bits"):
        TiledYardstick(model)


def test_the_vectorised_loop_refuses_values_that_its_sums_do_not_hold() -> None:
    named = World.named("gridworld")
    config = Config(named.states, named.actions, "Q8.9", acting=named.acting())
    model = FastActingModel(config, named.table(config), [AgentSettings()])
    with pytest.raises(ConfigError, match=r"format is Q8\.9; it must have at most 16 bits"):
        VectorYardstick(model)


@pytest.mark.parametrize("kind", [ActingYardstick, VectorYardstick])
def test_the_loops_refuse_other_coefficients(
    kind: type[ActingYardstick] | type[VectorYardstick],
) -> None:
    named = World.named("gridworld")
    config = Config(named.states, named.actions, acting=named.acting(), coefficient_bits=16)
    model = FastActingModel(config, named.table(config), [AgentSettings()])
    with pytest.raises(
        ConfigError, match="coefficient_bits is 16; it must be 15 for the loops in C"
    ):
        kind(model)


def test_a_form_that_leaves_a_step_out_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ActingYardstick.run
    monkeypatch.setattr(ActingYardstick, "run", lambda self, steps: whole(self, steps - 1))
    form, *_ = acting.benchmark("cpu").forms
    form.run(1 << 14)
    with pytest.raises(WrongTableError, match="c does not match the model after 16384 turns"):
        form.check()


def test_a_compiled_model_that_differs_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ActingModel.run
    monkeypatch.setattr(ActingModel, "run", lambda self, steps: whole(self, steps - 1))
    model = next(form for form in acting.benchmark("cpu").forms if form.name.endswith("-model"))
    model.run(1)
    with pytest.raises(WrongTableError, match="the model does not match the plain model after"):
        model.check()
