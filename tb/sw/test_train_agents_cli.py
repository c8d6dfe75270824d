"""End-to-end tests of `qstep train` with acting agents, on the model."""

import json
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from numpy.typing import NDArray
from tb.sw.command_line import after_pieces, fails, invoke, refused, told

import qstep
from qstep._io.checkpoint import Checkpoint, save_checkpoint
from qstep._io.npz import load_arrays
from qstep.cli import _drive
from qstep.errors import (
    CheckpointError,
    ConfigError,
    DeadlineError,
    LinkError,
    NoTableError,
    QStepError,
    WorldError,
)
from qstep.golden.agents import ActingModel
from qstep.golden.agents_kernel import run
from qstep.learn.agents import AgentsRun
from qstep.learn.agents_result import AgentsResult
from qstep.learn.evaluate import played
from qstep.learn.plan import Budget, fitting_format, planned
from qstep.learn.table import load_table
from qstep.mdp.solve import solve
from qstep.mdp.world import World
from qstep.spec.epsilon import FALLING, Epsilon
from qstep.spec.settings import AgentSettings

FILES = {
    "table.npz",
    "history.json",
    "learning_curve.png",
    "policy.png",
    "checkpoint.npz",
    "report.json",
}
SHORT = ("--steps", "4000", "--agents", "3")


def train(*arguments: str | Path) -> Result:
    return invoke("train", *arguments)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that was never interrupted."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    result = train("gridworld", *SHORT, "--out", folder)
    assert result.exit_code == 0, result.output
    assert "gridworld on model: 3 agents, q-learning, Q4.12: 12000 steps in" in result.stdout
    assert "within 1 % of the optimum (value iteration): 3 of 3 agents" in result.stdout
    history = json.loads((folder / "history.json").read_text(encoding="utf-8"))
    steps = history["evaluations"]["steps"]
    assert history["version"] == 1
    assert steps[:3] == [128, 256, 384]
    assert steps[-1] == 4000
    assert steps == sorted(steps)
    return folder


def plain_table(name: str, **options: Any) -> NDArray[np.int32]:
    """Return the plain model's table after 4000 steps of 3 agents with the command's defaults."""
    epsilon = FALLING.counted(4000, "steps")
    plan = planned(
        name,
        budget=Budget(4000),
        agents=3,
        settings=AgentSettings(0.5, 0.9, epsilon),
        **options,
    )
    assert plan.solvable is not None
    model = ActingModel(plan.config, plan.solvable.table(plan.config), plan.settings)
    for _ in model.run(4000):
        pass
    return model.table


def test_table_is_that_of_the_plain_model(whole: Path) -> None:
    saved = load_table(whole / "table.npz")
    assert (saved.q_raw == plain_table("gridworld")).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "shape"),
    [
        (("--algorithm", "double-q"), (3, 2, 25, 4)),
        (("--algorithm", "sarsa", "--shared-table"), (25, 4)),
        (("--algorithm", "expected-sarsa", "--rounding", "stochastic"), (3, 25, 4)),
    ],
    ids=["double-q", "sarsa", "expected-sarsa"],
)
def test_json_says_what_was_learnt(
    options: tuple[str, ...], shape: tuple[int, ...], tmp_path: Path
) -> None:
    report = told("train gridworld", *SHORT, *options, "--out", tmp_path / "run")
    assert report["algorithm"] == options[1]
    assert (report["agents"], report["steps"], report["steps_per_agent"]) == (3, 12000, 4000)
    assert report["steps_per_second"] == pytest.approx(report["steps"] / report["seconds"])
    assert load_arrays(report["files"]["table"], ("q_raw",))["q_raw"].shape == shape
    assert report["optimum"] == pytest.approx([-4.7390088] * 3)  # 7 moves and a win, discounted


def test_a_call_without_a_budget_is_of_2000_episodes() -> None:
    result = qstep.train("gridworld", agents=1)
    assert isinstance(result, AgentsResult)
    (counters,) = result.counters
    assert 2000 <= counters.terminations + counters.truncations < 2500


