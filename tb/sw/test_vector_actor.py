"""The compiled actor sends the same stream as a plain loop over environments, and resumes exactly."""

import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import gymnasium.envs.classic_control.cartpole as gymnasium_cartpole
import numpy as np
import pytest
from numpy.typing import NDArray

from qstep import Config, Hyperparameters, Rounding, Transitions
from qstep._io.checkpoint import Checkpoint
from qstep.device.model import ModelDevice
from qstep.envs import ENVIRONMENTS, LIMIT, Snake, make, table_size
from qstep.envs.cartpole_table import row_of
from qstep.envs.splitmix import SplitMix64
from qstep.errors import CheckpointError, ConfigError
from qstep.learn.evaluate import Evaluation, greedy
from qstep.learn.host import HostRun, Plan
from qstep.learn.host_checkpoint import Episode, TableCheckpoint
from qstep.spec.epsilon import Epsilon

HALF = Epsilon(1.0, 0.1, "linear", 0.5, "run")
PLANS = [
    Plan("snake", 150, HALF, 64, evaluate_every=40, evaluate_episodes=5, num_envs=3),
    Plan("cartpole", 90, HALF, 100, evaluate_every=25, evaluate_episodes=5, num_envs=7),
    Plan("cartpole", 60, HALF, 32, 25, 5, num_envs=3, env_kwargs={LIMIT: 15}),
]
IDS = ["snake", "cartpole", "limited"]


class Spy(ModelDevice):
    """A model that records the batches it receives, and its table after each."""

    def __init__(self, config: Config, before: Callable[[int], None] = lambda batch: None) -> None:
        super().__init__(config)
        self.batches: list[Transitions] = []
        self.tables = [self.read()]
        self.before = before

    def apply(self, transitions: Transitions) -> None:
        self.before(len(self.batches))
        super().apply(transitions)
        self.batches.append(transitions)
        self.tables.append(self.read())


