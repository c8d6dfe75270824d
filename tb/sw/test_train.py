"""A host run learns, its stream gives the golden model the same table, and resuming changes nothing."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Discrete
from numpy.typing import NDArray
from tb.sw.checkpoints import load_checkpoint
from tb.verify.figures import Count

from qstep import Config, Hyperparameters, QFormat, Rounding, Transitions
from qstep._io.checkpoint import save_checkpoint
from qstep.device.model import ModelDevice
from qstep.envs import make, table_size
from qstep.errors import CheckpointError, ConfigError, EnvironmentSpaceError, TransitionError
from qstep.golden.lane import Model
from qstep.learn.evaluate import epsilon_greedy, greedy, is_success
from qstep.learn.host import HostRun, Plan
from qstep.learn.host_checkpoint import TableCheckpoint
from qstep.mdp.solve import solve
from qstep.spec.epsilon import Epsilon

SHORT = Plan("gridworld", episodes=60, evaluate_every=10, evaluate_episodes=5)


class Spy(ModelDevice):
    """A model that records the batches it receives, and can call a function before each."""

    def __init__(self, config: Config, before: Callable[[int], None] = lambda batch: None) -> None:
        super().__init__(config)
        self.batches: list[Transitions] = []
        self.tables: list[NDArray[np.int32]] = []
        self.before = before

    def apply(self, transitions: Transitions) -> None:
        self.before(len(self.batches))
        self.batches.append(transitions)
        super().apply(transitions)
        self.tables.append(self.read())


def config_of(env_id: str, number_format: str = "Q8.8") -> Config:
    return Config(*table_size(make(env_id, 0)), format=QFormat.parse(number_format))


class Spied(HostRun):
    device: Spy


def started(
    device: Spy, plan: Plan, hyper: Hyperparameters, resume: TableCheckpoint | None = None
) -> Spied:
    run = Spied("", plan, hyper, device.config)
    run.start(device, resume)
    return run


def trained(
    plan: Plan,
    hyper: Hyperparameters | None = None,
    resume: TableCheckpoint | None = None,
    device: Spy | None = None,
) -> Spied:
    run = started(device or Spy(config_of(plan.env_id)), plan, hyper or Hyperparameters(), resume)
    for _ in run:
        pass
    return run


LONGER = replace(SHORT, episodes=SHORT.episodes + 10)


def loaded(path: Path, run: HostRun) -> TableCheckpoint:
    checkpoint = load_checkpoint(path, run.identity)
    return TableCheckpoint.unpacked(checkpoint, run.device.config)


def equal(one: TableCheckpoint, other: TableCheckpoint) -> bool:
    mine, others = one.packed(), other.packed()
    arrays = [{name: a.tobytes() for name, a in part.arrays.items()} for part in (mine, others)]
    return mine.head == others.head and arrays[0] == arrays[1]


@pytest.mark.parametrize(
    ("env_id", "episodes"), [("gridworld", 600), ("gridworld-8x8", 600), ("CliffWalking-v1", 200)]
)
def test_greedy_policy_becomes_optimal(env_id: str, episodes: int) -> None:
    run = trained(Plan(env_id, episodes))
    assert run.world is not None
    table = run.final.table
    chosen = np.zeros(table.shape, np.bool_)
    chosen[np.arange(len(table)), table.argmax(axis=1)] = True
    visited = run.world.visited(chosen)
    assert visited.sum() >= 8
    optimal = solve(run.world, 0.9).optimal
    assert (chosen & optimal)[visited].any(axis=1).all()
    assert run.final.evaluations[-1].success == 1.0


def test_nothing_is_learnt_with_learning_rate_0() -> None:
    run = trained(SHORT, Hyperparameters(alpha=0.0))
    assert not run.final.table.any()
    assert run.final.evaluations[-1].success == 0.0


def test_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    first, again = trained(SHORT).final, trained(SHORT).final
    assert equal(first, again)
    assert not equal(first, trained(SHORT, Hyperparameters(seed=1)).final)


@pytest.mark.parametrize("rounding", list(Rounding))
def test_table_is_the_interpreter_s_after_the_same_transitions(rounding: Rounding) -> None:
    hyper = Hyperparameters(rounding=rounding, seed=7)
    run = trained(SHORT, hyper)
    model = Model(run.device.config)
    model.configure(hyper)
    for batch in run.device.batches:
        model.apply(batch)
    assert (run.final.table == model.table).all()
    assert run.final.noise == model.noise


@pytest.mark.parametrize("sync_steps", [1, 64])
def test_policy_acts_on_the_table_as_last_read(sync_steps: int) -> None:
    plan = replace(SHORT, epsilon=Epsilon(0.0, 0.0, "linear", 0.0, "run"), sync_steps=sync_steps)
    device = trained(plan).device
    table = np.zeros((25, 4), np.int32)
    for batch, following in zip(device.batches, device.tables, strict=True):
        actions = [greedy(table, state) for state in batch.state.tolist()]
        assert batch.action.tolist() == actions
        table = following


def test_batches_are_as_long_as_asked_and_nothing_is_lost() -> None:
    run = trained(replace(SHORT, sync_steps=50))
    ends = sum(int(batch.terminated.sum()) for batch in run.device.batches)
    assert ends == sum(episode.terminated for episode in run.final.episodes) > 0
    lengths = [len(batch) for batch in run.device.batches]
    assert set(lengths[:-1]) == {50}
    assert 1 <= lengths[-1] <= 50
    assert sum(lengths) == sum(episode.length for episode in run.final.episodes)


def test_evaluation_does_not_change_the_training() -> None:
    often, rarely = (trained(replace(SHORT, evaluate_every=k)).final for k in (1, 1000))
    assert (often.table == rarely.table).all()
    assert [e.episode for e in often.evaluations] == list(range(1, 61))
    assert [e.episode for e in rarely.evaluations] == [60]


def test_truncated_episodes_bootstrap_and_tell_no_success(tmp_path: Path) -> None:
    path = tmp_path / "walled.txt"
    path.write_text("S#G\n", encoding="utf-8")
    run = trained(Plan(str(path), episodes=100), Hyperparameters(gamma=0.5))
    assert not any(batch.terminated.any() for batch in run.device.batches)
    assert {(e.length, e.terminated, e.success) for e in run.final.episodes} == {(12, False, None)}
    # If truncation counted as termination, the value would stay above -1 / (1 - gamma).
    assert run.final.table[0].max() == pytest.approx(-2 * 256, abs=3)
    assert run.final.evaluations[-1].terminated == 0.0


class Rich(gym.Env[Any, Any]):
    """Pays 0, 0 and 1000 in turn, and has no transition table."""

    observation_space = Discrete(3)
    action_space = Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        return self.steps % 3, 1000.0 * (self.steps % 3 == 0), self.steps == 6, False, {}


@pytest.fixture
def rich() -> Iterator[str]:
    gym.register("qstep-test/Rich-v0", entry_point=Rich)  # type: ignore[arg-type]
    yield "qstep-test/Rich-v0"
    del gym.registry["qstep-test/Rich-v0"]


def test_without_a_transition_table_no_termination_counts_as_success(rich: str) -> None:
    run = trained(Plan(rich, 3), device=Spy(config_of(rich, "Q16.8")))
    assert [(e.total, e.length, e.success) for e in run.final.episodes] == [(2000.0, 6, None)] * 3
    assert run.final.evaluations[-1].success is None


COUNTS = ("episodes", "sync_steps", "evaluate_every", "evaluate_episodes")


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        *((lambda name=name, value=value: replace(SHORT, **{name: value}), ConfigError,
           f"{name} is {value!r}; it must be an integer of 1 or more")
          for name in COUNTS for value in (0, 2.5, "many")),
        (lambda: Plan(make("gridworld", 0)), ConfigError,  # type: ignore[arg-type]
         r"env_id is <.*; it must be the name of an environment"),
        (lambda: replace(SHORT, epsilon=0.1), ConfigError,  # type: ignore[arg-type]
         r"epsilon is 0\.1; it must be an Epsilon"),
        *((lambda kind=kind, unit=unit: replace(SHORT, epsilon=Epsilon(1, 0, kind, 1, unit)),
           ConfigError,
           rf"epsilon is {kind} by {unit}; where the host acts .* must be constant, or linear by a")
          for kind, unit in (("exponential", "run"), ("linear", "steps"), ("linear", "episodes"))),
        (lambda: trained(SHORT, device=Spy(Config(24, 4))), EnvironmentSpaceError,
         r"25 states and 4 actions; .* has 24 and 4"),
        (lambda: trained(replace(SHORT, episodes=2), resume=trained(SHORT).latest),
         CheckpointError, rf"already has {SHORT.episodes} episodes; .* is 2 and"),
    ],
)  # fmt: skip
def test_bad_run_is_refused(call: Callable[[], object], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_of_a_plan_becomes_an_int(name: str) -> None:
    three: dict[str, Any] = {name: np.int64(3)}
    assert type(getattr(replace(SHORT, **three), name)) is int


@pytest.mark.parametrize(
    ("env_id", "number_format", "applied", "text"),
    [
        ("CliffWalking-v1", "Q4.4", 0, r"is -100\.0; Q4\.4 holds -8\.0 to 7\.9375"),
        # This reward occurs later, and its whole batch is rejected.
        ("qstep-test/Rich-v0", "Q8.8", 2, r"reward\[0\] is 1000\.0; Q8\.8 holds"),
    ],
)
@pytest.mark.usefixtures("rich")
def test_unfit_reward_is_refused(env_id: str, number_format: str, applied: int, text: str) -> None:
    device = Spy(config_of(env_id, number_format))
    with pytest.raises(TransitionError, match=text):
        trained(Plan(env_id, 5, sync_steps=2), device=device)
    assert device.status().applied == applied


@pytest.mark.parametrize("rounding", [Rounding.NEAREST, Rounding.STOCHASTIC])
@pytest.mark.parametrize("cut", [0, 1, 7, 20, 41])
def test_run_resumed_after_an_interrupt_is_the_uninterrupted_run(
    tmp_path: Path, cut: int, rounding: Rounding
) -> None:
    plan = replace(SHORT, sync_steps=17)
    hyper = Hyperparameters(rounding=rounding, seed=3)
    whole = trained(plan, hyper)

    def before(batch: int) -> None:
        if batch == cut:
            raise KeyboardInterrupt

    run = started(Spy(whole.device.config, before), plan, hyper)
    with pytest.raises(KeyboardInterrupt):
        for _ in run:
            pass
    assert run.latest.episode < plan.episodes
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(path, run.checkpoint, run.identity)
    resumed = trained(plan, hyper, resume=loaded(path, run))
    assert equal(resumed.final, whole.final)
    assert len(resumed.device.batches) < len(whole.device.batches) or cut == 0


@pytest.mark.parametrize("episodes", [25, pytest.param(100, marks=pytest.mark.release)])
def test_run_resumed_at_every_episode_is_the_uninterrupted_run(
    tmp_path: Path, episodes: int, record_property: Count
) -> None:
    plan = replace(SHORT, episodes=episodes, evaluate_every=4)
    hyper = Hyperparameters(rounding=Rounding.STOCHASTIC)
    whole = trained(plan, hyper)
    path = tmp_path / "checkpoint.npz"
    run = started(Spy(whole.device.config), plan, hyper)
    while run.latest.episode < plan.episodes:
        next(iter(run))
        save_checkpoint(path, run.checkpoint, run.identity)
        resume = loaded(path, run)
        run = started(Spy(whole.device.config), plan, hyper, resume)
    assert all(False for _ in run)
    assert equal(run.final, whole.final)
    record_property("cuts", episodes)


@pytest.mark.parametrize("first", [1, 12, 20])  # at an evaluation and between evaluations
def test_run_that_goes_on_for_longer_is_the_longer_run(tmp_path: Path, first: int) -> None:
    plan = replace(SHORT, episodes=33, evaluate_every=4, sync_steps=17, epsilon_episodes=40)
    whole, short = trained(plan), trained(replace(plan, episodes=first))
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(path, short.checkpoint, short.identity)
    assert equal(trained(plan, resume=loaded(path, whole)).final, whole.final)
    assert not equal(trained(plan, resume=short.final).final, whole.final)


def test_longer_run_whose_epsilon_falls_otherwise_is_another_run(tmp_path: Path) -> None:
    short, longer = trained(SHORT), started(Spy(config_of("gridworld")), LONGER, Hyperparameters())
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(path, short.checkpoint, short.identity)
    message = (
        rf"another run: epsilon_episodes is {SHORT.episodes} there and {LONGER.episodes} here$"
    )
    with pytest.raises(CheckpointError, match=message):
        loaded(path, longer)


def test_interrupted_evaluation_rolls_back_to_its_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = trained(SHORT)
    run = started(Spy(whole.device.config), SHORT, Hyperparameters())
    evaluate = run._evaluate

    def interrupted(number: int) -> Any:
        result = evaluate(number)
        if number == 30:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(run, "_evaluate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        for _ in run:
            pass
    assert run.latest.episode == 30
    assert equal(trained(SHORT, resume=run.latest).final, whole.final)


def test_finished_run_has_nothing_left_to_do() -> None:
    whole = trained(SHORT)
    resumed = trained(SHORT, resume=whole.latest)
    assert len(resumed.device.batches) == 1  # the pending batch of the checkpoint
    assert equal(resumed.final, whole.final)


def test_epsilon_falls_linearly_over_its_share_then_stays() -> None:
    schedule = Epsilon(0.9, 0.1, "linear", 0.5, "run")
    assert [schedule.at(k, of=8) for k in (0, 1, 2, 3, 4, 7)] == pytest.approx(
        [0.9, 0.7, 0.5, 0.3, 0.1, 0.1]
    )
    assert Epsilon(0.9, 0.1, "linear", 0.0, "run").at(0, of=8) == 0.1


def test_greedy_takes_the_lowest_of_tied_actions_and_epsilon_is_the_share_of_random_ones() -> None:
    tied = np.array([[0, 3, 3, -1], [-2, -2, -2, -2]], np.int32)
    assert [greedy(tied, 0), greedy(tied, 1)] == [1, 0]
    q = np.array([[0, 1, 0, 0]], np.int32)
    rng = np.random.default_rng(0)
    assert {epsilon_greedy(q, 0, 0.0, rng) for _ in range(100)} == {1}
    counts = np.bincount([epsilon_greedy(q, 0, 0.4, rng) for _ in range(10_000)])
    # Expected are 7000 and three times 1000; four standard deviations are 183 and 120, respectively.
    np.testing.assert_allclose(counts, [1000, 7000, 1000, 1000], atol=183)


def test_only_the_best_termination_is_a_success() -> None:
    assert is_success({}, True, 1.0, 1.0)
    assert not is_success({}, True, -5.0, 1.0)
    assert not is_success({}, False, 1.0, 1.0)
    assert is_success({}, True, -5.0, None) is None
    assert is_success({}, False, 0.0, None) is None