def test_a_checkpoint_that_a_run_cannot_continue_from_is_refused() -> None:
    run = AgentsRun("gridworld", "model", planned("gridworld", budget=Budget(200), agents=1))
    run.open(None)
    assert run.advance()
    checkpoint = run.checkpoint
    run.restore(checkpoint)
    table = run.device.table.copy()
    for name, value, message in (
        ("counters", -1, "ConfigError: steps of agent 0 is -1; it must be an integer from 0 to"),
        ("states", 0, "ConfigError: word of agent 0 is 0; it must be an integer from 1 to"),
    ):
        wrong = {**checkpoint.arrays, name: checkpoint.arrays[name].copy(), "table": table + 1}
        wrong[name][0, 0] = value
        with pytest.raises(CheckpointError, match=message):
            run.restore(replace(checkpoint, arrays=wrong))
        assert np.array_equal(run.device.table, table)
    del checkpoint.arrays["states"]
    with pytest.raises(
        CheckpointError, match=r"does not hold a run of agents \(KeyError: 'states'\)"
    ):
        run.restore(checkpoint)


def test_a_failing_device_is_no_wrong_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    run = AgentsRun("gridworld", "model", planned("gridworld", budget=Budget(200), agents=1))
    run.open(None)

    def fails(*parts: object) -> None:
        raise DeadlineError("no answer")

    monkeypatch.setattr(run.device, "restore", fails)
    with pytest.raises(DeadlineError, match="no answer"):
        run.restore(run.checkpoint)


def test_at_most_8_calls_lead_from_main_to_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The count includes both `main` functions, which the test does not call."""
    package, depths = str(Path(qstep.__file__).parent), set()

    def counted(*given: Any) -> None:
        ours = [call for call in traceback.extract_stack() if call.filename.startswith(package)]
        depths.add(2 + len(ours))
        run(*given)

    monkeypatch.setattr("qstep.golden.agents_fast.run", counted)
    assert train("gridworld", *SHORT, "--out", tmp_path).exit_code == 0
    assert depths == {8}


PIECE = "qstep.golden.agents_fast.FastActingModel.run"
"""The function that computes a piece of a run; its first call loads the machine code."""


def test_a_failing_device_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    after_pieces(monkeypatch, PIECE, 2, fails(LinkError("the line is cut")))
    stopped = train("gridworld", *SHORT, "--out", tmp_path / "run")
    assert isinstance(stopped.exception, LinkError)
    assert "nothing is kept" in stopped.stderr
    assert list(tmp_path.iterdir()) == []


def test_killed_run_goes_on_from_a_checkpoint_with_the_metrics_of_a_whole_one(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed run saves nothing more, so metrics after its last checkpoint are written again."""
    where = (*SHORT, "--out", tmp_path / "run", "--metrics", tmp_path / "metrics.csv")
    with monkeypatch.context() as patch:
        after_pieces(patch, PIECE, 9, fails(MemoryError()))
        patch.setattr(_drive, "_SAVE_SECONDS", -1.0)
        patch.setattr(_drive, "_SAVE_SHARE", 0)
        saved: list[int] = []
        save = save_checkpoint

        def save_twice(path: Path, checkpoint: Checkpoint, identity: dict[str, Any]) -> None:
            if len(saved) < 2:
                saved.append(len(checkpoint.head["points"]))
                save(path, checkpoint, identity)

        patch.setattr(_drive, "save_checkpoint", save_twice)
        assert isinstance(train("gridworld", *where).exception, MemoryError)
    assert saved == [1, 2]
    said = (tmp_path / "metrics.csv").read_text(encoding="utf-8")
    assert said.count("episode_return,") == 7
    assert train("gridworld", *where, "--resume").exit_code == 0
    for name in FILES - {"report.json"}:  # the report has times
        assert (tmp_path / "run" / name).read_bytes() == (whole / name).read_bytes(), name
    lines = (tmp_path / "metrics.csv").read_text(encoding="utf-8").splitlines()
    assert len({tuple(line.split(",")[:2]) for line in lines}) == len(lines)
    assert lines[-1].startswith("4000,")