class PlainPole:
    """Gymnasium's CartPole with the start states of the vector environments."""

    def __init__(self) -> None:
        self.env = make("cartpole", 0)

    def reset(self, *, seed: int | None = None) -> tuple[int, dict[str, Any]]:
        if seed is not None:
            self.chance = SplitMix64(seed)
        self.env.reset()
        start = [0.05 * (2.0 * self.chance.below(1 << 31) / (1 << 31) - 1.0) for _ in range(4)]
        self.env.unwrapped.pole.state = np.array(start)  # type: ignore[attr-defined]
        return row_of(np.array(start, np.float32).tolist()), {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        row, reward, terminated, truncated, info = self.env.step(action)
        return row, float(reward), terminated, truncated and not terminated, info


@pytest.fixture(autouse=True)
def plain_sines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make Gymnasium use the C library's sine, like compiled code, instead of NumPy's."""

    class Numbers:
        cos, sin = math.cos, math.sin

        def __getattr__(self, name: str) -> Any:
            return getattr(np, name)

    monkeypatch.setattr(gymnasium_cartpole, "np", Numbers())


def plain_env(env_id: str) -> Any:
    return Snake("state") if env_id == "snake" else PlainPole()


class Plain:
    """`VectorActor` as a plain Python loop that steps the environments in turn."""

    def __init__(self, plan: Plan, seed: int) -> None:
        self.plan = plan
        acting = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed).spawn(2)[0]))
        first = int(acting.integers(1 << 31))
        self.policy = SplitMix64(int(acting.integers(1 << 31)))
        self.envs = [plain_env(plan.env_id) for _ in range(plan.num_envs)]
        self.states = [int(env.reset(seed=first + i)[0]) for i, env in enumerate(self.envs)]
        self.totals, self.lengths = [0.0] * plan.num_envs, [0] * plan.num_envs
        self.turn = 0
        self.episodes: list[Episode] = []

    def step(self, table: NDArray[np.int32]) -> tuple[int, int, float, int, bool]:
        i, done = self.turn, len(self.episodes)
        env, state = self.envs[i], self.states[i]
        epsilon = self.plan.epsilon.at(done, self.plan.horizon)
        if self.policy.below(1 << 31) < epsilon * (1 << 31):
            action = self.policy.below(table.shape[1])
        else:
            action = greedy(table, state)
        following, reward, terminated, truncated, info = env.step(action)
        self.states[i] = int(following)
        self.totals[i] += reward
        self.lengths[i] += 1
        truncated = truncated or self.lengths[i] >= self.plan.env_kwargs.get(LIMIT, math.inf)
        if terminated or truncated:
            what = (epsilon, self.totals[i], self.lengths[i], terminated, info.get("is_success"))
            self.episodes.append(Episode(done + 1, *what))
            self.states[i] = int(env.reset()[0])
            self.totals[i], self.lengths[i] = 0.0, 0
        self.turn = (i + 1) % len(self.envs)
        return state, action, reward, int(following), terminated


def config_of(plan: Plan) -> Config:
    return Config(*table_size(make(plan.env_id, 0)))


def started(
    device: Spy, plan: Plan, hyper: Hyperparameters, resume: TableCheckpoint | None = None
) -> HostRun:
    run = HostRun("", plan, hyper, device.config)
    run.start(device, resume)
    return run


def trained(
    plan: Plan,
    hyper: Hyperparameters | None = None,
    device: Spy | None = None,
    resume: TableCheckpoint | None = None,
) -> tuple[HostRun, Spy]:
    device = device or Spy(config_of(plan))
    run = started(device, plan, hyper or Hyperparameters(), resume)
    for _ in run:
        pass
    return run, device


def differences(run: HostRun, device: Spy, plain: Plain) -> Iterator[str]:
    """Yield the differences between a device's batches and those of a plain loop on the same tables."""
    for number, (batch, table) in enumerate(zip(device.batches, device.tables, strict=False)):
        rows = [plain.step(table) for _ in range(len(batch))]
        expected = Transitions.from_arrays(device.config, *map(list, zip(*rows, strict=True)))
        for mine, other in zip(batch.columns, expected.columns, strict=True):
            if not np.array_equal(mine, other):
                yield f"batch {number}"
    if list(run.final.episodes) != plain.episodes:
        yield "episodes"


@pytest.mark.parametrize("plan", PLANS, ids=IDS)
def test_compiled_actor_goes_as_a_plain_loop(plan: Plan) -> None:
    run, device = trained(plan, Hyperparameters(seed=5))
    assert list(differences(run, device, Plain(plan, 5))) == []
    assert {len(batch) for batch in device.batches[:-1]} == {plan.sync_steps}
    assert len(device.batches) > 20
    assert len(plain := run.final.episodes) == plan.episodes
    assert {episode.number for episode in plain} == set(range(1, plan.episodes + 1))


@pytest.mark.parametrize(
    ("other", "seed"),
    [
        ({"num_envs": 2}, 0),
        ({"epsilon": Epsilon(0.9, 0.1, "linear", 0.5, "run")}, 0),
        ({"epsilon_episodes": 151}, 0),
        ({}, 1),
    ],
    ids=["environments", "epsilon", "horizon", "seed"],
)
def test_comparison_notices_another_plan_or_seed(other: dict[str, Any], seed: int) -> None:
    run, device = trained(PLANS[0])
    assert list(differences(run, device, Plain(replace(PLANS[0], **other), seed)))


@pytest.mark.parametrize("plan", PLANS, ids=IDS)
def test_evaluation_goes_as_plain_greedy_episodes(plan: Plan) -> None:
    run, _ = trained(plan)
    table = run.final.table
    evaluating = np.random.Generator(np.random.PCG64(np.random.SeedSequence(0).spawn(2)[1]))
    for _ in run.final.evaluations:
        first = int(evaluating.integers(1 << 31))
    rows = []
    for i in range(plan.evaluate_episodes):
        env = plain_env(plan.env_id)
        state, _ = env.reset(seed=first + i)
        total, length, ended = 0.0, 0, False
        while not ended:
            state, reward, terminated, truncated, info = env.step(greedy(table, int(state)))
            total, length, ended = total + reward, length + 1, terminated or truncated
            ended = ended or length == plan.env_kwargs.get(LIMIT)
        rows.append((total, terminated, length, info.get("is_success")))
    totals, terminations, lengths, successes = map(list, zip(*rows, strict=True))
    expected = Evaluation(
        plan.episodes,
        float(np.mean(totals)),
        None if plan.env_id == "snake" else float(np.mean(successes)),
        float(np.mean(terminations)),
        float(np.mean(lengths)),
    )
    assert run.final.evaluations[-1] == expected


def parts(run: TableCheckpoint) -> tuple[dict[str, Any], dict[str, bytes]]:
    packed = run.packed()
    return packed.head, {name: array.tobytes() for name, array in packed.arrays.items()}


def stored(run: TableCheckpoint, config: Config) -> TableCheckpoint:
    """Return the checkpoint as loaded from a file, with read-only arrays."""
    packed = run.packed()
    arrays = {name: array.copy() for name, array in packed.arrays.items()}
    for array in arrays.values():
        array.setflags(write=False)
    return TableCheckpoint.unpacked(Checkpoint(packed.head, arrays), config)


@pytest.mark.parametrize("plan", PLANS, ids=IDS)
def test_run_of_many_resumed_at_every_checkpoint_is_the_uninterrupted_run(plan: Plan) -> None:
    hyper = Hyperparameters(rounding=Rounding.STOCHASTIC)
    whole, device = trained(plan, hyper)
    run = started(Spy(device.config), plan, hyper)
    stops = 0
    while run.latest.episode < plan.episodes:
        next(iter(run))
        stops += 1
        resume = stored(run.latest, device.config)
        run = started(Spy(device.config), plan, hyper, resume)
    for _ in run:
        pass
    assert stops > 10
    assert parts(run.final) == parts(whole.final)
    assert parts(run.latest) == parts(whole.latest)


@pytest.mark.parametrize("cut", [0, 3, 20])
def test_run_of_many_resumed_after_an_interrupt_is_the_uninterrupted_run(cut: int) -> None:
    def interrupted(batch: int) -> None:
        if batch == cut:
            raise KeyboardInterrupt

    whole, device = trained(PLANS[0])
    run = started(Spy(device.config, interrupted), PLANS[0], Hyperparameters())
    with pytest.raises(KeyboardInterrupt):
        for _ in run:
            pass
    resumed, _ = trained(PLANS[0], resume=stored(run.latest, device.config))
    assert parts(resumed.final) == parts(whole.final)


def test_run_of_many_that_goes_on_for_longer_is_the_longer_run() -> None:
    longer = replace(PLANS[1], episodes=120, epsilon_episodes=90)
    whole, _ = trained(longer)
    short, _ = trained(replace(longer, episodes=90))
    resumed, _ = trained(longer, resume=short.latest)
    assert parts(resumed.final) == parts(whole.final)
    assert parts(short.final) != parts(whole.final)


def test_how_often_many_are_evaluated_does_not_change_the_training() -> None:
    often, rarely = (trained(replace(PLANS[0], evaluate_every=k))[0].final for k in (7, 1000))
    assert (often.table == rarely.table).all()
    assert list(often.episodes) == list(rarely.episodes)
    assert [e.episode for e in often.evaluations] == [*range(7, 150, 7), 150]


def test_table_with_more_rows_than_states_is_learnt_alike() -> None:
    device = Spy(Config(4096, 3))
    wide, _ = trained(PLANS[0], device=device)
    assert (wide.final.table[:2048] == trained(PLANS[0])[0].final.table).all()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda actor: actor.pop("envs_grid"), "has no 'envs_grid'"),
        (lambda actor: actor.update(turns_turn=np.zeros(2, np.int64)), r"turns_turn .* \[2\]"),
        (lambda actor: actor.update(envs_word=np.zeros(3)), "envs_word .* float64"),
    ],
    ids=["missing", "shape", "type"],
)
def test_checkpoint_of_other_environments_is_refused(
    spoil: Callable[[dict[str, Any]], Any], message: str
) -> None:
    run, device = trained(PLANS[0])
    resume = stored(run.latest, device.config)
    spoil(resume.actor)
    fresh = Spy(device.config)
    with pytest.raises(CheckpointError, match=message):
        started(fresh, PLANS[0], Hyperparameters(), resume)
    assert fresh.status().applied == 0


def test_only_compiled_environments_act_many_at_once() -> None:
    message = "num_envs is 2; it must be 1 for gridworld: only snake and cartpole support more"
    with pytest.raises(ConfigError, match=message):
        Plan("gridworld", num_envs=2)
    assert Plan("snake", num_envs=2).num_envs == 2


def test_compiled_environments_take_no_argument_that_kernels_would_ignore() -> None:
    for record in ENVIRONMENTS:
        if record.kernels:
            taken = inspect.signature(type(make(record.name, 0).unwrapped)).parameters
            assert taken.keys() <= {*(record.table or ()), "render_mode"}
