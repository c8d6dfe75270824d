"""Worlds as circuits: the simulated device matches a model that has the same world as a table."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tb.equal_agents import Held, differing, run_alike, run_alone
from tb.planted import plant_file
from tb.random_world import ring_model
from tb.sw.command_line import told
from tb.sw.drowsy_world import SLEEP

from qstep.device.agents import LinkAgents
from qstep.errors import ConfigError, WorldSilentError
from qstep.golden.agents_fast import FastActingModel
from qstep.learn.plan import Budget, planned
from qstep.learn.table import load_table
from qstep.mdp.memory import WorldTable
from qstep.mdp.world import World
from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep.spec.epsilon import FALLING, Epsilon
from qstep.spec.settings import AgentSettings
from qstep_rtl import sources
from qstep_rtl.generate import generate
from qstep_rtl.world_port import check_circuit
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort

pytestmark = pytest.mark.rtl

GRID = Config(25, 4, acting=Acting(agents=3, world="worlds/gridworld.sv"))
DROWSY = Config(
    8,
    3,
    acting=Acting(agents=3, world=str(Path(__file__).with_name("drowsy_world.py")), deadline=1000),
)
ADMISSION = Config(32, 2, "Q8.8", acting=Acting(agents=3, world="worlds/admission.py"))
SETTINGS = [
    AgentSettings(0.5, 0.9, Epsilon(1, 0.05, "exponential", 5000), 1),
    AgentSettings(0.1, 0.99, Epsilon(0.3), 2),
    AgentSettings(1.0, 0.5, Epsilon(1, 0, "linear", 900, unit="episodes"), 3),
]


@pytest.fixture
def port(request: pytest.FixtureRequest) -> Iterator[SimPort]:
    made = SimPort(request.param)
    yield made
    made.close()


def grid_model() -> FastActingModel:
    """Return a model of the grid world in the form of a table, with a limit of 12 steps."""
    world = World.named("gridworld")
    config = replace(GRID, acting=world.acting(agents=3))
    table = replace(world.table(config), max_episode_steps=12)
    return FastActingModel(config, table, SETTINGS)


@pytest.mark.parametrize("port", [GRID], indirect=True)
def test_the_grid_world_as_logic_is_the_one_from_a_table(port: SimPort) -> None:
    device = LinkAgents(port, GRID, 12, SETTINGS)
    run_alike(device, grid_model(), 1, 2, 3000)
    assert all(own.truncations and own.terminations for own in device.counters)


def admission() -> dict[str, NDArray[Any]]:
    """Return the outcomes of ``admission.py``; weights count how many of 65536 draws lead to each."""
    state, action, kind, leaves = (axis.ravel() for axis in np.indices((32, 2, 4, 2)))
    taken = state // 4 + action * (state < 28)
    return {
        "state": state,
        "action": action,
        "weight": np.where(leaves, 1024 * taken, 16384 - 1024 * taken),
        "next_state": 4 * (taken - leaves) + kind,
        "reward": np.where(taken > state // 4, 1 << state % 4, 0),
        "terminated": np.zeros(len(state), bool),
    }


def admission_table() -> WorldTable:
    """Return the same world as memories: a draw's upper bits select a slot, lower ones an outcome."""
    rows = {name: column.reshape(32, 2, 4, 2)[..., ::-1] for name, column in admission().items()}
    return WorldTable(
        split=rows["weight"][..., 0].astype(np.int32),
        next_state=rows["next_state"].astype(np.int32),
        reward=(rows["reward"] << 8).astype(np.int32),
        terminated=rows["terminated"],
        start_split=np.array([65536], np.int32),
        start_state=np.zeros((1, 2), np.int32),
        max_episode_steps=40,
    )


def test_the_memories_of_admission_are_those_of_the_world_that_it_is() -> None:
    rows: dict[str, Any] = admission()
    there = rows["weight"] > 0
    world = World.from_arrays(**{name: rows[name][there] for name in rows}, start_state=[0])
    table = admission_table()
    weight = np.stack([table.split, 16384 - table.split], axis=-1)
    found = np.zeros((32, 2, 32))
    np.add.at(found, (*np.indices(weight.shape)[:2], table.next_state), weight)
    wanted = np.zeros((32, 2, 32))
    np.add.at(wanted, (world.state, world.action, world.next_state), world.weight)
    assert np.array_equal(found, wanted)


def admission_model() -> FastActingModel:
    """Return a model of admission in the form of a table, with a limit of 40 steps."""
    config = replace(ADMISSION, acting=Acting(agents=3, outcomes=4))
    return FastActingModel(config, admission_table(), SETTINGS)