@pytest.mark.parametrize(
    ("agents", "shared", "lanes"),
    [
        (16, False, 1),
        (32, False, 2),
        (20, False, 2),
        (17, False, 17),
        (251, False, 1),
        (32, True, 1),
    ],
)
def test_agents_take_the_fewest_equal_lanes(agents: int, shared: bool, lanes: int) -> None:
    plan = planned("gridworld", budget=Budget(1), agents=agents, shared_table=shared)
    assert plan.config.lanes == lanes


def test_a_run_is_the_same_in_any_lanes() -> None:
    two, four = (planned("gridworld", budget=Budget(1), agents=4, lanes=n) for n in (2, 4))
    assert (two.config.lanes, four.config.lanes) == (2, 4)
    assert two.identity == four.identity  # so they share checkpoints


def test_a_device_without_schedules_and_limit_learns_what_needs_neither(tmp_path: Path) -> None:
    """Most farms on boards have neither schedules nor a step limit."""
    config = tmp_path / "config.toml"
    config.write_text(
        "states = 32\nactions = 4\nformat = 'Q4.12'\n"
        "[acting]\nagents = 3\nschedules = false\nstep_limit = false\n"
    )
    words = ("gridworld", "--config", config, "--out", tmp_path / "run", "--steps", "6000")
    constant = ("--epsilon-start", "0.2", "--epsilon-end", "0.2")
    refused = train(*words, *constant)
    assert "max_episode_steps is 100; it must be 0" in str(refused.exception)
    refused = train(*words, "--max-episode-steps", "0")
    assert "must be 'constant' where acting.schedules is false" in str(refused.exception)
    result = train(*words, *constant, "--max-episode-steps", "0")
    assert result.exit_code == 0, result.output
    assert "within 1 % of the optimum (value iteration): 3 of 3 agents" in result.stdout
    with pytest.raises(
        ConfigError, match="max_episode_steps is -1; it must be an integer from 0 to"
    ):
        World.named("gridworld").limited(-1)
    refused = train("snake", "--max-episode-steps", "9", "--episodes", "1")
    assert "--max-episode-steps is for runs in which the device acts" in refused.output


def test_longer_run_goes_on_from_a_shorter_one(tmp_path: Path) -> None:
    fixed = ("--agents", "2", "--epsilon-start", "0.2", "--epsilon-end", "0.2")
    train("gridworld", "--steps", "1000", *fixed, "--out", tmp_path / "a")
    result = train("gridworld", "--steps", "3000", *fixed, "--out", tmp_path / "a", "--resume")
    assert result.exit_code == 0, result.output
    train("gridworld", "--steps", "3000", *fixed, "--out", tmp_path / "b")
    one, other = ((tmp_path / run / "table.npz").read_bytes() for run in "ab")
    assert one == other


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "then"),
    [("--episodes 40", "--episodes 90"), ("--steps 1000", "--steps 3000")],
    ids=["episodes", "steps"],
)
def test_longer_run_with_its_first_epsilon_gives_the_files_of_a_run_of_that_length(
    first: str, then: str, tmp_path: Path
) -> None:
    """The point at 1000 steps, which exists only because the first run ended there, is removed."""
    run = ("gridworld", "--agents", "2", "--metrics")
    train(*run, tmp_path / "a.csv", *first.split(), "--out", tmp_path / "a")
    longer = train(*run, tmp_path / "a.csv", *then.split(), "--out", tmp_path / "a", "--resume")
    assert longer.exit_code == 0, longer.output
    epsilon = "--epsilon-episodes 40" if "episodes" in first else f"--epsilon-share {500.5 / 3000}"
    train(*run, tmp_path / "b.csv", *then.split(), *epsilon.split(), "--out", tmp_path / "b")
    for name in ("table.npz", "history.json", "learning_curve.png", "policy.png"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    again = train(*run, tmp_path / "a.csv", *then.split(), "--out", tmp_path / "a", "--resume")
    assert "the run was already complete; no steps were taken" in again.stdout
    shorter = train(*run, tmp_path / "a.csv", *first.split(), "--out", tmp_path / "a", "--resume")
    assert "the checkpoint already has " in str(shorter.exception)
    assert " per agent; " in str(shorter.exception)


@pytest.mark.parametrize("words", ["--agents 2 --steps 1000", "--act host --episodes 20"])
def test_gamma_1_is_not_compared_with_value_iteration(words: str, tmp_path: Path) -> None:
    told = train("gridworld", "--gamma", "1", *words.split(), "--out", tmp_path).stdout
    assert "\nnot compared with value iteration: gamma is 1\n" in told
    assert ("greedy (median of 2 agents): return " in told) == ("agents" in words)


def river() -> World:
    """Return a world whose episodes never end: a river with a bank at each end."""
    states = np.arange(6)
    return World.from_arrays(
        state=np.repeat(states, 2),
        action=np.tile([0, 1], 6),
        next_state=np.stack([np.maximum(states - 1, 0), np.minimum(states + 1, 5)], 1).ravel(),
        reward=np.where(np.arange(12) == 11, 1.0, 0.25),
        terminated=np.zeros(12, np.bool_),
        start_state=[0],
    )


@pytest.fixture
def river_file(tmp_path: Path) -> Path:
    river().save(tmp_path / "river.npz")
    return tmp_path / "river.npz"


@pytest.mark.parametrize("steps", [100, 4000], ids=["one-point", "many"])
def test_run_without_an_end_has_results(steps: int, river_file: Path, tmp_path: Path) -> None:
    run = ("--steps", str(steps), "--out", tmp_path / "run")
    result = train(river_file, *run, "--trace", tmp_path / "t.npz", "--json", tmp_path / "r.json")
    assert result.exit_code == 0, result.output
    assert "no episode ended; recent reward per step: 0." in result.stdout
    report = json.loads((tmp_path / "r.json").read_text())
    assert {Path(path).name for path in report["files"].values()} == FILES - {
        "policy.png",
        "checkpoint.npz",
    } | {"t.npz"}
    found = json.loads((tmp_path / "run/history.json").read_text())["evaluations"]
    assert found["episode_return"][-1] == [None] * 8
    assert np.median(found["step_reward"][-1]) == report["step_reward"] > 0
    limit = ("--max-episode-steps", "20", "--episodes", "3")
    assert train(river_file, *limit, "--out", tmp_path / "limited").exit_code == 0


def test_epsilon_that_refers_to_other_episodes_is_another_run(tmp_path: Path) -> None:
    words = ("gridworld", "--agents", "2", "--out", tmp_path)
    train(*words, "--episodes", "20")
    error = train(*words, "--episodes", "40", "--epsilon-episodes", "40", "--resume").exception
    assert "settings.epsilon.over is 10 there and 20 here; " in str(error)
    assert "epsilon_horizon.episodes is 20 there and 40 here" in str(error)


def trap(*, ends: bool) -> World:
    """Return two states: action 0 stays; action 1 ends episodes in state 1, and in state 0 if `ends`."""
    return World.from_arrays(
        state=[0, 0, 1, 1],
        action=[0, 1, 0, 1],
        next_state=[0, 1, 1, 1],
        reward=[0.0, 0.0, 0.0, 1.0],
        terminated=[False, ends, False, True],
        start_state=[0],
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            "FrozenLake8x8-v1",
            "not learned: the greedy policy misses the goal; try --episodes 20000, --alpha 0.1 "
            "(outcomes are random), another --gamma or a larger --epsilon-share; qstep sweep "
            "FrozenLake8x8-v1 compares alphas and gammas",
        ),
        (
            "FrozenLake8x8-v1 --act host --episodes 20 --alpha 0.1",
            "not learned: the greedy policy misses the goal; try --episodes 200, another --gamma or a "
            "larger --epsilon-share; qstep sweep FrozenLake8x8-v1 compares alphas and gammas",
        ),
        (
            "Taxi-v3 --steps 30000",
            "not learned: far below the optimum; try --steps 300000, another --gamma or a larger "
            "--epsilon-share; qstep sweep Taxi-v3 compares alphas and gammas",
        ),
        (
            "gridworld --gamma 0.99 --steps 9000",
            "with gamma 0.99 the best policy misses the goal; try another --gamma; qstep sweep "
            "gridworld compares alphas and gammas",
        ),
        ("gridworld --steps 9000", None),
        ("gridworld --act host --episodes 200", None),
    ],
)
def test_run_that_failed_says_what_to_try(typed: str, said: str | None, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    result = train(*typed.split(), "--out", tmp_path / "run", "--json", file)
    assert json.loads(file.read_text())["hint"] == said
    assert said is None or said in result.stdout.splitlines()


@pytest.mark.slow
def test_agents_that_never_end_an_episode_are_stopped() -> None:
    """Episodes could end, but a greedy agent with a zero table never leaves its state."""
    greedy = AgentSettings(epsilon=Epsilon(0.0))
    with pytest.raises(WorldError, match=r"no episode of agent 0 has ended in the last 4,\d{3},\d"):
        qstep.train(trap(ends=False), episodes=2, agents=1, settings=greedy)
    explored = AgentSettings(epsilon=Epsilon(0.5))
    qstep.train(trap(ends=True), episodes=2, agents=1, settings=explored)


def test_run_by_episodes_ends_when_every_agent_has_made_them(tmp_path: Path) -> None:
    report = told("train gridworld --episodes 50 --agents 2 --out", tmp_path / "run")
    history = json.loads((tmp_path / "run/history.json").read_text(encoding="utf-8"))
    episodes = history["evaluations"]["episodes"]
    assert min(episodes[-1]) >= 50 > min(episodes[-2])
    assert report["episodes"] == sum(episodes[-1])


def test_trace_is_what_was_lived_through(tmp_path: Path) -> None:
    trace = tmp_path / "trace.npz"
    report = told("train FrozenLake-v1", *SHORT, "--trace", trace, "--out", tmp_path / "run")
    names = ("agent", "state", "action", "reward", "next_state")
    flags = ("terminated", "truncated", "explored")
    lived = load_arrays(trace, names + flags)
    assert report["files"]["trace"] == str(trace)
    assert len(lived["agent"]) == 12000
    assert lived["agent"][:6].tolist() == [0, 1, 2, 0, 1, 2]
    assert lived["terminated"].sum() == report["terminations"]
    assert lived["truncated"].sum() == report["truncations"]
    assert lived["reward"].sum() == ((lived["next_state"] == 15) & lived["terminated"]).sum()
    assert "table" not in np.load(trace)
    double = ("--algorithm", "double-q", "--trace", trace)
    assert train("FrozenLake-v1", *SHORT, *double, "--out", tmp_path / "double").exit_code == 0
    assert set(load_arrays(trace, ("table",))["table"]) == {0, 1}


def test_python_call_learns_the_same(whole: Path) -> None:
    seen: list[Any] = []
    result = qstep.train(
        "gridworld",
        steps=4000,
        agents=3,
        settings=AgentSettings(0.5, 0.9, FALLING),
        progress=seen.append,
    )
    assert isinstance(result, AgentsResult)
    saved = load_table(whole / "table.npz")
    assert result.plan.config == saved.config
    assert (result.table == saved.q_raw).all()
    assert [progress.done for progress in seen] == [point.steps for point in result.points]
    first = min(at for at in result.optimal_after() if at is not None)
    assert (result.q.argmax(-1) == result.policies).all()
    assert result.optimal_after(within=1000.0) == (result.points[0].steps,) * 3
    before = next(point for point in result.points if point.steps < first)
    assert min(before.value) < result.optimum[0] - 0.01


def test_the_large_maze_is_learnt_by_its_defaults(tmp_path: Path) -> None:
    result = train("gridworld-32x32", "--out", tmp_path / "run")
    assert "optimal: 8 of 8" in result.stdout, result.output


def test_a_large_world_with_chance_is_learnt_without_value_iteration(tmp_path: Path) -> None:
    states = 513
    state = np.repeat(np.arange(states), 3)
    world = World.from_arrays(
        state=state,
        action=np.tile([0, 0, 1], states),
        next_state=(state + np.tile([1, 2, 0], states)) % states,
        probability=np.tile([0.75, 0.25, 1.0], states),
        reward=np.tile([1.0, 1.0, 0.0], states),
        terminated=np.tile([False, False, True], states),
        start_state=[0],
    )
    assert (
        str(fitting_format(world, [AgentSettings()])) == "Q5.11"
    )  # a reward of 1 in every step is worth 10
    world.save(tmp_path / "ring.npz")
    report = told("train", tmp_path / "ring.npz", *SHORT, "--out", tmp_path / "run")
    assert (report["optimum"], report["greedy_value"]) == ([], [])
    assert (report["optimal_agents"], report["near_agents"]) == (None, None)
    assert (
        "value iteration"
        not in train(tmp_path / "ring.npz", *SHORT, "--out", tmp_path / "b").stdout
    )


def test_greedy_policy_is_played_exactly() -> None:
    world = World.named("FrozenLake-v1")
    policy = solve(world, 0.99).q.argmax(axis=1)
    rng = np.random.default_rng(0)
    returns = []
    for _ in range(3000):
        state, total = 0, 0.0
        for _ in range(100):
            row = world.first[state * world.actions + policy[state]]
            drawn = rng.integers(65536)
            while drawn >= world.weight[row]:
                drawn -= world.weight[row]
                row += 1
            total += world.reward[row]
            state = world.next_state[row]
            if world.terminated[row]:
                break
        returns.append(total)
    found = played(world, policy)
    error = 4 * np.std(returns) / np.sqrt(len(returns))  # four standard errors
    assert found.mean_return == pytest.approx(float(np.mean(returns)), abs=error)
    assert found.success == pytest.approx(found.mean_return)


def followed(world: World, policy: NDArray[np.int64]) -> tuple[float, float]:
    """Return a policy's mean return and episode length, by stepping the distribution over all states."""
    chosen = policy[world.state] == world.action
    state, following = world.state[chosen], world.next_state[chosen]
    reward, goes_on = world.reward[chosen], ~world.terminated[chosen]
    at: NDArray[Any] = world.start
    total = length = 0.0
    for _ in range(world.max_episode_steps):
        flow = at[state] * world.probability[chosen]
        total, length = total + flow @ reward, length + at.sum()
        at = np.bincount(following, flow * goes_on, world.states)
    return total, length


@pytest.mark.parametrize("limit", [1, 2, 9, 1000, 1001])
@pytest.mark.parametrize("name", ["gridworld", "FrozenLake-v1", "Taxi-v3", "river"])
def test_greedy_policy_that_goes_round_is_played_exactly(name: str, limit: int) -> None:
    world = (river() if name == "river" else World.named(name)).limited(limit)
    for seed in range(5):
        policy = np.random.default_rng(seed).integers(0, world.actions, world.states)
        found = played(world, policy)
        expected = followed(world, policy)
        assert (found.mean_return, found.mean_length) == pytest.approx(expected, 1e-11, 1e-11)


def test_greedy_policy_that_goes_round_for_ever_is_played_at_once() -> None:
    """Playing it step by step would take hours."""
    world = river().limited((1 << 48) - 1)
    found = played(world, np.ones(6, np.int64))
    assert found.mean_length == (1 << 48) - 1
    assert found.mean_return == 5 * 0.25 + (1 << 48) - 6


@pytest.mark.parametrize(
    ("world", "gamma", "on_policy", "expected"),
    [
        ("gridworld", 0.9, False, "Q4.12"),
        ("FrozenLake-v1", 0.9, False, "Q2.14"),
        ("CliffWalking-v1", 0.9, False, "Q9.7"),
        ("CliffWalking-v1", 1.0, False, "Q9.7"),  # the value at the cliff is -113
        ("CliffWalking-v1", 0.99, True, "Q12.4"),  # a random walk is worth -1162
        ("Taxi-v3", 1.0, False, "Q7.9"),
    ],
)
def test_format_holds_the_world(world: str, gamma: float, on_policy: bool, expected: str) -> None:
    settings = [AgentSettings(gamma=gamma, epsilon=Epsilon(1, 0.05, "linear", 1000))]
    found = fitting_format(World.named(world), settings, on_policy=on_policy)
    assert str(found) == expected


def contradicting(**given: Any) -> Callable[[], object]:
    """Return a call that plans agents with arguments that contradict the configuration."""
    made: dict[str, Any] = {"agents": 3, "algorithm": "double-q", "rounding": "floor"}
    made["number_format"] = "Q4.12"
    config = planned("gridworld", budget=Budget(1), **made).config
    again: dict[str, Any] = {"budget": Budget(1), "config": config}
    assert planned("gridworld", **again).config == config
    assert planned("gridworld", **made, **again).config == config
    return lambda: planned("gridworld", **given, **again)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (contradicting(lanes=4), ConfigError, "lanes is 4; the configuration has 1"),
        (contradicting(agents=4), ConfigError, "agents is 4; the configuration has 3"),
        (contradicting(algorithm="sarsa"), ConfigError,
         "algorithm is sarsa; the configuration has double-q"),
        (contradicting(shared_table=True), ConfigError,
         "shared_table is True; the configuration has False"),
        (contradicting(number_format="Q8.8"), ConfigError,
         r"format is Q8\.8; the configuration has Q4\.12"),
        (contradicting(rounding="stochastic"), ConfigError,
         "rounding is stochastic; the configuration has floor"),
        (lambda: Budget(1, 2), ConfigError, "steps is 1 and episodes is 2; give one of them"),
        (lambda: qstep.train(river(), episodes=1), ConfigError,
         r"\(--steps\), or limit .* \(--max-episode-steps\)"),
    ],
)  # fmt: skip
def test_bad_call_is_refused(
    call: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()


RIVER = r"no episode can end from state 0 \(number of such states: 6\); count the run in steps"


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        ("gridworld --steps 0", ConfigError, "steps is 0; it must be an integer from 1"),
        ("gridworld --agents 0", ConfigError, "agents is 0; .* from 1 to 2048"),
        ("gridworld --agents 2049", ConfigError, "agents is 2049; .* from 1 to 2048"),
        ("gridworld --epsilon-start 0.1 --epsilon-end 0.9", ConfigError,
         "epsilon end is 0.9; it must not be above epsilon start, 0.1"),
        ("gridworld --epsilon-share 5", ConfigError, "epsilon share is 5.0; .* from 0 to 1"),
        ("snake --act device", NoTableError, "snake: Snake has no transition table"),
        ("gridworld --format Q1.7", QStepError, "reward"),
        ("gridworld --trace t.npz --resume", ConfigError, "--trace and --resume"),
        ("gridworld --trace t.npz --device sim", ConfigError, "only the model records"),
        ("gridworld --device board", ConfigError, "device is 'board'"),
        ("river.npz", ConfigError, RIVER),
        ("river.npz --episodes 3", ConfigError, RIVER),
        ("gridworld --sync-steps 3", SystemExit, "--sync-steps is for runs in which the host acts"),
        ("snake --agents 3", SystemExit, "but snake has no transition table"),
        ("gridworld --act host --steps 3", SystemExit, "but --act is host; give --episodes"),
        ("gridworld --steps 3 --episodes 3", SystemExit,
         "--steps and --episodes were both given; give one of them"),
    ],
)  # fmt: skip
def test_bad_option_is_refused_and_leaves_nothing(
    words: str, error: type[BaseException], text: str, own_folder: Path, river_file: Path
) -> None:
    refused(f"train {words}", error, text)
    assert [*own_folder.iterdir()] == [river_file]