@pytest.mark.slow
@pytest.mark.parametrize("port", [ADMISSION], indirect=True)
def test_admission_is_the_world_that_is_described(port: SimPort) -> None:
    model = admission_model()
    run_alike(LinkAgents(port, ADMISSION, 40, SETTINGS), model, 1, 2, 3000)
    assert model.table.any(axis=-1).all()  # every state was visited


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "limit", "model", "old", "new"),
    [
        (GRID, 12, grid_model, "5'(Goal + 1 - Side)", "5'(Goal - Side)"),
        (ADMISSION, 40, admission_model, "draw[10:] < there", "draw[10:] <= there"),
    ],
    ids=["gridworld", "admission"],
)
def test_a_fault_planted_in_an_example_is_found(
    config: Config,
    limit: int,
    model: Callable[[], FastActingModel],
    old: str,
    new: str,
    tmp_path: Path,
) -> None:
    assert config.acting is not None
    (example,) = sources.circuit(config)
    planted = plant_file(tmp_path, example, old, new)
    wrong = replace(config, acting=replace(config.acting, world=str(planted)))
    generate(wrong, tmp_path)
    verilog = [*sources.rtl_files(wrong), tmp_path / "qstep_device.v"]
    library = compile_library(verilog, "qstep_device", trace=False, optimise=False)
    device = LinkAgents(SimPort(wrong, library=library), wrong, limit, SETTINGS)
    with device, pytest.raises(AssertionError):
        run_alike(device, model(), 1, 2, 3000)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: check_circuit(replace(ADMISSION, states=31)),
         r"table is 31 states x 2 actions, Q8\.8; admission needs 32"),
        (lambda: planned("a.sv", budget=Budget(1)),
         r"circuit 'a\.sv' and acting\.world is None; a circuit needs"),
        (lambda: planned("a.sv", budget=Budget(1), config=GRID),
         r"'a\.sv' and acting\.world is 'worlds/gridworld\.sv'"),
    ],
)  # fmt: skip
def test_a_circuit_that_does_not_fit_is_refused(call: Callable[[], object], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        call()


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False], ids=["described", "circuit-only"])
def test_a_circuit_is_trained_from_the_command_line(known: bool, tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(GRID.to_toml(), encoding="utf-8")
    name = "gridworld" if known else "worlds/gridworld.sv"
    words = f"train {name} --device sim --steps 4000 --config {tmp_path}/grid.toml --out"
    report = told(words, tmp_path / "run")
    assert report["terminations"] > 0
    # The optimum is known only if the world describes its outcomes.
    assert (len(report["optimum"]), report["greedy_return"] is not None) == (3 * known, known)
    plan = planned(
        "gridworld",
        budget=Budget(4000),
        settings=AgentSettings(epsilon=FALLING),
        agents=3,
        number_format="Q8.8",
    )
    assert plan.solvable is not None
    table = plan.solvable.table(plan.config)
    if not known:
        table = replace(table, max_episode_steps=0)
    model = FastActingModel(plan.config, table, plan.settings)
    model.run(4000)
    assert (load_table(tmp_path / "run/table.npz", GRID).q_raw == model.table).all()


def test_a_device_is_opened_with_its_table_or_else_with_the_limit_of_steps() -> None:
    for own, loaded in (("table", WorldTable), ("pins", int), ("worlds/gridworld.sv", int)):
        config = replace(GRID, acting=Acting(agents=3, world=own))
        assert isinstance(planned("gridworld", budget=Budget(1), config=config).loaded, loaded)


def test_a_circuit_takes_the_settings_of_each_agent() -> None:
    each = [AgentSettings(seed=seed) for seed in range(3)]
    plan = planned("worlds/gridworld.sv", budget=Budget(1), settings=each, config=GRID)
    assert (plan.solvable, plan.settings) == (None, tuple(each))


@pytest.mark.slow
@pytest.mark.parametrize("port", [DROWSY], indirect=True)
def test_a_silent_world_ends_the_job_and_the_device_goes_on_exactly(port: SimPort) -> None:
    def begin() -> FastActingModel:
        return ring_model(DROWSY, SETTINGS)

    device = LinkAgents(port, DROWSY, 0, SETTINGS)
    with pytest.raises(
        WorldSilentError, match="did not answer agent 1 within 1000 clocks"
    ) as raised:
        device.run(5000)
    assert (raised.value.agent, raised.value.clocks) == (1, 1000)
    steps = [own.steps for own in device.counters]
    assert steps[1] == SLEEP[0]
    assert steps[1] < steps[0] < steps[2] < 5000
    run_alone(device, begin)
    # The world answers agent 1 again, and both the device and a restored copy continue exactly.
    device.run(200)
    assert [own.steps - before for own, before in zip(device.counters, steps, strict=True)] == [
        200
    ] * 3
    run_alone(device, begin)
    device.restore(device.table, device.states, device.counters)
    device.run(200)
    run_alone(device, begin)


SHARED = replace(DROWSY, acting=replace(DROWSY.acting or Acting(), shared_table=True))


@pytest.mark.slow
@pytest.mark.parametrize("port", [SHARED], indirect=True)
def test_a_turn_that_a_silent_world_ends_is_completed_before_a_restore(port: SimPort) -> None:
    device = LinkAgents(port, SHARED, 0, SETTINGS)
    with pytest.raises(WorldSilentError, match="did not answer agent 1"):
        device.run(5000)
    first, *others = (own.steps for own in device.counters)
    assert others == [first - 1] * 2
    before = Held(device.table, device.states, device.counters)
    with pytest.raises(
        ConfigError, match=r"agent 1 is .*, where agents share a table; run\(1\) completes"
    ):
        device.restore(*before)
    assert differing(device, before) == []
    device.run(1)
    model = ring_model(SHARED, SETTINGS)
    model.run(first)
    assert differing(device, model) == []
    device.restore(device.table, device.states, device.counters)
    run_alike(device, model, 50)
